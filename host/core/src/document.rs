//! Documents that strangers write: text enters, typed values or one exact problem leave.
//!
//! A problem has a line, a column, the path of the field and, for a misspelt word, what was probably meant. Every
//! file format of Airlock is read through this module, so that all of them are equally strict.

mod deserialize;
mod json;

use std::fmt;

use serde::de::DeserializeOwned;

use crate::diagnostic::Location;

pub(crate) use deserialize::RawJson;

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) position: Position,
    pub(crate) value: Value,
    /// The value's own text, from which a [`RawJson`] is read digit for digit.
    pub(crate) source: std::ops::Range<usize>,
}

/// What a value can be. Numbers stay text, so that no digit is lost before somebody asks for a type.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

impl Value {
    fn describe(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a text",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// One key and its value.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) position: Position,
    pub(crate) key: String,
    pub(crate) value: Node,
}

/// Why a document was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) position: Position,
    /// The field, as in `limits.timeoutMs` or `contracts.tools[2]`; empty for the document itself.
    pub(crate) path: String,
    pub(crate) message: String,
    /// What to write instead, if that can be told.
    pub(crate) hint: Option<String>,
    /// Whether the text is not even well-formed.
    pub(crate) is_syntax: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(formatter, "`{}`: ", self.path)?;
        }
        formatter.write_str(&self.message)
    }
}

impl Problem {
    /// The problem's place in `path`.
    pub(crate) fn location(&self, path: impl Into<std::path::PathBuf>) -> Location {
        Location { path: path.into(), line: Some(self.position.line), column: Some(self.position.column) }
    }
}

/// A parsed document: its tree, and the text it came from.
#[derive(Debug)]
pub(crate) struct Document<'text> {
    text: &'text str,
    root: Node,
}

impl<'text> Document<'text> {
    /// Parses strict JSON (RFC 8259) of UTF-8 bytes; a byte-order mark and CRLF are tolerated, duplicate keys are not.
    pub(crate) fn from_json(bytes: &'text [u8]) -> Result<Self, Problem> {
        let text = json::text(bytes)?;
        Ok(Self { text, root: json::parse(text)? })
    }

    /// The document as a `T`; unknown fields and wrong types are problems with a place.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        deserialize::read(&self.root, self.text)
    }

    /// A problem with the field at `path` (keys from the root), placed at the deepest part of it that exists.
    pub(crate) fn problem_at(&self, path: &[&str], message: impl Into<String>) -> Problem {
        let mut position = self.root.position;
        let mut node = &self.root;
        for key in path {
            let Value::Object(members) = &node.value else { break };
            let Some(member) = members.iter().find(|member| member.key == *key) else { break };
            position = member.position;
            node = &member.value;
        }
        Problem { position, path: path.join("."), message: message.into(), hint: None, is_syntax: false }
    }
}
