//! The shape of the database: a file enters; a connection to one of exactly this shape leaves, made or migrated, or a
//! refusal.

use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::{Error, ErrorKind};
use crate::files::Files;

/// "ALck": marks a SQLite file as ours, so that no other program's database is written to.
const APPLICATION_ID: i32 = 0x414c_636b;

/// How long a statement waits for another process, whose transactions take a few writes to the disk.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What leads from each version to the next; the number of steps is the version. A step never changes again.
const MIGRATIONS: &[&str] = &[
    // `number` has no gaps: 1, 2, 3 …. `serial` ties the rows of one call of one instance together. `open_calls` are the
    // started calls without an end, `grants` the standing approvals; both could be made again from the log.
    "CREATE TABLE log (
        number INTEGER PRIMARY KEY,
        instance TEXT NOT NULL,
        serial INTEGER,
        kind TEXT NOT NULL,
        unix_ms INTEGER NOT NULL,
        call_id TEXT,
        tool TEXT,
        body TEXT NOT NULL,
        hash BLOB NOT NULL
    ) STRICT;
    CREATE INDEX log_call_id ON log (call_id) WHERE call_id IS NOT NULL;
    CREATE INDEX log_tool ON log (tool) WHERE tool IS NOT NULL;
    CREATE TABLE open_calls (
        instance TEXT NOT NULL,
        serial INTEGER NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (instance, serial)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE grants (
        id TEXT PRIMARY KEY,
        key_digest TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        session_owner TEXT NOT NULL,
        askers TEXT NOT NULL,
        owner TEXT NOT NULL,
        owner_digest TEXT NOT NULL,
        tool TEXT NOT NULL,
        arguments TEXT,
        decided_by TEXT NOT NULL,
        unix_ms INTEGER NOT NULL
    ) STRICT;",
    // What plugins keep, which is no part of the log. `key_value_use` has the sums over each plugin's entries, so that a
    // write need not look at all of them; it changes in the same transaction.
    "CREATE TABLE key_value (
        plugin TEXT NOT NULL,
        bucket TEXT NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (plugin, bucket, key)
    ) STRICT;
    CREATE TABLE key_value_use (
        plugin TEXT PRIMARY KEY,
        bytes INTEGER NOT NULL,
        entries INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;",
];

/// A connection that writes, to a database of the current version.
pub(crate) fn open_for_writing(files: &Files) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |error: rusqlite::Error| Error::sqlite(&files.database, &error);
    let mut connection = Connection::open_with_flags(&files.database, flags).map_err(failed)?;
    harden(&connection).map_err(failed)?;
    check_application(&connection, files)?;
    // In this mode readers do not block the writer; with FULL a commit is on disk when it returns.
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(failed)?;
    if mode != "wal" {
        let message = format!(
            "the store {} cannot share a log with other processes here: put it on a local disk",
            files.database.display()
        );
        return Err(Error::new(ErrorKind::Unavailable, message));
    }
    connection.execute_batch("PRAGMA synchronous = FULL").map_err(failed)?;
    migrate(&mut connection, files)?;
    Ok(connection)
}

/// A connection that can only read, and never holds up a writer.
pub(crate) fn open_for_reading(files: &Files) -> Result<Connection, Error> {
    if !files.database.exists() {
        let message = format!(
            "there is no store at {}: it is made by the first host that writes to it",
            files.database.display()
        );
        return Err(Error::new(ErrorKind::Missing, message));
    }
    files.check()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |error: rusqlite::Error| Error::sqlite(&files.database, &error);
    let connection = Connection::open_with_flags(&files.database, flags).map_err(failed)?;
    harden(&connection).map_err(failed)?;
    check_application(&connection, files)?;
    match version(&connection).map_err(failed)? {
        0 => {
            let message =
                format!("the store {} is still empty: no host has written to it", files.database.display());
            Err(Error::new(ErrorKind::Missing, message))
        }
        _ => Ok(connection),
    }
}

/// The file may be the work of somebody else: nothing in its schema may run.
fn harden(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.execute_batch("PRAGMA cell_size_check = ON")
}

/// Refuses another program's database, and one of a newer Airlock.
fn check_application(connection: &Connection, files: &Files) -> Result<(), Error> {
    let failed = |error: rusqlite::Error| Error::sqlite(&files.database, &error);
    let (application, tables): (i32, i64) = connection
        .query_row(
            "SELECT (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .map_err(failed)?;
    let path = files.database.display();
    if application != APPLICATION_ID && (application != 0 || tables != 0) {
        let message =
            format!("{path} is the database of another program: name another file in `[store] path`");
        return Err(Error::new(ErrorKind::Format, message));
    }
    let version = version(connection).map_err(failed)?;
    if version > MIGRATIONS.len() {
        let message = format!(
            "the store {path} has version {version}, and this Airlock knows {}: use the newer Airlock that wrote it",
            MIGRATIONS.len()
        );
        return Err(Error::new(ErrorKind::Format, message));
    }
    Ok(())
}

fn version(connection: &Connection) -> rusqlite::Result<usize> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

fn migrate(connection: &mut Connection, files: &Files) -> Result<(), Error> {
    let failed = |error: rusqlite::Error| Error::sqlite(&files.database, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Read again: another process may have migrated while this one waited.
    let steps = MIGRATIONS.get(version(&transaction).map_err(failed)?..).unwrap_or_default();
    for step in steps {
        transaction.execute_batch(step).map_err(failed)?;
    }
    if !steps.is_empty() {
        let settings =
            format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}", MIGRATIONS.len());
        transaction.execute_batch(&settings).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &tempfile::TempDir) -> Files {
        let files = Files::beside(&folder.path().join("airlock.db"));
        files.prepare().unwrap();
        files
    }

    #[test]
    fn a_new_file_gets_the_schema_once() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&folder);
        assert_eq!(open_for_reading(&files).unwrap_err().kind(), ErrorKind::Missing);
        drop(open_for_writing(&files).unwrap());
        let connection = open_for_writing(&files).unwrap();
        assert_eq!(version(&connection).unwrap(), MIGRATIONS.len());
        let reader = open_for_reading(&files).unwrap();
        let error = reader.execute("DELETE FROM log", []).unwrap_err();
        assert!(Error::sqlite(&files.database, &error).to_string().contains("cannot be written"));
    }

    #[test]
    fn a_newer_store_and_a_strange_one_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&folder);
        open_for_writing(&files).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
        for error in [open_for_writing(&files).unwrap_err(), open_for_reading(&files).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Format);
            assert!(error.to_string().contains("has version 99"), "{error}");
        }
        let connection = Connection::open(&files.database).unwrap();
        connection.execute_batch("PRAGMA user_version = 1; PRAGMA application_id = 7").unwrap();
        assert!(open_for_writing(&files).unwrap_err().to_string().contains("another program"));
        drop(connection);
        std::fs::write(&files.database, "not a database, but long enough to look like one".repeat(40))
            .unwrap();
        assert!(open_for_writing(&files).unwrap_err().to_string().contains("not an Airlock store"));
    }
}
