//! The trusted policies of the embedder: each judges an accepted call, with its arguments as adjusted so far, before any
//! plugin's handler sees it. Passing never ends the chain, and a policy that fails blocks.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::AcceptedCall;
use super::execute::Executed;
use super::gate::{self, Ask, Judge};
use super::receipt::{Checkpoint, Trail};
use crate::audit::Party;
use crate::hooks::{HookName, ToolAttempt, ToolVerdict, too_late, within};
use crate::id::Digest;
use crate::run::RunContext;
use crate::surface::Surface;

/// A native policy over every call.
pub trait TrustedPolicy: Send + Sync + fmt::Debug {
    /// Its name, for trails and approvals.
    fn name(&self) -> &str;

    /// Judges one call. An error blocks it, and so does taking longer than a handler of `before-tool-call` may by
    /// default. Dropping the future stops it.
    fn judge(&self, attempt: ToolAttempt, run: Arc<RunContext>)
    -> BoxFuture<'_, Result<ToolVerdict, String>>;
}

/// Asks the policies in their order.
pub(super) async fn judge<'surface>(
    surface: &Surface,
    mut call: AcceptedCall<'surface>,
    asks: &mut Vec<Ask>,
    trail: &mut Trail<'_>,
) -> Result<AcceptedCall<'surface>, Box<Executed>> {
    let timeout = HookName::BeforeToolCall.default_timeout();
    for policy in surface.host().policies() {
        let party = Party { id: policy.name().to_owned(), digest: Digest::of(policy.name().as_bytes()) };
        let judge = Judge { checkpoint: Checkpoint::TrustedPolicy, party: &party, is_frozen: false };
        let (attempt, run) = (call.attempt(), Arc::clone(surface.run()));
        let judging = AssertUnwindSafe(async { policy.judge(attempt, run).await }).catch_unwind();
        let problem = match within(&**surface.host().sandbox(), timeout, judging).await {
            Some(Ok(Ok(verdict))) => {
                gate::apply(&judge, verdict, &mut call, asks, trail)?;
                continue;
            }
            Some(Ok(Err(reason))) => format!("failed: {reason}"),
            Some(Err(_panic)) => "panicked".to_owned(),
            None => too_late(timeout),
        };
        return Err(gate::failure(&judge, &call, &problem, trail));
    }
    Ok(call)
}
