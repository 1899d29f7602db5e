//! The chain: a row and the hash before it enter; the row's hash leaves. Every field is under it, each framed.

use airlock_core::Digest;
use rusqlite::Row;
use serde::Serialize;

/// The columns of a row, in the order in which [`StoredRow::read`] takes them.
pub(crate) const COLUMNS: &str = "number, instance, serial, kind, unix_ms, call_id, tool, body, hash";

/// One row as it is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredRow {
    /// Its place in the log, from 1, without gaps.
    pub number: u64,
    /// The opening of the store that the row is about: one for each host, another after every restart.
    pub instance: String,
    /// Ties the rows of one call together, within its instance.
    pub serial: Option<u64>,
    /// What it is about, in the words of [`AuditKind`](airlock_core::AuditKind).
    pub kind: String,
    /// When, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The call, by the id that it has within its host.
    pub call_id: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// One JSON document.
    pub body: String,
    /// Over the hash of the row before and everything above.
    pub hash: Digest,
}

/// A place in the chain: the row of that number has that hash, and so has everything before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) number: u64,
    pub(crate) hash: Digest,
}

impl Position {
    /// Before the first row.
    pub(crate) fn start() -> Self {
        Self { number: 0, hash: Digest::of(b"airlock audit log, chain 1") }
    }
}

impl StoredRow {
    /// The hash that this row has if it stands in the log as `number`, after a row with the hash `previous`.
    pub(crate) fn hash_at(&self, number: u64, previous: &Digest) -> Digest {
        let present = [self.serial.is_some(), self.call_id.is_some(), self.tool.is_some()].map(u8::from);
        Digest::of_parts([
            previous.as_bytes().as_slice(),
            &number.to_le_bytes(),
            self.instance.as_bytes(),
            // Without this, an absent field and an empty one would be alike.
            &present,
            &self.serial.unwrap_or_default().to_le_bytes(),
            self.kind.as_bytes(),
            &self.unix_ms.to_le_bytes(),
            self.call_id.as_deref().unwrap_or_default().as_bytes(),
            self.tool.as_deref().unwrap_or_default().as_bytes(),
            self.body.as_bytes(),
        ])
    }

    /// Reads the [`COLUMNS`]. SQLite's integers have a sign; the same 64 bits come back whatever stands there.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let number: i64 = row.get(0)?;
        let serial: Option<i64> = row.get(2)?;
        let unix_ms: i64 = row.get(4)?;
        Ok(Self {
            number: number.cast_unsigned(),
            instance: row.get(1)?,
            serial: serial.map(i64::cast_unsigned),
            kind: row.get(3)?,
            unix_ms: unix_ms.cast_unsigned(),
            call_id: row.get(5)?,
            tool: row.get(6)?,
            body: row.get(7)?,
            hash: Digest::from_bytes(row.get(8)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_field_is_under_the_hash() {
        let row = StoredRow {
            number: 7,
            instance: "i".into(),
            serial: Some(0),
            kind: "finished".into(),
            unix_ms: 3,
            call_id: Some(String::new()),
            tool: Some("ab".into()),
            body: "c".into(),
            hash: Digest::of(b""),
        };
        let start = Position::start().hash;
        let mut hashes = HashSet::from([row.hash_at(7, &start)]);
        assert!(hashes.insert(row.hash_at(8, &start)));
        assert!(hashes.insert(row.hash_at(7, &Digest::of(b"another"))));
        let changes: [fn(&mut StoredRow); 9] = [
            |row| row.instance = "j".into(),
            |row| row.serial = None,
            |row| row.serial = Some(1),
            |row| row.kind = "started".into(),
            |row| row.unix_ms = 4,
            |row| row.call_id = None,
            |row| row.tool = None,
            |row| row.body = "d".into(),
            // The same letters, split otherwise.
            |row| (row.tool, row.body) = (Some("a".into()), "bc".into()),
        ];
        for change in changes {
            let mut changed = row.clone();
            change(&mut changed);
            assert!(hashes.insert(changed.hash_at(7, &start)), "{changed:?}");
        }
    }
}
