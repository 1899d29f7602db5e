//! `edit`: a path and replacements of exact texts enter; the file has all of them afterwards, or none.

use airlock_core::{Content, ToolError, ToolResult, text};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::lines::LineEnds;
use crate::open::{MAX_TEXT_BYTES, read_text};
use crate::problem::{counted, failed};
use crate::tool::{Definition, arguments};
use crate::transaction::{Change, Transaction, What};
use crate::workspace::NamedWorkspace;

/// Longest piece of a text that a message quotes, in characters: enough to recognise it.
const MAX_PREVIEW_CHARS: usize = 80;

/// How many places a message names.
const MAX_PLACES: usize = 5;

pub(crate) const EDIT: Definition = Definition {
    name: "edit",
    title: "Edit a file",
    description: "Replaces exact pieces of a text file of the workspace. `old_text` must be in the file exactly, with \
        its white space and without the line numbers that `read` shows, and only once: take in more lines around it \
        until it is unique, or set `replace_all`. The edits are made in order, each in what the one before left, and \
        the file is changed only if all of them can be made. Line ends stay what they are: write plain line breaks.",
    parameters: r#"{
        "type": "object",
        "additionalProperties": false,
        "required": ["path", "edits"],
        "properties": {
            "path": {
                "type": "string", "minLength": 1,
                "description": "The file, relative to the workspace, such as `src/main.rs`."
            },
            "edits": {
                "type": "array", "minItems": 1, "maxItems": 100,
                "description": "The replacements, in order.",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["old_text", "new_text"],
                    "properties": {
                        "old_text": {
                            "type": "string", "minLength": 1,
                            "description": "What is in the file now, exactly."
                        },
                        "new_text": { "type": "string", "description": "What is to be there instead." },
                        "replace_all": {
                            "type": "boolean", "default": false,
                            "description": "Replace every occurrence, and not only a single one."
                        }
                    }
                }
            }
        }
    }"#,
    side_effecting: true,
    work: edit,
};

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    edits: Vec<Replacement>,
}

/// One replacement of exact text.
#[derive(Debug, Deserialize)]
struct Replacement {
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

fn edit(workspace: &NamedWorkspace, call: Value) -> Result<ToolResult, ToolError> {
    let call: Arguments = arguments(call)?;
    let path = workspace.relative(&call.path)?;
    let transaction = Transaction::begin(&workspace.workspace);
    let place = transaction.place(&path)?;
    let shown = place.shown.clone();
    let (before, seen) = read_text(&place)?;
    let (ends, mut contents) = LineEnds::normalised(before);
    let mut replaced = 0;
    for (index, replacement) in call.edits.iter().enumerate() {
        let problem = |what: String| failed(format!("edit {} of `{shown}`: {what}", index + 1));
        let (changed, count) = replacement.apply(&contents, ends).map_err(problem)?;
        (contents, replaced) = (changed, replaced + count);
    }
    let contents = ends.restored(contents).into_bytes();
    let bytes = contents.len();
    transaction.commit(vec![Change { place, what: What::Replace { contents, seen } }])?;
    let edits = call.edits.len();
    Ok(ToolResult {
        content: vec![Content::text(format!(
            "changed `{shown}`: {}; it has {bytes} bytes now",
            counted(replaced, "replacement")
        ))],
        details: Some(json!({ "path": shown, "edits": edits, "replacements": replaced, "bytes": bytes })),
    })
}

impl Replacement {
    /// The text with this replacement, and how often it was made; or why it cannot be.
    fn apply(&self, contents: &str, ends: LineEnds) -> Result<(String, usize), String> {
        let (old, new) = (ends.normalise(&self.old_text), ends.normalise(&self.new_text));
        if old.is_empty() {
            return Err("`old_text` is empty; give the text to replace, or use `write`".to_owned());
        }
        if old == new {
            return Err("`old_text` and `new_text` are the same, so nothing would change".to_owned());
        }
        let places: Vec<usize> = if self.replace_all {
            contents.match_indices(&old).map(|(place, _)| place).collect()
        } else {
            overlapping(contents, &old).take(MAX_PLACES + 1).collect()
        };
        if places.is_empty() {
            return Err(not_found(contents, &old));
        }
        if places.len() > 1 && !self.replace_all {
            let lines: Vec<String> =
                places.iter().take(MAX_PLACES).map(|&place| line_at(contents, place).to_string()).collect();
            let more = if places.len() > MAX_PLACES { " and more" } else { "" };
            return Err(format!(
                "`old_text` is there more than once, at lines {}{more}; take in more text around it, or set \
                 `replace_all`",
                lines.join(", ")
            ));
        }
        // Many replacements of a short text by a long one multiply.
        let size = contents.len() + places.len() * new.len() - places.len() * old.len();
        if size as u64 > MAX_TEXT_BYTES {
            return Err(format!("the file would have {size} bytes, the limit is {MAX_TEXT_BYTES}"));
        }
        let changed =
            if self.replace_all { contents.replace(&old, &new) } else { contents.replacen(&old, &new, 1) };
        Ok((changed, places.len()))
    }
}

/// Where `text` begins in `contents`, also where it overlaps itself.
fn overlapping<'a>(contents: &'a str, text: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = text.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let place = from + contents.get(from..)?.find(text)?;
        from = place + step;
        Some(place)
    })
}

fn line_at(contents: &str, place: usize) -> usize {
    contents.bytes().take(place).filter(|&byte| byte == b'\n').count() + 1
}

/// Says that a text is not there, and where something like it is.
fn not_found(contents: &str, old: &str) -> String {
    let preview = text::shorten(&text::single_line(old), MAX_PREVIEW_CHARS).into_owned();
    let hint = if let Some(line) = but_for_white_space(contents, old) {
        format!("at line {line} is the same but for white space; `read` it and copy it exactly")
    } else if contents.contains(text::is_unsafe) && old.contains(r"\u{") {
        r"where `read` shows \u{…} the file has a single invisible character".to_owned()
    } else {
        "`read` the file and copy what is there exactly, without line numbers".to_owned()
    };
    format!("`old_text` is not there (`{preview}`); {hint}")
}

/// The line from which the lines of `old` stand, if white space around them does not count.
fn but_for_white_space(contents: &str, old: &str) -> Option<usize> {
    let wanted: Vec<&str> = old.trim().lines().map(str::trim).collect();
    let first = wanted.first().filter(|first| !first.is_empty())?;
    let lines: Vec<&str> = contents.lines().map(str::trim).collect();
    // The first line that is alike decides: this is a hint, and must not cost more than the search did.
    let place = lines.iter().position(|line| line == first)?;
    lines.get(place..)?.starts_with(&wanted).then_some(place + 1)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::tool::testing::{call_in, message_of, text_of};

    /// What a file holds after edits, or what is said against them; then it must be as it was.
    fn edited(contents: &str, edits: &Value) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, contents).unwrap();
        let result = call_in(folder.path(), "edit", json!({ "path": "a", "edits": edits }));
        let after = fs::read_to_string(&file).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        match result {
            Ok(_) => Ok(after),
            Err(_) => {
                assert_eq!(after, contents);
                Err(message_of(result))
            }
        }
    }

    fn one(old: &str, new: &str) -> Value {
        json!([{ "old_text": old, "new_text": new }])
    }

    #[test]
    fn a_unique_text_is_replaced() {
        assert_eq!(edited("a b c", &one("b", "B")), Ok("a B c".to_owned()));
        assert_eq!(edited("a\n", &one("a\n", "")), Ok(String::new()));
        let all = json!([{ "old_text": "a", "new_text": "aa", "replace_all": true }]);
        assert_eq!(edited("a a", &all), Ok("aa aa".to_owned()));
    }

    #[test]
    fn edits_build_on_each_other_and_happen_together() {
        let two = |last: &str| json!([{ "old_text": "one", "new_text": "two" }, { "old_text": last, "new_text": "three" }]);
        assert_eq!(edited("one", &two("two")), Ok("three".to_owned()));
        assert_eq!(
            edited("one", &two("none")),
            Err("edit 2 of `a`: `old_text` is not there (`none`); `read` the file and copy what is there exactly, \
                 without line numbers"
                .to_owned())
        );
    }

    #[test]
    fn what_is_ambiguous_or_missing_is_explained() {
        let message = |contents: &str, old: &str| edited(contents, &one(old, "x")).unwrap_err();
        assert!(message("a\na\n", "a").contains("more than once, at lines 1, 2; take in more"));
        assert!(message("aaa", "aa").contains("more than once"));
        assert!(message(&"a\n".repeat(9), "a").contains("1, 2, 3, 4, 5 and more"));
        assert!(
            message("x\n\tif a {\n\t\tb\n", "if a {\n    b").contains("at line 2 is the same but for white")
        );
        assert!(message("a\u{200b}b", r"a\u{200b}b").contains("a single invisible character"));
        assert!(message("x", "x").contains("the same"));
    }

    #[test]
    fn line_ends_are_kept() {
        assert_eq!(edited("a\r\nb\r\nc\r\n", &one("a\nb", "x\ny\nz")), Ok("x\r\ny\r\nz\r\nc\r\n".to_owned()));
        assert_eq!(edited("a\r\nb\r\n", &one("a\r\nb", "x\r\ny")), Ok("x\r\ny\r\n".to_owned()));
        assert_eq!(edited("a\r\nb\nc", &one("b", "B")), Ok("a\r\nB\nc".to_owned()));
    }

    #[test]
    fn file_size_obeyed_and_violated() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let limit = usize::try_from(MAX_TEXT_BYTES).unwrap();
        let call = || call_in(folder.path(), "edit", json!({ "path": "a", "edits": one("b", "c") }));
        fs::write(&file, format!("b{}", "a".repeat(limit - 1))).unwrap();
        assert!(text_of(&call().unwrap()).contains("1 replacement;"));
        fs::write(&file, format!("b{}", "a".repeat(limit))).unwrap();
        assert!(message_of(call()).contains("the limit is 8388608"));
        let many = json!([{ "old_text": "b", "new_text": "c".repeat(1_000), "replace_all": true }]);
        fs::write(&file, "b".repeat(limit / 100)).unwrap();
        let many = call_in(folder.path(), "edit", json!({ "path": "a", "edits": many }));
        assert!(message_of(many).contains("would have"));
        fs::write(&file, b"caf\xe9 b").unwrap();
        assert_eq!(message_of(call()), "`a` is not UTF-8 text (at byte 3); it cannot be changed by text");
    }

    proptest! {
        #[test]
        fn an_edit_changes_exactly_one_place(
            before in "[ab\n é]{0,30}", old in "[ab\né]{1,4}", after in "[ab\n]{0,30}", new in "[xy\n]{0,5}",
        ) {
            let contents = format!("{before}{old}{after}");
            let replacement = Replacement { old_text: old.clone(), new_text: new.clone(), replace_all: false };
            match replacement.apply(&contents, LineEnds::AsTheyAre) {
                Ok((changed, count)) => {
                    prop_assert_eq!((changed, count), (format!("{before}{new}{after}"), 1));
                    prop_assert_eq!(overlapping(&contents, &old).count(), 1);
                }
                Err(_) => prop_assert!(old == new || overlapping(&contents, &old).count() > 1),
            }
        }
    }
}
