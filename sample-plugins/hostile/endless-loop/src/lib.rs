//! A call enters, nothing leaves: the guest never yields and never returns. Only a deadline or fuel ends it.

use std::hint::black_box;

use airlock_plugin::prelude::*;

/// Computes for ever.
#[tool]
fn spin_forever() -> &'static str {
    let mut turns: u64 = 0;
    while black_box(turns) < u64::MAX {
        turns = turns.wrapping_add(1) % 1_000;
    }
    "unreachable"
}

plugin!(tools: [spin_forever]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
