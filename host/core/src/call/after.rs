//! `after-tool-call`: observers are told how a call ended, whatever its end, and nobody waits for them but a shutdown.

use std::sync::Arc;
use std::time::Duration;

use super::execute::Executed;
use super::{CallStatus, Identity};
use crate::hooks::{Guards, HookEvent, HookName, ToolCompletion, ToolEnd};
use crate::surface::{ExposedTool, Surface};

/// Tells every observer that sees the tool, all at once.
pub(super) fn tell(
    surface: &Surface,
    guards: &Guards,
    exposed: &ExposedTool,
    identity: &Identity,
    executed: &Executed,
    duration: Duration,
) {
    let name = &exposed.tool.name;
    let handlers = guards.handlers.about(HookName::AfterToolCall, name.as_str(), &exposed.own_handlers);
    if handlers.is_empty() {
        return;
    }
    let outcome = match &executed.end {
        Ok(result) => ToolEnd::Success(result.clone()),
        Err(error) => {
            let (kind, message) = (error.kind.as_str().to_owned(), error.message.clone());
            match error.kind.status() {
                CallStatus::Blocked => ToolEnd::Blocked { kind, message },
                _ => ToolEnd::Error { kind, message },
            }
        }
    };
    let completion = ToolCompletion {
        call_id: identity.id.clone(),
        tool: name.clone(),
        owner: exposed.owner.to_string(),
        params: identity.arguments.clone(),
        outcome,
        duration,
    };
    let run = Some(Arc::clone(surface.seen_run()));
    surface.host().tell(handlers, HookEvent::AfterToolCall(completion), run);
}
