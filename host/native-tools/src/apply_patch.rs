//! `apply_patch`: a unified diff enters; every file that it names is changed afterwards, or none is.

use std::collections::BTreeSet;

use airlock_core::{Content, ToolError, ToolResult};
use cap_std::fs::Permissions;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::lines::LineEnds;
use crate::open::{Seen, kind_name, must_be_writable, read_text};
use crate::patch::{Applied, FilePatch, Hunk, HunkLine, Searches, Target, apply, parse};
use crate::problem::{counted, failed, io_problem, shown};
use crate::tool::{Definition, arguments};
use crate::transaction::{Change, Transaction, What};
use crate::workspace::{NamedWorkspace, Place};

/// How many bytes the files of one patch have together, before and after: all are in memory at once.
const MAX_TOTAL_BYTES: usize = 32 << 20;

pub(crate) const APPLY_PATCH: Definition = Definition {
    name: "apply_patch",
    title: "Apply a patch",
    description: "Applies a unified diff to files of the workspace: all of it or nothing. Begin each file with \
        `--- a/PATH` and `+++ b/PATH`, each hunk with `@@ -LINE,COUNT +LINE,COUNT @@`, and each line of a hunk with a \
        space (unchanged), `-` (removed) or `+` (added). Unchanged and removed lines must be in the file exactly; \
        give about three unchanged lines around a change. Wrong line numbers and counts do not matter if a hunk fits \
        at one place only; a bare `@@` will do. New file: `--- /dev/null`, only `+` lines. Delete: \
        `+++ /dev/null`; hunks may be left out. Rename: `diff --git a/OLD b/NEW`, `rename from OLD`, `rename to NEW`, \
        then hunks if any. Each file once. Line ends stay what they are.",
    parameters: r#"{
        "type": "object",
        "additionalProperties": false,
        "required": ["patch"],
        "properties": {
            "patch": { "type": "string", "minLength": 1, "description": "The unified diff, paths relative to the workspace." }
        }
    }"#,
    side_effecting: true,
    work: apply_patch,
};

#[derive(Debug, Deserialize)]
struct Arguments {
    patch: String,
}

fn apply_patch(workspace: &NamedWorkspace, call: Value) -> Result<ToolResult, ToolError> {
    let call: Arguments = arguments(call)?;
    let files = parse(&call.patch).map_err(ToolError::InvalidParams)?;
    let transaction = Transaction::begin(&workspace.workspace);
    let mut plan = Plan {
        workspace,
        transaction,
        searches: Searches::default(),
        bytes: 0,
        touched: BTreeSet::new(),
        changes: Vec::new(),
        report: Vec::new(),
        details: Vec::new(),
    };
    for file in &files {
        plan.add(file)?;
    }
    plan.transaction.commit(plan.changes)?;
    Ok(ToolResult {
        content: vec![Content::text(plan.report.join("\n"))],
        details: Some(json!({ "files": plan.details })),
    })
}

/// All changes of a patch, worked out before the first is made.
struct Plan<'workspace> {
    workspace: &'workspace NamedWorkspace,
    transaction: Transaction<'workspace>,
    searches: Searches,
    bytes: usize,
    touched: BTreeSet<(u64, u64, std::ffi::OsString)>,
    changes: Vec<Change>,
    report: Vec<String>,
    details: Vec<Value>,
}

impl Plan<'_> {
    fn add(&mut self, file: &FilePatch) -> Result<(), ToolError> {
        let FilePatch { target, hunks, executable } = file;
        let report = match target {
            Target::Create(path) => {
                let place = self.new_place(path)?;
                let contents = created(hunks).map_err(|problem| problem_with(target, &problem))?;
                self.count(contents.len())?;
                let report = format!("made `{}`: {}", place.shown, counted(contents.lines().count(), "line"));
                let permissions = executable.unwrap_or(false).then(program_permissions).flatten();
                let what = What::Create { contents: contents.into_bytes(), permissions };
                self.changes.push(Change { place, what });
                report
            }
            Target::Change(path) => {
                let place = self.old_place(path)?;
                if hunks.is_empty() && executable.is_none() {
                    return Err(problem_with(
                        target,
                        "the patch has no hunk for it; add one, or leave the file out",
                    ));
                }
                let (contents, mut seen, moved) = self.changed(&place, target, hunks)?;
                set_executable(&mut seen.permissions, *executable);
                let report = format!("changed `{}`: {}{moved}", place.shown, counted(hunks.len(), "hunk"));
                self.changes.push(Change { place, what: What::Replace { contents, seen } });
                report
            }
            Target::Delete(path) => {
                let place = self.old_place(path)?;
                let seen = self.deleted(&place, target, hunks)?;
                let report = format!("deleted `{}`", place.shown);
                self.changes.push(Change { place, what: What::Delete { seen } });
                report
            }
            Target::Rename { from, to } => {
                let old = self.old_place(from)?;
                let new = self.new_place(to)?;
                let (contents, seen, moved) = self.changed(&old, target, hunks)?;
                let mut permissions = seen.permissions.clone();
                set_executable(&mut permissions, *executable);
                let report = format!(
                    "renamed `{}` to `{}`: {}{moved}",
                    old.shown,
                    new.shown,
                    counted(hunks.len(), "hunk")
                );
                let what = What::Create { contents, permissions: Some(permissions) };
                self.changes.push(Change { place: new, what });
                self.changes.push(Change { place: old, what: What::Delete { seen } });
                report
            }
        };
        self.report.push(report);
        self.details.push(match target {
            Target::Create(path) => json!({ "path": path, "change": "created" }),
            Target::Change(path) => json!({ "path": path, "change": "changed", "hunks": hunks.len() }),
            Target::Delete(path) => json!({ "path": path, "change": "deleted" }),
            Target::Rename { from, to } => json!({ "path": to, "change": "renamed", "from": from }),
        });
        Ok(())
    }

    fn old_place(&mut self, path: &str) -> Result<Place, ToolError> {
        let place = self.transaction.place(&self.workspace.relative(path)?)?;
        self.touch(place)
    }

    fn new_place(&mut self, path: &str) -> Result<Place, ToolError> {
        let path = self.workspace.relative(path)?;
        // A link where a file is to be made is taken for what it is, and not followed.
        if self.workspace.workspace.folder.symlink_metadata(&path).is_ok() {
            let shown = shown(&path);
            return Err(failed(format!(
                "`{shown}` exists already; change it, or delete it in another patch first"
            )));
        }
        let place = self.transaction.new_place(&path)?;
        self.touch(place)
    }

    /// One file under two names would be changed by the last alone.
    fn touch(&mut self, place: Place) -> Result<Place, ToolError> {
        if self.touched.insert(place.identity.clone()) {
            return Ok(place);
        }
        Err(failed(format!(
            "`{}` is in the patch twice; put all that happens to it in one place",
            place.shown
        )))
    }

    fn count(&mut self, bytes: usize) -> Result<(), ToolError> {
        self.bytes += bytes;
        if self.bytes > MAX_TOTAL_BYTES {
            return Err(failed(format!(
                "the files of the patch have over {MAX_TOTAL_BYTES} bytes together; apply it in parts"
            )));
        }
        Ok(())
    }

    /// What a file holds after its hunks, and where they did not fit as they said.
    fn changed(
        &mut self,
        place: &Place,
        target: &Target,
        hunks: &[Hunk],
    ) -> Result<(Vec<u8>, Seen, String), ToolError> {
        let (before, seen) = read_text(place)?;
        self.count(before.len())?;
        let (ends, applied) =
            self.applied(before, hunks).map_err(|problem| problem_with(target, &problem))?;
        let contents = ends.restored(applied.text).into_bytes();
        self.count(contents.len())?;
        let moved: Vec<String> =
            applied.moved.iter().map(|(hunk, line)| format!("hunk {hunk} fitted at line {line}")).collect();
        let moved = if moved.is_empty() { String::new() } else { format!(" ({})", moved.join(", ")) };
        Ok((contents, seen, moved))
    }

    fn applied(&mut self, before: String, hunks: &[Hunk]) -> Result<(LineEnds, Applied), String> {
        let (ends, before) = LineEnds::normalised(before);
        let applied = match ends {
            LineEnds::AsTheyAre => apply(&before, hunks, &mut self.searches)?,
            // A diff that a program made of such a file has the carriage returns too.
            LineEnds::CrLf => {
                let hunks: Vec<Hunk> = hunks.iter().map(without_carriage_returns).collect();
                apply(&before, &hunks, &mut self.searches)?
            }
        };
        Ok((ends, applied))
    }

    fn deleted(&mut self, place: &Place, target: &Target, hunks: &[Hunk]) -> Result<Seen, ToolError> {
        if hunks.is_empty() {
            let problem = |error| io_problem("delete", &place.shown, &error);
            let metadata = place.folder.symlink_metadata(&place.name).map_err(problem)?;
            if !metadata.is_file() {
                let kind = kind_name(&metadata.file_type());
                return Err(problem_with(
                    target,
                    &format!("it is {kind}; only regular files can be deleted"),
                ));
            }
            must_be_writable(&metadata, &place.shown)?;
            return Ok(Seen::of(&metadata));
        }
        let (rest, seen, _) = self.changed(place, target, hunks)?;
        if !rest.is_empty() {
            return Err(problem_with(
                target,
                "the hunks leave some of it; remove every line, or leave out the hunks",
            ));
        }
        Ok(seen)
    }
}

fn problem_with(target: &Target, problem: &str) -> ToolError {
    failed(format!("`{}`: {problem}. Nothing was changed", target.shown()))
}

/// The text of a new file.
fn created(hunks: &[Hunk]) -> Result<String, String> {
    let is_new = |line: &HunkLine| matches!(line, HunkLine::Add(_));
    if !hunks.iter().all(|hunk| hunk.lines.iter().all(is_new)) {
        return Err(
            "a new file has only lines with `+`; to change one that exists name it after `---`".to_owned()
        );
    }
    let mut text = String::new();
    for line in hunks.iter().flat_map(Hunk::new_lines) {
        text.push_str(line);
        text.push('\n');
    }
    if hunks.last().is_some_and(|hunk| hunk.new_is_open) {
        text.pop();
    }
    Ok(text)
}

fn without_carriage_returns(hunk: &Hunk) -> Hunk {
    let bare = |text: &String| text.strip_suffix('\r').unwrap_or(text).to_owned();
    let lines = hunk.lines.iter().map(|line| match line {
        HunkLine::Keep(text) => HunkLine::Keep(bare(text)),
        HunkLine::Remove(text) => HunkLine::Remove(bare(text)),
        HunkLine::Add(text) => HunkLine::Add(bare(text)),
    });
    Hunk {
        old_start: hunk.old_start,
        lines: lines.collect(),
        old_is_open: hunk.old_is_open,
        new_is_open: hunk.new_is_open,
    }
}

/// What git gives a program; other systems know no such permission.
fn program_permissions() -> Option<Permissions> {
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt as _;
        Some(Permissions::from_mode(0o755))
    }
    #[cfg(not(unix))]
    None
}

/// Lets those run a file who may read it, or nobody.
fn set_executable(permissions: &mut Permissions, executable: Option<bool>) {
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt as _;
        let mode = permissions.mode();
        match executable {
            Some(true) => permissions.set_mode(mode | (mode & 0o444) >> 2),
            Some(false) => permissions.set_mode(mode & !0o111),
            None => {}
        }
    }
    #[cfg(not(unix))]
    let _ = (permissions, executable);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::tool::testing::{call_in, message_of, text_of};

    fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, contents) in files {
            fs::write(folder.path().join(name), contents).unwrap();
        }
        folder
    }

    fn file_at(folder: &Path, path: &str) -> Option<String> {
        fs::read_to_string(folder.join(path)).ok()
    }

    fn patch(folder: &Path, patch: &str) -> Result<ToolResult, ToolError> {
        call_in(folder, "apply_patch", json!({ "patch": patch }))
    }

    const MANY: &str = "--- a/one\n+++ b/one\n@@ -7,2 +7,2 @@\n a\n-b\n+B\n\
        --- /dev/null\n+++ b/new/two\n@@ -0,0 +1 @@\n+two\n\
        --- a/three\n+++ /dev/null\n\
        diff --git a/four b/five\nrename from four\nrename to five\n--- a/four\n+++ b/five\n@@ -1 +1 @@\n-4\n+5\n";

    #[test]
    fn a_patch_of_many_files_is_applied() {
        let folder = folder_with(&[("one", "a\nb\n"), ("three", "3\n"), ("four", "4\n")]);
        let result = patch(folder.path(), MANY).unwrap();
        assert_eq!(
            text_of(&result),
            "changed `one`: 1 hunk (hunk 1 fitted at line 1)\nmade `new/two`: 1 line\ndeleted `three`\n\
             renamed `four` to `five`: 1 hunk"
        );
        let at = |path| file_at(folder.path(), path);
        assert_eq!((at("one").as_deref(), at("new/two").as_deref()), (Some("a\nB\n"), Some("two\n")));
        assert_eq!((at("three"), at("four"), at("five").as_deref()), (None, None, Some("5\n")));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn one_misfit_and_nothing_happens() {
        let folder = folder_with(&[("one", "a\nb\n"), ("three", "3\n"), ("four", "other\n")]);
        assert_eq!(
            message_of(patch(folder.path(), MANY)),
            "`five`: hunk 1 does not fit: line 1 of the file is `other`, the hunk has `4`. Nothing was changed"
        );
        assert_eq!(file_at(folder.path(), "one").as_deref(), Some("a\nb\n"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let folder = folder_with(&[("a", "a\n"), ("b", "b\n")]);
        fs::create_dir(folder.path().join("folder")).unwrap();
        let refused = |text: &str| message_of(patch(folder.path(), text));
        let change = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+A\n";
        assert!(
            refused(&format!("{change}{}", change.replace("/a\n", "/./a\n"))).contains("in the patch twice")
        );
        assert!(refused("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n").contains("exists already"));
        assert!(refused("--- /dev/null\n+++ b/c\n@@ -1 +1 @@\n-x\n+x\n").contains("only lines with `+`"));
        assert!(refused("--- a/a\n+++ b/a\n").contains("no hunk for it"));
        assert!(refused("--- a/c\n+++ b/c\n@@ @@\n-a\n+b\n").contains("`c` does not exist"));
        assert!(refused("--- a/folder\n+++ /dev/null\n").contains("is a folder"));
        assert!(refused("--- ../a\n+++ ../a\n@@ @@\n-a\n+b\n").contains("leads out of the workspace"));
        assert!(
            refused("--- /etc/passwd\n+++ /etc/passwd\n@@ @@\n-a\n+b\n").contains("outside the workspace")
        );
        let rest = "--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n";
        assert!(refused(rest).contains("line 1 of the file is `b`, the hunk has `c`"));
        assert_eq!(file_at(folder.path(), "a").as_deref(), Some("a\n"));
    }

    #[test]
    fn line_ends_are_kept() {
        let folder = folder_with(&[("a", "a\r\nb\r\n")]);
        for (old, new) in [("b", "c"), ("c\r", "d\r"), ("d", "b\r")] {
            patch(folder.path(), &format!("--- a/a\n+++ b/a\n@@ -2 +2 @@\n-{old}\n+{new}\n")).unwrap();
            let expected = format!("a\r\n{}\r\n", new.trim());
            assert_eq!(file_at(folder.path(), "a"), Some(expected));
        }
    }

    #[cfg(unix)]
    #[test]
    fn programs_can_be_made_and_unmade() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder_with(&[]);
        let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o111;
        let new = "diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n";
        patch(folder.path(), new).unwrap();
        assert_eq!(mode("x"), 0o111);
        patch(folder.path(), "diff --git a/x b/x\nold mode 100755\nnew mode 100644\n").unwrap();
        assert_eq!(mode("x"), 0);
    }
}
