//! A size enters, a result of that size leaves. It never fits into what a result may be.

use airlock_plugin::prelude::*;

#[arguments]
struct Flood {
    /// How much text to return, in MiB.
    #[serde(default = "three")]
    mebibytes: u16,
}

fn three() -> u16 {
    3
}

/// Returns very much text.
#[tool]
fn flood_output(arguments: Flood) -> String {
    "0123456789abcde\n".repeat(usize::from(arguments.mebibytes) * 65_536)
}

plugin!(tools: [flood_output]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
