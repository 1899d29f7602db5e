//! `read`: a path and a range of lines enter, numbered lines leave. It changes nothing.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _};

use airlock_core::{Content, ToolError, ToolResult, text};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::lines::{Line, MAX_LINE_BYTES, next_line};
use crate::open::open_file;
use crate::problem::{counted, decoded, failed, io_problem, shown};
use crate::tool::{Definition, MAX_CONTENT_CHARS, arguments};
use crate::workspace::NamedWorkspace;

/// How many lines one call gives at most; the limit on characters comes first for ordinary code.
const MAX_LINES: u64 = 2_000;

/// How far into a file it looks, in bytes: a fraction of a second of reading. What lies behind is for programs.
const MAX_SCANNED_BYTES: u64 = 64 << 20;

/// In how many bytes at the start a NUL makes a file binary: what `git` and `grep` look at.
const BINARY_BYTES: usize = 8_000;

pub(crate) const READ: Definition = Definition {
    name: "read",
    title: "Read a file",
    description: "Reads a text file of the workspace and gives its lines with their numbers, as `number<TAB>text`. \
        The number and the tab are not part of the file. At most 2000 lines and 15000 characters a call; a note at \
        the end says what was left out and how to go on. Invisible and control characters are shown as `\\u{…}`, \
        bytes that are no UTF-8 as `\\xNN`. Binary files are refused. Use `ls` for folders.",
    parameters: r#"{
        "type": "object",
        "additionalProperties": false,
        "required": ["path"],
        "properties": {
            "path": {
                "type": "string", "minLength": 1,
                "description": "The file, relative to the workspace, such as `src/main.rs`."
            },
            "offset": {
                "type": "integer", "minimum": 1, "default": 1,
                "description": "The first line to give; the first line of a file is 1."
            },
            "limit": {
                "type": "integer", "minimum": 1, "maximum": 2000, "default": 2000,
                "description": "How many lines to give at most."
            }
        }
    }"#,
    side_effecting: false,
    work: read,
};

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    #[serde(default = "first")]
    offset: u64,
    #[serde(default = "most")]
    limit: u64,
}

fn first() -> u64 {
    1
}

fn most() -> u64 {
    MAX_LINES
}

fn read(workspace: &NamedWorkspace, call: Value) -> Result<ToolResult, ToolError> {
    let call: Arguments = arguments(call)?;
    let path = workspace.relative(&call.path)?;
    let shown = shown(&path);
    let (file, metadata) = open_file(&workspace.workspace.folder, &path, &shown)?;
    let problem = |error: io::Error| io_problem("read", &shown, &error);
    let mut stream = BufReader::with_capacity(64 * 1024, file.take(MAX_SCANNED_BYTES));
    if stream.fill_buf().map_err(problem)?.iter().take(BINARY_BYTES).any(|&byte| byte == 0) {
        let bytes = metadata.len();
        return Err(failed(format!("`{shown}` is a binary file of {bytes} bytes; only text can be read")));
    }
    let last_wanted = call.offset.saturating_add(call.limit.min(MAX_LINES)).saturating_sub(1);
    let mut page = Page::default();
    let mut total = 0_u64;
    while let Some(line) = next_line(&mut stream).map_err(problem)? {
        total += 1;
        if (call.offset..=last_wanted).contains(&total) {
            page.push(total, &line);
        }
    }
    // What lies behind the limit was not counted.
    let is_whole = metadata.len() <= MAX_SCANNED_BYTES;
    if page.lines == 0 && total > 0 {
        let many = counted(usize::try_from(total).unwrap_or(usize::MAX), "line");
        let many = if is_whole { many } else { format!("over {many}") };
        return Err(failed(if is_whole || call.offset <= total {
            format!("`{shown}` has {many}; there is no line {}", call.offset)
        } else {
            format!(
                "`{shown}` has {} bytes, and line {} is not among the first {MAX_SCANNED_BYTES}; use a program",
                metadata.len(),
                call.offset
            )
        }));
    }
    let last = (call.offset + page.lines).saturating_sub(1);
    let is_cut = last < total || !is_whole;
    let mut content = page.text;
    if total == 0 {
        content.push_str("[the file is empty]");
    } else if is_cut || call.offset > 1 {
        let of = if is_whole { format!("{total}") } else { format!("more than {total}") };
        let _ = write!(content, "[lines {} to {last} of {of}", call.offset);
        if is_cut {
            let _ = write!(content, "; go on with offset {}", last + 1);
        }
        content.push(']');
    }
    for (is_so, note) in [
        (
            page.was_cut,
            "[a line was too long and is cut, marked with …; `edit` needs it as it is in the file]",
        ),
        (
            page.was_escaped,
            r"[characters that cannot be seen are shown as \u{…} or \xNN and are single ones in the file]",
        ),
        (
            page.crlf_lines > 0 && page.crlf_lines == page.ended_lines,
            "[the lines end with CRLF; `edit` and `apply_patch` keep that, write plain line breaks]",
        ),
    ] {
        if is_so {
            content.push('\n');
            content.push_str(note);
        }
    }
    let details = json!({
        "path": shown,
        "first_line": call.offset,
        "last_line": last,
        "total_lines": is_whole.then_some(total),
        "bytes": metadata.len(),
        "is_cut": is_cut,
    });
    Ok(ToolResult { content: vec![Content::text(content)], details: Some(details) })
}

/// The lines that a call gives.
#[derive(Debug, Default)]
struct Page {
    text: String,
    chars: usize,
    lines: u64,
    is_full: bool,
    was_cut: bool,
    was_escaped: bool,
    crlf_lines: u64,
    ended_lines: u64,
}

impl Page {
    fn push(&mut self, number: u64, line: &Line) {
        if self.is_full {
            return;
        }
        let is_cut = line.length > MAX_LINE_BYTES as u64;
        let ends_with_cr = line.has_newline && !is_cut && line.bytes.last() == Some(&b'\r');
        let kept = match line.bytes.split_last() {
            Some((_, rest)) if ends_with_cr => rest,
            _ => line.bytes.as_slice(),
        };
        // A cut may stand inside a character, whose first bytes are then not wrong.
        let kept = if is_cut { whole_characters(kept) } else { kept };
        let decoded = decoded(kept);
        let escaped = text::escape(&decoded);
        let was_escaped = escaped != decoded || std::str::from_utf8(kept).is_err();
        let mark = if is_cut { "…" } else { "" };
        let shown = format!("{number:>6}\t{escaped}{mark}\n");
        let chars = shown.chars().count();
        // One line always fits, so that a reader gets on.
        if self.lines > 0 && self.chars + chars > MAX_CONTENT_CHARS {
            self.is_full = true;
            return;
        }
        self.text.push_str(&shown);
        self.chars += chars;
        self.lines += 1;
        self.was_cut |= is_cut;
        self.was_escaped |= was_escaped;
        self.crlf_lines += u64::from(ends_with_cr);
        self.ended_lines += u64::from(line.has_newline && !is_cut);
    }
}

/// The bytes without a character at their end of which only the start is there.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    bytes.get(..whole).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::tool::testing::{call_in, message_of, text_of};

    #[track_caller]
    fn check(contents: &[u8], mut call: Value, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), contents).unwrap();
        call["path"] = "a".into();
        assert_eq!(text_of(&call_in(folder.path(), "read", call).unwrap()), expected);
    }

    fn refused(folder: &Path, path: &str) -> String {
        message_of(call_in(folder, "read", json!({ "path": path })))
    }

    #[test]
    fn lines_are_numbered_and_notes_say_how_to_go_on() {
        check(b"one\ntwo\n", json!({}), "     1\tone\n     2\ttwo\n");
        check(b"one\ntwo", json!({ "offset": 2 }), "     2\ttwo\n[lines 2 to 2 of 2]");
        check(
            b"1\n2\n3\n",
            json!({ "offset": 2, "limit": 1 }),
            "     2\t2\n[lines 2 to 2 of 3; go on with offset 3]",
        );
        check(b"", json!({}), "[the file is empty]");
        check(
            b"a\r\nb\r\n",
            json!({}),
            "     1\ta\n     2\tb\n\n[the lines end with CRLF; `edit` and `apply_patch` keep that, write plain line breaks]",
        );
    }

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        let note =
            r"[characters that cannot be seen are shown as \u{…} or \xNN and are single ones in the file]";
        check("a\u{202e}b\n".as_bytes(), json!({}), &format!("     1\ta\\u{{202e}}b\n\n{note}"));
        check(b"caf\xe9\n", json!({}), &format!("     1\tcaf\\xe9\n\n{note}"));
    }

    #[test]
    fn page_size_obeyed_and_violated() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "0123456789\n".repeat(10_000)).unwrap();
        let result = call_in(folder.path(), "read", json!({ "path": "a" })).unwrap();
        let text = text_of(&result);
        assert!(text.chars().count() < 16_000);
        let last = result.details.as_ref().unwrap()["last_line"].as_u64().unwrap();
        assert!(last > 500);
        assert!(text.ends_with(&format!("of 10000; go on with offset {}]", last + 1)));
        let result = call_in(folder.path(), "read", json!({ "path": "a", "limit": 2 })).unwrap();
        assert_eq!(text_of(&result).lines().count(), 3);
    }

    #[test]
    fn a_long_line_is_cut_at_a_character() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), format!("x{}\nend\n", "é".repeat(5_000))).unwrap();
        let result = call_in(folder.path(), "read", json!({ "path": "a" })).unwrap();
        assert!(text_of(&result).contains("é…\n     2\tend\n"));
        assert!(!text_of(&result).contains("\\x"));
    }

    #[test]
    fn what_is_no_text_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("binary"), b"\x7fELF\0").unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        assert_eq!(
            refused(folder.path(), "binary"),
            "`binary` is a binary file of 5 bytes; only text can be read"
        );
        assert_eq!(refused(folder.path(), "folder"), "`folder` is a folder; `ls` shows what is in it");
        assert_eq!(refused(folder.path(), "none"), "`none` does not exist; `ls` shows what does");
        assert_eq!(refused(folder.path(), "binary/x"), "a part of `binary/x` is a file and not a folder");
        fs::write(folder.path().join("short"), "a\n").unwrap();
        let behind = call_in(folder.path(), "read", json!({ "path": "short", "offset": 9 }));
        assert_eq!(message_of(behind), "`short` has 1 line; there is no line 9");
    }

    #[test]
    fn a_huge_file_is_read_in_parts_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::create(folder.path().join("huge")).unwrap();
        io::Write::write_all(&mut &file, &b"line\n".repeat(2_000)).unwrap();
        // A terabyte, and not a block of it on the disk.
        file.set_len(1 << 40).unwrap();
        let result = call_in(folder.path(), "read", json!({ "path": "huge", "limit": 2 })).unwrap();
        assert!(text_of(&result).contains("[lines 1 to 2 of more than"), "{}", text_of(&result));
        let behind = call_in(folder.path(), "read", json!({ "path": "huge", "offset": 1_000_000 }));
        assert!(message_of(behind).contains("is not among the first"));
    }
}
