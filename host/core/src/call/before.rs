//! `before-tool-call`: every handler that sees the tool is asked, one after another, with the arguments as rewritten so far.
//! A block is final; a handler that fails blocks; the first approval that is asked for freezes the arguments.

use std::sync::Arc;

use super::execute::Executed;
use super::gate::{self, Ask, Judge};
use super::receipt::{Checkpoint, Trail};
use super::{AcceptedCall, CallError, CallKind};
use crate::capability::Witnesses;
use crate::hooks::{Guards, HookEvent, HookName, HookOutcome, ToolVerdict};
use crate::surface::Surface;

/// Asks the handlers. What they leave behind comes back too.
pub(super) async fn ask<'surface>(
    surface: &Surface,
    guards: &Guards,
    mut call: AcceptedCall<'surface>,
    asks: &mut Vec<Ask>,
    witnesses: &mut Witnesses,
    trail: &mut Trail<'_>,
) -> Result<AcceptedCall<'surface>, Box<Executed>> {
    let (hook, name) = (HookName::BeforeToolCall, call.exposed.tool.name.clone());
    if let Some(guard) = guards.missing(hook, Some(name.as_str())) {
        let message = format!("the tool `{name}` is blocked: its guard `{}` {}", guard.plugin, guard.reason);
        let error = CallError::new(CallKind::Blocked, message).bounded();
        trail.note(
            Checkpoint::BeforeToolCall,
            error.kind.as_str(),
            guard.plugin.to_string(),
            Some(guard.reason.clone()),
        );
        return Err(Box::new(Executed::refused(error)));
    }
    let handlers = guards.handlers.about(hook, name.as_str(), &call.exposed.own_handlers);
    let asked_before = asks.len();
    for handler in handlers {
        let is_frozen = asks.len() > asked_before;
        let judge = Judge { checkpoint: Checkpoint::BeforeToolCall, party: &handler.party, is_frozen };
        let event = HookEvent::BeforeToolCall(call.attempt());
        let run = Some(Arc::clone(surface.seen_run()));
        match surface.host().ask(&handler, event, run, witnesses).await {
            Ok(HookOutcome::Tool(verdict)) => gate::apply(&judge, verdict, &mut call, asks, trail)?,
            Ok(_) => gate::apply(&judge, ToolVerdict::Pass, &mut call, asks, trail)?,
            Err(failed) => return Err(gate::failure(&judge, &call, &failed.0, trail)),
        }
    }
    Ok(call)
}
