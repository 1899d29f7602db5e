//! Embedding: one process hosts hostile plugins beside a good one. Each attack ends in its own words, and the good
//! tool answers right after it, in the same process.
//!
//! `cargo run --release -p airlock-examples --bin hostile-guests target/plugins target/hostile-plugins`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the terminal is what an example is for")]

use std::process::ExitCode;
use std::time::Duration;

use airlock_core::{Call, CallKind, Content, Host, Origin, Outcome, PluginRoot, RunContext, text};
use airlock_sandbox::{Sandbox, SandboxConfig};

/// What is tried, on which tool, with which arguments, and how it must end.
const ATTACKS: &[(&str, &str, &str, CallKind)] = &[
    ("an endless loop", "spin_forever", "{}", CallKind::TimedOut),
    ("a wait that outlasts the deadline", "sleep", r#"{"milliseconds": 60000}"#, CallKind::TimedOut),
    ("a memory hog", "hog_memory", "{}", CallKind::OutOfMemory),
    ("a flood of output", "flood_output", r#"{"mebibytes": 3}"#, CallKind::OutputTooLarge),
    ("a trap", "trap_now", "{}", CallKind::Trapped),
    ("a panic", "panic_now", r#"{"reason": "the cable is loose"}"#, CallKind::Trapped),
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = Host::builder()
        .sandbox(Sandbox::new(SandboxConfig::default())?)
        .load_patience(Duration::from_secs(120));
    for path in std::env::args_os().skip(1) {
        builder = builder.plugin_root(PluginRoot { path: path.into(), origin: Origin::Config });
    }
    let host = builder.build().await?;
    let surface = host.assemble(RunContext::new("example")).await;

    for (title, tool, arguments, expected) in ATTACKS {
        println!("\n{title}: {tool} {arguments}");
        let outcome = surface.call(Call::from_json(*tool, *arguments)).await;
        show(&outcome);
        if outcome.kind != *expected {
            return Err(format!("`{tool}` should end as {}", expected.as_str()).into());
        }
        let good = surface.call(Call::from_json("echo", r#"{"text": "still here"}"#)).await;
        show(&good);
        if good.kind != CallKind::Completed {
            return Err("the good call after it should complete".into());
        }
    }
    Ok(())
}

/// What the model is told, what the author is told, and what it cost.
fn show(outcome: &Outcome) {
    let told = outcome.content.iter().map(|piece| match piece {
        Content::Text { text } => text::single_line(text).into_owned(),
        Content::Image(_) | Content::Audio(_) => "[not text]".to_owned(),
    });
    println!("  {:<16} {}", outcome.kind.as_str(), told.collect::<Vec<_>>().join(" "));
    if let Some(detail) = outcome.error.as_ref().and_then(|error| error.detail.as_deref()) {
        println!("  {:<16} {detail}", "  to the author:");
    }
    if let Some(guest) = &outcome.receipt.guest {
        let usage = &guest.usage;
        let (milliseconds, mebibytes) = (usage.wall.0.as_secs_f64() * 1e3, usage.peak_memory_bytes >> 20);
        println!("  {:<16} {} fuel, {mebibytes} MiB, {milliseconds:.1} ms", "  receipt:", usage.fuel);
    }
}
