//! A size enters; floods of output and log lines leave, and then an ordinary result. However much of them is thrown
//! away, the call never fails for it.

use std::io::Write;

use airlock_plugin::prelude::*;

#[arguments]
struct Chatter {
    /// How much to write to each stream, in MiB.
    #[serde(default = "one")]
    mebibytes: u16,
}

fn one() -> u16 {
    1
}

/// Log lines a call.
const LOG_LINES: u32 = 4_000;

/// Writes to standard output, standard error and the log, then says `done`.
#[tool]
fn chatter(arguments: Chatter) -> Result<&'static str, Box<dyn std::error::Error>> {
    let flood = "chatter, chatter\n".repeat(usize::from(arguments.mebibytes) * 61_681);
    let long_line = "x".repeat(64 * 1024);
    let mut output = std::io::stdout().lock();
    let mut errors = std::io::stderr().lock();
    // Bytes that are no UTF-8 come first, where a cap cannot hide them.
    output.write_all(b"\xff\xfe\xc3\x28 not text\n")?;
    output.write_all(flood.as_bytes())?;
    output.write_all(long_line.as_bytes())?;
    output.flush()?;
    errors.write_all(flood.as_bytes())?;
    errors.flush()?;
    log::warn!("{long_line}");
    for line in 0..LOG_LINES {
        log::info!("line {line} of {LOG_LINES}");
    }
    Ok("done")
}

plugin!(tools: [chatter]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
