//! `airlock call`: one governed call, from the command line's arguments to its outcome.

use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use airlock_core::{Call, Content, Outcome, ProgressSink, text};
use tokio_util::sync::CancellationToken;

use crate::approver::is_interactive;
use crate::arguments::{CallCommand, Format};
use crate::failure::Failure;
use crate::page::{self, ERROR, FAINT, GOOD, STRONG};
use crate::setup::Setup;

/// More than acceptance will take, so that a file that is too large is refused there, with its size.
const MAX_PARAMETER_BYTES: u64 = 2 << 20;

pub(crate) async fn run(command: &CallCommand, setup: &Setup) -> Result<ExitCode, Failure> {
    let arguments = parameters(&command.params)?;
    let mut run = command.run.context()?;
    run.interactive |= is_interactive(command.approve);
    let surface = setup.with_progress(setup.host.assemble(run)).await;
    let cancellation = CancellationToken::new();
    let call = Call::from_json(&command.name, arguments).cancellation(cancellation.clone()).on_progress(
        ProgressSink::new(|progress| {
            let total = progress.total.map_or_else(String::new, |total| format!("/{total}"));
            page::note(format_args!(
                "{FAINT}{}{total} {}{FAINT:#}",
                progress.done,
                progress.message.unwrap_or_default()
            ));
        }),
    );
    let call = if command.dry_run { call.dry_run() } else { call };
    setup.host.start().await;
    let interrupt = async {
        if told_to_end().await.is_ok() {
            cancellation.cancel();
        }
        std::future::pending::<Infallible>().await
    };
    let outcome = tokio::select! {
        outcome = surface.call(call) => outcome,
        never = interrupt => match never {},
    };
    outcome.log.iter().for_each(page::log_line);
    let closed = setup.close().await;
    match setup.format {
        Format::Json => page::json(&outcome)?,
        Format::Human => show(&outcome)?,
    }
    closed?;
    Ok(ExitCode::from(outcome.kind.exit_code()))
}

/// Waits for Ctrl-C, and for what else tells a program to end: the call is to be stopped then and to leave nothing behind.
async fn told_to_end() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut terminate, mut hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
        tokio::select! {
            ended = tokio::signal::ctrl_c() => ended,
            _ = terminate.recv() => Ok(()),
            _ = hang_up.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

/// The arguments themselves, from a file after `@`, or from standard input for `-`.
fn parameters(written: &str) -> Result<String, Failure> {
    let (name, read) = match written.strip_prefix('@') {
        Some(path) => (path, std::fs::File::open(path).and_then(bounded)),
        None if written == "-" => ("standard input", bounded(std::io::stdin())),
        None => return Ok(written.to_owned()),
    };
    read.map_err(|error| Failure::usage(format!("the arguments cannot be read from {name}: {error}")))
}

/// The whole text, or an error if there is more than any call would accept.
fn bounded(source: impl std::io::Read) -> std::io::Result<String> {
    let mut text = Vec::new();
    source.take(MAX_PARAMETER_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_PARAMETER_BYTES {
        return Err(std::io::Error::other("there are more than 2 MiB; a call takes at most 1 MiB"));
    }
    String::from_utf8(text).map_err(|_| std::io::Error::other("the text is not UTF-8"))
}

fn show(outcome: &Outcome) -> std::io::Result<()> {
    let mut output = page::standard_output();
    if let Some(error) = &outcome.error {
        writeln!(output, "{ERROR}error[{}]{ERROR:#} {}", error.kind.as_str(), error.message)?;
        if let Some(detail) = &error.detail {
            writeln!(output, "  {FAINT}{detail}{FAINT:#}")?;
        }
    } else {
        for piece in &outcome.content {
            match piece {
                Content::Text { text } => writeln!(output, "{}", text::escape(text))?,
                Content::Image(blob) | Content::Audio(blob) => {
                    let (kind, size) =
                        (text::single_line(&blob.mime_type), page::bytes(blob.data.len() as u64));
                    writeln!(output, "{FAINT}[{kind}, {size}]{FAINT:#}")?;
                }
            }
        }
    }
    if let Some(details) = &outcome.details {
        let pretty = serde_json::to_string_pretty(details).unwrap_or_default();
        writeln!(output, "\n{STRONG}details{STRONG:#} {}", text::escape(&pretty))?;
    }
    let reached = &outcome.receipt.reached;
    if !reached.is_empty() {
        writeln!(output, "\n{STRONG}reached for{STRONG:#}")?;
    }
    for one in reached {
        let (style, mark) = if one.allowed { (GOOD, "✓") } else { (ERROR, "✗") };
        writeln!(output, "  {style}{mark}{style:#} {:10}  {}", one.capability, one.target)?;
        if let Some(reason) = &one.reason {
            writeln!(output, "    {FAINT}{reason}{FAINT:#}")?;
        }
    }
    writeln!(output, "\n{}", receipt_line(outcome))
}

/// What the call cost, on one line.
fn receipt_line(outcome: &Outcome) -> String {
    let style = if outcome.error.is_none() { GOOD } else { ERROR };
    let mut parts = vec![format!("in {}", page::duration(outcome.receipt.total.0))];
    if let Some(guest) = &outcome.receipt.guest {
        let usage = &guest.usage;
        parts.push(format!("{} fuel", page::grouped(usage.fuel)));
        parts.push(format!("{} memory", page::bytes(usage.peak_memory_bytes)));
        let nearest = &guest.nearest_limit;
        parts.push(format!("nearest limit: {} at {} %", nearest.limit, nearest.used_percent));
        if usage.stdio_bytes > 0 {
            parts.push(format!("{} printed", page::bytes(usage.stdio_bytes)));
        }
        if usage.log_lines > 0 {
            parts.push(format!("{} lines logged", page::grouped(usage.log_lines)));
        }
    }
    format!("{style}{}{style:#} {FAINT}{}{FAINT:#}", outcome.kind.as_str(), parts.join(" · "))
}
