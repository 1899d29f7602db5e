//! Tools that stand in a place where they cannot.
use airlock_plugin::prelude::*;

#[binding]
pub struct Target {
    room: String,
}

/// Sends.
#[tool]
pub fn send(#[bound] target: Target) -> String {
    target.room
}

/// Waits.
#[tool]
pub fn wait() -> &'static str {
    ""
}

/// Waits longer.
#[tool(name = "wait", optional)]
pub fn linger() -> &'static str {
    ""
}

#[factory(tools = [send, wait])]
pub fn messengers() -> Option<BoundTool> {
    None
}

#[factory(tools = [send])]
pub fn couriers() -> Option<BoundTool> {
    None
}

#[factory(tools = [linger])]
pub fn loungers() -> Option<BoundTool> {
    None
}

#[factory(tools = [send, send])]
pub fn twins() -> Option<BoundTool> {
    None
}

#[hook(host_stop)]
pub fn stopped() {}

mod one_handler_twice {
    airlock_plugin::plugin!(hooks: [super::stopped, super::stopped]);
}

mod one_name_twice {
    airlock_plugin::plugin!(tools: [super::wait, super::linger]);
}

mod static_and_made {
    airlock_plugin::plugin!(tools: [super::wait], factories: [super::messengers]);
}

mod two_factories {
    airlock_plugin::plugin!(factories: [super::messengers, super::couriers]);
}

mod one_factory_twice {
    airlock_plugin::plugin!(factories: [super::twins]);
}

mod static_and_bound {
    airlock_plugin::plugin!(tools: [super::send]);
}

mod optional_in_required {
    airlock_plugin::plugin!(factories: [super::loungers]);
}

fn main() {}
