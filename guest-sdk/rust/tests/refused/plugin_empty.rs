//! A plugin without anything.
airlock_plugin::plugin!();

fn main() {}
