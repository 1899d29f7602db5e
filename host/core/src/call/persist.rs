//! The end of every call: what the model reads, and the copy that is kept. Handlers of `tool-result-persist` change the copy
//! only; one that fails has it withheld, never kept as it was.

use std::sync::Arc;

use serde_json::Value;

use super::execute::Executed;
use super::ledger::Ledger;
use super::receipt::{Checkpoint, Trail};
use super::{CallKind, Identity, Outcome, Receipt};
use crate::capability::Witnesses;
use crate::hooks::{
    Guards, Handler, Handlers, HookEvent, HookName, HookOutcome, MissingGuard, PersistRecord,
};
use crate::id::ToolName;
use crate::result::{CallRecord, bound_content, bound_details, content_bytes, model_text_chars, unix_ms};
use crate::surface::{ExposedTool, Surface};
use crate::tool::{Content, ToolResult};

/// What is about to be kept.
struct Copy {
    arguments: Value,
    result: ToolResult,
}

pub(super) async fn persist(
    surface: &Surface,
    guards: &Guards,
    accepted: Option<&ExposedTool>,
    identity: Identity,
    executed: Executed,
    mut ledger: Ledger,
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
    let saw_nothing = error.is_none() && content.is_empty() && !matches!(details, None | Some(Value::Null));

    let is_error = error.is_some();
    // A call that was refused for its arguments named a tool all the same, and its plugin watches over it.
    let named =
        accepted.or_else(|| ToolName::parse(&identity.tool).ok().and_then(|name| surface.tool(&name)));
    let about = About { surface, guards, named, accepted, identity: &identity, kind, is_error };
    let handlers = about.handlers();
    let is_watched = !handlers.is_empty() || about.missing().is_some();
    let result = ToolResult { content: content.clone(), details: details.clone() };
    let copy = Copy { arguments: identity.arguments.clone(), result };
    let kept = if is_watched {
        about.redact(copy, &handlers, &mut ledger.witnesses, &mut trail).await
    } else {
        Ok(copy)
    };
    let is_withheld = kept.is_err();
    let copy = kept.unwrap_or_else(|reason| {
        trail.note(Checkpoint::Persist, "withheld", "core", Some(reason.clone()));
        let marker = vec![Content::text(format!("[withheld: {reason}]"))];
        Copy { arguments: Value::Null, result: ToolResult { content: marker, details: None } }
    });
    let record = CallRecord {
        call_id: identity.id,
        tool: identity.tool,
        owner: identity.owner,
        via: identity.via.as_ref().map(ToString::to_string),
        agent: run.agent.clone(),
        session: run.session.clone(),
        run: run.run.clone(),
        started_unix_ms: unix_ms(trail.started_wall()),
        arguments: copy.arguments,
        kind,
        is_error,
        content: bound_content(copy.result.content, model_text_chars(run)),
        details: copy.result.details.as_ref().map(bound_details),
    };
    if !is_withheld {
        let reason =
            saw_nothing.then(|| "the tool set details and no content: the model saw nothing".to_owned());
        trail.note(Checkpoint::Persist, "recorded", "core", reason);
    }
    let (trail, total) = trail.finish();
    let traces = ledger.traces();
    let receipt = Receipt {
        total,
        content_bytes: content_bytes(&content),
        guest: executed.guest,
        reached: traces.reached,
    };
    // A reason may quote what a redactor takes away, and arguments that did not fit are quoted to the model.
    let says_little = is_watched || kind == CallKind::InvalidParams;
    ledger.finished(&record, &trail, &receipt, &identity.arguments, says_little);
    Outcome { kind, content, details, error, record, receipt, trail, log: traces.log }
}

/// What the copy is about.
struct About<'a> {
    surface: &'a Surface,
    guards: &'a Guards,
    /// The tool that was named, if this surface has it.
    named: Option<&'a ExposedTool>,
    /// The same, if the call was accepted.
    accepted: Option<&'a ExposedTool>,
    identity: &'a Identity,
    kind: CallKind,
    is_error: bool,
}

impl About<'_> {
    fn handlers(&self) -> Vec<Arc<Handler>> {
        let hook = HookName::ToolResultPersist;
        match self.named {
            Some(exposed) => self.guards.handlers.about(hook, &self.identity.tool, &exposed.own_handlers),
            None => self.guards.handlers.about(hook, &self.identity.tool, &Handlers::default()),
        }
    }

    /// The redactor that should be there and is not.
    fn missing(&self) -> Option<&MissingGuard> {
        self.guards.missing(HookName::ToolResultPersist, Some(&self.identity.tool))
    }

    /// The copy as the handlers leave it, or why it must be withheld.
    async fn redact(
        &self,
        mut copy: Copy,
        handlers: &[Arc<Handler>],
        witnesses: &mut Witnesses,
        trail: &mut Trail<'_>,
    ) -> Result<Copy, String> {
        if let Some(guard) = self.missing() {
            return Err(format!("the guard `{}` {}", guard.plugin, guard.reason));
        }
        // A call that was refused at acceptance reaches no handler, so that nobody has looked at what it holds.
        let Some(exposed) = self.accepted else {
            return Err("the call was refused before its redactor could see it".to_owned());
        };
        for handler in handlers {
            let record = PersistRecord {
                call_id: self.identity.id.clone(),
                tool: exposed.tool.name.clone(),
                params: copy.arguments.clone(),
                result: copy.result.clone(),
                is_error: self.is_error,
                kind: self.kind.as_str().to_owned(),
            };
            let (event, run) = (HookEvent::ToolResultPersist(record), Arc::clone(self.surface.seen_run()));
            let answer = self.surface.host().ask(handler, event, Some(run), witnesses).await;
            let owner = handler.owner.to_string();
            match answer {
                Ok(HookOutcome::Persist(change)) => {
                    if let Some(problem) = change.result.content.iter().find_map(Content::problem) {
                        return Err(format!(
                            "`{owner}` changed the record into one that cannot be kept: {problem}"
                        ));
                    }
                    trail.note(Checkpoint::Persist, "changed", owner, None);
                    copy = Copy { arguments: change.params, result: change.result };
                }
                Ok(_) => trail.note(Checkpoint::Persist, "pass", owner, None),
                Err(failed) => return Err(format!("the redactor `{owner}` {}", failed.0)),
            }
        }
        Ok(copy)
    }
}
