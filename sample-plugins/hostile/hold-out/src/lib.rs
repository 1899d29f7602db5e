//! A call enters; one log message of 8 MiB leaves before the result. It is more than the host may copy for one call.

use airlock_plugin::prelude::*;

/// Bytes of the one message.
const MESSAGE: usize = 8 << 20;

/// Logs a huge message, then says `logged`.
#[tool]
fn huge_log() -> &'static str {
    log::log(log::Level::Info, &"h".repeat(MESSAGE));
    "logged"
}

plugin!(tools: [huge_log]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
