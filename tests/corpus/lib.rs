//! The hostile corpus: what a hostile plugin can try, each attempt with the one end that it must have. The sample plugins
//! in `sample-plugins/hostile` enter; a list of attacks leaves, and how one ended. It never judges more than one attempt:
//! `tests/all/hostile.rs` and the driver behind `cargo xtask hostile` do that.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

// What is tried.
mod answers;
mod attack;
mod calls;
mod floods;
mod imports;
pub mod load;
mod loading;
mod memory;
mod reach;

// What tries it: components that no toolchain would write.
mod guest;
mod sections;
mod standard;

// How it ended.
mod attempt;
mod resident;

pub use attack::{Attack, Expected, Source};
pub use attempt::{Attempt, Corpus, blemish};
pub use guest::Guest;
pub use resident::{Resident, open_files};

/// Every attack, in the order of a table.
pub fn attacks() -> Vec<Attack> {
    [
        calls::attacks(),
        memory::attacks(),
        floods::attacks(),
        answers::attacks(),
        loading::attacks(),
        imports::attacks(),
        reach::attacks(),
    ]
    .concat()
}
