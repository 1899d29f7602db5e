//! `test`: runs every check in order, each under a heading and with the seconds it took. It stops at the first that
//! fails, and hides nothing of what the programs it runs print.

use std::process::Command;
use std::time::Instant;

use crate::guests;
use crate::process;
use crate::process::Result;
use crate::process::cargo;
use crate::process::run as execute;
use crate::suite;
use crate::tidy;

/// A named check.
type Step = (&'static str, fn() -> Result<()>);

const STEPS: [Step; 12] = [
    ("tidy", tidy::check),
    ("formatting", formatting),
    // Its targets are no part of the workspace, so that no build here writes it.
    ("the lock file of fuzz", || execute(&mut cargo("fuzz", &["update", "--workspace", "--locked"]))),
    ("guests", || guests::build(guests::Toolchain::Available)),
    ("lints", lints),
    ("lints of the sample plugins", sample_plugin_lints),
    ("tests of the sample plugins", sample_plugin_tests),
    // Everything with one set of features, so that the tests build nothing of it again.
    ("building", || execute(&mut cargo(".", &["build", "--locked", "--workspace", "--all-targets"]))),
    ("what others wrote to test with", suite::provide),
    ("tests", tests),
    ("documentation tests", || execute(&mut cargo(".", &["test", "--doc", "--workspace", "--locked"]))),
    ("documentation", documentation),
];

/// Runs all checks.
///
/// # Errors
///
/// The first check that fails, by name.
pub(crate) fn run() -> Result<()> {
    let start = Instant::now();
    for (name, step) in STEPS {
        println!("\n== {name}");
        let step_start = Instant::now();
        step().map_err(|error| format!("the step `{name}` failed: {error}"))?;
        println!("== {name}: {:.1} s", step_start.elapsed().as_secs_f64());
    }
    println!("\nall {} steps passed in {:.1} s", STEPS.len(), start.elapsed().as_secs_f64());
    Ok(())
}

fn formatting() -> Result<()> {
    provide("rustfmt", &["fmt", "--version"])?;
    execute(&mut cargo(".", &["fmt", "--all", "--check"]))?;
    execute(&mut cargo("sample-plugins", &["fmt", "--check"]))?;
    execute(&mut cargo("fuzz", &["fmt", "--check"]))
}

fn lints() -> Result<()> {
    provide("clippy", &["clippy", "--version"])?;
    execute(&mut cargo(".", &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
}

fn sample_plugin_lints() -> Result<()> {
    execute(sample_plugins("clippy").args(["--all-targets", "--", "-D", "warnings"]))
}

fn sample_plugin_tests() -> Result<()> {
    execute(&mut sample_plugins("test"))
}

fn tests() -> Result<()> {
    let runner: &[&str] = if process::succeeds(&mut cargo(".", &["nextest", "--version"])) {
        &["nextest", "run", "--workspace", "--locked"]
    } else {
        &["test", "--workspace", "--locked"]
    };
    execute(&mut cargo(".", runner))
}

fn documentation() -> Result<()> {
    let mut command = cargo(".", &["doc", "--workspace", "--no-deps", "--locked"]);
    execute(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// A `cargo` command for the sample plugins as native crates, in the target folder that their components use too.
fn sample_plugins(verb: &str) -> Command {
    let mut command = cargo("sample-plugins", &[verb, "--workspace", "--locked", "--target-dir"]);
    command.arg(process::root().join("target/guests"));
    command
}

/// Sees to it that a component of the toolchain is there; `probe` is a `cargo` command that needs it.
fn provide(component: &str, probe: &[&str]) -> Result<()> {
    if process::succeeds(&mut cargo(".", probe)) {
        return Ok(());
    }
    execute(Command::new("rustup").args(["component", "add", component])).map_err(|error| {
        format!("{error}\nthe toolchain lacks `{component}`: install it, then run this again")
    })
}
