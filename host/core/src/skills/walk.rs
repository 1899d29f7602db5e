//! Where in a root skills are: a root enters; folders with a `SKILL.md` leave, with what a look at each file says of it. No file
//! is opened here. Links may lead anywhere below the root, and nowhere else; each real folder is seen once.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::root::{SkillRoot, SkillSource};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::discover::unsafe_to_trust;

/// Names of a skill's file, the first one first; the second is what some clients write.
const FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];

/// How deep below a root a skill's folder may lie: five folders that group, and its own.
const MAX_DEPTH: usize = 6;

/// Skills of one root.
const MAX_SKILLS: usize = 300;

/// Entries of one root that are looked at, files included: sixty for each skill.
const MAX_ENTRIES: usize = 20_000;

/// How deep below a skill's folder its other files may lie.
const MAX_FILE_DEPTH: usize = 4;

/// Other files of one skill.
const MAX_FILES: usize = 64;

/// A skill's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Walked {
    pub(super) source: SkillSource,
    /// As it is reached from the root, for people.
    pub(super) folder: PathBuf,
    /// `SKILL.md`.
    pub(super) main: Seen,
    /// Other files, by their paths below the folder with `/` between the parts.
    pub(super) files: Vec<(String, Seen)>,
}

/// One file as it was seen: if it is the same the next time, it was not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    modified: Option<SystemTime>,
    /// Its number, and when anything about it changed, which no program can set.
    #[cfg(unix)]
    changed: (u64, i64, i64),
}

impl Seen {
    fn new(path: PathBuf, metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Self {
            path,
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            changed: (metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Walks one root. What cannot be read, and what is over a limit, is told.
pub(super) fn walk(root: &SkillRoot, findings: &mut Vec<Diagnostic>) -> Vec<Walked> {
    let found = |code, message: String, hint: &str| {
        Diagnostic::new(code, &root.source, message, hint).at(Location::path(&root.path))
    };
    let real = match root.path.canonicalize() {
        Ok(real) => real,
        // Most roots are places where skills may be.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let message = format!("its folder of skills cannot be read: {error}");
            findings.push(found(Code::SkillRootUnreadable, message, "make it readable, or take it away"));
            return Vec::new();
        }
    };
    let is_workspace = matches!(root.source, SkillSource::Workspace | SkillSource::WorkspaceAgents);
    if let Some(cause) =
        fs::metadata(&real).ok().filter(|_| !is_workspace).and_then(|seen| unsafe_to_trust(&seen))
    {
        let message = format!("its folder of skills {cause}");
        findings.push(found(
            Code::SkillRootUnreadable,
            message,
            "make it this user's own: `chown`, `chmod o-w`",
        ));
        return Vec::new();
    }
    let mut walk = Walk { root, real, skills: Vec::new(), seen: BTreeSet::new(), entries: 0, findings };
    walk.folder(&root.path, 0);
    let Walk { mut skills, entries, .. } = walk;
    if skills.len() > MAX_SKILLS || entries > MAX_ENTRIES {
        skills.truncate(MAX_SKILLS);
        let message = format!(
            "its folder of skills has more than {MAX_SKILLS} skills, or more than {MAX_ENTRIES} files; the rest is not looked at"
        );
        findings.push(found(Code::SkillsTooMany, message, "put skills that nobody needs elsewhere"));
    }
    skills
}

struct Walk<'a> {
    root: &'a SkillRoot,
    real: PathBuf,
    skills: Vec<Walked>,
    /// Real folders that were looked at.
    seen: BTreeSet<PathBuf>,
    entries: usize,
    findings: &'a mut Vec<Diagnostic>,
}

impl Walk<'_> {
    fn is_full(&self) -> bool {
        self.skills.len() > MAX_SKILLS || self.entries > MAX_ENTRIES
    }

    /// A folder that may be a skill, or group some.
    fn folder(&mut self, folder: &Path, depth: usize) {
        let is_new = self.inside(folder).is_some_and(|real| self.seen.insert(real));
        if !is_new || depth > MAX_DEPTH || self.is_full() {
            return;
        }
        let entries = self.list(folder);
        if let Some(name) = FILE_NAMES.iter().find(|name| entries.iter().any(|entry| entry == *name)) {
            self.skill(folder, name);
            return;
        }
        for entry in entries {
            let is_hidden = entry.starts_with('.') || entry == "node_modules";
            let below = folder.join(&entry);
            if !is_hidden && fs::metadata(&below).is_ok_and(|metadata| metadata.is_dir()) {
                self.folder(&below, depth + 1);
            }
        }
    }

    fn skill(&mut self, folder: &Path, name: &str) {
        let path = folder.join(name);
        let seen = self.inside(&path).and_then(|_| fs::metadata(&path).ok());
        let Some(metadata) = seen.filter(Metadata::is_file) else {
            let message = "its `SKILL.md` is no regular file inside its root".to_owned();
            let finding = Diagnostic::new(
                Code::SkillInvalid,
                folder.file_name().unwrap_or_default().to_string_lossy(),
                message,
                "make it a file of its own",
            );
            self.findings.push(finding.at(Location::path(path)));
            return;
        };
        let mut files = Vec::new();
        let is_whole = self.files(folder, folder, name, 0, &mut files);
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        if files.len() > MAX_FILES || !is_whole {
            files.truncate(MAX_FILES);
            let message = format!(
                "beside `SKILL.md` it has more than {MAX_FILES} files, or files more than {MAX_FILE_DEPTH} folders deep; the rest is left out"
            );
            let subject = folder.file_name().unwrap_or_default().to_string_lossy();
            let finding =
                Diagnostic::new(Code::SkillFileLeftOut, subject, message, "keep what the skill needs");
            self.findings.push(finding.at(Location::path(folder)));
        }
        let main = Seen::new(path, &metadata);
        self.skills.push(Walked { source: self.root.source.clone(), folder: folder.to_owned(), main, files });
    }

    /// Other files of a skill; whether that is all of them.
    fn files(
        &mut self,
        base: &Path,
        folder: &Path,
        main: &str,
        depth: usize,
        files: &mut Vec<(String, Seen)>,
    ) -> bool {
        let mut is_whole = true;
        for entry in self.list(folder) {
            let path = folder.join(&entry);
            if entry.starts_with('.') || path == base.join(main) || files.len() > MAX_FILES {
                continue;
            }
            let Some(real) = self.inside(&path) else { continue };
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_file() => {
                    let below = path.strip_prefix(base).unwrap_or(&path);
                    let parts = below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>();
                    files.push((parts.join("/"), Seen::new(path, &metadata)));
                }
                Ok(metadata) if metadata.is_dir() && depth < MAX_FILE_DEPTH && self.seen.insert(real) => {
                    is_whole &= self.files(base, &path, main, depth + 1, files);
                }
                Ok(metadata) if metadata.is_dir() && depth >= MAX_FILE_DEPTH => is_whole = false,
                _ => {}
            }
        }
        is_whole
    }

    /// The real path of something, if that is below the root.
    fn inside(&mut self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        if real.starts_with(&self.real) {
            return Some(real);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let message = format!("`{name}` is a link out of its folder of skills, and is not followed");
        let finding = Diagnostic::new(Code::SkillLinkRefused, &self.root.source, message, "copy it there");
        self.findings.push(finding.at(Location::path(path)));
        None
    }

    /// Names in a folder, sorted. One that is no Unicode is passed over.
    fn list(&mut self, folder: &Path) -> Vec<String> {
        let left = MAX_ENTRIES.saturating_sub(self.entries) + 1;
        let read = fs::read_dir(folder).map(|entries| entries.flatten().take(left).collect::<Vec<_>>());
        match read {
            Ok(entries) => {
                self.entries += entries.len();
                let mut names: Vec<String> =
                    entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
                names.sort_unstable();
                names
            }
            Err(error) => {
                let message = format!("a folder of skills cannot be read: {error}");
                let finding = Diagnostic::new(
                    Code::SkillRootUnreadable,
                    &self.root.source,
                    message,
                    "make it readable",
                );
                self.findings.push(finding.at(Location::path(folder)));
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(root: &Path, path: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    fn look(root: &Path) -> (Vec<String>, Vec<String>) {
        let mut findings = Vec::new();
        let skills = walk(&SkillRoot { source: SkillSource::Extra, path: root.to_owned() }, &mut findings);
        let shown = |skill: &Walked| skill.folder.strip_prefix(root).unwrap().display().to_string();
        (skills.iter().map(shown).collect(), findings.iter().map(|finding| finding.message.clone()).collect())
    }

    #[test]
    fn skills_are_found_at_their_depth_and_end_the_descent() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "a/SKILL.md",
            "a/nested/SKILL.md",
            "b/skill.md",
            "group/c/SKILL.md",
            "1/2/3/4/5/six/SKILL.md",
            "1/2/3/4/5/6/seven/SKILL.md",
            ".hidden/SKILL.md",
            "node_modules/d/SKILL.md",
            "no/README.md",
        ] {
            write(root.path(), path);
        }
        assert_eq!(look(root.path()).0, ["1/2/3/4/5/six", "a", "b", "group/c"]);
        assert_eq!(look(&root.path().join("nowhere")).0, [""; 0]);
        assert_eq!(look(&root.path().join("a")).0, [""], "a root may be one skill");
    }

    #[test]
    fn links_in_circles_and_out_of_the_root_are_harmless() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(elsewhere.path(), "x/SKILL.md");
        for path in ["a/SKILL.md", "b/f", "c/f"] {
            write(root.path(), path);
        }
        for (to, link) in [("../a", "a/again"), ("../c", "b/loop"), ("../b", "c/loop"), ("a", "twice")] {
            symlink(to, root.path().join(link)).unwrap();
        }
        symlink("/", root.path().join("root")).unwrap();
        symlink(elsewhere.path().join("x"), root.path().join("out")).unwrap();
        symlink("nowhere", root.path().join("dangling")).unwrap();
        let (skills, findings) = look(root.path());
        assert_eq!(skills, ["a"]);
        assert_eq!(findings.len(), 2, "{findings:?}");
    }

    #[test]
    fn special_files_are_told_and_not_opened() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("pipe")).unwrap();
        let status = std::process::Command::new("mkfifo").arg(root.path().join("pipe/SKILL.md")).status();
        assert!(status.unwrap().success());
        fs::create_dir_all(root.path().join("folder/SKILL.md")).unwrap();
        let (skills, findings) = look(root.path());
        assert!(skills.is_empty() && findings.len() == 2, "{skills:?} {findings:?}");
        assert!(findings.iter().all(|finding| finding.contains("no regular file")));
    }

    #[test]
    fn too_many_are_told() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..MAX_SKILLS + 1 {
            write(root.path(), &format!("s{number:04}/SKILL.md"));
        }
        let (skills, findings) = look(root.path());
        assert_eq!((skills.len(), findings.len()), (MAX_SKILLS, 1));
    }
}
