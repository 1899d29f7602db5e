//! What verification can find, in words for people and for programs.

use std::fmt;

use serde::Serialize;

/// What came of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// How many rows follow one another as they were written.
    pub rows: u64,
    /// How many of them the head vouches for; `None` if it cannot be read. Rows after these are genuine members of the
    /// chain, but if some are missing at the end, nobody can tell.
    pub head_rows: Option<u64>,
    /// What was done to the files; empty if nothing was.
    pub findings: Vec<Finding>,
}

/// Something that no crash leaves behind: somebody or something else changed the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Finding {
    /// The row is not what was written behind the one before it.
    Altered {
        /// Its number.
        row: u64,
    },
    /// Rows are missing in the middle or at the beginning.
    Removed {
        /// The number of the first one.
        row: u64,
        /// How many.
        count: u64,
    },
    /// A row stands before others that it was not written before.
    Inserted {
        /// Its number, which may be any.
        row: i64,
    },
    /// Rows have changed places.
    Reordered {
        /// The first place with another row.
        row: u64,
        /// Where the row stands that belongs there.
        found_at: u64,
    },
    /// A row cannot be read.
    Unreadable {
        /// The number of the first one.
        row: u64,
        /// What SQLite says.
        reason: String,
    },
    /// The log ends before the row that the head names: rows at the end are missing, or the head was made to lead.
    CutTail {
        /// The number of the first missing row.
        row: u64,
        /// The number of the last row, as the head has it.
        head: u64,
    },
    /// The chain is whole and is not the one that the head was written for.
    Rewritten {
        /// The last row that was rewritten for certain.
        row: u64,
    },
    /// There is no head.
    HeadMissing,
    /// The head is not one that a store writes.
    HeadUnreadable,
    /// A call without an end was taken off the list of such calls, so that it would not be called interrupted.
    HiddenCall {
        /// The number of its `started` row.
        row: u64,
    },
    /// A standing approval that no row of the log has given.
    ForgedGrant {
        /// Its id.
        grant: String,
    },
    /// The standing approvals, or the list of calls without an end, cannot be read.
    UnreadableTables {
        /// What SQLite says.
        reason: String,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Altered { row: 1 } => formatter.write_str("row 1 was altered"),
            Self::Altered { row } => {
                write!(
                    formatter,
                    "row {row} was altered, or row {} together with its hash",
                    row.saturating_sub(1)
                )
            }
            Self::Removed { row, count: 1 } => write!(formatter, "row {row} was removed"),
            Self::Removed { row, count } => {
                write!(
                    formatter,
                    "rows {row} to {} were removed",
                    row.saturating_add(count.saturating_sub(1))
                )
            }
            Self::Inserted { row } => write!(formatter, "row {row} was inserted"),
            Self::Reordered { row, found_at } => {
                write!(formatter, "rows were reordered: what was written as row {row} stands at {found_at}")
            }
            Self::Unreadable { row, reason } => write!(formatter, "row {row} cannot be read: {reason}"),
            Self::CutTail { row, head } => write!(
                formatter,
                "the end was cut off: the head file counts {head} rows, and row {row} is missing"
            ),
            Self::Rewritten { row } => write!(
                formatter,
                "the log was rewritten: row {row} is not the one that the head file names, though the chain is whole"
            ),
            Self::HeadMissing => formatter.write_str("the head file was removed: a cut end would not show"),
            Self::HeadUnreadable => {
                formatter.write_str("the head file was altered: a cut end would not show")
            }
            Self::HiddenCall { row } => write!(
                formatter,
                "the call that row {row} started has no end, and was taken off the list of such calls"
            ),
            Self::ForgedGrant { grant } => {
                write!(
                    formatter,
                    "the standing approval {grant} was given by nobody: no row of the log has it"
                )
            }
            Self::UnreadableTables { reason } => {
                write!(formatter, "the standing approvals or the list of open calls cannot be read: {reason}")
            }
        }
    }
}
