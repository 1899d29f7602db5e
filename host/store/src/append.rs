//! Appending: core's rows enter inside one transaction; numbered, chained rows leave.
//!
//! The end of the chain is read inside the transaction that extends it, so that several processes make one chain.

use airlock_core::{AuditKind, AuditRow, Digest};
use rusqlite::{Transaction, params};

use crate::chain::{Position, StoredRow};
use crate::head;

/// Extends the chain within one transaction.
#[derive(Debug)]
pub(crate) struct Appender<'transaction> {
    pub(crate) transaction: &'transaction Transaction<'transaction>,
    last: Position,
}

/// Whose row it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'text> {
    pub(crate) instance: &'text str,
    pub(crate) serial: u64,
}

impl<'transaction> Appender<'transaction> {
    /// The transaction must be an immediate one: no other process may append after this.
    pub(crate) fn begin(transaction: &'transaction Transaction<'transaction>) -> rusqlite::Result<Self> {
        Ok(Self { transaction, last: head::last(transaction)? })
    }

    /// A row that stands for itself.
    pub(crate) fn append(&mut self, instance: &str, row: &AuditRow) -> rusqlite::Result<()> {
        self.insert(instance, None, row).map(|_| ())
    }

    /// The row of a call that is about to run.
    pub(crate) fn append_started(&mut self, call: Call<'_>, row: &AuditRow) -> rusqlite::Result<()> {
        let number = self.insert(call.instance, Some(call.serial), row)?;
        let mut statement = self.transaction.prepare_cached(
            "INSERT OR REPLACE INTO open_calls (instance, serial, number) VALUES (?1, ?2, ?3)",
        )?;
        statement.execute(params![call.instance, call.serial.cast_signed(), number.cast_signed()])?;
        Ok(())
    }

    /// The last row of a call.
    pub(crate) fn append_ended(&mut self, call: Call<'_>, row: &AuditRow) -> rusqlite::Result<()> {
        self.insert(call.instance, Some(call.serial), row)?;
        let mut statement =
            self.transaction.prepare_cached("DELETE FROM open_calls WHERE instance = ?1 AND serial = ?2")?;
        statement.execute(params![call.instance, call.serial.cast_signed()])?;
        Ok(())
    }

    fn insert(&mut self, instance: &str, serial: Option<u64>, row: &AuditRow) -> rusqlite::Result<u64> {
        let number = self.last.number.saturating_add(1);
        let mut stored = StoredRow {
            number,
            instance: instance.to_owned(),
            serial,
            kind: row.kind.as_str().to_owned(),
            unix_ms: row.unix_ms,
            call_id: row.call_id.as_ref().map(ToString::to_string),
            tool: row.tool.clone(),
            body: row.body.clone(),
            hash: Digest::of(b""),
        };
        stored.hash = stored.hash_at(number, &self.last.hash);
        let mut statement = self.transaction.prepare_cached(
            "INSERT INTO log (number, instance, serial, kind, unix_ms, call_id, tool, body, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        statement.execute(params![
            number.cast_signed(),
            stored.instance,
            serial.map(u64::cast_signed),
            stored.kind,
            stored.unix_ms.cast_signed(),
            stored.call_id,
            stored.tool,
            stored.body,
            stored.hash.as_bytes().as_slice(),
        ])?;
        self.last = Position { number, hash: stored.hash };
        Ok(number)
    }
}

/// The row of a call whose process was gone before it ended.
pub(crate) fn interrupted(started: &StoredRow, found_by: &str, unix_ms: u64) -> AuditRow {
    let body = serde_json::json!({ "startedRow": started.number, "foundBy": found_by });
    AuditRow {
        kind: AuditKind::Interrupted,
        unix_ms,
        call_id: started.call_id.as_deref().and_then(|id| airlock_core::CallId::parse(id).ok()),
        tool: started.tool.clone(),
        body: body.to_string(),
    }
}
