//! One hook handler: what `#[hook]` knows about a function enters, its registration and the answer to an event leave. It
//! never answers an event of another hook, and never keeps anything from one event to the next.

pub(crate) mod answer;
pub(crate) mod approval;
pub(crate) mod event;
mod json;
pub mod kinds;

use crate::RunContext;
use crate::bindings::airlock::plugin::hook_types::HookEvent;
use crate::bindings::airlock::plugin::hook_types::HookName;
use crate::bindings::airlock::plugin::hook_types::HookOptions;
use crate::bindings::airlock::plugin::hook_types::HookOutcome;

use self::kinds::Hook;

pub use self::answer::IntoOutcome;

/// A function as a hook handler. [`#[hook]`](macro@crate::hook) implements it for a type that has the function's name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a hook handler",
    note = "write `#[hook(before_tool_call)]`, or another hook's name, above the function and list the function's name"
)]
pub trait Handler {
    /// The function's name, for messages to its author.
    const NAME: &'static str;
    /// Higher runs earlier; means nothing to an observer.
    const PRIORITY: i32;
    /// What the handler asks for, if it is less than the hook's default.
    const TIMEOUT_MS: Option<u32>;
    /// The tools that it is limited to; none means every tool that it may see.
    const TOOLS: &'static [&'static str];
    /// Which hook it handles.
    type Hook: Hook;
    /// What the function returns.
    type Answer: IntoOutcome<Self::Hook>;

    /// Calls the function.
    ///
    /// # Errors
    ///
    /// The function needs a run and the event belongs to none.
    fn run(event: &<Self::Hook as Hook>::Event, run: Option<&RunContext>) -> Result<Self::Answer, String>;
}

/// A [`Handler`] as a value, so that handlers of different hooks stand in one list.
#[derive(Debug, Clone, Copy)]
pub struct HandlerEntry {
    name: &'static str,
    hook: HookName,
    priority: i32,
    timeout_ms: Option<u32>,
    tools: &'static [&'static str],
    answer: fn(HookEvent, Option<&RunContext>) -> Result<HookOutcome, String>,
}

impl HandlerEntry {
    /// The entry of the handler `H`.
    pub const fn of<H: Handler>() -> Self {
        Self {
            name: H::NAME,
            hook: H::Hook::NAME,
            priority: H::PRIORITY,
            timeout_ms: H::TIMEOUT_MS,
            tools: H::TOOLS,
            answer: answer::<H>,
        }
    }

    /// The name of the handler's function.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Which hook it handles.
    pub const fn hook(&self) -> HookName {
        self.hook
    }

    pub(crate) fn options(&self) -> HookOptions {
        HookOptions {
            priority: self.priority,
            timeout_ms: self.timeout_ms,
            tools: self.tools.iter().map(|&tool| tool.to_owned()).collect(),
        }
    }

    pub(crate) fn answer(&self, event: HookEvent, run: Option<&RunContext>) -> Result<HookOutcome, String> {
        (self.answer)(event, run)
    }
}

fn answer<H: Handler>(event: HookEvent, run: Option<&RunContext>) -> Result<HookOutcome, String> {
    let event = H::Hook::read(event)?;
    H::run(&event, run)?.into_outcome()
}

/// The run of an event whose handler cannot do without one.
///
/// # Errors
///
/// There is none.
#[doc(hidden)]
pub fn needed(run: Option<&RunContext>) -> Result<&RunContext, String> {
    run.ok_or_else(|| "the handler needs a run, and this event belongs to none".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::prelude::*;
    use crate::testing;

    #[hook(before_tool_call, priority = -3, tools = ["exec"], timeout_ms = 500)]
    fn no_shell(attempt: &ToolAttempt, run: &RunContext) -> ToolVerdict {
        if attempt.params()["command"] == "rm" {
            return ToolVerdict::block(format_args!("{} may not remove", run.agent_id));
        }
        ToolVerdict::pass()
    }

    #[hook(agent_end)]
    fn ended(summary: &AgentSummary) -> Result<(), &'static str> {
        if summary.success { Ok(()) } else { Err("the agent failed") }
    }

    #[hook(session_start)]
    fn started(_event: &SessionEvent, run: Option<&RunContext>) -> Result<(), String> {
        run.map_or(Ok(()), |run| Err(run.run_id.clone()))
    }

    #[hook(host_stop)]
    fn stopped() {}

    fn attempt(command: &str) -> HookEvent {
        kinds::BeforeToolCall::write(testing::tool_attempt("exec", json!({ "command": command })))
    }

    #[test]
    fn options_are_those_of_the_attribute() {
        let entry = HandlerEntry::of::<no_shell>();
        let expected = HookOptions { priority: -3, timeout_ms: Some(500), tools: vec!["exec".to_owned()] };
        assert_eq!((entry.name(), entry.hook()), ("no_shell", HookName::BeforeToolCall));
        assert_eq!(entry.options(), expected);
        let plain = HookOptions { priority: 0, timeout_ms: None, tools: Vec::new() };
        assert_eq!(HandlerEntry::of::<stopped>().options(), plain);
    }

    #[test]
    fn an_event_reaches_the_function() {
        let entry = HandlerEntry::of::<no_shell>();
        let run = testing::run_context();
        let verdict = |verdict| Ok(HookOutcome::Tool(verdict));
        assert_eq!(entry.answer(attempt("ls"), Some(&run)), verdict(ToolVerdict::Pass));
        assert_eq!(
            entry.answer(attempt("rm"), Some(&run)),
            verdict(ToolVerdict::block("main may not remove"))
        );
        assert_eq!(HandlerEntry::of::<stopped>().answer(HookEvent::HostStop, None), Ok(HookOutcome::None));
    }

    #[test]
    fn what_goes_wrong_is_a_text() {
        let entry = HandlerEntry::of::<no_shell>();
        assert!(entry.answer(attempt("ls"), None).unwrap_err().contains("belongs to none"));
        assert_eq!(
            entry.answer(HookEvent::HostStart, None).unwrap_err(),
            "the handler is for `before-tool-call` and was handed an event of `host-start`"
        );
        let summary =
            AgentSummary { run_id: "run-1".to_owned(), success: false, error: None, duration_ms: 1 };
        let ended = HandlerEntry::of::<ended>().answer(HookEvent::AgentEnd(summary), None);
        assert_eq!(ended.unwrap_err(), "the agent failed");
    }

    #[test]
    fn an_event_may_belong_to_no_run() {
        let event = || {
            let (session_id, reason) = ("session-1".to_owned(), "new".to_owned());
            HookEvent::SessionStart(SessionEvent { session_id, reason })
        };
        let entry = HandlerEntry::of::<started>();
        assert_eq!(entry.answer(event(), None), Ok(HookOutcome::None));
        assert_eq!(entry.answer(event(), Some(&testing::run_context())), Err("run-1".to_owned()));
    }
}
