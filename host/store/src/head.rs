//! The second file: how many rows the log has and the last one's hash, so that rows missing from its end show.
//!
//! It is written after the rows are on disk, so after a crash it may lag behind the log and can never lead. Once it
//! contradicts the log it is never touched again: it is evidence.

use std::fs;
use std::io::{self, Read as _};
use std::time::Duration;

use airlock_core::Digest;
use rusqlite::{Connection, OptionalExtension as _};

use crate::chain::Position;
use crate::error::Error;
use crate::files::{self, Files};

/// The first word of the file, with the version of its format.
const FORMAT: &str = "airlock-audit-head-1";

/// More than the file ever has: its format, a number and a digest.
const MAX_BYTES: u64 = 256;

/// How long an advance waits for another process that is advancing, too; the next one makes up for one that gave up.
const ADVANCE_PATIENCE: Duration = Duration::from_millis(500);

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Head {
    At(Position),
    Missing,
    Unreadable,
}

/// What came of an attempt to advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advance {
    /// The file names the last row.
    Done,
    /// Another process holds the lock; the file lags for now.
    Later,
    /// The log does not have the row that the file names, or there is no file.
    Contradiction,
}

pub(crate) fn read(files: &Files) -> Result<Head, Error> {
    let read = || -> io::Result<Vec<u8>> {
        // Whatever else somebody put there may have no end.
        if !fs::symlink_metadata(&files.head)?.is_file() {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        fs::File::open(&files.head)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Ok(parse(&bytes).map_or(Head::Unreadable, Head::At)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Head::Missing),
        Err(error) => Err(Error::io("read", &files.head, &error)),
    }
}

fn parse(bytes: &[u8]) -> Option<Position> {
    let mut words = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?.split(' ');
    let (format, number, hash) = (words.next()?, words.next()?, words.next()?);
    if format != FORMAT || words.next().is_some() {
        return None;
    }
    Some(Position { number: number.parse().ok()?, hash: Digest::parse(hash)? })
}

/// Makes the file for a log that has no rows yet. The caller holds the lock.
pub(crate) fn begin(files: &Files, connection: &Connection) -> Result<(), Error> {
    let failed = |error: rusqlite::Error| Error::sqlite(&files.database, &error);
    if read(files)? == Head::Missing && last(connection).map_err(failed)? == Position::start() {
        write(files, Position::start())?;
    }
    Ok(())
}

/// Lets the file name the last row that is on disk, if it agrees with the log so far.
pub(crate) fn advance(files: &Files, connection: &Connection) -> Result<Advance, Error> {
    let failed = |error: rusqlite::Error| Error::sqlite(&files.database, &error);
    // Without the lock, a process that is slow could put an older count over a newer one.
    let Some(_locked) = files.lock(ADVANCE_PATIENCE)? else { return Ok(Advance::Later) };
    let Head::At(head) = read(files)? else { return Ok(Advance::Contradiction) };
    if hash_at(connection, head.number).map_err(failed)? != Some(head.hash) {
        return Ok(Advance::Contradiction);
    }
    // What this connection can see, its writer has flushed to the disk before.
    let last = last(connection).map_err(failed)?;
    if last != head {
        write(files, last)?;
    }
    Ok(Advance::Done)
}

fn write(files: &Files, position: Position) -> Result<(), Error> {
    let text = format!("{FORMAT} {} {}\n", position.number, position.hash);
    files::replace(&files.head, &text).map_err(|error| Error::io("write", &files.head, &error))
}

/// The last row's place in the chain.
pub(crate) fn last(connection: &Connection) -> rusqlite::Result<Position> {
    let mut statement =
        connection.prepare_cached("SELECT number, hash FROM log ORDER BY number DESC LIMIT 1")?;
    let last = statement.query_row([], |row| {
        let number: i64 = row.get(0)?;
        Ok(Position { number: number.cast_unsigned(), hash: Digest::from_bytes(row.get(1)?) })
    });
    Ok(last.optional()?.unwrap_or_else(Position::start))
}

/// The hash that stands in a row, or before the first one.
pub(crate) fn hash_at(connection: &Connection, number: u64) -> rusqlite::Result<Option<Digest>> {
    if number == 0 {
        return Ok(Some(Position::start().hash));
    }
    let mut statement = connection.prepare_cached("SELECT hash FROM log WHERE number = ?1")?;
    statement.query_row([number.cast_signed()], |row| Ok(Digest::from_bytes(row.get(0)?))).optional()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::beside(&folder.path().join("airlock.db"));
        assert_eq!(read(&files).unwrap(), Head::Missing);
        let position = Position { number: 7, hash: Digest::of(b"7") };
        write(&files, position).unwrap();
        assert_eq!(read(&files).unwrap(), Head::At(position));
        let text = fs::read_to_string(&files.head).unwrap();
        for bad in
            ["", &text[1..], text.trim_end(), &text.replace('7', "x"), &format!("{} x\n", text.trim_end())]
        {
            fs::write(&files.head, bad).unwrap();
            assert_eq!(read(&files).unwrap(), Head::Unreadable, "{bad}");
        }
    }
}
