//! A reason enters; it leaves as the message of a panic on standard error. The call never returns.

use airlock_plugin::prelude::*;

#[arguments]
struct Panic {
    /// What the panic says.
    reason: String,
}

/// Panics with a message.
#[tool]
#[expect(clippy::panic, reason = "this is what the plugin is for")]
fn panic_now(arguments: Panic) -> String {
    panic!("this plugin panicked because: {}", arguments.reason)
}

plugin!(tools: [panic_now]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
