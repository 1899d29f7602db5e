//! Names that are not canonical.
use airlock_plugin::prelude::*;

/// Shouts.
#[tool(name = "Shout!")]
fn shout() -> &'static str {
    "!"
}

/// Whispers.
#[tool]
fn _whisper() -> &'static str {
    "."
}

fn main() {}
