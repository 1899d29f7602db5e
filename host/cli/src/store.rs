//! Where the program's store lies: the configuration and the data folder enter; the store or its log, opened, leaves.

use std::path::{Path, PathBuf};

use airlock_core::Config;
use airlock_store::{Error, ErrorKind, Log, SqliteStore};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::page::{self, WARNING};
use crate::setup;

/// The store's file in the data folder, where the configuration names no other.
const FILE: &str = "airlock.db";

/// How long the program waits at its end for rows to reach the disk.
pub(crate) const CLOSE_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// `[store] path` of the configuration, else the file in the data folder.
pub(crate) fn path(global: &Global, config: &Config) -> Result<PathBuf, Failure> {
    match config.store_path() {
        Some(path) => Ok(path),
        None => Ok(setup::data_folder(global)?.join(FILE)),
    }
}

/// Opens the store for a host to write to, and makes it if it is not there.
pub(crate) fn open(path: &Path) -> Result<SqliteStore, Failure> {
    let store = SqliteStore::open(path)?;
    if store.is_contradicted() {
        page::note(format_args!(
            "{WARNING}warning:{WARNING:#} the audit log {} was changed behind Airlock's back: `airlock audit --verify` says where",
            path.display()
        ));
    }
    Ok(store)
}

/// Opens the log to be read; `None` if no host has written one yet.
pub(crate) fn open_log(path: &Path) -> Result<Option<Log>, Failure> {
    match Log::open(path) {
        Ok(log) => Ok(Some(log)),
        Err(error) if error.kind() == ErrorKind::Missing => {
            page::note(&error);
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<airlock_core::StoreError> for Failure {
    fn from(error: airlock_core::StoreError) -> Self {
        Self::usage(error.to_string())
    }
}
