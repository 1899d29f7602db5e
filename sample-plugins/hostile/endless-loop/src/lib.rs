//! A call enters, nothing leaves: the guest never yields and never returns. Only a deadline or fuel ends it.

use std::hint::black_box;

use airlock_plugin::prelude::*;

/// Computes for ever.
#[tool]
fn spin_forever() -> &'static str {
    // A chain of divisions: the slowest instructions that fuel counts as one, so that time runs out first.
    let mut value = black_box(u64::MAX);
    while black_box(value) != 0 {
        for _ in 0..64 {
            value = (u64::MAX - 58) / (value | 3);
        }
        value |= 1;
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
