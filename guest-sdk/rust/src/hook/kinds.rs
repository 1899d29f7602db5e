//! The hooks of the contract, each as a type that knows its event. There is no untyped event, and no hook beside these.

use super::event::Event;
use super::event::InstallRequest;
use super::event::PersistRecord;
use super::event::ToolAttempt;
use super::event::ToolCompletion;
use crate::bindings::airlock::plugin::hook_types::AgentRun;
use crate::bindings::airlock::plugin::hook_types::AgentSummary;
use crate::bindings::airlock::plugin::hook_types::HookEvent;
use crate::bindings::airlock::plugin::hook_types::HookName;
use crate::bindings::airlock::plugin::hook_types::Message;
use crate::bindings::airlock::plugin::hook_types::MessageReceipt;
use crate::bindings::airlock::plugin::hook_types::PromptBuild;
use crate::bindings::airlock::plugin::hook_types::SessionEvent;
use crate::bindings::airlock::plugin::hook_types::SubagentEvent;
use crate::bindings::airlock::plugin::hook_types::TranscriptMessage;

/// A hook of the contract.
pub trait Hook {
    /// Its name.
    const NAME: HookName;
    /// What a handler is told; nothing, `()`, where the hook's name says it all.
    type Event;

    #[doc(hidden)]
    fn read(event: HookEvent) -> Result<Self::Event, String>;

    #[doc(hidden)]
    fn write(event: Self::Event) -> HookEvent;
}

#[doc(hidden)]
pub use super::needed;

/// A hook whose handlers only look on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` waits for an answer, so its handler cannot return nothing"
)]
pub trait Observer: Hook {}

macro_rules! hooks {
    ($($(#[$documentation:meta])* $hook:ident($event:ty), $name:literal;)*) => {
        $($(#[$documentation])*
        #[derive(Debug)]
        pub enum $hook {}

        impl Hook for $hook {
            const NAME: HookName = HookName::$hook;
            type Event = $event;

            fn read(event: HookEvent) -> Result<Self::Event, String> {
                match event {
                    HookEvent::$hook(event) => Event::from_wire(event),
                    other => Err(foreign(Self::NAME, &other)),
                }
            }

            fn write(event: Self::Event) -> HookEvent {
                HookEvent::$hook(Event::into_wire(event))
            }
        })*

        impl HookName {
            /// The name that manifests and configurations use, such as `before-tool-call`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$hook => $name,)*
                    Self::HostStart => "host-start",
                    Self::HostStop => "host-stop",
                }
            }
        }

        fn name(event: &HookEvent) -> HookName {
            match event {
                $(HookEvent::$hook(_) => HookName::$hook,)*
                HookEvent::HostStart => HookName::HostStart,
                HookEvent::HostStop => HookName::HostStop,
            }
        }
    };
}

hooks! {
    /// Before a turn's prompt is built: adds context, narrows the turn's tools. Answers with `PromptChanges`.
    BeforePromptBuild(PromptBuild), "before-prompt-build";
    /// Before an agent runs. Answers with `GateVerdict`.
    BeforeAgentRun(AgentRun), "before-agent-run";
    /// Before a tool is called: passes, rewrites, blocks or asks. Answers with `ToolVerdict`.
    BeforeToolCall(ToolAttempt), "before-tool-call";
    /// After a call, however it ended. Observes.
    AfterToolCall(ToolCompletion), "after-tool-call";
    /// Before the record of a call is stored: changes the copy. Answers with `PersistChange`.
    ToolResultPersist(PersistRecord), "tool-result-persist";
    /// Before a message is written to the transcript. Answers with `WriteVerdict`.
    BeforeMessageWrite(TranscriptMessage), "before-message-write";
    /// A message came in. Observes.
    MessageReceived(Message), "message-received";
    /// Before a message goes out: changes or cancels it. Answers with `MessageVerdict`.
    MessageSending(Message), "message-sending";
    /// A message went out, or could not. Observes.
    MessageSent(MessageReceipt), "message-sent";
    /// A session began. Observes.
    SessionStart(SessionEvent), "session-start";
    /// A session ended. Observes.
    SessionEnd(SessionEvent), "session-end";
    /// An agent's run ended. Observes.
    AgentEnd(AgentSummary), "agent-end";
    /// Before a package is installed. Answers with `GateVerdict`.
    BeforeInstall(InstallRequest), "before-install";
    /// A child run was started. Observes.
    SubagentSpawned(SubagentEvent), "subagent-spawned";
    /// A child run ended. Observes.
    SubagentEnded(SubagentEvent), "subagent-ended";
}

macro_rules! bare_hooks {
    ($($(#[$documentation:meta])* $hook:ident;)*) => {
        $($(#[$documentation])*
        #[derive(Debug)]
        pub enum $hook {}

        impl Hook for $hook {
            const NAME: HookName = HookName::$hook;
            type Event = ();

            fn read(event: HookEvent) -> Result<(), String> {
                match event {
                    HookEvent::$hook => Ok(()),
                    other => Err(foreign(Self::NAME, &other)),
                }
            }

            fn write((): ()) -> HookEvent {
                HookEvent::$hook
            }
        })*
    };
}

bare_hooks! {
    /// The host started. Observes.
    HostStart;
    /// The host is about to stop. Observes.
    HostStop;
}

macro_rules! observers {
    ($($hook:ident),*) => { $(impl Observer for $hook {})* };
}

observers!(
    AfterToolCall,
    MessageReceived,
    MessageSent,
    SessionStart,
    SessionEnd,
    AgentEnd,
    SubagentSpawned,
    SubagentEnded,
    HostStart,
    HostStop
);

impl std::fmt::Display for HookName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

fn foreign(hook: HookName, event: &HookEvent) -> String {
    format!("the handler is for `{hook}` and was handed an event of `{}`", name(event))
}
