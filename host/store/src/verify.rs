//! Verification: the log and its head enter; what was done to them leaves, by the number of the first row that shows it.
//!
//! A crash is never a finding: after one the head may lag behind the log, and no row is half there.

mod diagnosis;
mod finding;

use std::collections::{HashMap, HashSet};

use airlock_core::{AuditKind, Digest};
use rusqlite::Connection;
use serde_json::Value;

use crate::chain::{COLUMNS, Position, StoredRow};
use crate::error::Error;
use crate::files::Files;
use crate::head::{self, Head};
use crate::{grants, instance};

pub use finding::{Finding, Verification};

/// How many rows are looked at between two looks at the file: no reader holds up the tidying of SQLite's own log.
const PAGE_ROWS: u32 = 256;

/// What stood in the database at one moment.
struct Snapshot {
    last: u64,
    /// Or why they cannot be read.
    tables: Result<Tables, String>,
}

/// What stands beside the log.
struct Tables {
    /// The `started` rows of calls without an end.
    open: HashSet<u64>,
    /// The id of each grant and the digest of its key.
    grants: Vec<(String, Digest)>,
}

/// What the rows themselves say about the other tables.
#[derive(Default)]
struct Told {
    open: HashMap<(String, u64), u64>,
    /// Digests of the keys of grants that were given and not revoked.
    granted: HashSet<String>,
}

pub(crate) fn verify(connection: &Connection, files: &Files) -> Result<Verification, Error> {
    let failed = |error: &rusqlite::Error| Error::sqlite(&files.database, error);
    // The head first: rows that are written meanwhile make the log longer than it, which is no finding.
    let head = head::read(files)?;
    let snapshot = snapshot(connection).map_err(|error| failed(&error))?;
    let mut findings = Vec::new();
    let mut told = Told::default();
    let walked =
        walk(connection, &snapshot, &head, &mut told, &mut findings).map_err(|error| failed(&error))?;
    let head_rows = check_head(&head, walked, findings.is_empty(), &mut findings);
    // What broken rows say about the other tables is worth nothing.
    if findings.is_empty() {
        check_tables(&snapshot, &told, &mut findings);
    }
    Ok(Verification { rows: walked.number, head_rows, findings })
}

fn snapshot(connection: &Connection) -> rusqlite::Result<Snapshot> {
    let transaction = connection.unchecked_transaction()?;
    let last = transaction.query_row("SELECT max(number) FROM log", [], |row| row.get::<_, Option<i64>>(0));
    let last = match last {
        Ok(last) => last.unwrap_or_default().cast_unsigned(),
        // The walk finds out where it cannot be read.
        Err(error) if is_content(&error) => i64::MAX.cast_unsigned(),
        Err(error) => return Err(error),
    };
    let open = instance::open_calls(&transaction);
    let open = open.map(|calls| calls.into_iter().map(|(_, _, number)| number).collect());
    let grants = grants::all(&transaction);
    let grants = grants
        .map(|grants| grants.into_iter().map(|grant| (grant.id.to_string(), grant.key.digest())).collect());
    let tables = match open.and_then(|open| Ok(Tables { open, grants: grants? })) {
        Err(error) if is_content(&error) => Err(error.to_string()),
        Err(error) => return Err(error),
        Ok(tables) => Ok(tables),
    };
    Ok(Snapshot { last, tables })
}

/// Follows the chain to the last row of the snapshot, or to the first one that does not fit.
fn walk(
    connection: &Connection,
    snapshot: &Snapshot,
    head: &Head,
    told: &mut Told,
    findings: &mut Vec<Finding>,
) -> rusqlite::Result<Position> {
    let mut position = Position::start();
    // A row may have any number that somebody gave it, also one below the first.
    let mut after = i64::MIN;
    let mut page = PAGE_ROWS;
    loop {
        let rows = match rows(connection, after, snapshot.last, page) {
            Ok(rows) => rows,
            // One row of the page cannot be read: those before it can, one by one.
            Err(error) if is_content(&error) && page > 1 => {
                page = 1;
                continue;
            }
            Err(error) if is_content(&error) => {
                findings.push(Finding::Unreadable { row: position.number + 1, reason: error.to_string() });
                return Ok(position);
            }
            Err(error) => return Err(error),
        };
        if rows.is_empty() {
            return Ok(position);
        }
        for row in rows {
            let expected = position.number + 1;
            if row.number != expected || row.hash != row.hash_at(expected, &position.hash) {
                findings.push(diagnosis::diagnose(connection, position, &row)?);
                return Ok(position);
            }
            position = Position { number: expected, hash: row.hash };
            if matches!(head, Head::At(head) if head.number == expected && head.hash != row.hash) {
                findings.push(Finding::Rewritten { row: expected });
                return Ok(position);
            }
            after = row.number.cast_signed();
            told.hear(&row);
        }
    }
}

/// Rows after `after` and up to `last`, in their order.
fn rows(connection: &Connection, after: i64, last: u64, limit: u32) -> rusqlite::Result<Vec<StoredRow>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM log WHERE number > ?1 AND number <= ?2 ORDER BY number LIMIT ?3"
    ))?;
    let rows = statement.query_map((after, last.cast_signed(), limit), StoredRow::read)?;
    rows.collect()
}

/// Whether the fault is in what the file says, and not in reading it.
fn is_content(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    // `Unknown` is what a statement without its table comes to.
    error.sqlite_error_code().is_none_or(|code| matches!(code, DatabaseCorrupt | NotADatabase | Unknown))
}

/// Holds the end of the log against the head; gives the head's count, if it has one.
fn check_head(head: &Head, walked: Position, is_whole: bool, findings: &mut Vec<Finding>) -> Option<u64> {
    match head {
        // A store gets its head after its tables and before its first row.
        Head::Missing if is_whole && walked.number == 0 => {}
        Head::Missing => findings.push(Finding::HeadMissing),
        Head::Unreadable => findings.push(Finding::HeadUnreadable),
        Head::At(head) => {
            // Behind a row that does not fit nobody can say where the log ends.
            if is_whole && head.number > walked.number {
                findings.push(Finding::CutTail { row: walked.number + 1, head: head.number });
            }
            if head.number == 0 && head.hash != Position::start().hash {
                findings.push(Finding::HeadUnreadable);
            }
            return Some(head.number);
        }
    }
    None
}

fn check_tables(snapshot: &Snapshot, told: &Told, findings: &mut Vec<Finding>) {
    let Tables { open, grants } = match &snapshot.tables {
        Ok(tables) => tables,
        Err(reason) => return findings.push(Finding::UnreadableTables { reason: reason.clone() }),
    };
    let hidden = told.open.values().filter(|number| !open.contains(number)).min();
    findings.extend(hidden.map(|row| Finding::HiddenCall { row: *row }));
    let forged = grants.iter().find(|(_, digest)| !told.granted.contains(&digest.to_string()));
    findings.extend(forged.map(|(id, _)| Finding::ForgedGrant { grant: id.clone() }));
}

impl Told {
    fn hear(&mut self, row: &StoredRow) {
        if let Some(serial) = row.serial {
            let call = (row.instance.clone(), serial);
            if row.kind == AuditKind::Started.as_str() {
                self.open.insert(call, row.number);
            } else {
                self.open.remove(&call);
            }
        }
        if row.kind != AuditKind::Grant.as_str() {
            return;
        }
        let body: Value = serde_json::from_str(&row.body).unwrap_or_default();
        let text = |field: &str| body.get(field).and_then(Value::as_str);
        match (text("action"), text("keyDigest")) {
            (Some("given"), Some(digest)) => drop(self.granted.insert(digest.to_owned())),
            (Some("revoked"), Some(digest)) => drop(self.granted.remove(digest)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
