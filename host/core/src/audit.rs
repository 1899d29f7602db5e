//! The seam between the rules and whatever keeps them on record: audit rows and standing approvals enter, and come back
//! only as grants. Core never asks for a row back.
//!
//! A call takes a [`Reservation`] before it begins and gives it back with its `finished` row, so that its end can be
//! recorded from a destructor, where nothing may wait or fail. Without a store of the embedder's own, [`MemoryStore`]
//! stands in, and no file is needed.

mod grant;
mod memory;
mod row;

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;

pub use grant::{Decided, Grant, GrantId, GrantKey, Party};
pub use memory::MemoryStore;
pub use row::{AuditKind, AuditRow};

/// Keeps audit rows in one order and standing approvals, for one host or several.
///
/// What was handed over first is first in the log. Everything that returns a future may be dropped while it waits; what
/// was handed over by then is kept all the same.
pub trait Store: Send + Sync + fmt::Debug {
    /// Waits until there is room for more rows, then promises to take one.
    ///
    /// A reservation holds nothing that another one waits for, so a call that makes calls cannot lock itself out. What is
    /// bounded are the rows that wait to be written: those beyond the bound belong to calls that had begun before.
    ///
    /// # Errors
    /// If the store is closed, or has failed for so long that no more rows can wait.
    fn reserve(&self) -> BoxFuture<'_, Result<Reservation, StoreError>>;

    /// Hands over the last row of what the reservation was taken for. It returns at once, whatever the store's state.
    fn write(&self, reservation: Reservation, row: AuditRow);

    /// Writes the `started` row that belongs to the same call as the reservation; done when it would survive a power cut.
    ///
    /// Later the reservation's own row says how the call ended. If it never comes, and the process is gone, the call is
    /// on record as interrupted.
    ///
    /// # Errors
    /// If the row is not surely on disk. The call must not run then; its end is recorded as of any other.
    fn start(&self, reservation: &Reservation, row: AuditRow) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Writes a row that stands for itself; done when it would survive a power cut.
    ///
    /// # Errors
    /// If the row is not surely on disk.
    fn write_durably(&self, row: AuditRow) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The standing approval that covers `key`, if there is one: for exactly these arguments, or for all.
    ///
    /// # Errors
    /// If the store cannot be read. The call must be treated as one without a grant.
    fn find_grant(&self, key: &GrantKey) -> BoxFuture<'_, Result<Option<Grant>, StoreError>>;

    /// Keeps a standing approval, with its audit row; both or neither. One that exists already comes back as it is.
    ///
    /// # Errors
    /// If it is not surely on disk.
    fn insert_grant(&self, key: GrantKey, decided: Decided) -> BoxFuture<'_, Result<Grant, StoreError>>;

    /// Every standing approval, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn grants(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>>;

    /// Takes a standing approval back, with its audit row. `None` if no grant has that id.
    ///
    /// # Errors
    /// If that is not surely on disk.
    fn revoke_grant(&self, id: GrantId, decided: Decided)
    -> BoxFuture<'_, Result<Option<Grant>, StoreError>>;

    /// Waits until everything that was handed over is on disk, but not longer than `patience`.
    ///
    /// # Errors
    /// If something still is not, with the number of rows.
    fn flush(&self, patience: Duration) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Makes no more reservations, then flushes. Reservations made before are still honoured, as long as the store lives.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    fn close(&self, patience: Duration) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// The promise of a store to take one more row. It ties the rows of one call together.
///
/// Dropped without a row it writes nothing; a call whose `started` row was written then stays without an end.
#[derive(Debug)]
pub struct Reservation(u64);

impl Reservation {
    /// Made by stores only: `serial` is a number that this store, since it was opened, has given to no other reservation.
    pub fn new(serial: u64) -> Self {
        Self(serial)
    }

    /// The number by which a store finds the rows of one call.
    pub fn serial(&self) -> u64 {
        self.0
    }
}

/// What kind of thing went wrong in a store, for code that has to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// It cannot be read or written: a full disk, a damaged file, missing rights. It may pass.
    Unavailable,
    /// It was closed.
    Closed,
}

/// Why something is not on record. Its text says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
}

impl StoreError {
    /// The store cannot be read or written; `message` says why and what to do about it.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { kind: StoreErrorKind::Unavailable, message: message.into() }
    }

    /// The store was closed.
    pub fn closed() -> Self {
        let message = "the audit store is closed: the host is shutting down, and no new call is recorded";
        Self { kind: StoreErrorKind::Closed, message: message.to_owned() }
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {}
