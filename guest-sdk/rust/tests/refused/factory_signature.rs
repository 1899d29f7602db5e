//! Functions that cannot be factories.
use airlock_plugin::prelude::*;

/// Waits.
#[tool]
fn wait() -> &'static str {
    ""
}

#[factory(tools = [wait])]
fn nothing(run: &RunContext) {}

#[factory(tools = [wait])]
fn greedy(run: &RunContext, target: String) -> Option<BoundTool> {
    None
}

#[factory(tools = [wait])]
async fn later(run: &RunContext) -> Option<BoundTool> {
    None
}

fn main() {}
