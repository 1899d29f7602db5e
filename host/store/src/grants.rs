//! Standing approvals in the database: a key enters, the grant that has exactly this key leaves.

use airlock_core::{Decided, Digest, Grant, GrantId, GrantKey, Party, ToolName};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::append::Appender;

/// The columns of a grant, in the order in which [`read`] takes them.
const COLUMNS: &str =
    "id, agent, session_owner, askers, owner, owner_digest, tool, arguments, decided_by, unix_ms";

/// The grant for these arguments, else the one for all.
pub(crate) fn find(connection: &Connection, key: &GrantKey) -> rusqlite::Result<Option<Grant>> {
    match exact(connection, key)? {
        Some(grant) => Ok(Some(grant)),
        None if key.arguments.is_some() => exact(connection, &key.for_all_arguments()),
        None => Ok(None),
    }
}

fn exact(connection: &Connection, key: &GrantKey) -> rusqlite::Result<Option<Grant>> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM grants WHERE key_digest = ?1"))?;
    let found = statement.query_row([key.digest().to_string()], read).optional()?;
    // A row that was changed by hand covers nothing but what stands under its digest.
    Ok(found.filter(|grant| grant.key == *key))
}

/// Every grant, oldest first.
pub(crate) fn all(connection: &Connection) -> rusqlite::Result<Vec<Grant>> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM grants ORDER BY unix_ms, id"))?;
    let grants = statement.query_map([], read)?;
    grants.collect()
}

/// Gives a grant, with its row; one that exists already comes back as it is.
pub(crate) fn insert(
    appender: &mut Appender<'_>,
    instance: &str,
    key: &GrantKey,
    decided: &Decided,
) -> rusqlite::Result<Grant> {
    let connection = appender.transaction;
    if let Some(grant) = exact(connection, key)? {
        return Ok(grant);
    }
    let digest = key.digest();
    let mut chars = GrantId::SHORT_CHARS;
    let mut id = GrantId::of(&digest, chars);
    // An id that is taken gets longer, and after all 52 characters only the same key has it.
    while id.as_str().len() == chars && by_id(connection, &id)?.is_some() {
        chars += 1;
        id = GrantId::of(&digest, chars);
    }
    let grant = Grant { id, key: key.clone(), decided: decided.clone() };
    let askers = serde_json::to_string(&key.askers).unwrap_or_default();
    let mut statement = connection.prepare_cached(&format!(
        "INSERT INTO grants ({COLUMNS}, key_digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
    ))?;
    statement.execute(params![
        grant.id.as_str(),
        key.agent,
        key.session_owner,
        askers,
        key.owner.id,
        key.owner.digest.to_string(),
        key.tool.as_str(),
        key.arguments.map(|digest| digest.to_string()),
        decided.by,
        decided.unix_ms.cast_signed(),
        digest.to_string(),
    ])?;
    appender.append(instance, &grant.given())?;
    Ok(grant)
}

/// Takes a grant back, with its row.
pub(crate) fn revoke(
    appender: &mut Appender<'_>,
    instance: &str,
    id: &GrantId,
    decided: &Decided,
) -> rusqlite::Result<Option<Grant>> {
    let Some(grant) = by_id(appender.transaction, id)? else { return Ok(None) };
    appender.transaction.execute("DELETE FROM grants WHERE id = ?1", [id.as_str()])?;
    appender.append(instance, &grant.revoked(decided))?;
    Ok(Some(grant))
}

fn by_id(connection: &Connection, id: &GrantId) -> rusqlite::Result<Option<Grant>> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM grants WHERE id = ?1"))?;
    statement.query_row([id.as_str()], read).optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Grant> {
    let text = |column: usize| row.get::<_, String>(column);
    let digest = |column: usize| {
        Digest::parse(&text(column)?).ok_or_else(|| unreadable(column, "a digest is 64 hex digits".into()))
    };
    let key = GrantKey {
        agent: text(1)?,
        session_owner: text(2)?,
        askers: serde_json::from_str(&text(3)?).map_err(|error| unreadable(3, error.into()))?,
        owner: Party { id: text(4)?, digest: digest(5)? },
        tool: ToolName::parse(&text(6)?).map_err(|error| unreadable(6, error.into()))?,
        arguments: row.get::<_, Option<String>>(7)?.map(|_| digest(7)).transpose()?,
    };
    let unix_ms: i64 = row.get(9)?;
    Ok(Grant {
        id: GrantId::parse(&text(0)?).map_err(|error| unreadable(0, error.into()))?,
        key,
        decided: Decided { by: text(8)?, unix_ms: unix_ms.cast_unsigned() },
    })
}

fn unreadable(column: usize, error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error)
}
