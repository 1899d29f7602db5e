//! One handler is asked: an event enters, its answer leaves, or how it failed. It is stopped at its time, and what it
//! answers belongs to its hook.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Either, join_all, select};

use super::handlers::{Handler, HandlerCode};
use super::{HookEvent, HookOutcome};
use crate::capability::{self, Witnesses};
use crate::host::Shared;
use crate::load::stopped;
use crate::plugin::{Handling, LogLevel, LogLine, Sandbox, Traces};
use crate::run::RunContext;
use crate::text;

/// Longest text of a handler's failure, in characters.
const MAX_FAILURE_CHARS: usize = 500;

/// Why a handler gave no answer, as the end of a sentence that begins with its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed(pub(crate) String);

impl Shared {
    /// Asks a handler for a call, to whose traces the handler's belong.
    pub(crate) async fn ask(
        &self,
        handler: &Handler,
        event: HookEvent,
        run: Option<Arc<RunContext>>,
        witnesses: &mut Witnesses,
    ) -> Result<HookOutcome, Failed> {
        let answer = handler.ask(self, event, run, witnesses).await;
        answer.inspect_err(|failed| self.note_failure(handler, &failed.0))
    }

    /// Asks a handler beside any call; its log goes to the host's sink.
    pub(crate) async fn ask_aside(
        &self,
        handler: &Handler,
        event: HookEvent,
        run: Option<Arc<RunContext>>,
    ) -> Result<HookOutcome, Failed> {
        let mut witnesses = Witnesses::default();
        let answer = self.ask(handler, event, run, &mut witnesses).await;
        let Traces { log, reached } = witnesses.take(&self.secrets());
        let reached = reached.iter().map(|reached| {
            let (level, word) = if reached.allowed {
                (LogLevel::Debug, "was reached")
            } else {
                (LogLevel::Warn, "was refused")
            };
            let reason = reached.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            LogLine { level, message: format!("{} {word}{reason}", reached.target) }
        });
        self.log().send(&handler.party.id, reached.chain(log).collect());
        answer
    }

    /// Tells observers, all at once and beside the caller. A shutdown waits for them.
    pub(crate) fn tell(
        self: &Arc<Self>,
        observers: Vec<Arc<Handler>>,
        event: HookEvent,
        run: Option<Arc<RunContext>>,
    ) {
        if observers.is_empty() {
            return;
        }
        let host = Arc::clone(self);
        self.detach(async move {
            let asking =
                observers.iter().map(|observer| host.ask_aside(observer, event.clone(), run.clone()));
            join_all(asking).await;
        });
    }
}

/// What comes of it, or `None` if it takes longer than `timeout`. It must be native code that yields.
pub(crate) async fn within<T>(
    sandbox: &dyn Sandbox,
    timeout: Duration,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    // Most of it is done at once, and needs no alarm.
    match poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await {
        Poll::Ready(value) => Some(value),
        Poll::Pending => match select(future, sandbox.sleep(timeout)).await {
            Either::Left((value, _)) => Some(value),
            Either::Right(_) => None,
        },
    }
}

/// Why something that [`within`] gave up gave no answer.
pub(crate) fn too_late(timeout: Duration) -> String {
    format!("did not answer within {} ms", timeout.as_millis())
}

impl Handler {
    async fn ask(
        &self,
        host: &Shared,
        event: HookEvent,
        run: Option<Arc<RunContext>>,
        witnesses: &mut Witnesses,
    ) -> Result<HookOutcome, Failed> {
        let hook = self.hook;
        let outcome = match &self.code {
            HandlerCode::Native(native) => {
                let handling =
                    AssertUnwindSafe(async move { native.handle(event, run).await }).catch_unwind();
                match within(&**host.sandbox(), self.timeout, handling).await {
                    Some(Ok(answer)) => answer.map_err(|message| format!("failed: {message}")),
                    Some(Err(_panic)) => Err("panicked".to_owned()),
                    None => Err(too_late(self.timeout)),
                }
            }
            HandlerCode::Guest { id, plugin, limits } => {
                let (handler, limits, access) = (self.number, *limits, host.access(id));
                let traces = witnesses.sink(id);
                let request = Handling { handler, event, run, limits, access, traces };
                match capability::handle(&**plugin, request).await.end {
                    Ok(Ok(outcome)) => Ok(outcome),
                    Ok(Err(message)) => Err(format!("failed: {message}")),
                    Err(stop) => Err(stopped(&stop)),
                }
            }
        };
        let outcome = outcome.and_then(|outcome| {
            if outcome.belongs_to(hook) {
                Ok(outcome)
            } else {
                Err("answered with another hook's outcome".to_owned())
            }
        });
        let bounded =
            |reason: String| text::single_line(&text::shorten(&reason, MAX_FAILURE_CHARS)).into_owned();
        outcome.map_err(|reason| Failed(bounded(reason)))
    }
}
