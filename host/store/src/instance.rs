//! Who has the store open: every opening gets an id and a locked file that the system unlocks when its process is gone,
//! however it went.
//!
//! A call that had started in an opening whose file is not locked any more was interrupted; the next opener says so.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::append::{Appender, Call, interrupted};
use crate::chain::{COLUMNS, StoredRow};
use crate::error::Error;
use crate::files::{self, Files};

/// How many hex digits an id has: 64 random bits.
const ID_CHARS: usize = 16;

/// One opening of the store.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: String,
    path: PathBuf,
    /// Locked as long as it is open.
    _file: File,
}

impl Instance {
    /// Makes and locks this opening's file. The caller holds the lock between processes, so nobody sees it unlocked.
    pub(crate) fn enter(files: &Files, connection: &Connection) -> Result<Self, Error> {
        let id: String = connection
            .query_row("SELECT lower(hex(randomblob(8)))", [], |row| row.get(0))
            .map_err(|error| Error::sqlite(&files.database, &error))?;
        let path = files.instances.join(&id);
        let failed = |error: &io::Error| Error::io("lock", &path, error);
        let file = files::open_private(&path).map_err(|error| failed(&error))?;
        file.lock().map_err(|error| failed(&error))?;
        Ok(Self { id, path, _file: file })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A file that stays behind is unlocked, and goes when the store is opened the next time.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the opening with this id is still there. What cannot be found out, too many open files for example, is no
/// proof of a death: a call that still runs must not be called interrupted.
pub(crate) fn is_alive(files: &Files, id: &str) -> bool {
    // The id comes from the database, which somebody may have changed: it must not lead to another file.
    if id.len() != ID_CHARS || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return false;
    }
    match File::open(files.instances.join(id)) {
        // A shared lock, so that two who ask at once do not take each other for the owner.
        Ok(file) => file.try_lock_shared().is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Writes an `interrupted` row for every started call whose opening is gone, once, and removes the files of those that
/// are. The caller holds the lock between processes.
pub(crate) fn bury(files: &Files, connection: &mut Connection, finder: &Instance) -> Result<u64, Error> {
    let failed = |error: rusqlite::Error| Error::sqlite(&files.database, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let mut appender = Appender::begin(&transaction).map_err(failed)?;
    let mut buried = 0;
    for (instance, serial, number) in open_calls(&transaction).map_err(failed)? {
        if instance == finder.id || is_alive(files, &instance) {
            continue;
        }
        let started = row(&transaction, number).map_err(failed)?;
        let call = Call { instance: &instance, serial };
        let written = match started {
            Some(started) => appender.append_ended(call, &interrupted(&started, &finder.id, now_unix_ms())),
            // Somebody removed the row, which verification will say; there is nothing to be said about the call.
            None => transaction
                .execute(
                    "DELETE FROM open_calls WHERE instance = ?1 AND serial = ?2",
                    params![instance, serial.cast_signed()],
                )
                .map(|_| ()),
        };
        written.map_err(failed)?;
        buried += 1;
    }
    transaction.commit().map_err(failed)?;
    remove_dead(files);
    Ok(buried)
}

/// The instance, serial and `started` row of each call without an end.
pub(crate) fn open_calls(connection: &Connection) -> rusqlite::Result<Vec<(String, u64, u64)>> {
    let mut statement =
        connection.prepare_cached("SELECT instance, serial, number FROM open_calls ORDER BY number")?;
    let calls = statement.query_map([], |row| {
        let (serial, number): (i64, i64) = (row.get(1)?, row.get(2)?);
        Ok((row.get(0)?, serial.cast_unsigned(), number.cast_unsigned()))
    })?;
    calls.collect()
}

fn row(connection: &Connection, number: u64) -> rusqlite::Result<Option<StoredRow>> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM log WHERE number = ?1"))?;
    statement.query_row([number.cast_signed()], StoredRow::read).optional()
}

/// A file that cannot be removed now can be the next time.
fn remove_dead(files: &Files) {
    for entry in fs::read_dir(&files.instances).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(|id| is_alive(files, id)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The calendar's time. Core's rows bring their own; this is for the only rows that the store makes by itself.
fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_or_unlocked_file_is_a_proof_of_death() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::beside(&folder.path().join("airlock.db"));
        files.prepare().unwrap();
        let connection = Connection::open_in_memory().unwrap();
        let instance = Instance::enter(&files, &connection).unwrap();
        assert!(is_alive(&files, &instance.id));
        assert!(!is_alive(&files, "0123456789abcdef"));
        assert!(!is_alive(&files, "../airlock.db"));
        let id = instance.id.clone();
        fs::write(files.instances.join("fedcba9876543210"), "").unwrap();
        remove_dead(&files);
        assert_eq!(fs::read_dir(&files.instances).unwrap().count(), 1);
        drop(instance);
        assert!(!is_alive(&files, &id));
    }
}
