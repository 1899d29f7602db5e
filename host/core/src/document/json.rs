//! Strict JSON with positions: UTF-8 text enters, a tree of nodes or the first fault leaves.
//!
//! Never recurses deeper than [`MAX_DEPTH`] and never looks at a byte twice.

use super::{Member, Node, Position, Problem, Value};

/// Deepest nesting. A contract schema may be 64 deep and sits a few levels down in its document.
const MAX_DEPTH: usize = 96;

/// The tree of one JSON document.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    let mut reader = Reader { text, offset: 0, position: Position { line: 1, column: 1 }, depth: 0 };
    reader.skip_space();
    if reader.peek().is_none() {
        return Err(reader.fault("the file is empty", Some("write a JSON object")));
    }
    let root = reader.value()?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(root),
        Some(_) => Err(reader.fault("something follows the end of the document", Some("remove it"))),
    }
}

struct Reader<'text> {
    text: &'text str,
    offset: usize,
    position: Position,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.offset..)?.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.offset += character.len_utf8();
        if character == '\n' {
            self.position = Position { line: self.position.line.saturating_add(1), column: 1 };
        } else {
            self.position.column = self.position.column.saturating_add(1);
        }
        Some(character)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\r' | '\n')) {
            self.next();
        }
    }

    fn fault(&self, message: impl Into<String>, hint: Option<&str>) -> Problem {
        Problem::syntax(self.position, message, hint)
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        match self.peek() {
            None => self
                .fault(format!("the file ends where {wanted} belongs"), Some("complete or restore the file")),
            Some('/') => self.fault("a comment is not JSON", Some("remove the comment")),
            Some('\'') => self.fault("a single quote is not JSON", Some("use double quotes")),
            Some(other) => self.fault(format!("found {other:?} where {wanted} belongs"), None),
        }
    }

    fn value(&mut self) -> Result<Node, Problem> {
        if self.depth >= MAX_DEPTH {
            return Err(
                self.fault(format!("nested deeper than {MAX_DEPTH} levels"), Some("flatten the document"))
            );
        }
        self.depth += 1;
        let position = self.position;
        let value = match self.peek() {
            Some('{') => self.object()?,
            Some('[') => self.array()?,
            Some('"') => Value::String(self.string()?),
            Some('-' | '0'..='9') => Value::Number(self.number()?),
            Some('a'..='z' | 'A'..='Z') => self.word()?,
            _ => return Err(self.unexpected("a value")),
        };
        self.depth -= 1;
        Ok(Node { position, value })
    }

    fn object(&mut self) -> Result<Value, Problem> {
        self.next();
        let mut members: Vec<Member> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        self.skip_space();
        if self.peek() == Some('}') {
            self.next();
            return Ok(Value::Object(members));
        }
        loop {
            self.skip_space();
            let position = self.position;
            if self.peek() != Some('"') {
                let trailing = self.peek() == Some('}');
                return Err(if trailing {
                    self.fault("a comma stands before the closing brace", Some("remove the trailing comma"))
                } else {
                    self.unexpected("a key in double quotes")
                });
            }
            let key = self.string()?;
            if !seen.insert(key.clone()) {
                return Err(Problem::syntax(
                    position,
                    format!("the key `{key}` occurs twice"),
                    Some("keep one of the two"),
                ));
            }
            self.skip_space();
            if self.peek() != Some(':') {
                return Err(self.unexpected("a colon"));
            }
            self.next();
            self.skip_space();
            let value = self.value()?;
            members.push(Member { position, key, value });
            if self.ends_list('}')? {
                return Ok(Value::Object(members));
            }
        }
    }

    fn array(&mut self) -> Result<Value, Problem> {
        self.next();
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(']') {
            self.next();
            return Ok(Value::Array(items));
        }
        loop {
            self.skip_space();
            if self.peek() == Some(']') {
                return Err(self
                    .fault("a comma stands before the closing bracket", Some("remove the trailing comma")));
            }
            items.push(self.value()?);
            if self.ends_list(']')? {
                return Ok(Value::Array(items));
            }
        }
    }

    /// After an element: true at the closing mark, false after a comma.
    fn ends_list(&mut self, close: char) -> Result<bool, Problem> {
        self.skip_space();
        match self.peek() {
            Some(',') => {
                self.next();
                Ok(false)
            }
            Some(character) if character == close => {
                self.next();
                Ok(true)
            }
            _ => Err(self.unexpected(&format!("a comma or `{close}`"))),
        }
    }

    fn string(&mut self) -> Result<String, Problem> {
        self.next();
        let mut string = String::new();
        loop {
            let before = self.position;
            match self.next() {
                None => {
                    return Err(Problem::syntax(
                        before,
                        "the file ends inside a string",
                        Some("complete or restore the file"),
                    ));
                }
                Some('"') => return Ok(string),
                Some('\\') => string.push(self.escape(before)?),
                Some(control) if (control as u32) < 0x20 => {
                    return Err(Problem::syntax(
                        before,
                        format!("{control:?} stands in a string"),
                        Some("escape it, as in \\n or \\t"),
                    ));
                }
                Some(character) => string.push(character),
            }
        }
    }

    fn escape(&mut self, start: Position) -> Result<char, Problem> {
        Ok(match self.next() {
            Some('"') => '"',
            Some('\\') => '\\',
            Some('/') => '/',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let first = self.hex(start)?;
                let code = if (0xd800..0xdc00).contains(&first) {
                    if self.next() != Some('\\') || self.next() != Some('u') {
                        return Err(Problem::syntax(start, "half of a surrogate pair stands alone", None));
                    }
                    let second = self.hex(start)?;
                    if !(0xdc00..0xe000).contains(&second) {
                        return Err(Problem::syntax(start, "half of a surrogate pair stands alone", None));
                    }
                    0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                } else {
                    first
                };
                char::from_u32(code)
                    .ok_or_else(|| Problem::syntax(start, "half of a surrogate pair stands alone", None))?
            }
            _ => {
                return Err(Problem::syntax(
                    start,
                    "unknown escape in a string",
                    Some("a backslash itself is written \\\\"),
                ));
            }
        })
    }

    fn hex(&mut self, start: Position) -> Result<u32, Problem> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.next().and_then(|character| character.to_digit(16));
            code = code * 16
                + digit.ok_or_else(|| Problem::syntax(start, "`\\u` needs four hex digits", None))?;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<String, Problem> {
        let (position, start) = (self.position, self.offset);
        while matches!(self.peek(), Some('0'..='9' | '-' | '+' | '.' | 'e' | 'E')) {
            self.next();
        }
        let number = self.text.get(start..self.offset).unwrap_or_default();
        // The grammar of numbers is serde_json's business; only the place of the fault is ours.
        match serde_json::from_str::<serde_json::Number>(number) {
            Ok(_) => Ok(number.to_owned()),
            Err(_) => Err(Problem::syntax(position, format!("`{number}` is not a JSON number"), None)),
        }
    }

    fn word(&mut self) -> Result<Value, Problem> {
        let (position, start) = (self.position, self.offset);
        while matches!(self.peek(), Some('a'..='z' | 'A'..='Z' | '0'..='9' | '_')) {
            self.next();
        }
        match self.text.get(start..self.offset).unwrap_or_default() {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            other => {
                let shown = crate::text::shorten(other, 40);
                Err(Problem::syntax(
                    position,
                    format!("`{shown}` is not a JSON value"),
                    Some("a text needs double quotes"),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &[u8], expected: &str) {
        let result = super::super::text(source).and_then(parse);
        let found = match result {
            Ok(_) => "ok".to_owned(),
            Err(problem) => {
                format!("{}:{} {}", problem.position.line, problem.position.column, problem.message)
            }
        };
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(source));
    }

    #[test]
    fn tolerates_a_byte_order_mark_and_crlf_and_nothing_else() {
        check(b"\xef\xbb\xbf{\"a\": 1}\r\n", "ok");
        check(b"{\r\n \"a\": [1, -2.5e3, true, null, \"\\u00e9\\ud83d\\ude00\"]\r\n}", "ok");
        check(b"{\"a\": 1,}", "1:9 a comma stands before the closing brace");
        check(b"[1,]", "1:4 a comma stands before the closing bracket");
        check(b"{\n  // no\n}", "2:3 a comment is not JSON");
        check(b"{\"a\": 1,\n \"a\": 2}", "2:2 the key `a` occurs twice");
        check(b"", "1:1 the file is empty");
        check(b"   ", "1:4 the file is empty");
        check(b"{} {}", "1:4 something follows the end of the document");
        check(b"{\"a\": 01}", "1:7 `01` is not a JSON number");
        check(b"{\"a\": yes}", "1:7 `yes` is not a JSON value");
        check(b"{'a': 1}", "1:2 a single quote is not JSON");
        check(b"\xff\xfe{\x00", "1:1 the file is UTF-16");
        check(b"{\"a\": \"\xff\"}", "1:8 the text is not UTF-8 from here on");
        check(b"{\"a\": \"b", "1:9 the file ends inside a string");
        check(b"{\"a\": \"\\ud800\"}", "1:8 half of a surrogate pair stands alone");
        check(b"{\"a\"", "1:5 the file ends where a colon belongs");
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        check(nested(MAX_DEPTH).as_bytes(), "ok");
        check(nested(MAX_DEPTH + 1).as_bytes(), "1:97 nested deeper than 96 levels");
        check("[".repeat(200_000).as_bytes(), "1:97 nested deeper than 96 levels");
    }
}
