//! Events and answers of other hooks.
use airlock_plugin::prelude::*;

#[hook(before_tool_call)]
fn other_event(run: &AgentRun) -> ToolVerdict {
    ToolVerdict::block(&run.prompt)
}

#[hook(before_tool_call)]
fn other_answer(attempt: &ToolAttempt) -> GateVerdict {
    GateVerdict::block(&attempt.tool)
}

#[hook(before_install)]
fn no_answer(_request: &InstallRequest) {}

#[hook(after_tool_call)]
fn answering_observer(_completion: &ToolCompletion) -> ToolVerdict {
    ToolVerdict::pass()
}

#[hook(message_sending)]
fn failing(_message: &Message) -> Result<MessageVerdict, ()> {
    Err(())
}

/// Waits.
#[tool]
fn wait() -> &'static str {
    ""
}

plugin!(tools: [], hooks: [wait]);

fn main() {}
