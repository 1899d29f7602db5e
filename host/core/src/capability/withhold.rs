//! What a guest says enters; the same without the values of secrets leaves, with each attempt on record. No guest is handed
//! a value: one that has it got it back from a server that a secret was sent to.

use std::sync::Arc;

use super::{Access, Reached, Secrets};
use crate::hooks::HookOutcome;
use crate::id::PluginId;
use crate::plugin::{
    Answer, Handled, Handling, Invocation, Invoked, Plugin, Progress, ProgressSink, Stop, TraceSink, Traces,
};
use crate::tool::Content;

/// Runs one tool call. An answer with a value in it is withheld whole; of a panic or progress the rest is left.
pub(crate) async fn execute(plugin: &dyn Plugin, mut invocation: Invocation) -> Invoked {
    let Some(watch) = Watch::over(&invocation.access, &invocation.traces) else {
        return plugin.execute(invocation).await;
    };
    let watch = Arc::new(watch);
    invocation.progress = watch.progress(invocation.progress);
    let Invoked { end, usage } = plugin.execute(invocation).await;
    Invoked { end: watch.end(end, in_answer), usage }
}

/// Asks a hook's handler, under the same rules: one that answers with a value has failed.
pub(crate) async fn handle(plugin: &dyn Plugin, request: Handling) -> Handled {
    let Some(watch) = Watch::over(&request.access, &request.traces) else {
        return plugin.handle(request).await;
    };
    let Handled { end, usage } = plugin.handle(request).await;
    Handled { end: watch.end(end, in_outcome), usage }
}

/// The traces of all invocations that belong to one call, those that were given up included.
#[derive(Debug, Default)]
pub(crate) struct Witnesses(Vec<(PluginId, TraceSink)>);

impl Witnesses {
    /// A sink for one more invocation.
    pub(crate) fn sink(&mut self, plugin: &PluginId) -> TraceSink {
        let sink = TraceSink::default();
        self.0.push((plugin.clone(), sink.clone()));
        sink
    }

    /// Everything they left, in their order, without values. What comes later is lost.
    pub(crate) fn take(self, secrets: &Secrets) -> Traces {
        let mut all = Traces::default();
        for (plugin, sink) in self.0 {
            let mut traces = std::mem::take(&mut *sink.lock());
            for line in &mut traces.log {
                if let Some(name) = secrets.found_in(line.message.as_bytes()) {
                    note(&mut traces.reached, &plugin, name, "a log line");
                    line.message = secrets.masked(&line.message).into_owned();
                }
            }
            all.log.append(&mut traces.log);
            all.reached.append(&mut traces.reached);
        }
        all
    }
}

/// Puts an attempt on record, each secret once a way out.
fn note(reached: &mut Vec<Reached>, plugin: &PluginId, name: &str, place: &str) {
    let found = Reached::new(plugin, "secret", &format!("{name} in {place}"));
    let found = found.refused("its value was withheld");
    if !reached.contains(&found) {
        reached.push(found);
    }
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
    let in_text = |text: &str| secrets.found_in(text.as_bytes());
    in_content(secrets, content).or_else(|| texts.into_iter().flatten().find_map(in_text))
}

/// The same of a handler's answer. `Debug` shows every field that an outcome has, or will ever have, and escapes text as
/// JSON does; only bytes look different there.
fn in_outcome<'a>(secrets: &'a Secrets, answer: &Result<HookOutcome, String>) -> Option<&'a str> {
    let content = match answer {
        Ok(HookOutcome::Persist(change)) => change.result.content.as_slice(),
        _ => Default::default(),
    };
    in_content(secrets, content).or_else(|| secrets.found_in(format!("{answer:?}").as_bytes()))
}

fn in_content<'a>(secrets: &'a Secrets, content: &[Content]) -> Option<&'a str> {
    content.iter().find_map(|piece| match piece {
        Content::Text { text } => secrets.found_in(text.as_bytes()),
        Content::Image(blob) | Content::Audio(blob) => {
            secrets.found_in(&blob.data).or_else(|| secrets.found_in(blob.mime_type.as_bytes()))
        }
    })
}

/// Looks at everything that comes out of one invocation.
struct Watch {
    secrets: Arc<Secrets>,
    plugin: PluginId,
    traces: TraceSink,
}

impl Watch {
    /// `None` if there is nothing to look for.
    fn over(access: &Access, traces: &TraceSink) -> Option<Self> {
        let (secrets, traces) = (Arc::clone(&access.secrets), traces.clone());
        let plugin = access.capabilities.secrets.plugin().clone();
        (!secrets.is_empty()).then(|| Self { secrets, plugin, traces })
    }

    /// What `find` finds, put on record.
    fn found<'a>(&'a self, place: &str, find: impl FnOnce(&'a Secrets) -> Option<&'a str>) -> Option<String> {
        let name = find(&self.secrets)?;
        note(&mut self.traces.lock().reached, &self.plugin, name, place);
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

    /// How it ended, without values: an answer in which `find` finds one is withheld whole.
    fn end<T>(
        &self,
        end: Result<T, Stop>,
        find: impl for<'a> Fn(&'a Secrets, &T) -> Option<&'a str>,
    ) -> Result<T, Stop> {
        let answer = end.map_err(|stop| self.stop(stop))?;
        match self.found("the answer", |secrets| find(secrets, &answer)) {
            Some(secret) => Err(Stop::Withheld { secret }),
            None => Ok(answer),
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::{GateVerdict, MessageVerdict, PersistChange, PromptChanges, ToolVerdict};
    use crate::tool::{Blob, ToolResult};
    use serde_json::json;

    #[test]
    fn no_answer_of_a_handler_carries_a_value() {
        const VALUE: &str = "a-\"value\"\\of%41secret";
        let secrets = Secrets::from_values([("token", VALUE)]);
        let persist = |params, content| {
            let result = ToolResult { content: vec![content], details: None };
            HookOutcome::Persist(PersistChange { params, result })
        };
        let blob = Blob { mime_type: "image/png".to_owned(), data: VALUE.as_bytes().to_vec() };
        let prompt = PromptChanges { append_context: Some(VALUE.to_owned()), ..PromptChanges::default() };
        let outcomes = [
            HookOutcome::Tool(ToolVerdict::Block(VALUE.to_owned())),
            HookOutcome::Tool(ToolVerdict::Rewrite(json!({ "a": [VALUE] }))),
            HookOutcome::Tool(ToolVerdict::Rewrite(json!({ VALUE: 1 }))),
            HookOutcome::Prompt(prompt),
            HookOutcome::Gate(GateVerdict::Block(VALUE.to_owned())),
            HookOutcome::Message(MessageVerdict::Cancel(VALUE.to_owned())),
            persist(json!(VALUE), Content::text("")),
            persist(json!(null), Content::text(VALUE)),
            persist(json!(null), Content::Image(blob)),
        ];
        for outcome in outcomes {
            let shown = format!("{outcome:?}");
            assert_eq!(in_outcome(&secrets, &Ok(outcome)), Some("token"), "{shown}");
        }
        assert_eq!(in_outcome(&secrets, &Err(VALUE.to_owned())), Some("token"));
        assert_eq!(in_outcome(&secrets, &Ok(HookOutcome::None)), None);
    }
}
