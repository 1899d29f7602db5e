//! `suite`: the official JSON Schema test suite enters from the Python Package Index, its cases for draft 2020-12 leave in
//! `target/json-schema-test-suite/`. It is fetched once, and nothing of it runs or is committed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::debian;
use crate::process;
use crate::process::Result;

/// A source package that carries the whole suite.
const PACKAGE: &str = "jsonschema";
const VERSION: &str = "4.26.0";

/// Of that package's file. pip compares it before it opens the file.
const SHA256: &str = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326";

const DRAFT: &str = "draft2020-12";

/// Sees to it that the suite is there.
///
/// # Errors
///
/// It cannot be downloaded, is not the file that it was, or cannot be unpacked.
pub(crate) fn provide() -> Result<()> {
    let folder = process::root().join("target/json-schema-test-suite");
    let suite = folder.join(DRAFT);
    if suite.is_dir() {
        return Ok(());
    }
    let download = folder.join("download");
    fs::create_dir_all(&download)
        .map_err(|error| format!("cannot create {}: {error}", download.display()))?;
    if !process::succeeds(&mut pip(&["--version"])) {
        debian::install(&["python3-pip"])
            .map_err(|error| format!("{error}\nwithout pip for `python3`, the suite cannot be fetched"))?;
    }
    fetch(&download)?;
    // Whatever an unfinished run left is in the way of the last step, which makes the suite appear at once.
    let unpacked = download.join(DRAFT);
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked)
            .map_err(|error| format!("cannot remove {}: {error}", unpacked.display()))?;
    }
    let inside = format!("{PACKAGE}-{VERSION}/json/tests/{DRAFT}");
    let archive = download.join(format!("{PACKAGE}-{VERSION}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).arg("-C").arg(&download).args(["--strip-components=3", &inside]);
    process::run(&mut tar)?;
    fs::rename(&unpacked, &suite).map_err(|error| format!("cannot create {}: {error}", suite.display()))
}

/// Downloads the package. pip also prepares its metadata, which takes a minute or two.
fn fetch(download: &Path) -> Result<()> {
    let requirements = download.join("requirements.txt");
    let pinned = format!("{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n");
    fs::write(&requirements, pinned)
        .map_err(|error| format!("cannot write {}: {error}", requirements.display()))?;
    let mut command = pip(&["download", "--quiet", "--disable-pip-version-check", "--require-hashes"]);
    command.args(["--no-deps", "--no-binary", ":all:", "--requirement"]).arg(&requirements);
    process::run(command.arg("--dest").arg(download))
}

fn pip(arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.args(["-m", "pip"]).args(arguments);
    command
}
