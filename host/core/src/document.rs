//! Documents that strangers write: text enters, typed values or one exact problem leave.
//!
//! A problem has a line, a column, the path of the field and, for a misspelt word, what was probably meant. Every
//! file format of Airlock is read through this module, so that all of them are equally strict.

mod deserialize;
mod json;
mod toml;

use std::fmt;

use serde::de::DeserializeOwned;

use crate::diagnostic::Location;
use crate::error::Error;

pub use deserialize::RawJson;

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
}

impl Node {
    /// The value as JSON, digit for digit.
    fn json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            // A number's text was checked when it was read.
            Value::Number(number) => serde_json::from_str(number).unwrap_or_default(),
            Value::String(value) => value.as_str().into(),
            Value::Array(items) => items.iter().map(Self::json).collect(),
            Value::Object(members) => {
                members.iter().map(|member| (member.key.clone(), member.value.json())).collect()
            }
        }
    }
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
    /// The value below a key, or at an index in decimal.
    fn at(&self, step: &str) -> Option<&Node> {
        match self {
            Self::Object(members) => {
                members.iter().find(|member| member.key == step).map(|member| &member.value)
            }
            Self::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        }
    }

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

/// Longest message about a document, in characters: what a stranger wrote is quoted in it.
const MAX_PROBLEM_CHARS: usize = 1_000;

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
    /// The problem as an error about the file at `path`.
    pub(crate) fn error(&self, path: &std::path::Path) -> Error {
        let hint = self.hint.as_deref().map(|hint| format!(": {hint}")).unwrap_or_default();
        let problem = crate::text::shorten(&self.to_string(), MAX_PROBLEM_CHARS).into_owned();
        let problem = crate::text::single_line(&problem).into_owned();
        Error::configuration(format!("{}: {problem}{hint}", self.location(path)))
    }

    /// The problem's place in `path`.
    pub(crate) fn location(&self, path: impl Into<std::path::PathBuf>) -> Location {
        Location { path: path.into(), line: Some(self.position.line), column: Some(self.position.column) }
    }
}

/// A parsed document.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    root: Node,
}

impl Document {
    /// Parses strict JSON (RFC 8259) of UTF-8 bytes; a byte-order mark and CRLF are tolerated, duplicate keys are not.
    pub(crate) fn from_json(bytes: &[u8]) -> Result<Self, Problem> {
        Ok(Self { root: json::parse(text(bytes)?)? })
    }

    /// Parses TOML 1.1 of UTF-8 bytes; a byte-order mark and CRLF are tolerated.
    pub(crate) fn from_toml(bytes: &[u8]) -> Result<Self, Problem> {
        Ok(Self { root: toml::parse(text(bytes)?)? })
    }

    /// The document as a `T`; unknown fields and wrong types are problems with a place.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        deserialize::read(&self.root)
    }

    /// Where the value at `path` stands: keys, and indices of lists in decimal. The deepest part of it that exists.
    pub(crate) fn position(&self, path: &[&str]) -> Position {
        let (mut position, mut node) = (self.root.position, &self.root);
        for step in path {
            match &node.value {
                Value::Object(members) => {
                    let Some(member) = members.iter().find(|member| member.key == *step) else { break };
                    (position, node) = (member.position, &member.value);
                }
                Value::Array(items) => {
                    let Some(item) = step.parse().ok().and_then(|index: usize| items.get(index)) else {
                        break;
                    };
                    (position, node) = (item.position, item);
                }
                _ => break,
            }
        }
        position
    }

    /// A problem with the value at `path`.
    pub(crate) fn problem_at(&self, path: &[&str], message: impl Into<String>) -> Problem {
        let (mut shown, mut node) = (String::new(), Some(&self.root));
        for step in path {
            let is_list = matches!(node, Some(Node { value: Value::Array(_), .. }));
            match (is_list, shown.is_empty()) {
                (true, _) => shown.push_str(&format!("[{step}]")),
                (false, true) => shown.push_str(step),
                (false, false) => shown.push_str(&format!(".{step}")),
            }
            node = node.and_then(|node| node.value.at(step));
        }
        let (position, path) = (self.position(path), shown);
        Problem { position, path, message: message.into(), hint: None, is_syntax: false }
    }
}

/// A document and the file that it was read from, so that a rule in it can be shown with its line.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) path: std::path::PathBuf,
    pub(crate) document: Document,
}

impl Source {
    /// Where the value at `path` stands in the file.
    pub(crate) fn location(&self, path: &[&str]) -> Location {
        let Position { line, column } = self.document.position(path);
        Location { path: self.path.clone(), line: Some(line), column: Some(column) }
    }

    /// Whether the document's outermost object has the key.
    pub(crate) fn has(&self, key: Option<&str>) -> bool {
        let Value::Object(members) = &self.document.root.value else { return false };
        key.is_some_and(|key| members.iter().any(|member| member.key == key))
    }
}

impl Problem {
    fn syntax(position: Position, message: impl Into<String>, hint: Option<&str>) -> Self {
        let hint = hint.map(Into::into);
        Self { position, path: String::new(), message: message.into(), hint, is_syntax: true }
    }
}

/// The text of a document without its byte-order mark.
fn text(bytes: &[u8]) -> Result<&str, Problem> {
    let start = Position { line: 1, column: 1 };
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Problem::syntax(start, "the file is UTF-16", Some("save it as UTF-8")));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf".as_slice()).unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let before = std::str::from_utf8(valid).unwrap_or_default();
        let message = "the text is not UTF-8 from here on";
        Problem::syntax(Position::after(before), message, Some("save the file as UTF-8"))
    })
}

impl Position {
    /// The place that follows `text`.
    fn after(text: &str) -> Self {
        let line = text.matches('\n').count();
        let column = text.rsplit('\n').next().unwrap_or_default().chars().count();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        Self { line: number(line), column: number(column) }
    }
}
