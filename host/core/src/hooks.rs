//! The typed hooks as one table: what each is about, what a handler may answer, how long it may take, and what its failure
//! does. There is no untyped event.
//!
//! Rules: ARCHITECTURE.md, "Hooks".

mod chain;
mod emit;
mod event;
mod guards;
mod handlers;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use chain::{too_late, within};
pub use emit::Blocked;
pub(crate) use emit::OpenSessions;
pub use event::{
    AgentSummary, ApprovalAsk, ApprovalDecision, ApprovalRequest, ApprovalSeverity, GateVerdict, GrantScope,
    HookEvent, HookOutcome, InstallRequest, Message, MessageChange, MessageReceipt, MessageVerdict,
    PersistChange, PersistRecord, PromptBuild, PromptChanges, Role, SessionEvent, SubagentEvent, ToolAttempt,
    ToolCompletion, ToolEnd, ToolVerdict, TranscriptMessage, WriteVerdict,
};
pub(crate) use guards::{Guards, MissingGuard, granted_hooks};
pub(crate) use handlers::{Handler, Handlers, own, statuses};
pub use handlers::{HookStatus, NativeHook};

/// What handlers of a hook can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookKind {
    /// Let it pass or block it.
    Gate,
    /// Change it.
    Modify,
    /// Both.
    GateAndModify,
    /// Look on.
    Observe,
}

/// What happens when a handler fails, times out, answers nonsense, or could not be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureAction {
    /// The event is blocked.
    Block,
    /// Its context is skipped, and the turn has no tools.
    NoTools,
    /// What would be stored is withheld behind a marker.
    Withhold,
    /// The event goes on as it was.
    GoOn,
    /// It is logged.
    Log,
}

macro_rules! catalogue {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal, $kind:ident, $seconds:literal s, $failure:ident;)+) => {
        /// A checkpoint at which plugins and native code may take part.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum HookName { $($(#[doc = $doc])+ $variant,)+ }

        impl HookName {
            /// Every hook.
            pub const ALL: &'static [HookName] = &[$(HookName::$variant,)+];

            /// The kebab-case name of manifests, configuration and diagnostics.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// What its handlers can do.
            pub fn kind(self) -> HookKind {
                match self { $(Self::$variant => HookKind::$kind,)+ }
            }

            /// How long one handler may take; a registration may ask for less, an operator for anything.
            pub fn default_timeout(self) -> Duration {
                Duration::from_secs(match self { $(Self::$variant => $seconds,)+ })
            }

            /// What a handler's failure does.
            pub fn on_failure(self) -> FailureAction {
                match self { $(Self::$variant => FailureAction::$failure,)+ }
            }
        }
    };
}

catalogue! {
    /// A prompt is about to be built: context to add, and tools that this turn does without.
    BeforePromptBuild = "before-prompt-build", Modify, 15 s, NoTools;
    /// An agent is about to run.
    BeforeAgentRun = "before-agent-run", Gate, 15 s, Block;
    /// A tool is about to be called.
    BeforeToolCall = "before-tool-call", GateAndModify, 15 s, Block;
    /// A call has ended, however it did.
    AfterToolCall = "after-tool-call", Observe, 30 s, Log;
    /// A call's record is about to be stored.
    ToolResultPersist = "tool-result-persist", Modify, 5 s, Withhold;
    /// A message is about to be written to the transcript.
    BeforeMessageWrite = "before-message-write", GateAndModify, 5 s, Withhold;
    /// A message came in.
    MessageReceived = "message-received", Observe, 30 s, Log;
    /// A message is about to go out.
    MessageSending = "message-sending", Modify, 5 s, GoOn;
    /// A message went out, or did not.
    MessageSent = "message-sent", Observe, 30 s, Log;
    /// A session began.
    SessionStart = "session-start", Observe, 30 s, Log;
    /// A session is over.
    SessionEnd = "session-end", Observe, 2 s, Log;
    /// An agent's run is over.
    AgentEnd = "agent-end", Observe, 30 s, Log;
    /// A plugin or skill is about to be installed.
    BeforeInstall = "before-install", Gate, 15 s, Block;
    /// A run started another.
    SubagentSpawned = "subagent-spawned", Observe, 30 s, Log;
    /// A run that another started is over.
    SubagentEnded = "subagent-ended", Observe, 30 s, Log;
    /// The host is there.
    HostStart = "host-start", Observe, 30 s, Log;
    /// The host is about to go.
    HostStop = "host-stop", Observe, 2 s, Log;
}

impl HookName {
    /// Whether a handler that fails, or could not be loaded, has the hook's failure action taken.
    pub fn is_fail_closed(self) -> bool {
        matches!(self.on_failure(), FailureAction::Block | FailureAction::NoTools | FailureAction::Withhold)
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
        for hook in HookName::ALL {
            let parsed: HookName = serde_json::from_value(hook.as_str().into()).unwrap();
            assert_eq!(parsed, *hook);
        }
    }

    #[test]
    fn the_first_six_fail_closed() {
        let closed: Vec<_> =
            HookName::ALL.iter().filter(|hook| hook.is_fail_closed()).map(|hook| hook.as_str()).collect();
        assert_eq!(
            closed,
            [
                "before-prompt-build",
                "before-agent-run",
                "before-tool-call",
                "tool-result-persist",
                "before-message-write",
                "before-install"
            ]
        );
    }
}
