//! A hook's name as an author writes it enters, what is known of the hook leaves, or the name that was probably meant. The
//! list is the contract's.

use proc_macro2::Span;
use syn::Error;
use syn::Ident;
use syn::Result;

/// What the macro must know of a hook. Which event and answer it has, the types know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hook {
    /// As in `#[hook(…)]`.
    pub(crate) name: &'static str,
    /// The type in `airlock_plugin::hooks`.
    pub(crate) kind: &'static str,
    /// What the function is told, for messages; nothing where the name says it all.
    pub(crate) event: Option<&'static str>,
    /// Whether every event of it belongs to a run.
    pub(crate) has_run: bool,
    /// What the function returns, for messages; nothing where handlers only observe, side by side.
    pub(crate) answer: Option<&'static str>,
    /// Whether it is about one tool.
    pub(crate) is_about_a_tool: bool,
    /// The most that a handler may ask for.
    pub(crate) default_timeout_ms: u32,
}

/// A hook that may belong to no run and only observes.
const fn hook(name: &'static str, kind: &'static str, event: &'static str, default_timeout_ms: u32) -> Hook {
    let event = Some(event);
    Hook { name, kind, event, answer: None, has_run: false, is_about_a_tool: false, default_timeout_ms }
}

impl Hook {
    const fn answered_by(self, answer: &'static str) -> Self {
        Self { answer: Some(answer), ..self }
    }

    const fn of_a_run(self) -> Self {
        Self { has_run: true, ..self }
    }

    const fn of_a_tool(self) -> Self {
        Self { has_run: true, is_about_a_tool: true, ..self }
    }

    const fn without_event(self) -> Self {
        Self { event: None, ..self }
    }
}

/// All of them, in the contract's order.
pub(crate) const HOOKS: [Hook; 17] = [
    hook("before_prompt_build", "BeforePromptBuild", "PromptBuild", 15_000)
        .answered_by("PromptChanges")
        .of_a_run(),
    hook("before_agent_run", "BeforeAgentRun", "AgentRun", 15_000).answered_by("GateVerdict").of_a_run(),
    hook("before_tool_call", "BeforeToolCall", "ToolAttempt", 15_000).answered_by("ToolVerdict").of_a_tool(),
    hook("after_tool_call", "AfterToolCall", "ToolCompletion", 30_000).of_a_tool(),
    hook("tool_result_persist", "ToolResultPersist", "PersistRecord", 5_000)
        .answered_by("PersistChange")
        .of_a_tool(),
    hook("before_message_write", "BeforeMessageWrite", "TranscriptMessage", 5_000)
        .answered_by("WriteVerdict"),
    hook("message_received", "MessageReceived", "Message", 30_000),
    hook("message_sending", "MessageSending", "Message", 5_000).answered_by("MessageVerdict"),
    hook("message_sent", "MessageSent", "MessageReceipt", 30_000),
    hook("session_start", "SessionStart", "SessionEvent", 30_000),
    hook("session_end", "SessionEnd", "SessionEvent", 2_000),
    hook("agent_end", "AgentEnd", "AgentSummary", 30_000).of_a_run(),
    hook("before_install", "BeforeInstall", "InstallRequest", 15_000).answered_by("GateVerdict"),
    hook("subagent_spawned", "SubagentSpawned", "SubagentEvent", 30_000),
    hook("subagent_ended", "SubagentEnded", "SubagentEvent", 30_000),
    hook("host_start", "HostStart", "", 30_000).without_event(),
    hook("host_stop", "HostStop", "", 2_000).without_event(),
];

/// The hook of this name.
///
/// # Errors
///
/// There is none; the message names the closest one.
pub(crate) fn find(name: &Ident) -> Result<Hook> {
    let written = name.to_string();
    HOOKS.into_iter().find(|hook| hook.name == written).ok_or_else(|| unknown(&written, name.span()))
}

/// Refuses a name that no hook has.
pub(crate) fn unknown(written: &str, span: Span) -> Error {
    let snake = written.to_lowercase().replace('-', "_");
    let message =
        HOOKS.iter().min_by_key(|hook| distance(hook.name, &snake)).map_or_else(String::new, |closest| {
            let closest = closest.name;
            format!(
                "there is no hook `{written}`; the closest one is `{closest}`: write `#[hook({closest})]`"
            )
        });
    Error::new(span, message)
}

/// How many characters must be changed, added or taken away to make one of the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, character) in left.chars().enumerate() {
        let mut next = vec![index + 1];
        for ((pair, other), before) in row.windows(2).zip(&right).zip(0..) {
            let [diagonal, above] = *pair else { continue };
            let beside = next.get::<usize>(before).copied().unwrap_or_default();
            next.push((diagonal + usize::from(character != *other)).min(above + 1).min(beside + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[track_caller]
    fn check(written: &str, expected: &str) {
        let message = unknown(written, Span::call_site()).to_string();
        assert!(message.contains(&format!("closest one is `{expected}`")), "{message}");
    }

    #[test]
    fn every_name_is_there_once() {
        let names: BTreeSet<&str> = HOOKS.iter().map(|hook| hook.name).collect();
        let kinds: BTreeSet<&str> = HOOKS.iter().map(|hook| hook.kind).collect();
        assert_eq!((names.len(), kinds.len()), (HOOKS.len(), HOOKS.len()));
    }

    #[test]
    fn a_misspelt_name_has_a_closest_one() {
        check("before_tool_cal", "before_tool_call");
        check("before-tool-call", "before_tool_call");
        check("BeforeToolCall", "before_tool_call");
        check("tool_result", "tool_result_persist");
        check("message_send", "message_sent");
        check("on_host_stop", "host_stop");
    }

    #[test]
    fn distances() {
        for (left, right, expected) in
            [("", "", 0), ("abc", "", 3), ("abc", "abd", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(left, right), expected, "{left} {right}");
            assert_eq!(distance(right, left), expected, "{right} {left}");
        }
    }
}
