//! A call enters; the guest allocates and touches memory until it is refused. It never frees any.

use std::hint::black_box;

use airlock_plugin::prelude::*;

/// Bytes a step.
const CHUNK: usize = 1 << 20;

/// Allocates memory without end.
#[tool]
fn hog_memory() -> String {
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    // Ends natively too, at a size that no instance may have.
    while chunks.len() < 8 * 1024 {
        chunks.push(black_box(vec![0xa5; CHUNK]));
    }
    format!("got {} MiB", chunks.len())
}

plugin!(tools: [hog_memory]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
