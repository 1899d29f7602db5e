//! A tool without a doc comment.
use airlock_plugin::prelude::*;

#[tool]
fn silent() -> &'static str {
    "…"
}

fn main() {}
