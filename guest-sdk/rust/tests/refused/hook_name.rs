//! Hooks that do not exist, or are not named.
use airlock_plugin::prelude::*;

#[hook(before_tool_cal)]
fn misspelt(attempt: &ToolAttempt) -> ToolVerdict {
    ToolVerdict::pass()
}

#[hook("tool-result-persist")]
fn quoted(record: &PersistRecord) -> Option<PersistChange> {
    None
}

#[hook]
fn unnamed(attempt: &ToolAttempt) -> ToolVerdict {
    ToolVerdict::pass()
}

fn main() {}
