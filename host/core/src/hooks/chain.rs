//! One handler is asked: an event enters, its answer leaves, or how it failed. It is stopped at its time, and what it
//! answers belongs to its hook.

use std::future::{Future as _, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt as _;
use futures_util::future::{Either, select};

use super::handlers::{Handler, HandlerCode};
use super::{HookEvent, HookOutcome};
use crate::load::stopped;
use crate::plugin::{Handling, LogLine, Sandbox};
use crate::run::RunContext;
use crate::text;

/// Longest text of a handler's failure, in characters.
const MAX_FAILURE_CHARS: usize = 500;

/// What a handler answered, and what it logged.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) outcome: Result<HookOutcome, Failed>,
    pub(crate) log: Vec<LogLine>,
}

/// Why a handler gave no answer, as the end of a sentence that begins with its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed(pub(crate) String);

impl Handler {
    /// Asks the handler.
    pub(crate) async fn ask(
        &self,
        sandbox: &dyn Sandbox,
        event: HookEvent,
        run: Option<Arc<RunContext>>,
    ) -> Answered {
        let hook = self.hook;
        let (outcome, log) = match &self.code {
            HandlerCode::Native(native) => {
                let handling =
                    AssertUnwindSafe(async move { native.handle(event, run).await }).catch_unwind();
                let mut handling = pin!(handling);
                // Most answer at once, and need no alarm.
                let at_once = poll_fn(|context| Poll::Ready(handling.as_mut().poll(context))).await;
                let answered = match at_once {
                    Poll::Ready(answered) => Some(answered),
                    Poll::Pending => match select(handling, sandbox.sleep(self.timeout)).await {
                        Either::Left((answered, _)) => Some(answered),
                        Either::Right(_) => None,
                    },
                };
                let outcome = match answered {
                    Some(Ok(answer)) => answer.map_err(|message| format!("failed: {message}")),
                    Some(Err(_panic)) => Err("panicked".to_owned()),
                    None => Err(format!("did not answer within {} ms", self.timeout.as_millis())),
                };
                (outcome, Vec::new())
            }
            HandlerCode::Guest { plugin, limits } => {
                let handled =
                    plugin.handle(Handling { handler: self.number, event, run, limits: *limits }).await;
                let outcome = match handled.end {
                    Ok(Ok(outcome)) => Ok(outcome),
                    Ok(Err(message)) => Err(format!("failed: {message}")),
                    Err(stop) => Err(stopped(&stop)),
                };
                (outcome, handled.log)
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
        Answered { outcome: outcome.map_err(|reason| Failed(bounded(reason))), log }
    }
}
