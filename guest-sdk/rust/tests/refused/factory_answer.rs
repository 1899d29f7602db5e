//! Answers and lists that hold something else than tools.
use airlock_plugin::prelude::*;

/// Waits.
#[tool]
fn wait() -> &'static str {
    ""
}

fn helper() {}

#[allow(non_camel_case_types)]
enum helper {}

#[factory(tools = [wait])]
fn names() -> Vec<String> {
    Vec::new()
}

#[factory(tools = [helper])]
fn helpers() -> Vec<BoundTool> {
    Vec::new()
}

plugin!(tools: [], factories: [wait]);

fn main() {}
