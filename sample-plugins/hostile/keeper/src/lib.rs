//! Nothing enters; how many calls this instance has seen leaves: always one, where every call has its own.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;

use airlock_plugin::prelude::*;

static CALLS: AtomicU32 = AtomicU32::new(0);

/// Counts its calls in a global.
#[tool]
fn keep() -> String {
    format!("calls: {}", CALLS.fetch_add(1, Ordering::Relaxed) + 1)
}

plugin!(tools: [keep]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natively_it_does_remember() {
        assert_eq!(keep(), "calls: 1");
        assert_eq!(keep(), "calls: 2");
    }

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
