//! What a policy or a handler wants of a call: its verdict enters, the call as it then is leaves, or the end of it. Whoever
//! rewrites arguments answers for their fitting the tool's schema.

use serde_json::Value;

use super::accept::{check_rewritten, in_words};
use super::execute::Executed;
use super::receipt::{Checkpoint, Trail};
use super::{AcceptedCall, CallError, CallKind};
use crate::audit::Party;
use crate::hooks::{ApprovalRequest, ToolVerdict};
use crate::text;

/// Longest reason of a block that a model reads, in characters.
const MAX_REASON_CHARS: usize = 1_000;

/// Longest title and description of an approval, in characters: a line and a paragraph.
const MAX_TITLE_CHARS: usize = 80;
const MAX_DESCRIPTION_CHARS: usize = 512;

/// Somebody who wants the call approved.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) asker: Party,
    pub(super) request: ApprovalRequest,
}

/// Who gave a verdict, and where.
pub(super) struct Judge<'a> {
    pub(super) checkpoint: Checkpoint,
    pub(super) party: &'a Party,
    /// Whether an approval that somebody asked for before has frozen the arguments.
    pub(super) is_frozen: bool,
}

/// Applies a verdict to the call; the end of it comes back if the verdict is one.
pub(super) fn apply(
    judge: &Judge<'_>,
    verdict: ToolVerdict,
    call: &mut AcceptedCall<'_>,
    asks: &mut Vec<Ask>,
    trail: &mut Trail<'_>,
) -> Result<(), Box<Executed>> {
    let id = &judge.party.id;
    match verdict {
        ToolVerdict::Pass => {
            trail.note(judge.checkpoint, "pass", id.clone(), None);
            Ok(())
        }
        ToolVerdict::Block(reason) => Err(block(judge, call, &reason, trail)),
        ToolVerdict::Rewrite(rewrite) => rewritten(judge, rewrite, call, trail),
        ToolVerdict::RequireApproval(ask) => {
            let request = ask.request;
            let too_long = [
                ("title", request.title.chars().count(), MAX_TITLE_CHARS),
                ("description", request.description.chars().count(), MAX_DESCRIPTION_CHARS),
            ];
            if let Some((what, chars, most)) = too_long.into_iter().find(|(_, chars, most)| chars > most) {
                let reason =
                    format!("asked for an approval whose {what} has {chars} characters, the most is {most}");
                return Err(failure(judge, call, &reason, trail));
            }
            if let Some(rewrite) = ask.rewrite {
                rewritten(judge, rewrite, call, trail)?;
            }
            let title = text::single_line(&request.title).into_owned();
            let description = text::escape(&request.description).into_owned();
            trail.note(judge.checkpoint, "approval-required", id.clone(), Some(title.clone()));
            asks.push(Ask {
                asker: judge.party.clone(),
                request: ApprovalRequest { title, description, ..request },
            });
            Ok(())
        }
    }
}

/// Merges a rewrite over the arguments, member by member.
fn rewritten(
    judge: &Judge<'_>,
    rewrite: Value,
    call: &mut AcceptedCall<'_>,
    trail: &mut Trail<'_>,
) -> Result<(), Box<Executed>> {
    if judge.is_frozen {
        let reason = "an approval was asked for before, which froze the arguments".to_owned();
        trail.note(judge.checkpoint, "rewrite-ignored", judge.party.id.clone(), Some(reason));
        return Ok(());
    }
    let Value::Object(changes) = rewrite else {
        return Err(failure(judge, call, "rewrote the arguments into something that is no object", trail));
    };
    let mut arguments = call.arguments.clone();
    if let Value::Object(members) = &mut arguments {
        members.extend(changes);
    }
    if let Err(problem) = check_rewritten(&arguments) {
        return Err(failure(judge, call, &format!("rewrote the arguments, which then {problem}"), trail));
    }
    let violations = call.exposed.tool.parameters.violations(&arguments);
    if !violations.is_empty() {
        let reason = format!("rewrote the arguments, which then do not fit: {}", in_words(&violations));
        return Err(failure(judge, call, &reason, trail));
    }
    call.arguments = arguments;
    trail.note(judge.checkpoint, "rewrite", judge.party.id.clone(), None);
    Ok(())
}

/// The end of a call that somebody blocks. The model reads the reason, bounded and visible.
pub(super) fn block(
    judge: &Judge<'_>,
    call: &AcceptedCall<'_>,
    reason: &str,
    trail: &mut Trail<'_>,
) -> Box<Executed> {
    let id = &judge.party.id;
    let shown = text::escape(&text::shorten(reason, MAX_REASON_CHARS)).into_owned();
    let shown = if shown.trim().is_empty() { "it gave no reason".to_owned() } else { shown };
    let message = format!("the tool `{}` is blocked by `{id}`: {shown}", call.exposed.tool.name);
    trail.note(judge.checkpoint, "block", id.clone(), Some(shown));
    Box::new(Executed::refused(CallError::new(CallKind::Blocked, message).bounded()))
}

/// The end of a call whose judge failed: no answer is a no.
pub(super) fn failure(
    judge: &Judge<'_>,
    call: &AcceptedCall<'_>,
    reason: &str,
    trail: &mut Trail<'_>,
) -> Box<Executed> {
    let id = &judge.party.id;
    let message = format!(
        "the tool `{}` is blocked: its guard `{id}` could not judge the call",
        call.exposed.tool.name
    );
    let reason = text::single_line(&text::shorten(reason, MAX_REASON_CHARS)).into_owned();
    trail.note(judge.checkpoint, "failed", id.clone(), Some(reason.clone()));
    let error = CallError::new(CallKind::Blocked, message).with_detail(format!("`{id}` {reason}"));
    Box::new(Executed::refused(error.bounded()))
}
