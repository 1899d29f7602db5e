//! An option that does not exist.
use airlock_plugin::prelude::*;

/// Waits.
#[tool(required)]
fn wait() -> &'static str {
    ""
}

fn main() {}
