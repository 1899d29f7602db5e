//! Approval: everybody who asked becomes one question on the final arguments; only an offered yes lets the call go on.
//! Silence, a withdrawn question and everything else is a no.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use serde::Serialize;
use serde_json::{Value, json};

use super::execute::Executed;
use super::gate::Ask;
use super::ledger::digest_of;
use super::receipt::{Checkpoint, Trail};
use super::{AcceptedCall, AdmittedCall, CallError, CallKind};
use crate::audit::{AuditKind, AuditRow, Decided, GrantKey, Party};
use crate::hooks::{ApprovalDecision, ApprovalSeverity, GrantScope};
use crate::id::{CallId, Digest, ToolName};
use crate::limits::WaitMs;
use crate::result::unix_ms;
use crate::run::RunContext;
use crate::surface::{ExposedTool, Implementation, Surface};

/// How long an answer is awaited unless somebody says less: time to come back from the next room.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// The longest time that an answer is awaited, whoever says so.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// Asks a person.
pub trait Approver: Send + Sync + fmt::Debug {
    /// Puts one question and gives the answer. Dropping the future withdraws the question; an error is a no.
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<ApprovalAnswer, String>>;
}

/// What a person is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ApprovalQuestion {
    /// The call that waits.
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// Who has it.
    pub owner: String,
    /// Whose run it is.
    pub agent: String,
    /// In which session.
    pub session: String,
    /// Exactly what would run.
    pub arguments: Value,
    /// What the model wrote, if a policy or a hook changed it.
    pub written: Option<Value>,
    /// Everybody who asks, in the order in which they did.
    pub reasons: Vec<ApprovalReason>,
    /// What may be answered.
    pub offered: Vec<ApprovalDecision>,
    /// How much it matters to whom it matters most.
    pub severity: ApprovalSeverity,
    /// What an `allow-always` would cover.
    pub scope: GrantScope,
    /// How long an answer is awaited.
    #[serde(serialize_with = "as_milliseconds", rename = "timeoutMs")]
    pub timeout: Duration,
}

fn as_milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// Why one of them asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalReason {
    /// A plugin's id or a policy's name.
    pub asker: String,
    /// One line.
    pub title: String,
    /// More about it.
    pub description: String,
    /// How much it matters.
    pub severity: ApprovalSeverity,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// The decision.
    pub decision: ApprovalDecision,
    /// Whose it is, for the record.
    pub by: String,
}

/// Lets a call through that nobody wants approved, that was approved for good, or that is approved now.
pub(super) async fn obtain<'surface>(
    surface: &Surface,
    call: AcceptedCall<'surface>,
    asks: &[Ask],
    is_dry: bool,
    trail: &mut Trail<'_>,
) -> Result<AdmittedCall<'surface>, Box<Executed>> {
    if asks.is_empty() {
        return Ok(AdmittedCall(call));
    }
    let (run, host) = (surface.run(), surface.host());
    let covers_tool = asks.iter().all(|ask| ask.request.scope == GrantScope::Tool);
    let key = key(run, &call, asks);
    // Without a readable store everybody is asked again.
    if let Ok(Some(grant)) = host.store().find_grant(&key).await {
        let reason = format!("the standing approval `{}` by {} covers it", grant.id, grant.decided.by);
        trail.note(Checkpoint::Approval, "granted-before", "core", Some(reason));
        return Ok(AdmittedCall(call));
    }
    let name = &call.exposed.tool.name;
    let refuse = |kind: CallKind, why: &str, trail: &mut Trail<'_>| {
        let message = format!("the tool `{name}` needs an approval, and {why}");
        trail.note(Checkpoint::Approval, kind.as_str(), "core", Some(why.to_owned()));
        Box::new(Executed::refused(CallError::new(kind, message)))
    };
    let Some(approver) = host.approver().filter(|_| run.interactive) else {
        let why = if run.interactive {
            "this host has nobody to ask"
        } else {
            "nobody is there to ask in this run"
        };
        return Err(refuse(CallKind::ApprovalUnavailable, why, trail));
    };
    if is_dry {
        let why = "somebody would be asked, which a dry run does not do";
        return Err(refuse(CallKind::ApprovalUnavailable, why, trail));
    }
    let question = question(surface, &call, asks, covers_tool);
    if !question.offered.iter().any(|decision| *decision != ApprovalDecision::Deny) {
        let why = "those who ask offer no answer in common that would allow it";
        return Err(refuse(CallKind::ApprovalDenied, why, trail));
    }
    let (offered, timeout) = (question.offered.clone(), question.timeout);
    let asking = approver.ask(question);
    let (decision, by) = match select(asking, host.sandbox().sleep(timeout)).await {
        Either::Left((Ok(answer), _)) if offered.contains(&answer.decision) => {
            (Some(answer.decision), answer.by)
        }
        Either::Left((Ok(answer), _)) => (None, format!("{} gave an answer that was not offered", answer.by)),
        Either::Left((Err(reason), _)) => (None, format!("nobody could be asked: {reason}")),
        Either::Right(_) => (None, format!("nobody answered within {} ms", timeout.as_millis())),
    };
    let word = match decision {
        Some(ApprovalDecision::AllowOnce) => "allow-once",
        Some(ApprovalDecision::AllowAlways) => "allow-always",
        Some(ApprovalDecision::Deny) => "deny",
        None => "no-answer",
    };
    let body = json!({
        "decision": word,
        "by": by,
        "askers": asks.iter().map(|ask| ask.asker.id.as_str()).collect::<Vec<_>>(),
        "arguments": digest_of(&call.arguments),
    });
    let row = AuditRow {
        kind: AuditKind::Approval,
        unix_ms: unix_ms(host.clock().wall()),
        call_id: Some(call.id.clone()),
        tool: Some(name.to_string()),
        body: body.to_string(),
    };
    // A yes that cannot be put on record is no yes.
    if let Err(error) = host.store().write_durably(row).await {
        return Err(refuse(
            CallKind::AuditUnavailable,
            &format!("the answer cannot be recorded: {error}"),
            trail,
        ));
    }
    match decision {
        Some(ApprovalDecision::AllowOnce) => {
            trail.note(Checkpoint::Approval, word, by, None);
            Ok(AdmittedCall(call))
        }
        Some(ApprovalDecision::AllowAlways) => {
            let key = if covers_tool { key.for_all_arguments() } else { key };
            let decided = Decided { by: by.clone(), unix_ms: unix_ms(host.clock().wall()) };
            let kept = host.store().insert_grant(key, decided).await;
            let reason = match kept {
                Ok(grant) => format!("kept as the standing approval `{}`", grant.id),
                Err(error) => format!("not kept, so this call only: {error}"),
            };
            trail.note(Checkpoint::Approval, word, by, Some(reason));
            Ok(AdmittedCall(call))
        }
        Some(ApprovalDecision::Deny) => {
            Err(refuse(CallKind::ApprovalDenied, &format!("{by} said no; do not try again"), trail))
        }
        None => Err(refuse(CallKind::ApprovalDenied, &by, trail)),
    }
}

/// All requests as one question.
fn question(surface: &Surface, call: &AcceptedCall<'_>, asks: &[Ask], covers_tool: bool) -> ApprovalQuestion {
    use ApprovalDecision::{AllowAlways, AllowOnce, Deny};
    let run = surface.run();
    let is_offered = |decision: &ApprovalDecision| {
        *decision == Deny
            || asks.iter().all(|ask| ask.request.offered.is_empty() || ask.request.offered.contains(decision))
    };
    let configured = surface.host().current().config.file().approvals.timeout_ms.map(WaitMs::get);
    let default = configured.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
    let timeout = asks.iter().map(|ask| ask.request.timeout.unwrap_or(default)).min();
    ApprovalQuestion {
        call_id: call.id.clone(),
        tool: call.exposed.tool.name.clone(),
        owner: call.exposed.owner.to_string(),
        agent: run.agent.clone(),
        session: run.session.clone(),
        arguments: call.arguments.clone(),
        written: (call.written != call.arguments).then(|| call.written.clone()),
        reasons: asks
            .iter()
            .map(|ask| ApprovalReason {
                asker: ask.asker.id.clone(),
                title: ask.request.title.clone(),
                description: ask.request.description.clone(),
                severity: ask.request.severity,
            })
            .collect(),
        offered: [AllowOnce, AllowAlways, Deny].into_iter().filter(is_offered).collect(),
        severity: asks.iter().map(|ask| ask.request.severity).max().unwrap_or(ApprovalSeverity::Info),
        scope: if covers_tool { GrantScope::Tool } else { GrantScope::Arguments },
        timeout: timeout.unwrap_or(default).min(MAX_TIMEOUT),
    }
}

/// What a standing approval of this call would be kept under.
fn key(run: &RunContext, call: &AcceptedCall<'_>, asks: &[Ask]) -> GrantKey {
    GrantKey {
        agent: run.agent.clone(),
        session_owner: run.owner(),
        askers: asks.iter().map(|ask| ask.asker.clone()).collect::<BTreeSet<_>>(),
        owner: Party { id: call.exposed.owner.to_string(), digest: owner_digest(call.exposed) },
        tool: call.exposed.tool.name.clone(),
        arguments: Some(digest_of(&call.arguments)),
    }
}

/// What an approval was given for: another version of the code is something else.
fn owner_digest(exposed: &ExposedTool) -> Digest {
    match &exposed.implementation {
        Implementation::Guest { digest, .. } => *digest,
        Implementation::Native(_) | Implementation::Control(_) => {
            let tool = &exposed.tool;
            let parts = [tool.name.as_str(), &tool.description, &tool.parameters.source().to_string()];
            Digest::of_parts(parts.map(str::as_bytes))
        }
    }
}

impl<T: Approver + ?Sized> Approver for Arc<T> {
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<ApprovalAnswer, String>> {
        (**self).ask(question)
    }
}
