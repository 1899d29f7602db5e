//! TOML with positions: text enters, the same tree as for JSON or the first fault leaves.
//!
//! The parser is the `toml` crate's; this file only knows where its values stand.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Member, Node, Position, Problem, Value};

/// The tree of one TOML document.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    let places = Places::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let position = places.at(error.span().map_or(0, |span| span.start));
        Problem::syntax(position, error.message().to_owned(), Some("write TOML"))
    })?;
    let start = Position { line: 1, column: 1 };
    Ok(Node { position: start, value: Value::Object(places.members(table.get_ref())?) })
}

/// Turns byte offsets into lines and columns.
struct Places<'text> {
    text: &'text str,
    line_starts: Vec<usize>,
}

impl<'text> Places<'text> {
    fn of(text: &'text str) -> Self {
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, line_starts: std::iter::once(0).chain(starts).collect() }
    }

    fn at(&self, offset: usize) -> Position {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Position { line: number(line), column: number(before.chars().count()).saturating_add(1) }
    }

    fn of_span(&self, span: &Range<usize>) -> Position {
        self.at(span.start)
    }

    /// Members in the order in which they are written, not in that of the parser's map.
    fn members(&self, table: &DeTable<'_>) -> Result<Vec<Member>, Problem> {
        let mut written: Vec<_> = table.iter().collect();
        written.sort_by_key(|(key, _)| key.span().start);
        let member = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let key: &Spanned<std::borrow::Cow<'_, str>> = key;
            Ok(Member {
                position: self.of_span(&key.span()),
                key: key.get_ref().to_string(),
                value: self.node(value)?,
            })
        };
        written.into_iter().map(member).collect()
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Result<Node, Problem> {
        let position = self.of_span(&value.span());
        let value = match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Integer(integer) => {
                let number = i128::from_str_radix(integer.as_str(), integer.radix());
                let number =
                    number.map_err(|_| Problem::syntax(position, "the number is out of range", None))?;
                Value::Number(number.to_string())
            }
            DeValue::Float(float) => {
                let number = float.as_str().trim_start_matches('+');
                let is_json = serde_json::from_str::<serde_json::Number>(number).is_ok();
                if !is_json {
                    let message = format!("`{number}` is not a number that can be used here");
                    return Err(Problem::syntax(position, message, None));
                }
                Value::Number(number.to_owned())
            }
            DeValue::Datetime(time) => Value::String(time.to_string()),
            DeValue::Array(items) => {
                Value::Array(items.iter().map(|item| self.node(item)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => Value::Object(self.members(table)?),
        };
        Ok(Node { position, value })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Document;

    #[test]
    fn values_and_their_places_are_read() {
        let text = "[a.\"b c\"]\nx = 1_000\ny = [\"p\", { z = 0x10 }]\n\n[[a.list]]\nf = 1.50\n";
        let document = Document::from_toml(text.as_bytes()).unwrap();
        let json = document.root.json().to_string();
        assert_eq!(json, r#"{"a":{"b c":{"x":1000,"y":["p",{"z":16}]},"list":[{"f":1.50}]}}"#);
        let place = |path: &[&str]| {
            let position = document.position(path);
            (position.line, position.column)
        };
        assert_eq!(place(&["a", "b c", "x"]), (2, 1));
        assert_eq!(place(&["a", "b c", "y", "1"]), (3, 11));
        assert_eq!(place(&["a", "b c", "y", "1", "z"]), (3, 13));
        assert_eq!(place(&["a", "list", "0", "f"]), (6, 1));
    }

    #[test]
    fn faults_have_a_place() {
        for (text, line) in
            [("a = \n", 1), ("\nb = 1\nb = 2\n", 3), ("x = inf\n", 1), ("= 1", 1), ("\u{e9} = 1", 1)]
        {
            let problem = Document::from_toml(text.as_bytes()).unwrap_err();
            assert!(problem.is_syntax && problem.position.line == line, "{text:?}: {problem:?}");
        }
        let deep = format!("a = {}1{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(Document::from_toml(deep.as_bytes()).is_err());
    }
}
