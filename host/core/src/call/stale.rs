//! A surface that is older than the configuration: the one in force is asked again, and can only forbid.

use super::execute::Executed;
use super::receipt::{Checkpoint, Trail};
use super::via::Via;
use super::{AcceptedCall, CallError, CallKind};
use crate::id::ToolName;
use crate::surface::Surface;

/// Lets the call go on if the configuration in force still allows its tool.
pub(super) fn still_allowed<'surface>(
    surface: &Surface,
    call: AcceptedCall<'surface>,
    trail: &mut Trail<'_>,
) -> Result<AcceptedCall<'surface>, Box<Executed>> {
    let control = call.via.as_ref().and_then(|via| match via {
        Via::Control(control) => Some(control.as_str()),
        Via::Command(_) => None,
    });
    let around = control.and_then(|control| surface.tool(&ToolName::parse(control).ok()?));
    let stale = surface.staleness(call.exposed).or_else(|| surface.staleness(around?));
    let Some(reason) = stale else { return Ok(call) };
    let message = format!("the tool `{}` is no longer available", call.exposed.tool.name);
    let error = CallError::new(CallKind::StaleSurface, message).with_detail(reason.clone());
    trail.note(Checkpoint::Gate, error.kind.as_str(), "core", Some(reason));
    Err(Box::new(Executed::refused(error)))
}
