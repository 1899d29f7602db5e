//! Embedding: a host with the native file tools and commands, on a workspace that is gone afterwards. A few calls that a
//! model could make, and what it reads of each.
//!
//! `cargo run -p airlock-examples --bin coding-agent`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the terminal is what an example is for")]

use std::process::ExitCode;

use airlock_core::{Call, CallKind, Content, Host, RunContext, text};
use airlock_native_tools::{CommandPolicy, Commands, Confinement, Network, files};
use airlock_sandbox::{Sandbox, SandboxConfig};

/// What a model could do: a tool, its arguments, and how the call must end.
const CALLS: &[(&str, &str, CallKind)] = &[
    ("write", r#"{"path": "src/greeting.txt", "content": "hello\nworld\n"}"#, CallKind::Completed),
    (
        "edit",
        r#"{"path": "src/greeting.txt", "edits": [{"old_text": "world", "new_text": "there"}]}"#,
        CallKind::Completed,
    ),
    (
        "apply_patch",
        r#"{"patch": "--- a/src/greeting.txt\n+++ b/src/greeting.txt\n@@ -1,2 +1,3 @@\n hello\n-there\n+you\n+there\n"}"#,
        CallKind::Completed,
    ),
    ("read", r#"{"path": "src/greeting.txt"}"#, CallKind::Completed),
    ("ls", r#"{"depth": 2}"#, CallKind::Completed),
    ("read", r#"{"path": "../../etc/passwd"}"#, CallKind::Failed),
    // It is registered and optional: without an operator's `allow` for it, no model gets it.
    ("exec", r#"{"command": "cat src/greeting.txt"}"#, CallKind::NotExposed),
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
    let workspace = tempfile::tempdir()?;
    let commands = Commands::new(CommandPolicy {
        confinement: Confinement::Required,
        network: Network::Refused,
        ..CommandPolicy::default()
    });
    let host = Host::builder()
        .sandbox(Sandbox::new(SandboxConfig::default())?)
        .native_tools(files())
        .native_tools(commands.tools())
        .build()
        .await?;
    let mut run = RunContext::new("coder");
    run.workspace = Some(workspace.path().to_string_lossy().into_owned());
    let surface = host.assemble(run).await;

    for (tool, arguments, expected) in CALLS {
        println!("\n{tool} {arguments}");
        let outcome = surface.call(Call::from_json(*tool, *arguments)).await;
        for piece in &outcome.content {
            if let Content::Text { text } = piece {
                text.lines().for_each(|line| println!("  {}", text::single_line(line)));
            }
        }
        if outcome.kind != *expected {
            return Err(format!("`{tool}` should end as {}", expected.as_str()).into());
        }
    }
    commands.shutdown();
    Ok(())
}
