//! What handlers are told and what they may answer: the contract's types, as core uses them. A handler that answers with
//! another hook's outcome has failed.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::HookName;
use crate::id::{CallId, ToolName};
use crate::tool::{Content, ToolResult};

/// What happened, or is about to.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent {
    /// A prompt is about to be built.
    BeforePromptBuild(PromptBuild),
    /// An agent is about to run on this prompt.
    BeforeAgentRun(String),
    /// A tool is about to be called.
    BeforeToolCall(ToolAttempt),
    /// A call has ended.
    AfterToolCall(ToolCompletion),
    /// A record is about to be stored.
    ToolResultPersist(PersistRecord),
    /// A message is about to be written.
    BeforeMessageWrite(TranscriptMessage),
    /// A message came in.
    MessageReceived(Message),
    /// A message is about to go out.
    MessageSending(Message),
    /// A message went out, or did not.
    MessageSent(MessageReceipt),
    /// A session began.
    SessionStart(SessionEvent),
    /// A session is over.
    SessionEnd(SessionEvent),
    /// An agent's run is over.
    AgentEnd(AgentSummary),
    /// Something is about to be installed.
    BeforeInstall(InstallRequest),
    /// A run started another.
    SubagentSpawned(SubagentEvent),
    /// A run that another started is over.
    SubagentEnded(SubagentEvent),
    /// The host is there.
    HostStart,
    /// The host is about to go.
    HostStop,
}

impl HookEvent {
    /// The hook that the event belongs to.
    pub fn hook(&self) -> HookName {
        match self {
            Self::BeforePromptBuild(_) => HookName::BeforePromptBuild,
            Self::BeforeAgentRun(_) => HookName::BeforeAgentRun,
            Self::BeforeToolCall(_) => HookName::BeforeToolCall,
            Self::AfterToolCall(_) => HookName::AfterToolCall,
            Self::ToolResultPersist(_) => HookName::ToolResultPersist,
            Self::BeforeMessageWrite(_) => HookName::BeforeMessageWrite,
            Self::MessageReceived(_) => HookName::MessageReceived,
            Self::MessageSending(_) => HookName::MessageSending,
            Self::MessageSent(_) => HookName::MessageSent,
            Self::SessionStart(_) => HookName::SessionStart,
            Self::SessionEnd(_) => HookName::SessionEnd,
            Self::AgentEnd(_) => HookName::AgentEnd,
            Self::BeforeInstall(_) => HookName::BeforeInstall,
            Self::SubagentSpawned(_) => HookName::SubagentSpawned,
            Self::SubagentEnded(_) => HookName::SubagentEnded,
            Self::HostStart => HookName::HostStart,
            Self::HostStop => HookName::HostStop,
        }
    }

    /// The tool that it is about, if it is about one.
    pub fn tool(&self) -> Option<&ToolName> {
        match self {
            Self::BeforeToolCall(attempt) => Some(&attempt.tool),
            Self::AfterToolCall(completion) => Some(&completion.tool),
            Self::ToolResultPersist(record) => Some(&record.tool),
            _ => None,
        }
    }
}

/// What a handler answers. Each hook takes `None` and its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum HookOutcome {
    /// No opinion.
    #[default]
    None,
    /// Of `before-prompt-build`.
    Prompt(PromptChanges),
    /// Of `before-agent-run` and `before-install`.
    Gate(GateVerdict),
    /// Of `before-tool-call`.
    Tool(ToolVerdict),
    /// Of `tool-result-persist`.
    Persist(PersistChange),
    /// Of `before-message-write`.
    Write(WriteVerdict),
    /// Of `message-sending`.
    Message(MessageVerdict),
}

impl HookOutcome {
    /// Whether a handler of that hook may answer so.
    pub(crate) fn belongs_to(&self, hook: HookName) -> bool {
        match self {
            Self::None => true,
            Self::Prompt(_) => hook == HookName::BeforePromptBuild,
            Self::Gate(_) => matches!(hook, HookName::BeforeAgentRun | HookName::BeforeInstall),
            Self::Tool(_) => hook == HookName::BeforeToolCall,
            Self::Persist(_) => hook == HookName::ToolResultPersist,
            Self::Write(_) => hook == HookName::BeforeMessageWrite,
            Self::Message(_) => hook == HookName::MessageSending,
        }
    }
}

/// A prompt that is about to be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptBuild {
    /// The prompt.
    pub prompt: String,
    /// The tools of the run.
    pub tools: Vec<ToolName>,
}

/// What to add to a prompt, and what its turn does without.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptChanges {
    /// Goes before the prompt.
    pub prepend_context: Option<String>,
    /// Goes after it.
    pub append_context: Option<String>,
    /// Present: only these of the run's tools, in the language of policy entries, unread.
    pub tools_allow: Option<Vec<String>>,
}

/// A call that was accepted and has not run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAttempt {
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// Who has it: a plugin's id, or `core`.
    pub owner: String,
    /// Whether it changes something outside the sandbox.
    pub side_effecting: bool,
    /// The arguments as rewritten so far.
    pub params: Value,
    /// `tool_call` when the model went through tool search, `skill:NAME` when a person gave a skill's command.
    pub via: Option<String>,
}

/// What a `before-tool-call` handler wants.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolVerdict {
    /// Nothing.
    Pass,
    /// Other arguments: merged over the current ones, member by member.
    Rewrite(Value),
    /// That it does not run. Final.
    Block(String),
    /// That somebody is asked first.
    RequireApproval(ApprovalAsk),
}

/// A request for approval, with a last rewrite before the arguments freeze.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalAsk {
    /// What to ask.
    pub request: ApprovalRequest,
    /// Merged over the arguments first.
    pub rewrite: Option<Value>,
}

/// What somebody is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// One line, at most 80 characters; longer blocks.
    pub title: String,
    /// At most 512 characters; longer blocks.
    pub description: String,
    /// How much it matters.
    pub severity: ApprovalSeverity,
    /// How long an answer is awaited; the operator's time by default, ten minutes at most.
    pub timeout: Option<Duration>,
    /// Which decisions to offer; empty means all.
    pub offered: Vec<ApprovalDecision>,
    /// What an `allow-always` would cover.
    pub scope: GrantScope,
}

/// How much an approval matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words are everybody's")]
pub enum ApprovalSeverity {
    Info,
    Warning,
    Critical,
}

/// What somebody may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalDecision {
    /// This call.
    AllowOnce,
    /// This call and those like it.
    AllowAlways,
    /// Not this call.
    Deny,
}

/// What an `allow-always` covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrantScope {
    /// The same arguments.
    Arguments,
    /// Any arguments of the tool.
    Tool,
}

/// A call that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCompletion {
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// Who has it.
    pub owner: String,
    /// The arguments that were executed, or would have been.
    pub params: Value,
    /// How it ended.
    pub outcome: ToolEnd,
    /// How long it took.
    pub duration: Duration,
}

/// How a call ended, for observers.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolEnd {
    /// With this result.
    Success(ToolResult),
    /// With an error of this kind and message.
    Error {
        /// The kebab-case kind.
        kind: String,
        /// What the model reads.
        message: String,
    },
    /// It was not let through.
    Blocked {
        /// The kebab-case kind.
        kind: String,
        /// What the model reads.
        message: String,
    },
}

/// A record about to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PersistRecord {
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The arguments.
    pub params: Value,
    /// What the model got, with details.
    pub result: ToolResult,
    /// Whether that is an error.
    pub is_error: bool,
    /// How the call ended.
    pub kind: String,
}

/// What to store instead.
#[derive(Debug, Clone, PartialEq)]
pub struct PersistChange {
    /// The arguments.
    pub params: Value,
    /// The result.
    pub result: ToolResult,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words are everybody's")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// A message of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptMessage {
    /// Who wrote it.
    pub role: Role,
    /// The call that it answers.
    pub call_id: Option<String>,
    /// What it says.
    pub body: Vec<Content>,
    /// What is never shown to a model.
    pub details: Option<Value>,
}

/// A message of a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The channel.
    pub channel: String,
    /// Who sent it.
    pub sender: Option<String>,
    /// Who gets it.
    pub recipient: Option<String>,
    /// What it says.
    pub body: String,
    /// What else the channel knows.
    pub metadata: Option<Value>,
}

/// What changes about a message; where it goes stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageChange {
    /// What it says.
    pub body: String,
    /// What else the channel is told.
    pub metadata: Option<Value>,
}

/// What a `message-sending` handler wants.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageVerdict {
    /// Nothing.
    Pass,
    /// Another message.
    Replace(MessageChange),
    /// That it is not sent. Final.
    Cancel(String),
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageReceipt {
    /// The message.
    pub message: Message,
    /// Why it was not sent.
    pub error: Option<String>,
}

/// What a `before-message-write` handler wants.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteVerdict {
    /// Nothing.
    Pass,
    /// Another message.
    Replace(TranscriptMessage),
    /// That it is not written. Final.
    Block(String),
}

/// What a gate's handler wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateVerdict {
    /// Nothing.
    Pass,
    /// That it does not happen. Final.
    Block(String),
}

/// A session's beginning or end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEvent {
    /// The session.
    pub session: String,
    /// Why.
    pub reason: String,
}

/// How an agent's run went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSummary {
    /// The run.
    pub run: String,
    /// Whether it went well.
    pub success: bool,
    /// What went wrong.
    pub error: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

/// Something that is about to be installed.
#[derive(Debug, Clone, PartialEq)]
pub struct InstallRequest {
    /// `plugin` or `skill`.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Where it comes from.
    pub source: String,
    /// Of its bytes.
    pub digest: String,
    /// Who signed it.
    pub signer: Option<String>,
    /// What it asks for.
    pub permissions: Value,
    /// What it owns.
    pub contracts: Value,
}

/// A run that another started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentEvent {
    /// Its session.
    pub child_session: String,
    /// Whose run it is.
    pub agent: String,
    /// How it ended, once it has.
    pub outcome: Option<String>,
}
