//! What a call gives back, bounded: a tool's answer enters; what the model reads and what the transcript keeps leave.
//!
//! Nothing that a guest produced passes here unbounded, and `details` never reach a model.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::call::CallKind;
use crate::id::CallId;
use crate::run::RunContext;
use crate::text;
use crate::tool::{Content, ToolResult};

/// Largest content of one result, and largest details, in bytes each.
pub(crate) const MAX_CONTENT_BYTES: usize = 1 << 20;

/// Largest details in a record, in bytes of JSON. OpenClaw's number; a transcript holds thousands of records.
const MAX_RECORD_DETAILS_BYTES: usize = 8_192;

/// How many keys of over-long details a summary names.
const MAX_SUMMARY_KEYS: usize = 40;

/// Longest status text that a summary keeps, in characters.
const MAX_SUMMARY_CHARS: usize = 200;

/// Fields of details that say how something ended, kept in a summary.
const STATUS_FIELDS: &[&str] =
    &["status", "ok", "success", "error", "exitCode", "exit_code", "timedOut", "code", "message", "name"];

/// How many characters of text a model gets from one result: more only where its context is known to be large.
pub(crate) fn model_text_chars(run: &RunContext) -> usize {
    match run.context_tokens() {
        Some(200_000..) => 64_000,
        Some(100_000..) => 32_000,
        _ => 16_000,
    }
}

/// The same pieces, their text cut to `max_chars` characters in all, with a marker where something was cut.
pub(crate) fn bound_content(content: Vec<Content>, max_chars: usize) -> Vec<Content> {
    let total: usize = content.iter().map(text_chars).sum();
    if total <= max_chars {
        return content;
    }
    let marker = format!("\n[… shortened by Airlock: {max_chars} of {total} characters shown]");
    let mut left = max_chars;
    let mut bounded = Vec::new();
    let mut marked = false;
    for piece in content {
        let Content::Text { text: whole } = piece else {
            bounded.push(piece);
            continue;
        };
        let length = whole.chars().count();
        if length <= left {
            left -= length;
            bounded.push(Content::text(whole));
        } else if !marked {
            let cut = whole.char_indices().nth(left).map_or(whole.len(), |(cut, _)| cut);
            bounded.push(Content::text(format!("{}{marker}", whole.get(..cut).unwrap_or_default())));
            (left, marked) = (0, true);
        }
    }
    bounded
}

fn text_chars(piece: &Content) -> usize {
    match piece {
        Content::Text { text } => text.chars().count(),
        _ => 0,
    }
}

/// How large a result's content is.
pub(crate) fn content_bytes(content: &[Content]) -> usize {
    content.iter().map(Content::size_bytes).sum()
}

/// Details as a record keeps them: whole if they fit, else their size, top keys and status fields.
pub(crate) fn bound_details(details: &Value) -> Value {
    let bytes = details.to_string().len();
    if bytes <= MAX_RECORD_DETAILS_BYTES {
        return details.clone();
    }
    let mut summary = Map::new();
    summary.insert("detailsTruncated".to_owned(), true.into());
    summary.insert("originalBytes".to_owned(), json!(bytes));
    if let Value::Object(members) = details {
        let keys: Vec<_> = members.keys().take(MAX_SUMMARY_KEYS).map(|key| text::shorten(key, 80)).collect();
        summary.insert("originalKeys".to_owned(), json!(keys));
        for field in STATUS_FIELDS {
            match members.get(*field) {
                Some(Value::String(status)) => {
                    summary.insert((*field).to_owned(), text::shorten(status, MAX_SUMMARY_CHARS).into());
                }
                Some(status @ (Value::Bool(_) | Value::Number(_) | Value::Null)) => {
                    summary.insert((*field).to_owned(), status.clone());
                }
                _ => {}
            }
        }
    }
    Value::Object(summary)
}

/// The copy of a call that a transcript keeps. Its content is what the model got.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallRecord {
    /// The call.
    pub call_id: CallId,
    /// The name that was called, in canonical form where it has one.
    pub tool: String,
    /// Plugin id or `core`; `None` if no tool of that name was exposed.
    pub owner: Option<String>,
    /// `tool_call` if the call stood in a call of that, `skill:NAME` if it is a skill's command; `None` for a direct one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The agent.
    pub agent: String,
    /// The session.
    pub session: String,
    /// The run.
    pub run: String,
    /// When the call arrived, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The arguments that ran, or that were refused; withheld (null) if they were too large to read.
    pub arguments: Value,
    /// How it ended.
    pub kind: CallKind,
    /// Whether the model should take the content for an error.
    pub is_error: bool,
    /// What the model read.
    pub content: Vec<Content>,
    /// Details, at most 8,192 bytes of JSON.
    pub details: Option<Value>,
}

impl CallRecord {
    /// The only view of a record for a model: replay and compaction read this. It has no details.
    pub fn for_model(&self) -> ToolResult {
        ToolResult { content: self.content.clone(), details: None }
    }
}

/// Milliseconds since 1970, for records; zero before.
pub(crate) fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_once_at_a_character_with_a_marker() {
        for unit in ["é", "漢", "👨‍👩‍👧", "a"] {
            for length in 1..9 {
                for limit in 0..30 {
                    let pieces = vec![Content::text(unit.repeat(length)), Content::text(unit.repeat(2))];
                    let total: usize = pieces.iter().map(text_chars).sum();
                    let bounded = bound_content(pieces.clone(), limit);
                    if total <= limit {
                        assert_eq!(bounded, pieces);
                    } else {
                        let all: String = bounded
                            .iter()
                            .filter_map(|piece| match piece {
                                Content::Text { text } => Some(text.as_str()),
                                _ => None,
                            })
                            .collect();
                        assert_eq!(all.matches("shortened by Airlock").count(), 1, "{all}");
                        assert!(all.contains(&format!("{limit} of {total} characters")));
                    }
                }
            }
        }
    }

    #[test]
    fn long_details_become_a_summary_with_size_keys_and_status() {
        let small = json!({"a": 1});
        assert_eq!(bound_details(&small), small);
        let large =
            json!({"status": "ok", "exitCode": 3, "rows": vec!["漢"; 4_000], "error": "é".repeat(9_000)});
        let summary = bound_details(&large);
        assert_eq!(summary["originalBytes"], json!(large.to_string().len()));
        assert_eq!(summary["originalKeys"], json!(["status", "exitCode", "rows", "error"]));
        assert_eq!((&summary["status"], &summary["exitCode"]), (&json!("ok"), &json!(3)));
        assert!(summary.to_string().len() <= MAX_RECORD_DETAILS_BYTES);
        let many: Map<String, Value> =
            (0..5_000).map(|number| (format!("{number}{}", "k".repeat(200)), json!(0))).collect();
        assert!(bound_details(&Value::Object(many)).to_string().len() <= MAX_RECORD_DETAILS_BYTES);
    }

    #[test]
    fn larger_contexts_read_more() {
        let mut run = RunContext::new("a").provider("p", "m");
        for (tokens, chars) in
            [(None, 16_000), (Some(99_999), 16_000), (Some(100_000), 32_000), (Some(200_000), 64_000)]
        {
            run.model.as_mut().unwrap().context_tokens = tokens;
            assert_eq!(model_text_chars(&run), chars);
        }
    }
}
