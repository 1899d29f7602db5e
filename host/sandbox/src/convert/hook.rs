//! Hook events and outcomes between the contract's types and core's. JSON of a guest is read by core's own bounded reader.

use std::time::Duration;

use airlock_core::{
    ApprovalAsk, ApprovalDecision, ApprovalRequest, ApprovalSeverity, Content, GateVerdict, GrantScope,
    HookEvent, HookOutcome, Message, MessageChange, MessageVerdict, PersistChange, PromptChanges, Role,
    ToolEnd, ToolResult, ToolVerdict, TranscriptMessage, WriteVerdict, untrusted_json,
};
use serde_json::Value;

use super::content;
use crate::bindings::airlock::plugin::{hook_types as wit, types};

/// Longest duration that fits, in the unit of the contract.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn json(value: Option<&Value>) -> Option<String> {
    value.map(ToString::to_string)
}

fn piece(content: &Content) -> types::Content {
    let blob = |blob: &airlock_core::Blob| types::Blob {
        mime_type: blob.mime_type.clone(),
        data: blob.data.clone(),
    };
    match content {
        Content::Text { text } => types::Content::Text(text.clone()),
        Content::Image(image) => types::Content::Image(blob(image)),
        Content::Audio(audio) => types::Content::Audio(blob(audio)),
    }
}

fn result(result: &ToolResult) -> types::ToolResult {
    types::ToolResult {
        content: result.content.iter().map(piece).collect(),
        details: json(result.details.as_ref()),
    }
}

fn message(message: &Message) -> wit::Message {
    wit::Message {
        channel: message.channel.clone(),
        sender: message.sender.clone(),
        recipient: message.recipient.clone(),
        body: message.body.clone(),
        metadata: json(message.metadata.as_ref()),
    }
}

fn session(event: &airlock_core::SessionEvent) -> wit::SessionEvent {
    wit::SessionEvent { session_id: event.session.clone(), reason: event.reason.clone() }
}

fn subagent(event: &airlock_core::SubagentEvent) -> wit::SubagentEvent {
    wit::SubagentEvent {
        child_session: event.child_session.clone(),
        agent_id: event.agent.clone(),
        outcome: event.outcome.clone(),
    }
}

/// What a guest is told.
pub(crate) fn event(event: &HookEvent) -> wit::HookEvent {
    match event {
        HookEvent::BeforePromptBuild(build) => wit::HookEvent::BeforePromptBuild(wit::PromptBuild {
            prompt: build.prompt.clone(),
            tools: build.tools.iter().map(ToString::to_string).collect(),
        }),
        HookEvent::BeforeAgentRun(prompt) => {
            wit::HookEvent::BeforeAgentRun(wit::AgentRun { prompt: prompt.clone() })
        }
        HookEvent::BeforeToolCall(attempt) => wit::HookEvent::BeforeToolCall(wit::ToolAttempt {
            call_id: attempt.call_id.to_string(),
            tool: attempt.tool.to_string(),
            owner: attempt.owner.clone(),
            side_effecting: attempt.side_effecting,
            params: attempt.params.to_string(),
            via: attempt.via.clone(),
        }),
        HookEvent::AfterToolCall(completion) => {
            let problem = |kind: &String, message: &String| wit::ToolProblem {
                kind: kind.clone(),
                message: message.clone(),
            };
            wit::HookEvent::AfterToolCall(wit::ToolCompletion {
                call_id: completion.call_id.to_string(),
                tool: completion.tool.to_string(),
                owner: completion.owner.clone(),
                params: completion.params.to_string(),
                outcome: match &completion.outcome {
                    ToolEnd::Success(success) => wit::ToolOutcome::Success(result(success)),
                    ToolEnd::Error { kind, message } => wit::ToolOutcome::Error(problem(kind, message)),
                    ToolEnd::Blocked { kind, message } => wit::ToolOutcome::Blocked(problem(kind, message)),
                },
                duration_us: micros(completion.duration),
            })
        }
        HookEvent::ToolResultPersist(record) => wit::HookEvent::ToolResultPersist(wit::PersistRecord {
            call_id: record.call_id.to_string(),
            tool: record.tool.to_string(),
            params: record.params.to_string(),
            result: result(&record.result),
            is_error: record.is_error,
            kind: record.kind.clone(),
        }),
        HookEvent::BeforeMessageWrite(written) => {
            wit::HookEvent::BeforeMessageWrite(wit::TranscriptMessage {
                role: match written.role {
                    Role::System => wit::Role::System,
                    Role::User => wit::Role::User,
                    Role::Assistant => wit::Role::Assistant,
                    Role::Tool => wit::Role::Tool,
                },
                call_id: written.call_id.clone(),
                body: written.body.iter().map(piece).collect(),
                details: json(written.details.as_ref()),
            })
        }
        HookEvent::MessageReceived(received) => wit::HookEvent::MessageReceived(message(received)),
        HookEvent::MessageSending(sending) => wit::HookEvent::MessageSending(message(sending)),
        HookEvent::MessageSent(receipt) => wit::HookEvent::MessageSent(wit::MessageReceipt {
            message: message(&receipt.message),
            error: receipt.error.clone(),
        }),
        HookEvent::SessionStart(event) => wit::HookEvent::SessionStart(session(event)),
        HookEvent::SessionEnd(event) => wit::HookEvent::SessionEnd(session(event)),
        HookEvent::AgentEnd(summary) => wit::HookEvent::AgentEnd(wit::AgentSummary {
            run_id: summary.run.clone(),
            success: summary.success,
            error: summary.error.clone(),
            duration_ms: u64::try_from(summary.duration.as_millis()).unwrap_or(u64::MAX),
        }),
        HookEvent::BeforeInstall(request) => wit::HookEvent::BeforeInstall(wit::InstallRequest {
            kind: request.kind.clone(),
            id: request.id.clone(),
            version: request.version.clone(),
            source: request.source.clone(),
            digest: request.digest.clone(),
            signer: request.signer.clone(),
            permissions: request.permissions.to_string(),
            contracts: request.contracts.to_string(),
        }),
        HookEvent::SubagentSpawned(event) => wit::HookEvent::SubagentSpawned(subagent(event)),
        HookEvent::SubagentEnded(event) => wit::HookEvent::SubagentEnded(subagent(event)),
        HookEvent::HostStart => wit::HookEvent::HostStart,
        HookEvent::HostStop => wit::HookEvent::HostStop,
    }
}

/// What a guest answered.
///
/// # Errors
/// If JSON in it cannot be read.
pub(crate) fn outcome(outcome: wit::HookOutcome) -> Result<HookOutcome, String> {
    Ok(match outcome {
        wit::HookOutcome::None => HookOutcome::None,
        wit::HookOutcome::Prompt(changes) => HookOutcome::Prompt(PromptChanges {
            prepend_context: changes.prepend_context,
            append_context: changes.append_context,
            tools_allow: changes.tools_allow,
        }),
        wit::HookOutcome::Gate(wit::GateVerdict::Pass) => HookOutcome::Gate(GateVerdict::Pass),
        wit::HookOutcome::Gate(wit::GateVerdict::Block(reason)) => {
            HookOutcome::Gate(GateVerdict::Block(reason))
        }
        wit::HookOutcome::Tool(verdict) => HookOutcome::Tool(match verdict {
            wit::ToolVerdict::Pass => ToolVerdict::Pass,
            wit::ToolVerdict::Rewrite(params) => {
                ToolVerdict::Rewrite(untrusted_json("the rewrite", &params)?)
            }
            wit::ToolVerdict::Block(reason) => ToolVerdict::Block(reason),
            wit::ToolVerdict::RequireApproval(ask) => ToolVerdict::RequireApproval(approval(ask)?),
        }),
        wit::HookOutcome::Persist(change) => HookOutcome::Persist(PersistChange {
            params: untrusted_json("the parameters", &change.params)?,
            result: tool_result(change.result)?,
        }),
        wit::HookOutcome::Write(verdict) => HookOutcome::Write(match verdict {
            wit::WriteVerdict::Pass => WriteVerdict::Pass,
            wit::WriteVerdict::Block(reason) => WriteVerdict::Block(reason),
            wit::WriteVerdict::Replace(written) => WriteVerdict::Replace(TranscriptMessage {
                role: match written.role {
                    wit::Role::System => Role::System,
                    wit::Role::User => Role::User,
                    wit::Role::Assistant => Role::Assistant,
                    wit::Role::Tool => Role::Tool,
                },
                call_id: written.call_id,
                body: written.body.into_iter().map(content).collect(),
                details: optional_json("the details", written.details)?,
            }),
        }),
        wit::HookOutcome::Message(verdict) => HookOutcome::Message(match verdict {
            wit::MessageVerdict::Pass => MessageVerdict::Pass,
            wit::MessageVerdict::Cancel(reason) => MessageVerdict::Cancel(reason),
            wit::MessageVerdict::Replace(change) => MessageVerdict::Replace(MessageChange {
                body: change.body,
                metadata: optional_json("the metadata", change.metadata)?,
            }),
        }),
    })
}

fn optional_json(what: &str, source: Option<String>) -> Result<Option<Value>, String> {
    source.map(|source| untrusted_json(what, &source)).transpose()
}

fn tool_result(result: types::ToolResult) -> Result<ToolResult, String> {
    Ok(ToolResult {
        content: result.content.into_iter().map(content).collect(),
        details: optional_json("the details", result.details)?,
    })
}

fn approval(ask: wit::ApprovalAsk) -> Result<ApprovalAsk, String> {
    let request = ask.request;
    let offered = request.offered.into_iter().map(|decision| match decision {
        wit::ApprovalDecision::AllowOnce => ApprovalDecision::AllowOnce,
        wit::ApprovalDecision::AllowAlways => ApprovalDecision::AllowAlways,
        wit::ApprovalDecision::Deny => ApprovalDecision::Deny,
    });
    Ok(ApprovalAsk {
        request: ApprovalRequest {
            title: request.title,
            description: request.description,
            severity: match request.severity {
                wit::Severity::Info => ApprovalSeverity::Info,
                wit::Severity::Warning => ApprovalSeverity::Warning,
                wit::Severity::Critical => ApprovalSeverity::Critical,
            },
            timeout: request.timeout_ms.map(|timeout| Duration::from_millis(timeout.into())),
            offered: offered.collect(),
            scope: match request.scope {
                wit::GrantScope::Arguments => GrantScope::Arguments,
                wit::GrantScope::Tool => GrantScope::Tool,
            },
        },
        rewrite: optional_json("the rewrite", ask.rewrite)?,
    })
}
