//! `airlock calibrate`: cases enter; what the tool's calls use, and limits that would fit, leave. It calls the tool for real
//! and changes no configuration.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use airlock_core::{Call, CallError, GuestReceipt, Surface, ToolName, text};
use serde::Serialize;

use crate::arguments::{CalibrateCommand, Format};
use crate::failure::Failure;
use crate::page::{self, ERROR, FAINT, STRONG};
use crate::setup::Setup;

/// Largest file of cases, in bytes: sixteen times the largest arguments.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Most cases; more would not be written by hand.
const MAX_CASES: usize = 1_000;

/// Shortest time that is proposed, in milliseconds: a busy machine makes any call wait that long now and then.
const MIN_TIMEOUT_MS: u64 = 100;

/// A page of WebAssembly memory, in bytes; memory grows by whole ones.
const PAGE_BYTES: u64 = 64 << 10;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    tool: String,
    plugin: String,
    cases: usize,
    calls: usize,
    /// Cases with calls that did not complete; what those used counts for nothing.
    failed: Vec<FailedCase>,
    #[serde(flatten)]
    measured: Option<Measured>,
}

#[derive(Debug, Serialize)]
struct FailedCase {
    /// Its line in the file, from 1.
    line: usize,
    kind: &'static str,
    message: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Measured {
    fuel: Spread,
    memory_bytes: Spread,
    wall_us: Spread,
    proposal: Proposal,
}

/// What calls used of one thing, and the limit that they ran under.
#[derive(Debug, Clone, Copy, Serialize)]
struct Spread {
    min: u64,
    median: u64,
    p95: u64,
    max: u64,
    limit: u64,
}

/// Limits as `[plugins.entries.ID.tool-limits]` takes them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Proposal {
    timeout_ms: u64,
    fuel: u64,
    memory_bytes: u64,
}

pub(crate) async fn run(command: &CalibrateCommand, setup: &Setup) -> Result<ExitCode, Failure> {
    let cases = read(&command.cases)?;
    let surface = setup.with_progress(setup.host.assemble(command.run.context()?)).await;
    let (tool, plugin) = subject(&command.name, &surface)?;
    let (mut receipts, mut failed) = (Vec::new(), Vec::new());
    for (line, arguments) in &cases {
        for _ in 0..command.rounds {
            let outcome = surface.call(Call::from_json(tool.as_str(), arguments.as_str())).await;
            match (&outcome.error, outcome.receipt.guest) {
                (None, Some(receipt)) => receipts.push(receipt),
                _ => {
                    // One call says enough about a case that does not work.
                    failed.push(failed_case(*line, &outcome.error));
                    break;
                }
            }
        }
    }
    let document = Document {
        tool: tool.to_string(),
        plugin,
        cases: cases.len(),
        calls: receipts.len(),
        failed,
        measured: measure(&receipts),
    };
    setup.close().await?;
    match setup.format {
        Format::Json => page::json(&document)?,
        Format::Human => show(&document)?,
    }
    Ok(if document.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn failed_case(line: usize, error: &Option<CallError>) -> FailedCase {
    match error {
        Some(error) => FailedCase { line, kind: error.kind.as_str(), message: error.message.clone() },
        None => FailedCase { line, kind: "completed", message: "it has no receipt".to_owned() },
    }
}

/// The cases with their lines: one JSON document a line, blank lines left out. Whether they fit is for acceptance to say.
fn read(path: &Path) -> Result<Vec<(usize, String)>, Failure> {
    let shown = path.display();
    let mut source = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut source))
        .map_err(|error| Failure::usage(format!("the cases cannot be read from {shown}: {error}")))?;
    if source.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::usage(format!("{shown} has more than {MAX_FILE_BYTES} bytes")));
    }
    let lines = source.lines().enumerate().map(|(place, line)| (place + 1, line.trim()));
    let cases: Vec<_> =
        lines.filter(|(_, line)| !line.is_empty()).map(|(line, text)| (line, text.to_owned())).collect();
    match cases.len() {
        0 => Err(Failure::usage(format!("{shown} has no cases: write the arguments of one call a line"))),
        1..=MAX_CASES => Ok(cases),
        many => Err(Failure::usage(format!("{shown} has {many} cases, the most is {MAX_CASES}"))),
    }
}

/// The tool and its plugin; only a guest has limits.
fn subject(written: &str, surface: &Surface) -> Result<(ToolName, String), Failure> {
    let shown = text::single_line(written);
    let exposed = ToolName::canonicalise(written).ok().and_then(|name| surface.tool(&name));
    let Some(exposed) = exposed else {
        let message =
            format!("no tool `{shown}` is on the surface of this run: `airlock explain {shown}` says why");
        return Err(Failure::usage(message));
    };
    if exposed.origin.is_none() {
        return Err(Failure::usage(format!("`{shown}` is a native tool, and has no limits")));
    }
    Ok((exposed.tool.name.clone(), exposed.owner.to_string()))
}

fn measure(receipts: &[GuestReceipt]) -> Option<Measured> {
    let first = receipts.first()?;
    let spread = |limit: u64, used: &dyn Fn(&GuestReceipt) -> u64| {
        let mut all: Vec<u64> = receipts.iter().map(used).collect();
        all.sort_unstable();
        // Nearest rank: the smallest value that so many percent of the calls do not exceed.
        let at = |percent: usize| {
            all.get((all.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default()
        };
        Spread { min: at(0), median: at(50), p95: at(95), max: at(100), limit }
    };
    let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let fuel = spread(first.fuel_limit, &|receipt| receipt.usage.fuel);
    let memory_bytes = spread(first.memory_limit_bytes, &|receipt| receipt.usage.peak_memory_bytes);
    let wall_us = spread(first.timeout_ms.saturating_mul(1_000), &|receipt| micros(receipt.usage.wall.0));
    let proposal = Proposal {
        timeout_ms: (round(wall_us.max.saturating_mul(10)).div_ceil(1_000))
            .max(MIN_TIMEOUT_MS)
            .min(first.timeout_ms),
        fuel: round(fuel.max.saturating_mul(2)).max(1_000).min(fuel.limit),
        memory_bytes: (memory_bytes.max / 2 * 3).next_multiple_of(PAGE_BYTES).min(memory_bytes.limit),
    };
    Some(Measured { fuel, memory_bytes, wall_us, proposal })
}

/// The next number with two digits and zeros, which is as exact as a proposal is.
fn round(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or_default().saturating_sub(1));
    number.checked_next_multiple_of(unit).unwrap_or(number)
}

fn show(document: &Document) -> std::io::Result<()> {
    let mut output = page::standard_output();
    let Document { tool, plugin, cases, calls, failed, measured } = document;
    writeln!(output, "{STRONG}{tool}{STRONG:#} {FAINT}{cases} cases, {calls} calls that completed{FAINT:#}")?;
    for case in failed {
        writeln!(output, "{ERROR}line {}: {}{ERROR:#} {}", case.line, case.kind, case.message)?;
    }
    let Some(Measured { fuel, memory_bytes, wall_us, proposal }) = measured else { return Ok(()) };
    let time = |micros: u64| page::duration(Duration::from_micros(micros));
    let row = |name: &str, spread: &Spread, shown: &dyn Fn(u64) -> String| {
        [
            name.to_owned(),
            shown(spread.min),
            shown(spread.median),
            shown(spread.p95),
            shown(spread.max),
            shown(spread.limit),
        ]
    };
    let rows = [
        row("fuel", fuel, &page::grouped),
        row("memory", memory_bytes, &page::bytes),
        row("time", wall_us, &time),
    ];
    writeln!(output)?;
    page::table(&mut output, ["", "LEAST", "MEDIAN", "95 %", "MOST", "LIMIT NOW"], &rows)?;
    writeln!(
        output,
        "\n{FAINT}# Ten times the longest time, twice the most fuel, half as much memory again.{FAINT:#}\n\
         [plugins.entries.{plugin}.tool-limits]\n\
         {tool} = {{ timeout-ms = {}, fuel = {}, memory-bytes = {} }}",
        proposal.timeout_ms, proposal.fuel, proposal.memory_bytes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_are_round() {
        let numbers = [0, 7, 99, 100, 101, 1_234, 987_654, u64::MAX];
        assert_eq!(numbers.map(round), [0, 7, 99, 100, 110, 1_300, 990_000, u64::MAX]);
    }
}
