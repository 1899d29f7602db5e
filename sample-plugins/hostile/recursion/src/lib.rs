//! A call enters; stack frames pile up until there is no stack. It never returns.

use std::hint::black_box;

use airlock_plugin::prelude::*;

/// Recurses without end.
#[tool]
fn recurse() -> String {
    descend(0).to_string()
}

/// The frames carry locals, so the stack in linear memory is used up before the engine's.
#[expect(unconditional_recursion, reason = "this is what the plugin is for")]
fn descend(depth: u64) -> u64 {
    let locals = black_box([depth; 64]);
    descend(depth.wrapping_add(1)).wrapping_add(locals.iter().copied().fold(0, u64::wrapping_add))
}

plugin!(tools: [recurse]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
