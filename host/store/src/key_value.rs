//! What plugins keep, in the database: a plugin, a bucket and a key enter; bytes leave, or a change inside the writer's
//! transaction. It never shows one plugin the entries of another.

use airlock_core::{KeyValueError, MAX_KEYS, PluginId, sum};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

/// A change of one entry.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) plugin: PluginId,
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    Set { value: Vec<u8>, max_bytes: u64 },
    Delete,
    Increment { by: u64, max_bytes: u64 },
}

impl Change {
    /// How much memory it takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        match &self.what {
            What::Set { value, .. } => self.key.len() + value.len(),
            What::Delete | What::Increment { .. } => self.key.len(),
        }
    }

    /// What an entry with a value of so many bytes counts.
    fn size(&self, value_bytes: u64) -> u64 {
        (self.bucket.len() + self.key.len()) as u64 + value_bytes
    }
}

/// What all entries of a plugin have.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    bytes: u64,
    entries: u64,
}

/// Makes a change, or says why not and changes nothing. Gives the sum of an increment, else 0.
///
/// The transaction must be an immediate one, so that what is read here is still so when it is committed.
pub(crate) fn apply(
    transaction: &Transaction<'_>,
    change: &Change,
) -> rusqlite::Result<Result<u64, KeyValueError>> {
    match &change.what {
        What::Set { value, max_bytes } => Ok(write(transaction, change, value, *max_bytes)?.map(|()| 0)),
        What::Delete => delete(transaction, change).map(|()| Ok(0)),
        What::Increment { by, max_bytes } => {
            let value = get(transaction, &change.plugin, &change.bucket, &change.key)?;
            match sum(value.as_deref(), *by) {
                Ok(sum) => {
                    Ok(write(transaction, change, sum.to_string().as_bytes(), *max_bytes)?.map(|()| sum))
                }
                Err(error) => Ok(Err(error)),
            }
        }
    }
}

fn write(
    transaction: &Transaction<'_>,
    change: &Change,
    value: &[u8],
    max_bytes: u64,
) -> rusqlite::Result<Result<(), KeyValueError>> {
    let (before, used) = (value_bytes(transaction, change)?, in_use(transaction, &change.plugin)?);
    let replaced = before.map_or(0, |bytes| change.size(bytes));
    let bytes = used.bytes.saturating_sub(replaced).saturating_add(change.size(value.len() as u64));
    if bytes > max_bytes {
        return Ok(Err(KeyValueError::NoRoom { max_bytes }));
    }
    if before.is_none() && used.entries >= MAX_KEYS {
        return Ok(Err(KeyValueError::TooManyKeys));
    }
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO key_value (plugin, bucket, key, value) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![change.plugin.as_str(), change.bucket, change.key, value])?;
    let entries = used.entries + u64::from(before.is_none());
    set_use(transaction, &change.plugin, Use { bytes, entries })?;
    Ok(Ok(()))
}

fn delete(transaction: &Transaction<'_>, change: &Change) -> rusqlite::Result<()> {
    let Some(before) = value_bytes(transaction, change)? else { return Ok(()) };
    transaction
        .prepare_cached("DELETE FROM key_value WHERE plugin = ?1 AND bucket = ?2 AND key = ?3")?
        .execute(params![change.plugin.as_str(), change.bucket, change.key])?;
    let used = in_use(transaction, &change.plugin)?;
    let bytes = used.bytes.saturating_sub(change.size(before));
    set_use(transaction, &change.plugin, Use { bytes, entries: used.entries.saturating_sub(1) })
}

/// The value of a key.
pub(crate) fn get(
    connection: &Connection,
    plugin: &PluginId,
    bucket: &str,
    key: &str,
) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .prepare_cached("SELECT value FROM key_value WHERE plugin = ?1 AND bucket = ?2 AND key = ?3")?
        .query_row(params![plugin.as_str(), bucket, key], |row| row.get(0))
        .optional()
}

/// Keys of a bucket after `after`, in the order of their bytes.
pub(crate) fn keys(
    connection: &Connection,
    plugin: &PluginId,
    bucket: &str,
    after: Option<&str>,
    limit: u32,
) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT key FROM key_value WHERE plugin = ?1 AND bucket = ?2 AND (?3 IS NULL OR key > ?3) ORDER BY key LIMIT ?4",
    )?;
    let keys = statement.query_map(params![plugin.as_str(), bucket, after, limit], |row| row.get(0))?;
    keys.collect()
}

/// How many bytes a value has, without reading it.
fn value_bytes(connection: &Connection, change: &Change) -> rusqlite::Result<Option<u64>> {
    let bytes: Option<i64> = connection
        .prepare_cached("SELECT length(value) FROM key_value WHERE plugin = ?1 AND bucket = ?2 AND key = ?3")?
        .query_row(params![change.plugin.as_str(), change.bucket, change.key], |row| row.get(0))
        .optional()?;
    Ok(bytes.map(i64::cast_unsigned))
}

fn in_use(connection: &Connection, plugin: &PluginId) -> rusqlite::Result<Use> {
    let used = connection
        .prepare_cached("SELECT bytes, entries FROM key_value_use WHERE plugin = ?1")?
        .query_row([plugin.as_str()], |row| {
            let (bytes, entries): (i64, i64) = (row.get(0)?, row.get(1)?);
            Ok(Use { bytes: bytes.cast_unsigned(), entries: entries.cast_unsigned() })
        })
        .optional()?;
    Ok(used.unwrap_or_default())
}

fn set_use(connection: &Connection, plugin: &PluginId, used: Use) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO key_value_use (plugin, bytes, entries) VALUES (?1, ?2, ?3)")?
        .execute(params![plugin.as_str(), used.bytes.cast_signed(), used.entries.cast_signed()])?;
    Ok(())
}
