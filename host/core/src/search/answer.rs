//! What `tool_search` and `tool_describe` say: arguments that fit and a surface enter, texts for a model leave. They see what
//! the surface has and nothing else, so that a tool that was removed is in no hit, no description and no suggestion.
//!
//! Every piece is one JSON document: what an author wrote stays inside of its string and cannot pass for another tool.

use serde_json::{Map, Value, json};

use super::control::Control;
use super::{DEFAULT_HITS, Hit, one_line, signature};
use crate::id::ToolName;
use crate::result::model_text_chars;
use crate::surface::{ExposedTool, Surface};
use crate::text;
use crate::tool::{Content, ToolResult};

/// Longest answer of a search, in characters; below what any model reads of one result, so that no hit is cut in half.
const MAX_ANSWER_CHARS: usize = 12_000;

/// What is kept free for notes about tools that found no room, in characters.
const RESERVED_CHARS: usize = 2_000;

/// Longest query or name as it is said back, in characters.
const MAX_ECHO_CHARS: usize = 80;

/// Most names that an unknown one might have meant.
const MAX_SUGGESTIONS: usize = 3;

/// Answers a call of one of the two that read; the third never gets here.
pub(crate) fn answer(control: Control, surface: &Surface, arguments: &Value) -> Result<ToolResult, String> {
    let texts = |key: &str| arguments.get(key).and_then(Value::as_array).into_iter().flatten();
    match control {
        Control::Search => {
            let limit = arguments.get("limit").and_then(Value::as_u64);
            let limit = limit.map_or(DEFAULT_HITS, |limit| usize::try_from(limit).unwrap_or(DEFAULT_HITS));
            Ok(search(surface, texts("queries").filter_map(Value::as_str), limit))
        }
        Control::Describe => Ok(describe(surface, texts("names").filter_map(Value::as_str))),
        Control::Call => Err("a call of `tool_call` was not taken for the call in it".to_owned()),
    }
}

/// The hits of one query, as a model reads them.
struct Group {
    query: String,
    hits: Vec<String>,
    left_out: usize,
}

fn search<'a>(surface: &Surface, queries: impl Iterator<Item = &'a str>, limit: usize) -> ToolResult {
    let found = |query: &str| Group {
        query: text::single_line(&text::shorten(query, MAX_ECHO_CHARS)).into_owned(),
        hits: surface.search(query, limit).iter().map(shown).collect(),
        left_out: 0,
    };
    let mut groups: Vec<Group> = queries.map(found).collect();
    shorten(&mut groups);
    let groups = groups.into_iter().map(|Group { query, hits, left_out }| {
        let more = if left_out > 0 { format!(",\"left_out\":{left_out}") } else { String::new() };
        format!("{{\"query\":{},\"hits\":[{}]{more}}}", Value::from(query), hits.join(","))
    });
    ToolResult::text(format!("{{\"results\":[{}]}}", groups.collect::<Vec<_>>().join(",")))
}

fn shown(hit: &Hit) -> String {
    json!({ "name": hit.name, "description": hit.description, "signature": hit.signature }).to_string()
}

/// Takes the last hit of the longest group until all is short enough.
fn shorten(groups: &mut [Group]) {
    let mut chars: usize = groups.iter().flat_map(|group| &group.hits).map(|hit| hit.chars().count()).sum();
    while chars > MAX_ANSWER_CHARS {
        let Some(longest) = groups.iter_mut().max_by_key(|group| group.hits.len()) else { return };
        let Some(last) = longest.hits.pop() else { return };
        longest.left_out += 1;
        chars -= last.chars().count();
    }
}

fn describe<'a>(surface: &Surface, names: impl Iterator<Item = &'a str>) -> ToolResult {
    let mut left = model_text_chars(surface.run()).saturating_sub(RESERVED_CHARS);
    let (mut asked, mut pieces) = (Vec::new(), Vec::new());
    for written in names {
        let name = ToolName::canonicalise(written).ok();
        let shown = name.as_ref().map_or(written, ToolName::as_str);
        let shown = text::single_line(&text::shorten(shown, MAX_ECHO_CHARS)).into_owned();
        if asked.contains(&shown) {
            continue;
        }
        let known = name.and_then(|name| surface.tool(&name));
        let piece = match known.filter(|exposed| surface.still_has(exposed)) {
            Some(exposed) => {
                let is_alone = pieces.is_empty();
                let piece = within(exposed, left, is_alone);
                left = left.saturating_sub(piece.chars().count());
                piece
            }
            None => unknown(surface, &shown),
        };
        pieces.push(Content::text(piece));
        asked.push(shown);
    }
    ToolResult { content: pieces, details: None }
}

/// A tool in at most so many characters. What is too long loses of its description first; then it waits to be asked for
/// alone, and alone it has the beginning of its schema.
fn within(exposed: &ExposedTool, chars: usize, is_alone: bool) -> String {
    let tool = &exposed.tool;
    let described = |description: &str, schema: (&str, Value)| {
        let mut members = Map::new();
        members.insert("name".to_owned(), tool.name.as_str().into());
        members.extend(tool.title.as_ref().map(|title| ("title".to_owned(), title.as_str().into())));
        members.insert("description".to_owned(), description.into());
        members.insert(schema.0.to_owned(), schema.1);
        Value::Object(members).to_string()
    };
    let whole = described(&tool.description, ("parameters", tool.parameters.source().clone()));
    let length = whole.chars().count();
    if length <= chars {
        return whole;
    }
    let line = one_line(&tool.description, super::MAX_DESCRIPTION_CHARS);
    let shorter = described(&line, ("parameters", tool.parameters.source().clone()));
    if shorter.chars().count() <= chars {
        return shorter;
    }
    if !is_alone {
        let note = "too long beside the others; describe it alone";
        return json!({ "name": tool.name, "left_out": note }).to_string();
    }
    // Escaping may double it.
    let schema = tool.parameters.source().to_string();
    let beginning = text::shorten(&schema, chars / 3).into_owned();
    let cut =
        json!({ "beginning": beginning, "characters": schema.chars().count(), "call": signature(tool) });
    described(&line, ("parameters_cut", cut))
}

/// What an unknown name might have meant, among what is here.
fn unknown(surface: &Surface, shown: &str) -> String {
    let mut meant: Vec<String> =
        surface.meant(shown).map(|close| close.tool.name.to_string()).into_iter().collect();
    for hit in surface.search(shown, MAX_SUGGESTIONS) {
        if meant.len() < MAX_SUGGESTIONS && !meant.iter().any(|name| name == hit.name.as_str()) {
            meant.push(hit.name.to_string());
        }
    }
    json!({ "name": shown, "error": "there is no such tool here", "did_you_mean": meant }).to_string()
}
