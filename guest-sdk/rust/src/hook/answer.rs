//! What a handler's function returns enters, the contract's outcome for its hook leaves. No answer of one hook passes for
//! another's.

use std::fmt;

use serde_json::Value;

use super::approval::Approval;
use super::kinds::BeforeAgentRun;
use super::kinds::BeforeInstall;
use super::kinds::BeforeMessageWrite;
use super::kinds::BeforePromptBuild;
use super::kinds::BeforeToolCall;
use super::kinds::Hook;
use super::kinds::MessageSending;
use super::kinds::Observer;
use super::kinds::ToolResultPersist;
use crate::bindings::airlock::plugin::hook_types::GateVerdict;
use crate::bindings::airlock::plugin::hook_types::HookOutcome;
use crate::bindings::airlock::plugin::hook_types::MessageChange;
use crate::bindings::airlock::plugin::hook_types::MessageVerdict;
use crate::bindings::airlock::plugin::hook_types::PersistChange;
use crate::bindings::airlock::plugin::hook_types::PromptChanges;
use crate::bindings::airlock::plugin::hook_types::ToolVerdict;
use crate::bindings::airlock::plugin::hook_types::TranscriptMessage;
use crate::bindings::airlock::plugin::hook_types::WriteVerdict;

/// What the function of a handler of `H` may return.
#[diagnostic::on_unimplemented(
    message = "a handler of `{H}` cannot return `{Self}`",
    label = "not an answer to this hook",
    note = "`before_tool_call` returns `ToolVerdict`; `before_agent_run` and `before_install` return `GateVerdict`; `before_prompt_build` returns `PromptChanges`; `tool_result_persist` returns `PersistChange`; `before_message_write` returns `WriteVerdict`; `message_sending` returns `MessageVerdict`; the others only observe and return nothing",
    note = "an `Option` of the answer will do, and a `Result` of either with an error that can be displayed"
)]
pub trait IntoOutcome<H: Hook> {
    /// The outcome as the contract has it.
    ///
    /// # Errors
    ///
    /// A text for the operator: the handler failed.
    fn into_outcome(self) -> Result<HookOutcome, String>;
}

macro_rules! answers {
    ($($answer:ty => $($hook:ty),+ => $case:ident;)*) => {
        $($(impl IntoOutcome<$hook> for $answer {
            fn into_outcome(self) -> Result<HookOutcome, String> {
                Ok(HookOutcome::$case(self))
            }
        })+)*
    };
}

answers! {
    PromptChanges => BeforePromptBuild => Prompt;
    GateVerdict => BeforeAgentRun, BeforeInstall => Gate;
    ToolVerdict => BeforeToolCall => Tool;
    PersistChange => ToolResultPersist => Persist;
    WriteVerdict => BeforeMessageWrite => Write;
    MessageVerdict => MessageSending => Message;
}

impl<H: Observer> IntoOutcome<H> for () {
    fn into_outcome(self) -> Result<HookOutcome, String> {
        Ok(HookOutcome::None)
    }
}

/// `None` means that the handler has no opinion, or nothing to change.
impl<H: Hook, A: IntoOutcome<H>> IntoOutcome<H> for Option<A> {
    fn into_outcome(self) -> Result<HookOutcome, String> {
        self.map_or(Ok(HookOutcome::None), A::into_outcome)
    }
}

impl<H: Hook, A: IntoOutcome<H>, E: fmt::Display> IntoOutcome<H> for Result<A, E> {
    fn into_outcome(self) -> Result<HookOutcome, String> {
        self.map_err(|error| error.to_string())?.into_outcome()
    }
}

impl ToolVerdict {
    /// No opinion; the other handlers decide.
    pub fn pass() -> Self {
        Self::Pass
    }

    /// Changes arguments: the members of this object take the place of those of the same name, and the rest stays. The
    /// host validates what comes of it against the tool's schema, and blocks the call if it does not fit.
    #[expect(clippy::needless_pass_by_value, reason = "`json!` at the call site makes a value")]
    pub fn rewrite(changes: Value) -> Self {
        Self::Rewrite(changes.to_string())
    }

    /// The call is not made. No handler after this one is asked, and the model is told the reason.
    pub fn block(reason: impl fmt::Display) -> Self {
        Self::Block(reason.to_string())
    }

    /// A person decides.
    pub fn ask(approval: Approval) -> Self {
        Self::RequireApproval(approval.into_wit())
    }
}

impl GateVerdict {
    /// No opinion; the other handlers decide.
    pub fn pass() -> Self {
        Self::Pass
    }

    /// It does not happen, for this reason.
    pub fn block(reason: impl fmt::Display) -> Self {
        Self::Block(reason.to_string())
    }
}

impl PromptChanges {
    /// No context, and all tools of the turn.
    pub fn none() -> Self {
        Self { prepend_context: None, append_context: None, tools_allow: None }
    }

    /// Context before the prompt.
    #[must_use]
    pub fn prepending(mut self, context: impl Into<String>) -> Self {
        self.prepend_context = Some(context.into());
        self
    }

    /// Context after the prompt.
    #[must_use]
    pub fn appending(mut self, context: impl Into<String>) -> Self {
        self.append_context = Some(context.into());
        self
    }

    /// Leaves the turn only the tools that these entries name, of those that it has. No entry leaves it none.
    #[must_use]
    pub fn allowing<E: Into<String>>(mut self, entries: impl IntoIterator<Item = E>) -> Self {
        self.tools_allow = Some(entries.into_iter().map(Into::into).collect());
        self
    }
}

impl WriteVerdict {
    /// The message is written as it is.
    pub fn pass() -> Self {
        Self::Pass
    }

    /// This message is written in its place.
    pub fn replace(message: TranscriptMessage) -> Self {
        Self::Replace(message)
    }

    /// Nothing is written, for this reason.
    pub fn block(reason: impl fmt::Display) -> Self {
        Self::Block(reason.to_string())
    }
}

impl MessageVerdict {
    /// The message is sent as it is.
    pub fn pass() -> Self {
        Self::Pass
    }

    /// Another body and other metadata are sent to the same place.
    pub fn replace(change: MessageChange) -> Self {
        Self::Replace(change)
    }

    /// Nothing is sent, for this reason.
    pub fn cancel(reason: impl fmt::Display) -> Self {
        Self::Cancel(reason.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kinds::HostStart;
    use super::*;

    fn tool(answer: impl IntoOutcome<BeforeToolCall>) -> Result<HookOutcome, String> {
        answer.into_outcome()
    }

    #[test]
    fn a_verdict_may_be_absent_or_fail() {
        let block = HookOutcome::Tool(ToolVerdict::Block("no".to_owned()));
        assert_eq!(tool(ToolVerdict::block("no")), Ok(block.clone()));
        assert_eq!(tool(Some(ToolVerdict::block("no"))), Ok(block.clone()));
        assert_eq!(tool(None::<ToolVerdict>), Ok(HookOutcome::None));
        assert_eq!(tool(Ok::<_, String>(Some(ToolVerdict::block("no")))), Ok(block));
        assert_eq!(
            tool(Err::<ToolVerdict, _>(crate::ToolError::failed("no rules"))),
            Err("no rules".to_owned())
        );
        assert_eq!(IntoOutcome::<HostStart>::into_outcome(()), Ok(HookOutcome::None));
    }

    #[test]
    fn a_rewrite_is_json() {
        assert_eq!(
            ToolVerdict::rewrite(json!({ "dry": true })),
            ToolVerdict::Rewrite(r#"{"dry":true}"#.to_owned())
        );
    }

    #[test]
    fn prompt_changes_are_said_one_by_one() {
        let changes = PromptChanges::none().prepending("first").appending("last").allowing(["read"]);
        let expected = PromptChanges {
            prepend_context: Some("first".to_owned()),
            append_context: Some("last".to_owned()),
            tools_allow: Some(vec!["read".to_owned()]),
        };
        assert_eq!(changes, expected);
        assert_eq!(PromptChanges::none().allowing([""; 0]).tools_allow, Some(Vec::new()));
    }
}
