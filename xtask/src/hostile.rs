//! `hostile`: builds the guests, then makes every attack of the hostile corpus on a release build, in one process and beside
//! good calls, and shows how each ended. It fails if one did not end as it must.

use crate::guests;
use crate::process::{self, Result};

/// Makes the attacks whose name or plugin has one of these words in it, or all; `load` is the last part, with 64 at once.
///
/// # Errors
///
/// A failing build, or an attack that did not end as it must.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    guests::build(guests::Toolchain::Available)?;
    let bench = ["bench", "--locked", "--quiet", "-p", "airlock-tests", "--bench", "hostile", "--"];
    process::run(&mut process::cargo(".", &[&bench, words].concat()))
}
