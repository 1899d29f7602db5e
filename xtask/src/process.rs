//! Runs other programs: a command enters; its output goes to the terminal or comes back as text. It never goes through a
//! shell. Every error names the command.

use std::ffi::OsStr;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

/// What every verb returns: nothing, or one sentence that says what failed and what to do.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().unwrap_or(folder).to_owned()
}

/// A `cargo` command in `folder`, relative to the root.
pub(crate) fn cargo(folder: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root().join(folder));
    command
}

/// Runs a command to its end with its output on the terminal.
///
/// # Errors
///
/// The program could not be started, or it did not succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` ended with {status}", line(command))) }
}

/// Runs a command to its end and returns what it wrote to standard output.
///
/// # Errors
///
/// As [`run`], with what the program wrote to standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{}` ended with {}:\n{}", line(command), output.status, errors.trim_end()))
}

/// Whether a command can be started and succeeds; its output is thrown away.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("`{}` could not be started: {error}", line(command))
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
