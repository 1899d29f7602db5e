//! A call enters; the guest traps without a word. It never writes a message.

use airlock_plugin::prelude::*;

/// Traps at once.
#[tool]
fn trap_now() -> &'static str {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    std::process::abort();
}

plugin!(tools: [trap_now]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
