//! Functions that cannot be handlers.
use airlock_plugin::prelude::*;

#[hook(before_tool_call)]
fn by_value(attempt: ToolAttempt) -> ToolVerdict {
    ToolVerdict::pass()
}

#[hook(before_tool_call)]
fn run_first(run: &RunContext, attempt: &ToolAttempt) -> ToolVerdict {
    ToolVerdict::pass()
}

#[hook(session_start)]
fn always_in_a_run(event: &SessionEvent, run: &RunContext) {}

#[hook(host_start)]
fn told_nothing(run: &RunContext) {}

#[hook(before_tool_call)]
async fn later(attempt: &ToolAttempt) -> ToolVerdict {
    ToolVerdict::pass()
}

fn main() {}
