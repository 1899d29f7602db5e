//! What happened where the chain breaks: the last good place and the first row that does not follow it enter; the likeliest
//! single change that explains it leaves.
//!
//! *That* the chain breaks there is certain. What kind of change it was is read from the hashes around it, which whoever
//! changed the file may have changed, too.

use rusqlite::Connection;

use super::{Finding, is_content, rows};
use crate::chain::{Position, StoredRow};

/// How far around the break the other half of a change is looked for: beyond that it is called altered.
const WINDOW_ROWS: u32 = 1_000;

pub(super) fn diagnose(
    connection: &Connection,
    good: Position,
    row: &StoredRow,
) -> rusqlite::Result<Finding> {
    let expected = good.number + 1;
    let found = row.number.cast_signed();
    if found < expected.cast_signed() {
        return Ok(Finding::Inserted { row: found });
    }
    if row.number > expected {
        return Ok(Finding::Removed { row: expected, count: row.number - expected });
    }
    let following = match rows(connection, found, i64::MAX.cast_unsigned(), WINDOW_ROWS) {
        Ok(following) => following,
        // The file is damaged behind this row, too.
        Err(error) if is_content(&error) => Vec::new(),
        Err(error) => return Err(error),
    };
    // The row that belongs here stands somewhere else.
    let genuine = following.iter().position(|other| other.hash == other.hash_at(expected, &good.hash));
    if let Some(place) = genuine {
        let (genuine, next) = (following.get(place), following.get(place + 1));
        let is_followed = |next: &StoredRow| {
            genuine.is_some_and(|genuine| next.hash == next.hash_at(expected + 1, &genuine.hash))
        };
        let was_last = next.is_none() && place == 0 && !stood_there(row, expected, &following, place);
        if next.is_some_and(is_followed) || was_last {
            return Ok(Finding::Inserted { row: expected.cast_signed() });
        }
        let found_at = genuine.map_or(expected, |genuine| genuine.number);
        return Ok(Finding::Reordered { row: expected, found_at });
    }
    // The rows behind follow this one's hash under later numbers: those between are gone, and the rest moved up.
    if let Some(next) = following.first() {
        let gone = (1..=u64::from(WINDOW_ROWS))
            .find(|gone| next.hash == next.hash_at(next.number.saturating_add(*gone), &row.hash));
        if let Some(count) = gone {
            return Ok(Finding::Removed { row: expected, count });
        }
    }
    Ok(Finding::Altered { row: expected })
}

/// Whether `row` is what was written right behind the genuine row, so that the two have changed places.
fn stood_there(row: &StoredRow, expected: u64, following: &[StoredRow], place: usize) -> bool {
    following.get(place).is_some_and(|genuine| row.hash == row.hash_at(expected + 1, &genuine.hash))
}
