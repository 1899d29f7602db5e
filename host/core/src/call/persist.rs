//! The end of every call: what the model reads and what the transcript keeps, both bounded, with receipt and trail.

use serde_json::Value;

use super::execute::Executed;
use super::receipt::{Checkpoint, Trail};
use super::{CallKind, Identity, Outcome, Receipt};
use crate::hooks::HookName;
use crate::result::{CallRecord, bound_content, bound_details, content_bytes, model_text_chars, unix_ms};
use crate::surface::{MissingGuard, Surface};
use crate::tool::Content;

pub(super) fn persist(
    surface: &Surface,
    identity: Identity,
    executed: Executed,
    mut trail: Trail<'_>,
) -> Outcome {
    let run = surface.run();
    let (kind, content, details, error) = match executed.end {
        Ok(result) => (CallKind::Completed, result.content, result.details, None),
        Err(error) => {
            (error.kind, vec![Content::text(error.message.clone())], executed.failure_details, Some(error))
        }
    };
    let content = bound_content(content, model_text_chars(run));
    // A guard of the record that is not there must not mean that the record is stored as it is.
    let withheld = surface.missing_guard(HookName::ToolResultPersist, &identity.tool);
    let marker = |guard: &MissingGuard| {
        vec![Content::text(format!("[withheld: the guard `{}` {}]", guard.plugin, guard.reason))]
    };
    let record = CallRecord {
        call_id: identity.id,
        tool: identity.tool,
        owner: identity.owner,
        agent: run.agent.clone(),
        session: run.session.clone(),
        run: run.run.clone(),
        started_unix_ms: unix_ms(trail.started_wall()),
        arguments: if withheld.is_some() { Value::Null } else { identity.arguments },
        kind,
        is_error: error.is_some(),
        content: withheld.map_or_else(|| content.clone(), marker),
        details: details.as_ref().filter(|_| withheld.is_none()).map(bound_details),
    };
    let saw_nothing = error.is_none() && content.is_empty() && !matches!(details, None | Some(Value::Null));
    let reason = saw_nothing.then(|| "the tool set details and no content: the model saw nothing".to_owned());
    trail.note(Checkpoint::Persist, "recorded", "core", reason);
    let (trail, total) = trail.finish();
    let receipt = Receipt { total, content_bytes: content_bytes(&content), guest: executed.guest };
    Outcome { kind, content, details, error, record, receipt, trail, log: executed.log }
}
