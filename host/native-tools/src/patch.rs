//! A unified diff enters; what it wants of each file leaves. It knows no file and decides nothing.
//!
//! Written here and not taken from a crate: those found read one file without git's headers, and refuse a hunk whose
//! header counts wrongly, which models do. The counts are used where they are right, since only they tell a removed line
//! `-- x` from the header of the next file; where they are not, the shape of the lines decides. That is no risk, since
//! every line of a hunk must be in the file exactly (`patch/apply.rs`).

mod apply;
mod hunk;

pub(crate) use apply::{Applied, Searches, apply};
pub(crate) use hunk::{Hunk, HunkLine};

use airlock_core::text;

use crate::lines::LineEnds;

/// How many files one patch may touch: a large change of a person's has fewer, and each is an open folder.
const MAX_FILES: usize = 100;

/// How many hunks one patch may have.
const MAX_HUNKS: usize = 1_000;

/// Longest line that a message quotes, in characters.
const MAX_QUOTED_CHARS: usize = 100;

/// What a patch wants of one file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FilePatch {
    pub(crate) target: Target,
    pub(crate) hunks: Vec<Hunk>,
    /// Whether the file is to be a program, if the patch says.
    pub(crate) executable: Option<bool>,
}

/// Which file, and whether it comes, stays, goes or gets another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Create(String),
    Change(String),
    Delete(String),
    Rename { from: String, to: String },
}

impl Target {
    /// As a message names it.
    pub(crate) fn shown(&self) -> String {
        let (Self::Create(path) | Self::Change(path) | Self::Delete(path) | Self::Rename { to: path, .. }) =
            self;
        text::single_line(&text::shorten(path, crate::problem::MAX_QUOTED_CHARS)).into_owned()
    }
}

/// A line as a message quotes it.
pub(crate) fn quoted(line: &str) -> String {
    format!("`{}`", text::single_line(&text::shorten(line, MAX_QUOTED_CHARS)))
}

/// Reads a patch.
pub(crate) fn parse(patch: &str) -> Result<Vec<FilePatch>, String> {
    let (_, patch) = LineEnds::normalised(patch.to_owned());
    let lines: Vec<&str> = patch.lines_with_cr().collect();
    let mut parser = Parser { lines: &lines, next: 0, hunks: 0 };
    let mut files: Vec<FilePatch> = Vec::new();
    while let Some(line) = parser.peek() {
        if parser.at_file() {
            let file = parser.file()?;
            if files.len() == MAX_FILES {
                return Err(format!("the patch touches more than {MAX_FILES} files; apply it in parts"));
            }
            files.push(file);
        } else if line.starts_with("*** ") {
            return Err(
                "the patch is not a unified diff: begin each file with `--- a/PATH` and `+++ b/PATH`, \
                and each hunk with `@@ -LINE,COUNT +LINE,COUNT @@`"
                    .to_owned(),
            );
        } else if line.starts_with("@@") {
            return Err(parser.refuse("a hunk of no file: put `--- a/PATH` and `+++ b/PATH` before it"));
        } else if line.trim_end() == "--" {
            // The signature of `git`, with its version in the next line.
            parser.next += 2;
        } else if files.is_empty() || line.trim().is_empty() || line.starts_with("```") {
            // What stands before the first file is a message, such as a commit's.
            parser.next += 1;
        } else {
            return Err(parser.refuse(
                "not a part of a hunk: its lines begin with a space, `+` or `-`, and hunks with `@@`",
            ));
        }
    }
    if files.is_empty() {
        return Err("the patch names no file: begin each with `--- a/PATH` and `+++ b/PATH`".to_owned());
    }
    Ok(files)
}

/// A patch and how far it has been read.
struct Parser<'patch> {
    lines: &'patch [&'patch str],
    next: usize,
    hunks: usize,
}

impl<'patch> Parser<'patch> {
    fn peek(&self) -> Option<&'patch str> {
        self.lines.get(self.next).copied()
    }

    fn refuse(&self, what: &str) -> String {
        format!("line {} of the patch, {}, is {what}", self.next + 1, quoted(self.peek().unwrap_or_default()))
    }

    fn at_file(&self) -> bool {
        let rest = self.lines.get(self.next..).unwrap_or_default();
        hunk::begins_file(rest)
    }

    fn file(&mut self) -> Result<FilePatch, String> {
        let mut header = Header::default();
        if let Some(names) = self.peek().and_then(|line| line.strip_prefix("diff --git ")) {
            header.git = same_name(names.trim_end());
            self.next += 1;
            while let Some(line) = self.peek() {
                if self.at_file() && line.starts_with("diff ") || line.starts_with("--- ") {
                    break;
                }
                if !header.read(line.trim_end()).map_err(|what| self.refuse(what))? {
                    break;
                }
                self.next += 1;
            }
        }
        if let (Some(old), Some(new)) = (self.name("--- ", 0)?, self.name("+++ ", 1)?) {
            header.names = Some(strip_prefixes(old, new));
            self.next += 2;
        }
        let target =
            header.target().map_err(|what| format!("before line {} of the patch: {what}", self.next + 1))?;
        let mut hunks = Vec::new();
        while self.peek().is_some_and(|line| line.starts_with("@@")) {
            self.hunks += 1;
            if self.hunks > MAX_HUNKS {
                return Err(format!("the patch has more than {MAX_HUNKS} hunks; apply it in parts"));
            }
            let rest = self.lines.get(self.next..).unwrap_or_default();
            let (hunk, used) = Hunk::parse(rest);
            let hunk = hunk.ok_or_else(|| self.refuse("the header of a hunk that has no lines"))?;
            self.next += used;
            hunks.push(hunk);
        }
        Ok(FilePatch { target, hunks, executable: header.executable })
    }

    /// The name in a header line that is `ahead` lines further, without a time stamp.
    fn name(&self, prefix: &str, ahead: usize) -> Result<Option<&'patch str>, String> {
        let line = self.lines.get(self.next + ahead).and_then(|line| line.strip_prefix(prefix));
        let Some(name) = line.map(|line| line.split('\t').next().unwrap_or_default().trim_end()) else {
            return Ok(None);
        };
        if name.is_empty() {
            return Err(self.refuse("a file header without a name"));
        }
        if name.starts_with('"') {
            return Err(self.refuse("a quoted name: write it plainly, as it is"));
        }
        Ok(Some(name))
    }
}

/// What stands before the hunks of a file.
#[derive(Debug, Default)]
struct Header {
    git: Option<String>,
    /// Old and new, without prefixes; `None` is `/dev/null`.
    names: Option<(Option<String>, Option<String>)>,
    rename_from: Option<String>,
    rename_to: Option<String>,
    is_new: bool,
    is_deleted: bool,
    executable: Option<bool>,
}

impl Header {
    /// Takes in one line between `diff --git` and the hunks; says whether it was one.
    fn read(&mut self, line: &str) -> Result<bool, &'static str> {
        let mode = |mode: &str| match mode {
            "100644" => Ok(Some(false)),
            "100755" => Ok(Some(true)),
            _ => Err("a mode other than 100644 and 100755: only regular files can be patched"),
        };
        if let Some(from) = line.strip_prefix("rename from ") {
            self.rename_from = Some(from.to_owned());
        } else if let Some(to) = line.strip_prefix("rename to ") {
            self.rename_to = Some(to.to_owned());
        } else if let Some(new) = line.strip_prefix("new file mode ") {
            (self.is_new, self.executable) = (true, mode(new)?.filter(|&executable| executable));
        } else if let Some(old) = line.strip_prefix("deleted file mode ") {
            mode(old)?;
            self.is_deleted = true;
        } else if let Some(new) = line.strip_prefix("new mode ") {
            self.executable = mode(new)?;
        } else if line.starts_with("copy ") {
            return Err("a copy, which is not supported: make the new file with `--- /dev/null`");
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err("a binary change: only text can be patched");
        } else {
            return Ok(["index ", "old mode ", "similarity index ", "dissimilarity index "]
                .iter()
                .any(|known| line.starts_with(known)));
        }
        Ok(true)
    }

    fn target(&self) -> Result<Target, String> {
        match (&self.rename_from, &self.rename_to) {
            (Some(from), Some(to)) => return Ok(Target::Rename { from: from.clone(), to: to.clone() }),
            (None, None) => {}
            _ => return Err("`rename from` and `rename to` go together".to_owned()),
        }
        let (old, new) = match (&self.names, &self.git) {
            (Some((old, new)), _) => (old.clone(), new.clone()),
            (None, Some(name)) => {
                let named = |is_none: bool| (!is_none).then(|| name.clone());
                (named(self.is_new), named(self.is_deleted))
            }
            (None, None) => return Err("a file needs `--- a/PATH` and `+++ b/PATH`".to_owned()),
        };
        match (old, new) {
            (None, Some(new)) => Ok(Target::Create(new)),
            (Some(old), None) => Ok(Target::Delete(old)),
            (Some(old), Some(new)) if old == new && self.is_deleted => Ok(Target::Delete(old)),
            (Some(old), Some(new)) if old == new && self.is_new => Ok(Target::Create(new)),
            (Some(old), Some(new)) if old == new => Ok(Target::Change(old)),
            (Some(old), Some(new)) => Err(format!(
                "the old name {} and the new name {} differ; to rename a file add `diff --git`, `rename from PATH` \
                 and `rename to PATH` before it",
                quoted(&old),
                quoted(&new)
            )),
            (None, None) => Err("both names are `/dev/null`; name the file".to_owned()),
        }
    }
}

/// The name in `a/NAME b/NAME`.
fn same_name(names: &str) -> Option<String> {
    // Two names of one length, two prefixes of two bytes, one space.
    let length = names.len().checked_sub(5)? / 2;
    let name = names.strip_prefix("a/")?.get(..length)?;
    (names.get(2 + length..)? == format!(" b/{name}")).then(|| name.to_owned())
}

/// Names without `a/` and `b/`, if they have these.
fn strip_prefixes(old: &str, new: &str) -> (Option<String>, Option<String>) {
    let part = |name: &str, prefix: &str| match name {
        "/dev/null" => None,
        name => Some(name.strip_prefix(prefix).map(str::to_owned)),
    };
    match (part(old, "a/"), part(new, "b/")) {
        (None, None) => (None, None),
        (Some(Some(old)), Some(Some(new))) => (Some(old), Some(new)),
        (None, Some(Some(new))) => (None, Some(new)),
        (Some(Some(old)), None) => (Some(old), None),
        // A folder may be called `a`, so one prefix alone is none.
        (old_part, new_part) => (old_part.map(|_| old.to_owned()), new_part.map(|_| new.to_owned())),
    }
}

/// Lines that keep a carriage return, which belongs to the file's text and not to the patch.
trait LinesWithCr {
    fn lines_with_cr(&self) -> impl Iterator<Item = &str>;
}

impl LinesWithCr for String {
    fn lines_with_cr(&self) -> impl Iterator<Item = &str> {
        self.strip_suffix('\n').unwrap_or(self).split('\n')
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn targets(patch: &str) -> Vec<Target> {
        parse(patch).unwrap().into_iter().map(|file| file.target).collect()
    }

    #[test]
    fn files_come_stay_go_and_are_renamed() {
        let patch = "commit message\n\ndiff --git a/x y b/x y\nindex 1..2 100644\n--- a/x y\n+++ b/x y\n@@ -1 +1 @@\n-a\n+b\n\
            --- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n\
            --- a/old\t2024-01-01\n+++ /dev/null\n\
            diff --git a/p b/q\nsimilarity index 100%\nrename from p\nrename to q\n\
            diff --git a/empty b/empty\nnew file mode 100755\nindex 0..0\n-- \n2.39.5\n";
        assert_eq!(
            targets(patch),
            [
                Target::Change("x y".to_owned()),
                Target::Create("new".to_owned()),
                Target::Delete("old".to_owned()),
                Target::Rename { from: "p".to_owned(), to: "q".to_owned() },
                Target::Create("empty".to_owned()),
            ]
        );
        let files = parse(patch).unwrap();
        assert_eq!(files.last().unwrap().executable, Some(true));
        assert_eq!(files.iter().map(|file| file.hunks.len()).collect::<Vec<_>>(), [1, 1, 0, 0, 0]);
    }

    #[test]
    fn prefixes_are_taken_off_in_pairs() {
        let of = |old: &str, new: &str| targets(&format!("--- {old}\n+++ {new}\n@@ @@\n-a\n+b\n"));
        assert_eq!(of("a/x", "b/x"), [Target::Change("x".to_owned())]);
        assert_eq!(of("a/x", "a/x"), [Target::Change("a/x".to_owned())]);
        assert_eq!(of("src/x", "src/x"), [Target::Change("src/x".to_owned())]);
        assert_eq!(targets("```diff\r\n--- a/x\r\n+++ b/x\r\n@@ @@\r\n-a\r\n+b\r\n```\r\n").len(), 1);
    }

    #[test]
    fn what_is_no_unified_diff_is_refused_with_its_line() {
        let refused = |patch: &str| parse(patch).unwrap_err();
        assert!(refused("*** Begin Patch\n*** Update File: a\n").contains("not a unified diff"));
        assert!(refused("hello").contains("names no file"));
        assert!(
            refused("@@ -1 +1 @@\n-a\n+b\n")
                .contains("line 1 of the patch, `@@ -1 +1 @@`, is a hunk of no file")
        );
        assert!(
            refused("--- a/x\n+++ b/y\n@@ @@\n-a\n").contains("the old name `x` and the new name `y` differ")
        );
        assert!(refused("--- a/x\n+++ b/x\n@@ -1 +1 @@\n").contains("a hunk that has no lines"));
        assert!(
            refused("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nsome text\n").contains("line 6 of the patch")
        );
        assert!(refused("--- \"a/x\"\n+++ \"b/x\"\n").contains("a quoted name"));
        for bad in ["GIT binary patch", "copy from x", "new file mode 120000"] {
            assert!(
                refused(&format!("diff --git a/x b/x\n{bad}\n")).contains("line 2 of the patch"),
                "{bad}"
            );
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_or_refused_in_few_visible_words(
            patch in "(diff --git a/x b/x\n|--- a/x\n|\\+\\+\\+ b/x\n|@@ -1,?[0-9]{0,25} \\+1 @@\n|@@\n|[ +-]\\PC{0,9}\n|\\\\ No\n|rename from x\n|new file mode 1\n|.{0,300}){0,12}"
        ) {
            if let Err(message) = parse(&patch) {
                prop_assert!(message.chars().count() < 500, "{}", message);
                prop_assert!(!message.contains(text::is_unsafe), "{}", message);
            }
        }
    }

    #[test]
    fn files_and_hunks_obeyed_and_violated() {
        let file = |number: usize| format!("--- a/{number}\n+++ b/{number}\n@@ -1 +1 @@\n-a\n+b\n");
        let files = |count: usize| (0..count).map(file).collect::<String>();
        assert_eq!(parse(&files(MAX_FILES)).unwrap().len(), MAX_FILES);
        assert!(parse(&files(MAX_FILES + 1)).unwrap_err().contains("more than 100 files"));
        let hunks = |count: usize| format!("--- a/x\n+++ b/x\n{}", "@@ -1 +1 @@\n-a\n+b\n".repeat(count));
        assert_eq!(parse(&hunks(MAX_HUNKS)).unwrap()[0].hunks.len(), MAX_HUNKS);
        assert!(parse(&hunks(MAX_HUNKS + 1)).unwrap_err().contains("more than 1000 hunks"));
    }
}
