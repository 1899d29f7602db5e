//! Options that a hook does not have.
use airlock_plugin::prelude::*;

#[hook(before_tool_call, tools = ["exec", "bash"])]
fn aliased() -> ToolVerdict {
    ToolVerdict::pass()
}

#[hook(after_tool_call, tools = ["Exec"])]
fn malformed() {}

#[hook(agent_end, tools = ["exec"])]
fn about_no_tool() {}

#[hook(session_end, timeout_ms = 5_000)]
fn patient() {}

#[hook(message_sent, priority = 3)]
fn pushing() {}

#[hook(before_tool_call, order = 3)]
fn unknown() -> ToolVerdict {
    ToolVerdict::pass()
}

fn main() {}
