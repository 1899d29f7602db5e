//! The end of every call: what the model reads and what the transcript keeps, both bounded, with receipt and trail.

use serde_json::Value;

use super::execute::Executed;
use super::receipt::{Checkpoint, Trail};
use super::{CallKind, Identity, Outcome, Receipt};
use crate::result::{CallRecord, bound_content, bound_details, content_bytes, model_text_chars, unix_ms};
use crate::surface::Surface;
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
    let record = CallRecord {
        call_id: identity.id,
        tool: identity.tool,
        owner: identity.owner,
        agent: run.agent.clone(),
        session: run.session.clone(),
        run: run.run.clone(),
        started_unix_ms: unix_ms(trail.started_wall()),
        arguments: identity.arguments,
        kind,
        is_error: error.is_some(),
        content: content.clone(),
        details: details.as_ref().map(bound_details),
    };
    let saw_nothing = error.is_none() && content.is_empty() && !matches!(details, None | Some(Value::Null));
    let reason = saw_nothing.then(|| "the tool set details and no content: the model saw nothing".to_owned());
    trail.note(Checkpoint::Persist, "recorded", "core", reason);
    let (trail, total) = trail.finish();
    let receipt = Receipt { total, content_bytes: content_bytes(&content), guest: executed.guest };
    Outcome { kind, content, details, error, record, receipt, trail, log: executed.log }
}
