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
use crate::capability;
use crate::host::Shared;
use crate::load::stopped;
use crate::plugin::{Handling, LogLevel, LogLine, Sandbox, Traces};
use crate::run::RunContext;
use crate::text;

/// Longest text of a handler's failure, in characters.
const MAX_FAILURE_CHARS: usize = 500;

/// What a handler answered, and what it left behind.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) outcome: Result<HookOutcome, Failed>,
    pub(crate) traces: Traces,
}

/// Why a handler gave no answer, as the end of a sentence that begins with its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed(pub(crate) String);

impl Shared {
    /// Asks a handler for a call; its log belongs to the call's outcome.
    pub(crate) async fn ask(
        &self,
        handler: &Handler,
        event: HookEvent,
        run: Option<Arc<RunContext>>,
    ) -> Answered {
        let answered = handler.ask(self, event, run).await;
        if let Err(failed) = &answered.outcome {
            self.note_failure(handler, &failed.0);
        }
        answered
    }

    /// Asks a handler beside any call; its log goes to the host's sink.
    pub(crate) async fn ask_aside(
        &self,
        handler: &Handler,
        event: HookEvent,
        run: Option<Arc<RunContext>>,
    ) -> Result<HookOutcome, Failed> {
        let answered = self.ask(handler, event, run).await;
        let refused = answered.traces.reached.iter().filter(|reached| !reached.allowed);
        let refused = refused.map(|reached| {
            let reason = reached.reason.as_deref().unwrap_or_default();
            LogLine { level: LogLevel::Warn, message: format!("{} was refused: {reason}", reached.target) }
        });
        self.log().send(&handler.party.id, refused.chain(answered.traces.log).collect());
        answered.outcome
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
    async fn ask(&self, host: &Shared, event: HookEvent, run: Option<Arc<RunContext>>) -> Answered {
        let hook = self.hook;
        let (outcome, traces) = match &self.code {
            HandlerCode::Native(native) => {
                let handling =
                    AssertUnwindSafe(async move { native.handle(event, run).await }).catch_unwind();
                let outcome = match within(&**host.sandbox(), self.timeout, handling).await {
                    Some(Ok(answer)) => answer.map_err(|message| format!("failed: {message}")),
                    Some(Err(_panic)) => Err("panicked".to_owned()),
                    None => Err(too_late(self.timeout)),
                };
                (outcome, Traces::default())
            }
            HandlerCode::Guest { id, plugin, limits } => {
                let (handler, limits, access) = (self.number, *limits, host.access(id));
                let handled =
                    capability::handle(&**plugin, Handling { handler, event, run, limits, access }).await;
                let outcome = match handled.end {
                    Ok(Ok(outcome)) => Ok(outcome),
                    Ok(Err(message)) => Err(format!("failed: {message}")),
                    Err(stop) => Err(stopped(&stop)),
                };
                (outcome, handled.traces)
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
        Answered { outcome: outcome.map_err(|reason| Failed(bounded(reason))), traces }
    }
}
