//! The one public error of this crate: what SQLite or the file system says enters; a text that says what to do leaves.

use std::fmt;
use std::io;
use std::path::Path;

use airlock_core::StoreError;
use rusqlite::ErrorCode;

/// What kind of thing went wrong, for code that has to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no store at that place.
    Missing,
    /// The file belongs to something else, or to a newer Airlock, or is damaged.
    Format,
    /// Others may read or change the files.
    Exposed,
    /// It cannot be read or written now: a full disk, missing rights, another process.
    Unavailable,
}

/// Why a store could not be opened, read or written. Its text says what to do.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What SQLite said about the database at `path`.
    pub(crate) fn sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.display();
        // What cannot be understood is as bad as what cannot be read.
        let code = match error {
            rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..) => {
                Some(ErrorCode::DatabaseCorrupt)
            }
            other => other.sqlite_error_code(),
        };
        let (kind, what) = match code {
            Some(ErrorCode::DiskFull) => {
                (ErrorKind::Unavailable, "has no room to grow: free space on its disk")
            }
            Some(
                ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::AuthorizationForStatementDenied,
            ) => (
                ErrorKind::Unavailable,
                "cannot be written: check that its disk is not mounted read-only, and that this user owns the file and its folder",
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
                ErrorKind::Unavailable,
                "is locked by another process: wait for it, or find it with `lsof` and end it",
            ),
            Some(ErrorCode::CannotOpen) => (
                ErrorKind::Unavailable,
                "cannot be opened: check that its folder exists and belongs to this user",
            ),
            Some(ErrorCode::NotADatabase) => {
                (ErrorKind::Format, "is not an Airlock store: name another file in `[store] path`")
            }
            Some(ErrorCode::DatabaseCorrupt) => (
                ErrorKind::Format,
                "is damaged: keep a copy, move it away with the files beside it, and a new one is begun",
            ),
            _ => (ErrorKind::Unavailable, "cannot be used: check its disk"),
        };
        Self::new(kind, format!("the store {path} {what} ({error})"))
    }

    /// What the file system said when this crate tried to `attempt` something with `path`.
    pub(crate) fn io(attempt: &str, path: &Path, error: &io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free space on its disk",
            io::ErrorKind::ReadOnlyFilesystem => {
                "its disk is mounted read-only: name a place that can be written"
            }
            io::ErrorKind::PermissionDenied => "check that this user owns it and its folder",
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                "a part of its path is a file: name another place"
            }
            _ => "check its disk and its path",
        };
        let message = format!("the store cannot {attempt} {}: {error}; {advice}", path.display());
        Self::new(ErrorKind::Unavailable, message)
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        Self::unavailable(error.message)
    }
}
