//! Events enter, one line of the log each leaves: a JSON object with names, kinds, counts and durations. It never logs contents,
//! keeps nothing from one event to the next, and decides nothing.
//!
//! Without tools of its own it sees nothing until `grants.hooks` of its entry names its hooks.

use airlock_plugin::HookName;
use airlock_plugin::prelude::*;
use airlock_plugin::serde_json::Value;

mod line;

use crate::line::Line;

#[hook(after_tool_call)]
fn call_ended(completion: &ToolCompletion, run: &RunContext) {
    tell(HookName::AfterToolCall, line::of_completion(completion), Some(run));
}

#[hook(message_received)]
fn message_received(message: &Message, run: Option<&RunContext>) {
    tell(HookName::MessageReceived, line::of_message(message), run);
}

#[hook(message_sent)]
fn message_sent(receipt: &MessageReceipt, run: Option<&RunContext>) {
    tell(HookName::MessageSent, line::of_receipt(receipt), run);
}

#[hook(session_start)]
fn session_started(event: &SessionEvent, run: Option<&RunContext>) {
    tell(HookName::SessionStart, line::of_session(event), run);
}

#[hook(session_end)]
fn session_ended(event: &SessionEvent, run: Option<&RunContext>) {
    tell(HookName::SessionEnd, line::of_session(event), run);
}

#[hook(agent_end)]
fn agent_ended(summary: &AgentSummary, run: &RunContext) {
    tell(HookName::AgentEnd, line::of_agent(summary), Some(run));
}

#[hook(subagent_spawned)]
fn child_spawned(event: &SubagentEvent, run: Option<&RunContext>) {
    tell(HookName::SubagentSpawned, line::of_child(event), run);
}

#[hook(subagent_ended)]
fn child_ended(event: &SubagentEvent, run: Option<&RunContext>) {
    tell(HookName::SubagentEnded, line::of_child(event), run);
}

#[hook(host_start)]
fn host_started() {
    tell(HookName::HostStart, Line::new(), None);
}

#[hook(host_stop)]
fn host_stopped() {
    tell(HookName::HostStop, Line::new(), None);
}

plugin!(hooks: [
    call_ended,
    message_received,
    message_sent,
    session_started,
    session_ended,
    agent_ended,
    child_spawned,
    child_ended,
    host_started,
    host_stopped,
]);

fn tell(hook: HookName, line: Line, run: Option<&RunContext>) {
    log::info!("{}", complete(hook, line, run));
}

/// The line with what every line has.
fn complete(hook: HookName, mut line: Line, run: Option<&RunContext>) -> Value {
    line.insert("event".to_owned(), hook.as_str().into());
    if let Some(run) = run {
        line.insert("run".to_owned(), run.run_id.as_str().into());
    }
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use airlock_plugin::HookOutcome;
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn a_line_says_what_happened_and_in_which_run() {
        let run = testing::run_context();
        let event = SessionEvent { session_id: "session-1".to_owned(), reason: "new".to_owned() };
        let line = complete(HookName::SessionEnd, line::of_session(&event), Some(&run));
        assert_eq!(line, json!({ "event": "session-end", "session": "session-1", "run": "run-1" }));
        let line = complete(HookName::HostStop, Line::new(), None);
        assert_eq!(line.to_string(), r#"{"event":"host-stop"}"#);
    }

    #[test]
    fn every_handler_only_observes() {
        let session = SessionEvent { session_id: "session-1".to_owned(), reason: "new".to_owned() };
        assert_eq!(testing::emit_in::<Plugin, session_started>(session, None), Ok(HookOutcome::None));
        assert_eq!(testing::emit_in::<Plugin, host_started>((), None), Ok(HookOutcome::None));
        let problem = ToolProblem { kind: "blocked".to_owned(), message: "no".to_owned() };
        let completion = testing::tool_completion("read", json!({}), ToolOutcome::Blocked(problem));
        assert_eq!(testing::emit::<Plugin, call_ended>(completion), Ok(HookOutcome::None));
    }
}
