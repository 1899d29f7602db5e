//! The typed hooks: their names and what their failure does. There is no untyped event.
//!
//! Rules: ARCHITECTURE.md, "Hooks".

use serde::{Deserialize, Serialize};

/// A checkpoint at which plugins and native code may take part.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names are the contract's, which documents them")]
pub enum HookName {
    BeforePromptBuild,
    BeforeAgentRun,
    BeforeToolCall,
    AfterToolCall,
    ToolResultPersist,
    BeforeMessageWrite,
    MessageReceived,
    MessageSending,
    MessageSent,
    SessionStart,
    SessionEnd,
    AgentEnd,
    BeforeInstall,
    SubagentSpawned,
    SubagentEnded,
    HostStart,
    HostStop,
}

impl HookName {
    /// The kebab-case name of manifests, configuration and diagnostics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforePromptBuild => "before-prompt-build",
            Self::BeforeAgentRun => "before-agent-run",
            Self::BeforeToolCall => "before-tool-call",
            Self::AfterToolCall => "after-tool-call",
            Self::ToolResultPersist => "tool-result-persist",
            Self::BeforeMessageWrite => "before-message-write",
            Self::MessageReceived => "message-received",
            Self::MessageSending => "message-sending",
            Self::MessageSent => "message-sent",
            Self::SessionStart => "session-start",
            Self::SessionEnd => "session-end",
            Self::AgentEnd => "agent-end",
            Self::BeforeInstall => "before-install",
            Self::SubagentSpawned => "subagent-spawned",
            Self::SubagentEnded => "subagent-ended",
            Self::HostStart => "host-start",
            Self::HostStop => "host-stop",
        }
    }

    /// Whether a handler that fails, or could not be loaded, has the hook's failure action taken.
    pub fn is_fail_closed(self) -> bool {
        matches!(
            self,
            Self::BeforePromptBuild
                | Self::BeforeAgentRun
                | Self::BeforeToolCall
                | Self::ToolResultPersist
                | Self::BeforeMessageWrite
                | Self::BeforeInstall
        )
    }

    /// Whether the hook is about one tool, so that a handler can be limited to some.
    pub fn is_about_a_tool(self) -> bool {
        matches!(self, Self::BeforeToolCall | Self::AfterToolCall | Self::ToolResultPersist)
    }
}

impl std::fmt::Display for HookName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What a handler asked for when it registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOptions {
    /// Higher runs earlier; ties keep registration order.
    pub priority: i32,
    /// Upper bound for one invocation, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// Canonical tool names that a tool hook is limited to; empty means every tool it may see.
    pub tools: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_and_the_parsed_name_agree() {
        for text in ["before-prompt-build", "tool-result-persist", "host-stop", "subagent-ended"] {
            let hook: HookName = serde_json::from_value(text.into()).unwrap();
            assert_eq!(hook.as_str(), text);
        }
    }
}
