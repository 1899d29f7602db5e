//! `allowed-tools`: what a skill writes enters; tools by their canonical names leave, with what could not be read as one. It
//! knows no surface: a list is a ceiling, and what is under it is decided elsewhere.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use crate::id::ToolName;

/// Entries of one list: more than any run has tools for one task.
const MAX_ENTRIES: usize = 256;

/// What a run may use while a skill is active.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedTools {
    /// As they were written.
    entries: Vec<String>,
}

impl AllowedTools {
    /// The tools by name. An entry such as `Bash(git:*)` stands for the whole tool, since Airlock knows no part of one.
    pub fn names(&self) -> BTreeSet<ToolName> {
        self.entries.iter().filter_map(|entry| ToolName::canonicalise(plain(entry)).ok()).collect()
    }

    /// Whether it has no entry, and so permits nothing by its own word.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries that limit a tool to some arguments, which is not held.
    pub fn coarser(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(String::as_str).filter(|entry| plain(entry).len() < entry.len())
    }

    /// Entries that are no name of a tool.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(String::as_str).filter(|entry| ToolName::canonicalise(plain(entry)).is_err())
    }
}

/// The name before a parenthesis.
fn plain(entry: &str) -> &str {
    entry.split_once('(').map_or(entry, |(name, _)| name).trim()
}

/// The entries of a text: what stands between blanks and commas, outside parentheses.
fn entries(text: &str) -> Vec<String> {
    let (mut entries, mut depth) = (vec![String::new()], 0_usize);
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (character.is_whitespace() || character == ',') {
            entries.push(String::new());
        } else if let Some(last) = entries.last_mut() {
            last.push(character);
        }
    }
    entries.retain(|entry| !entry.is_empty());
    entries
}

impl<'de> Deserialize<'de> for AllowedTools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "`allowed-tools` is a text of tools' names, or a list of them")]
        enum Written {
            List(Vec<String>),
            Text(String),
        }
        let entries = match Option::<Written>::deserialize(deserializer)? {
            Some(Written::List(list)) => list.into_iter().map(|entry| entry.trim().to_owned()).collect(),
            Some(Written::Text(text)) => entries(&text),
            None => Vec::new(),
        };
        if entries.len() > MAX_ENTRIES {
            let found = entries.len();
            return Err(D::Error::custom(format!(
                "`allowed-tools` has {found} entries, the limit is {MAX_ENTRIES}"
            )));
        }
        Ok(Self { entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Result<AllowedTools, String> {
        super::super::yaml::parse::<AllowedTools>(yaml).map_err(|error| error.message)
    }

    #[test]
    fn every_form_names_the_same_tools() {
        let names = |yaml: &str| {
            read(yaml).unwrap().names().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        for form in ["Read Grep", "Read, Grep", "[Read, Grep]", "- Read\n- Grep", "'Read(src/**) Grep'"] {
            assert_eq!(names(form), "grep read", "{form}");
        }
        assert_eq!(names("Bash(git add:*, git status:*) Read"), "exec read");
        assert_eq!(names("[]"), "");
        assert_eq!(names("''"), "");
    }

    #[test]
    fn what_is_no_list_is_an_error_and_not_no_restriction() {
        for wrong in ["true", "7", "{a: b}", "[true]", "[[Read]]"] {
            let read = read(wrong);
            assert!(read.is_err(), "{wrong}: {read:?}");
        }
    }

    #[test]
    fn what_is_coarser_or_no_name_is_told() {
        let tools = read("Bash(git:*) Read mcp__*").unwrap();
        assert_eq!(tools.coarser().collect::<Vec<_>>(), ["Bash(git:*)"]);
        assert_eq!(tools.unreadable().collect::<Vec<_>>(), ["mcp__*"]);
    }
}
