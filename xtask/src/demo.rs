//! `demo`: builds guests and host, then shows the main job on this repository's own README, and how hostile plugins
//! end. It stops at the first thing that does not end as it should.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::guests;
use crate::process::{self, Result};

pub(crate) fn run() -> Result<()> {
    heading("building the sample plugins");
    guests::build(guests::Toolchain::Available)?;
    heading("building the host (the first time takes minutes: Wasmtime is large)");
    process::run(&mut process::cargo(
        ".",
        &["build", "--release", "--locked", "-p", "airlock-cli", "-p", "airlock-examples"],
    ))?;
    let program = process::root().join("target/release/airlock");

    heading("what is installed");
    show(&program, &["plugins"])?;
    heading("the surface of a run");
    show(&program, &["tools"])?;

    let params = parameters()?;
    let at = |name: &str| format!("@{}", params.join(name).display());
    heading("workflow_tool on README.md: count what is in it");
    show(&program, &["call", "workflow_tool", "--params", &at("statistics.json")])?;
    heading("markdown_toc on README.md");
    show(&program, &["call", "markdown_toc", "--params", &at("markdown.json")])?;
    heading("markdown_links on README.md: are there dead ones?");
    show(&program, &["call", "markdown_links", "--params", &at("links.json")])?;

    heading("hostile plugins beside a good one, in one process");
    let target = process::root().join("target");
    process::run(
        Command::new(target.join("release/hostile-guests"))
            .args(["plugins", "hostile-plugins"].map(|folder| target.join(folder))),
    )
}

fn heading(text: &str) {
    println!("\n── {text}");
}

/// Arguments made of this repository's own README, as files.
fn parameters() -> Result<std::path::PathBuf> {
    let root = process::root();
    let folder = root.join("target/demo");
    let failed =
        |error: std::io::Error| format!("the demo's arguments cannot be written to target/demo: {error}");
    let readme = fs::read_to_string(root.join("README.md"))
        .map_err(|error| format!("README.md cannot be read: {error}"))?;
    let files = process::output(Command::new("git").arg("ls-files").current_dir(&root)).unwrap_or_default();
    let files: Vec<&str> = files.lines().collect();
    fs::create_dir_all(&folder).map_err(failed)?;
    let documents = [
        ("statistics.json", serde_json::json!({ "pipeline": "statistics", "text": readme })),
        ("markdown.json", serde_json::json!({ "text": readme })),
        ("links.json", serde_json::json!({ "text": readme, "files": files })),
    ];
    for (name, document) in documents {
        fs::write(folder.join(name), document.to_string()).map_err(failed)?;
    }
    Ok(folder)
}

/// Runs the program over the sample plugins, with its output on the terminal.
fn show(program: &Path, arguments: &[&str]) -> Result<()> {
    let target = process::root().join("target");
    let mut command = Command::new(program);
    command
        .arg("--plugins")
        .arg(target.join("plugins"))
        .arg("--data")
        .arg(target.join("demo/data"))
        .args(arguments);
    process::run(&mut command)
}
