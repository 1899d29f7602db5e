//! Airlock's audit log, standing approvals and what plugins keep, in one SQLite file.
//!
//! [`SqliteStore`] is what a host writes to: core's rows enter, hash-chained rows on disk leave. [`Log`] is what people
//! read: pages of rows, and whether anything in them was changed. Both may be open in several processes at once.
//!
//! What the chain proves and what it cannot prove is in `docs/audit.md`.

// Words that everything uses.
mod error;
mod files;

// What is in the files.
mod chain;
mod head;
mod schema;

// Core's rows → disk.
mod append;
mod grants;
mod instance;
mod key_value;
mod queue;
mod store;
mod writer;

// Disk → people.
mod log;
mod verify;

pub use chain::StoredRow;
pub use error::{Error, ErrorKind};
pub use log::{Log, Order, Query, Unfinished};
pub use store::{Options, SqliteStore};
pub use verify::{Finding, Verification};
