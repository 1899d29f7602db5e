//! `suite`: what others wrote to hold Airlock against enters from the Python Package Index: the official JSON Schema test suite,
//! whose cases for draft 2020-12 leave in `target/json-schema-test-suite/`, and the reference validator of Agent Skills, which
//! leaves in `target/skills-ref/`. Each is fetched once, and nothing of it is committed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process;
use crate::process::Result;
use crate::pypi::{self, Package};

/// A source package that carries the whole suite.
const SCHEMAS: Package = Package {
    name: "jsonschema",
    version: "4.26.0",
    sha256: "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326",
};

const DRAFT: &str = "draft2020-12";

/// The validator, and what it needs to read a file.
const VALIDATOR: [Package; 4] = [
    Package {
        name: "skills-ref",
        version: "0.1.1",
        sha256: "d35db5bb8de71ae301daf5ca9cb71f8a555e8c6f83a6d40e46a5bc09f8f461b5",
    },
    Package {
        name: "strictyaml",
        version: "1.7.3",
        sha256: "fb5c8a4edb43bebb765959e420f9b3978d7f1af88c80606c03fb420888f5d1c7",
    },
    Package {
        name: "python-dateutil",
        version: "2.9.0.post0",
        sha256: "a8b2bc7bffae282281c8140a97d3aa9c14da0b136dfe83f850eea9a5f7470427",
    },
    Package {
        name: "six",
        version: "1.17.0",
        sha256: "4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274",
    },
];

/// Sees to it that both are there.
///
/// # Errors
///
/// One cannot be downloaded, is not the file that it was, or cannot be unpacked.
pub(crate) fn provide() -> Result<()> {
    let target = process::root().join("target");
    once(&target.join("json-schema-test-suite"), DRAFT, fetch_schemas)?;
    once(&target.join("skills-ref"), "lib", |fetched| pypi::install(&VALIDATOR, fetched))
}

/// Has `fetch` fill a folder, which appears as `folder/name` when it is whole.
fn once(folder: &Path, name: &str, fetch: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let whole = folder.join(name);
    if whole.is_dir() {
        return Ok(());
    }
    let fetched = folder.join("unfinished");
    // An interrupted run may have left something.
    if fetched.exists() {
        fs::remove_dir_all(&fetched)
            .map_err(|error| format!("cannot remove {}: {error}", fetched.display()))?;
    }
    fs::create_dir_all(&fetched).map_err(|error| format!("cannot create {}: {error}", fetched.display()))?;
    fetch(&fetched)?;
    fs::rename(&fetched, &whole).map_err(|error| format!("cannot create {}: {error}", whole.display()))
}

fn fetch_schemas(folder: &Path) -> Result<()> {
    let Package { name, version, .. } = SCHEMAS;
    let download = folder.with_file_name("download");
    pypi::download_sources(&[SCHEMAS], &download)?;
    let inside = format!("{name}-{version}/json/tests/{DRAFT}");
    let archive = download.join(format!("{name}-{version}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).arg("-C").arg(folder).args(["--strip-components=4", &inside]);
    process::run(&mut tar)
}
