//! Factories that list nothing, or not with these words.
use airlock_plugin::prelude::*;

#[factory]
fn unlisted() -> Option<BoundTool> {
    None
}

#[factory(tools = [])]
fn empty() -> Option<BoundTool> {
    None
}

#[factory(names = [send])]
fn misspelt() -> Option<BoundTool> {
    None
}

fn main() {}
