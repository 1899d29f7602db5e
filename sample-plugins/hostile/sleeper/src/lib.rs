//! A duration enters; after it, a word leaves. While it sleeps the guest waits in the host and burns no fuel.

use std::time::Duration;

use airlock_plugin::prelude::*;

#[arguments]
struct Nap {
    /// How long to sleep, in milliseconds.
    milliseconds: u64,
}

/// Sleeps.
#[tool]
fn sleep(arguments: Nap) -> String {
    std::thread::sleep(Duration::from_millis(arguments.milliseconds));
    format!("slept for {} ms", arguments.milliseconds)
}

plugin!(tools: [sleep]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
