//! One entry of an allow or deny list.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use crate::id::ToolName;

/// Longest entry in bytes: no name is longer than 64, and the rest leaves room for a prefix and wildcards.
const MAX_ENTRY_BYTES: usize = 128;

/// A tool name, a glob with `*`, `group:NAME`, `plugin:ID` or a bare plugin id; trimmed, lower-cased, and an alias of a
/// native tool replaced by its name.
///
/// What it matches is the policy's business; here it is only well-formed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyEntry(String);

impl PolicyEntry {
    /// The entry as it is compared.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// Says what is wrong with `text`, and what an entry looks like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let entry = text.trim().to_lowercase();
        if entry.len() > MAX_ENTRY_BYTES {
            return Err(format!(
                "an entry has at most {MAX_ENTRY_BYTES} bytes, this one has {}",
                entry.len()
            ));
        }
        let shown = crate::text::single_line(&crate::text::shorten(&entry, 80)).into_owned();
        let (kind, name) = match entry.split_once(':') {
            Some((kind @ ("group" | "plugin"), name)) => (Some(kind), name),
            Some(_) => {
                return Err(format!("`{shown}` is no entry: only `group:` and `plugin:` have a colon"));
            }
            None => (None, entry.as_str()),
        };
        if name.is_empty() {
            return Err(match kind {
                Some(kind) => format!("`{shown}` names no {kind}: write `{kind}:NAME`"),
                None => {
                    "an entry is empty: write a tool name, a glob, `group:NAME` or `plugin:ID`".to_owned()
                }
            });
        }
        let is_allowed = |character| {
            matches!(character, 'a'..='z' | '0'..='9' | '_' | '-') || character == '*' && kind.is_none()
        };
        if let Some(other) = name.chars().find(|character| !is_allowed(*character)) {
            return Err(format!(
                "`{shown}` contains {other:?}: names have lower-case letters, digits, `_` and `-`, and `*` is the only wildcard"
            ));
        }
        // Only an alias changes by this: an id or a name that is none stays as it is.
        Ok(Self(ToolName::canonicalise(&entry).map_or(entry, |name| name.to_string())))
    }
}

impl Serialize for PolicyEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for PolicyEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PolicyEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

crate::schemas::text_schema!(
    PolicyEntry,
    "A tool name, a glob with `*`, `group:NAME`, `plugin:ID` or a plugin id"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_well_formed_or_refused() {
        for good in ["read", " Web_* ", "*", "group:fs", "plugin:github", "a-b"] {
            assert!(PolicyEntry::parse(good).is_ok(), "{good}");
        }
        assert_eq!(PolicyEntry::parse(" BASH ").unwrap().as_str(), "exec");
        assert_eq!(PolicyEntry::parse("apply-patch").unwrap().as_str(), "apply_patch");
        assert!(PolicyEntry::parse(&"a".repeat(129)).is_err());
        for bad in ["", " ", "fs.re?d", "[a", "group:", "plugin:*", "other:x", "a b", "a/b"] {
            assert!(PolicyEntry::parse(bad).is_err(), "{bad}");
        }
    }
}
