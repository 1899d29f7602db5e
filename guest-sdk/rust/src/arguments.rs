//! A call's JSON arguments enter, the tool's own argument type leaves, or a sentence that says where they do not fit.
//! It never guesses: an unknown field is refused.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The argument type of a tool: a struct under [`#[arguments]`](macro@crate::arguments).
///
/// Its JSON Schema has an object root and refuses unknown properties, which the attribute sees to.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool's argument struct",
    label = "a tool takes its arguments as one struct",
    note = "write `#[arguments]` above `struct {Self} {{ … }}`"
)]
pub trait Arguments: DeserializeOwned + JsonSchema {}

/// What a tool without arguments accepts: the empty object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "")]
pub struct NoArguments {}

impl Arguments for NoArguments {}

/// Reads one JSON document as a `T`.
///
/// # Errors
///
/// A sentence without a final stop that starts with the place, as a JSON pointer, and states the cause.
pub(crate) fn parse<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| explain(json, &error))
}

/// Not generic, so that a plugin holds it once and not once for every argument type.
fn explain(json: &str, error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let cause = text.strip_suffix(&position).unwrap_or(&text);
    let path = pointer_at(json, offset(json, error.line(), error.column()));
    if path.is_empty() { cause.to_owned() } else { format!("at `{path}`: {cause}") }
}

/// The byte offset of a position as `serde_json` counts it: lines from 1, columns in bytes.
fn offset(json: &str, line: usize, column: usize) -> usize {
    let start: usize = json.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (start + column).min(json.len())
}

/// One container that is open at some place of a document, and which of its children the place is in.
enum Open {
    Object { key: Option<String>, key_next: bool },
    Array { index: usize },
}

/// The JSON pointer of the value that the first `end` bytes of `json` end in.
fn pointer_at(json: &str, end: usize) -> String {
    let bytes = json.as_bytes().get(..end).unwrap_or_default();
    let mut open: Vec<Open> = Vec::new();
    let mut position = 0;
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'{' => open.push(Open::Object { key: None, key_next: true }),
            b'[' => open.push(Open::Array { index: 0 }),
            // A mistake found at a container's own end belongs to that container.
            b'}' | b']' if position + 1 == end => {
                if let Some(Open::Object { key, .. }) = open.last_mut() {
                    *key = None;
                } else {
                    open.pop();
                }
            }
            b'}' | b']' => {
                open.pop();
            }
            b',' => match open.last_mut() {
                Some(Open::Object { key, key_next }) => (*key, *key_next) = (None, true),
                Some(Open::Array { index }) => *index += 1,
                None => {}
            },
            b'"' => {
                let length = string_length(bytes.get(position..).unwrap_or_default());
                if let Some(Open::Object { key, key_next: key_next @ true }) = open.last_mut() {
                    let literal = bytes.get(position..position + length).unwrap_or_default();
                    *key = serde_json::from_slice(literal).ok();
                    *key_next = false;
                }
                position += length - 1;
            }
            _ => {}
        }
        position += 1;
    }
    open.iter().fold(String::new(), |path, container| match container {
        Open::Object { key: Some(key), .. } => path + "/" + &key.replace('~', "~0").replace('/', "~1"),
        Open::Object { key: None, .. } => path,
        Open::Array { index } => format!("{path}/{index}"),
    })
}

/// The length in bytes of the string literal that `bytes` starts with, quotes included, or of what there is of it.
fn string_length(bytes: &[u8]) -> usize {
    let mut escaped = false;
    for (position, byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return position + 1,
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Order {
        lines: Vec<Line>,
        #[serde(default)]
        note: Option<String>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Line {
        count: u8,
    }

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(parse::<Order>(json).unwrap_err(), expected);
    }

    #[test]
    fn fitting_arguments_are_read() {
        let order = parse::<Order>(r#"{"lines":[{"count":3}]}"#).unwrap();
        assert_eq!(order, Order { lines: vec![Line { count: 3 }], note: None });
    }

    #[test]
    fn the_place_of_a_mistake_is_named() {
        check(
            r#"{"lines":[{"count":1},{"count":"two"}]}"#,
            "at `/lines/1/count`: invalid type: string \"two\", expected u8",
        );
        check(
            r#"{"lines":[{"count":1},{"count":300}]}"#,
            "at `/lines/1/count`: invalid value: integer `300`, expected u8",
        );
        check(r#"{"lines":[{"count":1},{}]}"#, "at `/lines/1`: missing field `count`");
        check(
            "{\n  \"lines\": [\n    { \"a\\\"}\": [1] }\n]}",
            "at `/lines/0/a\"}`: unknown field `a\"}`, expected `count`",
        );
        check(r#"{"lines":[],"note":5}"#, "at `/note`: invalid type: integer `5`, expected a string");
    }

    #[test]
    fn a_mistake_in_the_root_has_no_path() {
        check("{}", "missing field `lines`");
        check("[]", "invalid length 0, expected struct Order with 2 elements");
    }
}
