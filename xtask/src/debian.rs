//! Debian's packages: names enter; they are installed, or one sentence says why not.

use std::path::Path;
use std::process::Command;

use crate::process;
use crate::process::Result;

/// Sees to it that packages are installed.
///
/// # Errors
///
/// The machine is not Debian, the user is not root, or there is no such package.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if !Path::new("/etc/debian_version").exists() {
        return Err("this is not Debian, whose packages are the other way".to_owned());
    }
    if process::succeeds(Command::new("dpkg").arg("--status").args(packages)) {
        return Ok(());
    }
    if process::output(Command::new("id").arg("-u"))?.trim() != "0" {
        return Err(format!("only root can install Debian's {}", packages.join(", ")));
    }
    let install =
        || process::run(apt_get().args(["install", "--yes", "--no-install-recommends"]).args(packages));
    // A machine may never have fetched the list of packages, or hold an outdated one.
    install().or_else(|_| process::run(apt_get().arg("update")).and_then(|()| install()))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}
