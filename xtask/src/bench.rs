//! `bench`: builds the guests, runs the measurements on a release build and writes their table to `docs/performance.md`.

use std::fs;

use crate::guests;
use crate::process::{self, Result};

pub(crate) fn run() -> Result<()> {
    guests::build(guests::Toolchain::Available)?;
    let page = process::output(&mut process::cargo(
        ".",
        &["bench", "--locked", "--quiet", "-p", "airlock-tests", "--bench", "governed_call"],
    ))?;
    print!("{page}");
    let path = process::root().join("docs/performance.md");
    fs::write(&path, page).map_err(|error| format!("docs/performance.md cannot be written: {error}"))
}
