//! Reading: a question enters; a page of rows leaves. It changes nothing and is in no writer's way.

use std::path::Path;

use airlock_core::Grant;
use rusqlite::{Connection, ToSql, named_params};

use crate::chain::{COLUMNS, StoredRow};
use crate::error::Error;
use crate::files::Files;
use crate::verify::{self, Verification};
use crate::{grants, head, instance, schema};

/// Most rows of one page: a body may have megabytes, and whoever wants more asks for the next page.
const MAX_PAGE_ROWS: u32 = 1_000;

/// An audit log, opened to be read.
#[derive(Debug)]
pub struct Log {
    connection: Connection,
    files: Files,
}

/// Which rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Only rows after this number.
    pub after: Option<u64>,
    /// Only rows before this number.
    pub before: Option<u64>,
    /// Only rows of calls with this id.
    pub call_id: Option<String>,
    /// Only rows of this tool.
    pub tool: Option<String>,
    /// Which come first.
    pub order: Order,
    /// How many at most; a page never has more than 1,000.
    pub limit: u32,
}

/// Which rows come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// The oldest.
    #[default]
    OldestFirst,
    /// The newest.
    NewestFirst,
}

/// A call that has started and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The number of its `started` row.
    pub row: u64,
    /// Whether its process is still there. If not, the call was interrupted, and the next host that opens the store
    /// writes that down.
    pub is_running: bool,
}

impl Log {
    /// Opens the log of the store at `database`.
    ///
    /// # Errors
    /// If there is none, it cannot be read, or others may read it.
    pub fn open(database: &Path) -> Result<Self, Error> {
        let files = Files::beside(database);
        Ok(Self { connection: schema::open_for_reading(&files)?, files })
    }

    /// The rows that fit the query.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn page(&self, query: &Query) -> Result<Vec<StoredRow>, Error> {
        let mut conditions = vec!["number > :after", "number < :before"];
        // Only a condition that is there can use its index.
        conditions.extend(query.call_id.as_ref().map(|_| "call_id = :call_id"));
        conditions.extend(query.tool.as_ref().map(|_| "tool = :tool"));
        let direction = match query.order {
            Order::OldestFirst => "ASC",
            Order::NewestFirst => "DESC",
        };
        let statement = format!(
            "SELECT {COLUMNS} FROM log WHERE {} ORDER BY number {direction} LIMIT :limit",
            conditions.join(" AND ")
        );
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (after, before) = (query.after.map_or(i64::MIN, signed), query.before.map_or(i64::MAX, signed));
        let limit = query.limit.min(MAX_PAGE_ROWS);
        let mut parameters: Vec<(&str, &dyn ToSql)> =
            named_params! { ":after": after, ":before": before, ":limit": limit }.to_vec();
        parameters.extend(query.call_id.as_ref().map(|id| (":call_id", id as &dyn ToSql)));
        parameters.extend(query.tool.as_ref().map(|tool| (":tool", tool as &dyn ToSql)));
        let read = || {
            let mut statement = self.connection.prepare_cached(&statement)?;
            let rows = statement.query_map(parameters.as_slice(), StoredRow::read)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| self.failed(&error))
    }

    /// The number of the last row; 0 if there is none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn last(&self) -> Result<u64, Error> {
        head::last(&self.connection).map(|last| last.number).map_err(|error| self.failed(&error))
    }

    /// The calls that have started and not ended, oldest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn unfinished(&self) -> Result<Vec<Unfinished>, Error> {
        let calls = instance::open_calls(&self.connection).map_err(|error| self.failed(&error))?;
        let unfinished = calls.into_iter().map(|(instance, _, row)| Unfinished {
            row,
            is_running: instance::is_alive(&self.files, &instance),
        });
        Ok(unfinished.collect())
    }

    /// The standing approvals, oldest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn grants(&self) -> Result<Vec<Grant>, Error> {
        grants::all(&self.connection).map_err(|error| self.failed(&error))
    }

    /// Holds every row against the chain, and the log against its head. Memory is bounded; rows may be written meanwhile.
    ///
    /// # Errors
    /// If the files cannot be read; what was done to them is not an error but a finding.
    pub fn verify(&self) -> Result<Verification, Error> {
        verify::verify(&self.connection, &self.files)
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        Error::sqlite(&self.files.database, error)
    }
}
