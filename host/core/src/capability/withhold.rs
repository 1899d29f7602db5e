//! What a guest says enters; the same without the values of secrets leaves, with each attempt on record. No guest is handed
//! a value: one that has it got it back from a server that a secret was sent to.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Access, Reached, Secrets};
use crate::id::PluginId;
use crate::plugin::{
    Answer, Handled, Handling, Invocation, Invoked, Plugin, Progress, ProgressSink, Stop, Traces,
};
use crate::tool::Content;

/// Runs one tool call. An answer with a value in it is withheld whole; of a log, a panic or progress the rest is left.
pub(crate) async fn execute(plugin: &dyn Plugin, mut invocation: Invocation) -> Invoked {
    let Some(watch) = Watch::over(&invocation.access) else { return plugin.execute(invocation).await };
    let watch = Arc::new(watch);
    invocation.progress = watch.progress(invocation.progress);
    let Invoked { end, usage, traces } = plugin.execute(invocation).await;
    let end = end.and_then(|answer| match watch.found("the answer", |secrets| in_answer(secrets, &answer)) {
        Some(secret) => Err(Stop::Withheld { secret }),
        None => Ok(answer),
    });
    Invoked { end: end.map_err(|stop| watch.stop(stop)), usage, traces: watch.traces(traces) }
}

/// Asks a hook's handler, under the same rules: one that answers with a value has failed.
pub(crate) async fn handle(plugin: &dyn Plugin, request: Handling) -> Handled {
    let Some(watch) = Watch::over(&request.access) else { return plugin.handle(request).await };
    let Handled { end, usage, traces } = plugin.handle(request).await;
    let end = end.and_then(|answer| {
        // `Debug` shows every field that an outcome has, or will ever have, and escapes text as JSON does.
        match watch.found("the answer", |secrets| secrets.found_in(format!("{answer:?}").as_bytes())) {
            Some(secret) => Err(Stop::Withheld { secret }),
            None => Ok(answer),
        }
    });
    Handled { end: end.map_err(|stop| watch.stop(stop)), usage, traces: watch.traces(traces) }
}

/// The name of a secret whose value is in an answer.
fn in_answer<'a>(secrets: &'a Secrets, answer: &Answer) -> Option<&'a str> {
    let (content, texts) = match answer {
        Answer::Result { content, details } => (content.as_slice(), [details.as_deref(), None]),
        Answer::InvalidParams(message) | Answer::Unavailable(message) => {
            (Default::default(), [Some(message.as_str()), None])
        }
        Answer::Failed { message, details } => {
            (Default::default(), [Some(message.as_str()), details.as_deref()])
        }
    };
    let in_piece = |piece: &Content| match piece {
        Content::Text { text } => secrets.found_in(text.as_bytes()),
        Content::Image(blob) | Content::Audio(blob) => {
            secrets.found_in(&blob.data).or_else(|| secrets.found_in(blob.mime_type.as_bytes()))
        }
    };
    let in_text = |text: &str| secrets.found_in(text.as_bytes());
    content.iter().find_map(in_piece).or_else(|| texts.into_iter().flatten().find_map(in_text))
}

/// Looks at everything that comes out of one invocation.
struct Watch {
    secrets: Arc<Secrets>,
    plugin: PluginId,
    /// What was found, each secret once a way out.
    found: Mutex<Vec<Reached>>,
}

impl Watch {
    /// `None` if there is nothing to look for.
    fn over(access: &Access) -> Option<Self> {
        let secrets = Arc::clone(&access.secrets);
        let plugin = access.capabilities.secrets.plugin().clone();
        (!secrets.is_empty()).then(|| Self { secrets, plugin, found: Mutex::default() })
    }

    /// What `find` finds, put on record.
    fn found<'a>(&'a self, place: &str, find: impl FnOnce(&'a Secrets) -> Option<&'a str>) -> Option<String> {
        let name = find(&self.secrets)?;
        let target = format!("{name} in {place}");
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if !found.iter().any(|known| known.target == target) {
            let reason = Some("its value was withheld".to_owned());
            let plugin = self.plugin.clone();
            found.push(Reached { plugin, capability: "secret", target, allowed: false, reason });
        }
        Some(name.to_owned())
    }

    /// The text without values.
    fn clean(&self, place: &str, text: String) -> String {
        match self.found(place, |secrets| secrets.found_in(text.as_bytes())) {
            Some(_) => self.secrets.masked(&text).into_owned(),
            None => text,
        }
    }

    fn progress(self: &Arc<Self>, sink: ProgressSink) -> ProgressSink {
        let watch = Arc::clone(self);
        ProgressSink::new(move |progress| {
            let message = progress.message.map(|message| watch.clean("a report of progress", message));
            sink.send(Progress { message, ..progress });
        })
    }

    fn stop(&self, stop: Stop) -> Stop {
        match stop {
            Stop::Trapped { cause, panic } => {
                let clean = |text| self.clean("its last words", text);
                Stop::Trapped { cause: clean(cause), panic: panic.map(clean) }
            }
            Stop::OutputTooLarge(text) => Stop::OutputTooLarge(self.clean("a failure", text)),
            Stop::Mismatched(text) => Stop::Mismatched(self.clean("a failure", text)),
            Stop::HostFault(text) => Stop::HostFault(self.clean("a failure", text)),
            Stop::TimedOut | Stop::OutOfFuel | Stop::OutOfMemory | Stop::Busy | Stop::Withheld { .. } => stop,
        }
    }

    fn traces(&self, mut traces: Traces) -> Traces {
        for line in &mut traces.log {
            line.message = self.clean("a log line", std::mem::take(&mut line.message));
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        traces.reached.append(&mut found);
        traces
    }
}
