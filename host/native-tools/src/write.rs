//! `write`: a path and a text enter; a file with that text stands there afterwards, whole or not at all.

use std::io;

use airlock_core::{Content, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::open::{Seen, kind_name, must_be_writable};
use crate::problem::{counted, failed, io_problem};
use crate::tool::{Definition, arguments};
use crate::transaction::{Change, Transaction, What};
use crate::workspace::NamedWorkspace;

pub(crate) const WRITE: Definition = Definition {
    name: "write",
    title: "Write a file",
    description: "Writes a text file of the workspace: makes it, with the folders that it needs, or replaces all that \
        it holds. Takes the text exactly as it is given. To change a part of a file use `edit` or `apply_patch`. \
        Read-only files, folders and special files are refused.",
    parameters: r#"{
        "type": "object",
        "additionalProperties": false,
        "required": ["path", "content"],
        "properties": {
            "path": {
                "type": "string", "minLength": 1,
                "description": "The file, relative to the workspace, such as `src/main.rs`."
            },
            "content": { "type": "string", "description": "Everything that the file is to hold." }
        }
    }"#,
    side_effecting: true,
    work: write,
};

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

fn write(workspace: &NamedWorkspace, call: Value) -> Result<ToolResult, ToolError> {
    let call: Arguments = arguments(call)?;
    let path = workspace.relative(&call.path)?;
    let mut transaction = Transaction::begin(&workspace.workspace);
    let place = transaction.new_place(&path)?;
    let shown = place.shown.clone();
    // How much the text may be is bounded by the core's limit on arguments.
    let contents = call.content.into_bytes();
    let (bytes, lines) = (contents.len(), line_count(&contents));
    let what = match place.folder.symlink_metadata(&place.name) {
        Ok(metadata) if metadata.is_file() => {
            must_be_writable(&metadata, &shown)?;
            What::Replace { contents, seen: Seen::of(&metadata) }
        }
        Ok(metadata) => {
            let kind = kind_name(&metadata.file_type());
            return Err(failed(format!("`{shown}` is {kind}; `write` only writes regular files")));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => What::Create { contents, permissions: None },
        Err(error) => return Err(io_problem("write", &shown, &error)),
    };
    let is_new = matches!(what, What::Create { .. });
    transaction.commit(vec![Change { place, what }])?;
    let how = if is_new { "made" } else { "replaced" };
    Ok(ToolResult {
        content: vec![Content::text(format!("{how} `{shown}`: {bytes} bytes, {}", counted(lines, "line")))],
        details: Some(json!({ "path": shown, "bytes": bytes, "lines": lines, "is_new": is_new })),
    })
}

/// How many lines a text has; what stands behind the last line break is one too.
fn line_count(contents: &[u8]) -> usize {
    let breaks = contents.iter().filter(|&&byte| byte == b'\n').count();
    breaks + usize::from(!contents.is_empty() && !contents.ends_with(b"\n"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tool::testing::{call_in, message_of, text_of};

    #[test]
    fn files_are_made_with_their_folders_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let write = |content: &str| {
            let call = json!({ "path": "a/b/c.txt", "content": content });
            text_of(&call_in(folder.path(), "write", call).unwrap()).to_owned()
        };
        assert_eq!(write("one\ntwo"), "made `a/b/c.txt`: 7 bytes, 2 lines");
        assert_eq!(write("é\r\n"), "replaced `a/b/c.txt`: 4 bytes, 1 line");
        assert_eq!(fs::read_to_string(folder.path().join("a/b/c.txt")).unwrap(), "é\r\n");
        assert_eq!(fs::read_dir(folder.path().join("a/b")).unwrap().count(), 1);
    }

    #[test]
    fn folders_and_read_only_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        let file = folder.path().join("locked");
        fs::write(&file, "locked").unwrap();
        let mut permissions = fs::metadata(&file).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&file, permissions).unwrap();
        let refused =
            |path: &str| message_of(call_in(folder.path(), "write", json!({ "path": path, "content": "x" })));
        assert_eq!(refused("folder"), "`folder` is a folder; `write` only writes regular files");
        assert_eq!(refused("."), "`.` is a folder; name a file in it");
        assert_eq!(refused("locked"), "`locked` is read-only, so it is left as it is");
        assert_eq!(refused("locked/x"), "a part of `locked/x` is a file and not a folder");
        assert_eq!(fs::read_to_string(&file).unwrap(), "locked");
    }

    #[test]
    fn a_refusal_leaves_no_folder_behind() {
        let folder = tempfile::tempdir().unwrap();
        let long = "x".repeat(300);
        let call = json!({ "path": format!("a/b/{long}"), "content": "x" });
        assert!(message_of(call_in(folder.path(), "write", call)).contains("too long"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
