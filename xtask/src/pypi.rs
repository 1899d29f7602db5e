//! The Python Package Index: packages that are pinned by version and digest enter; their files leave below a folder. pip compares
//! the digest before it opens a file.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::debian;
use crate::process;
use crate::process::Result;

/// One file of the index.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// Of the wheel, or of the source package.
    pub(crate) sha256: &'static str,
}

/// Downloads source packages to `folder`. pip also prepares their metadata, which takes a minute or two.
///
/// # Errors
///
/// One cannot be downloaded, or is not the file that it was.
pub(crate) fn download_sources(packages: &[Package], folder: &Path) -> Result<()> {
    let mut command = pip("download", packages, folder)?;
    process::run(command.args(["--no-binary", ":all:", "--dest"]).arg(folder))
}

/// Puts what wheels have into `folder`, for a `PYTHONPATH`. None of them is built.
///
/// # Errors
///
/// As [`download_sources`].
pub(crate) fn install(packages: &[Package], folder: &Path) -> Result<()> {
    let mut command = pip("install", packages, folder)?;
    process::run(command.args(["--only-binary", ":all:", "--no-compile", "--target"]).arg(folder))
}

/// `pip VERB` for exactly these packages, of which a list is put into the folder.
fn pip(verb: &str, packages: &[Package], folder: &Path) -> Result<Command> {
    if !process::succeeds(Command::new("python3").args(["-m", "pip", "--version"])) {
        debian::install(&["python3-pip"]).map_err(|error| {
            format!("{error}\nwithout pip for `python3`, nothing can be fetched from PyPI")
        })?;
    }
    fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let requirements = folder.join("requirements.txt");
    let pinned: String = packages
        .iter()
        .map(|Package { name, version, sha256 }| format!("{name}=={version} --hash=sha256:{sha256}\n"))
        .collect();
    fs::write(&requirements, pinned)
        .map_err(|error| format!("cannot write {}: {error}", requirements.display()))?;
    let mut command = Command::new("python3");
    command.args(["-m", "pip", verb, "--quiet", "--disable-pip-version-check", "--require-hashes"]);
    command.args(["--no-deps", "--requirement"]).arg(requirements);
    // As root it warns of what is meant here.
    command.env("PIP_ROOT_USER_ACTION", "ignore");
    Ok(command)
}
