//! `ls`: a folder enters; what is in it leaves, sorted, with kinds and sizes. It opens no file and follows no link below it.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use airlock_core::{Content, ToolError, ToolResult};
use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, Metadata};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::open::kind_name;
use crate::problem::{failed, io_problem, shown, shown_name};
use crate::tool::{Definition, MAX_CONTENT_CHARS, arguments};
use crate::workspace::NamedWorkspace;

/// How many entries one call shows: a screen or ten; more hides what matters.
const MAX_SHOWN: usize = 500;

/// How many entries of one call are looked at, so that what is shown can be sorted first. A folder of mail has so many.
const MAX_LOOKED_AT: usize = 20_000;

/// How deep a call may look. Each level is an open descriptor meanwhile.
const MAX_DEPTH: usize = 8;

pub(crate) const LS: Definition = Definition {
    name: "ls",
    title: "List a folder",
    description: "Lists a folder of the workspace, sorted by name: folders end with `/`, files have their size in \
        bytes, links show where they lead and are not followed. Shows hidden files too. At most 500 entries; a note \
        says if there are more. Names with invisible characters are shown escaped as `\\u{…}`.",
    parameters: r#"{
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": {
                "type": "string", "minLength": 1, "default": ".",
                "description": "The folder, relative to the workspace; the workspace itself by default."
            },
            "depth": {
                "type": "integer", "minimum": 1, "maximum": 8, "default": 1,
                "description": "How many levels to show: 1 shows what is in the folder, 2 also what is in its folders."
            }
        }
    }"#,
    side_effecting: false,
    work: list,
};

#[derive(Debug, Deserialize)]
struct Arguments {
    #[serde(default = "workspace_itself")]
    path: String,
    #[serde(default = "one")]
    depth: usize,
}

fn workspace_itself() -> String {
    ".".to_owned()
}

fn one() -> usize {
    1
}

fn list(workspace: &NamedWorkspace, call: Value) -> Result<ToolResult, ToolError> {
    let call: Arguments = arguments(call)?;
    let path = workspace.relative(&call.path)?;
    let shown = shown(&path);
    let folder = &workspace.workspace.folder;
    let problem = |error: std::io::Error| io_problem("list", &shown, &error);
    let metadata = folder.metadata(&path).map_err(problem)?;
    if !metadata.is_dir() {
        let kind = kind_name(&metadata.file_type());
        return Err(failed(format!("`{shown}` is {kind} and not a folder; `read` shows a file")));
    }
    let folder = folder.open_dir(&path).map_err(problem)?;
    let mut listing = Listing::default();
    listing.add(&folder, Path::new(""), call.depth.min(MAX_DEPTH)).map_err(problem)?;
    let entries = listing.entries.len();
    let mut content = listing.text;
    if entries == 0 {
        content.push_str("[the folder is empty]");
    }
    if listing.is_cut {
        let _ = write!(
            content,
            "[there is more than these {entries} entries; list a folder in it, or use a smaller depth]"
        );
    }
    if listing.skipped > 0 {
        let _ = write!(content, "\n[{} entries could not be looked at]", listing.skipped);
    }
    let details = json!({
        "path": shown,
        "entries": listing.entries,
        "is_cut": listing.is_cut,
        "skipped": listing.skipped,
    });
    Ok(ToolResult { content: vec![Content::text(content)], details: Some(details) })
}

/// What has been found so far.
#[derive(Debug, Default)]
struct Listing {
    text: String,
    chars: usize,
    entries: Vec<Value>,
    looked_at: usize,
    is_cut: bool,
    /// Entries that vanished, or that the host may not look at.
    skipped: usize,
}

impl Listing {
    fn add(&mut self, folder: &Dir, prefix: &Path, depth: usize) -> std::io::Result<()> {
        let mut found: Vec<(OsString, Metadata)> = Vec::new();
        for entry in folder.entries()? {
            if self.looked_at == MAX_LOOKED_AT {
                self.is_cut = true;
                break;
            }
            self.looked_at += 1;
            // A file may be deleted while its folder is listed.
            match entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?))) {
                Ok(entry) => found.push(entry),
                Err(_) => self.skipped += 1,
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (name, metadata) in found {
            if !self.push(folder, prefix, &name, &metadata) {
                self.is_cut = true;
                return Ok(());
            }
            if metadata.is_dir() && depth > 1 && self.looked_at < MAX_LOOKED_AT {
                // Never through a link that took the folder's place meanwhile.
                let inner = folder.open_dir_nofollow(&name);
                if inner.and_then(|inner| self.add(&inner, &prefix.join(&name), depth - 1)).is_err() {
                    self.skipped += 1;
                }
            }
        }
        Ok(())
    }

    /// Adds one entry, if there is room.
    fn push(&mut self, folder: &Dir, prefix: &Path, name: &OsString, metadata: &Metadata) -> bool {
        let path: PathBuf = prefix.join(name);
        let mut line = shown_name(path.as_os_str());
        let kind = metadata.file_type();
        if kind.is_dir() {
            line.push('/');
        } else if kind.is_symlink() {
            let target =
                folder.read_link_contents(name).map_or_else(|_| "?".to_owned(), |target| shown(&target));
            let _ = write!(line, " -> {target}");
        } else if kind.is_file() {
            let _ = write!(line, "  {}", metadata.len());
        } else {
            let _ = write!(line, "  ({})", kind_name(&kind));
        }
        if name.to_str().is_none() {
            line.push_str("  (no UTF-8: tools cannot name it)");
        }
        line.push('\n');
        let chars = line.chars().count();
        if self.entries.len() == MAX_SHOWN || self.chars + chars > MAX_CONTENT_CHARS {
            return false;
        }
        self.chars += chars;
        self.text.push_str(&line);
        // As it is, for programs, which do not take it for anything else.
        self.entries.push(json!({
            "path": path.to_string_lossy(),
            "kind": kind_name(&kind).trim_start_matches("a "),
            "bytes": kind.is_file().then(|| metadata.len()),
        }));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tool::testing::{call_in, message_of, text_of};

    fn listed(folder: &Path, call: Value) -> String {
        text_of(&call_in(folder, "ls", call).unwrap()).to_owned()
    }

    #[test]
    fn entries_are_sorted_with_kinds_and_sizes() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("b/c/d")).unwrap();
        fs::write(folder.path().join("b/x"), "12345").unwrap();
        fs::write(folder.path().join("a\u{202e}"), "").unwrap();
        assert_eq!(listed(folder.path(), json!({})), "a\\u{202e}  0\nb/\n");
        assert_eq!(listed(folder.path(), json!({ "path": "b", "depth": 1 })), "c/\nx  5\n");
        assert_eq!(listed(folder.path(), json!({ "depth": 2 })), "a\\u{202e}  0\nb/\nb/c/\nb/x  5\n");
        assert_eq!(listed(folder.path(), json!({ "path": "b/c/d" })), "[the folder is empty]");
        let file = call_in(folder.path(), "ls", json!({ "path": "b/x" }));
        assert_eq!(message_of(file), "`b/x` is a file and not a folder; `read` shows a file");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_shown_and_not_followed() {
        use std::os::unix::ffi::OsStringExt as _;
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        symlink("/etc", folder.path().join("out")).unwrap();
        symlink(".", folder.path().join("round")).unwrap();
        fs::write(folder.path().join(OsString::from_vec(b"x\xff".to_vec())), "").unwrap();
        assert_eq!(
            listed(folder.path(), json!({ "depth": 8 })),
            "out -> /etc\nround -> .\nx\\xff  0  (no UTF-8: tools cannot name it)\n"
        );
        let out = call_in(folder.path(), "ls", json!({ "path": "out" }));
        assert_eq!(message_of(out), "`out` leads out of the workspace; only what is inside it can be used");
    }

    #[test]
    fn entries_obeyed_and_violated() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MAX_SHOWN {
            fs::write(folder.path().join(format!("{number:04}")), "").unwrap();
        }
        let whole = listed(folder.path(), json!({}));
        assert_eq!(whole.lines().count(), MAX_SHOWN);
        fs::write(folder.path().join("z"), "").unwrap();
        let cut = listed(folder.path(), json!({}));
        assert!(cut.ends_with("more than these 500 entries; list a folder in it, or use a smaller depth]"));
        assert!(cut.starts_with("0000  0\n"));
    }
}
