//! Bindings that do not suit their tool.
use airlock_plugin::prelude::*;

#[binding]
struct Target {
    room: String,
}

#[binding]
struct Person {
    name: String,
}

/// Sends.
#[tool]
fn send(#[bound] target: Target) -> String {
    target.room
}

/// Waits.
#[tool]
fn wait(#[bound] target: &Target) -> String {
    target.room.clone()
}

/// Reads.
#[tool]
fn read(#[bound] room: String) -> String {
    room
}

#[factory(tools = [send])]
fn senders(run: &RunContext) -> [BoundTool; 2] {
    [send::bound(&Person { name: String::new() }), send::bound()]
}

fn main() {}
