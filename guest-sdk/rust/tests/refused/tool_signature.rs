//! Functions that cannot be tools.
use airlock_plugin::prelude::*;

/// Returns nothing.
#[tool]
fn nothing() {}

/// Takes too much.
#[tool]
fn greedy(left: String, right: String) -> String {
    left + &right
}

/// Waits in vain.
#[tool]
async fn later() -> String {
    String::new()
}

fn main() {}
