//! Where in a root skills are: a root enters; folders with a `SKILL.md` leave, with what a look at each file says of it. No file
//! is opened here. Links may lead anywhere below the root, and nowhere else; each real folder is seen once.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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

/// The longest step in which a file system's times go on: two seconds on a FAT.
const LONGEST_STEP: Duration = Duration::from_secs(2);

/// A skill's folder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// Its number, where files have one.
    number: u64,
    modified: Option<SystemTime>,
    /// When anything about it changed, which no program can set where systems keep it.
    changed: Option<SystemTime>,
}

impl Seen {
    fn new(path: PathBuf, metadata: &Metadata) -> Self {
        let (bytes, modified) = (metadata.len(), metadata.modified().ok());
        #[cfg(unix)]
        let (number, changed) = {
            use std::os::unix::fs::MetadataExt as _;
            let since = |seconds: i64, nanoseconds: i64| {
                let whole = Duration::from_secs(u64::try_from(seconds).ok()?);
                let part = Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
                SystemTime::UNIX_EPOCH.checked_add(whole)?.checked_add(part)
            };
            (metadata.ino(), since(metadata.ctime(), metadata.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (number, changed) = (0, modified);
        Self { path, bytes, number, modified, changed }
    }
}

impl Walked {
    /// Whether a change after `now` would show in what is seen: times of files go on in steps, within which there may be two.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        let mut seen = std::iter::once(&self.main).chain(self.files.iter().map(|(_, seen)| seen));
        seen.all(|seen| {
            seen.changed
                .is_some_and(|changed| now.duration_since(changed).is_ok_and(|age| age > LONGEST_STEP))
        })
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
    let (skills, seen) = (Vec::new(), BTreeSet::new());
    let mut walk = Walk { root, real: real.clone(), skills, seen, entries: 0, findings };
    walk.folder(&root.path, &real, 0);
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

    /// A folder that may be a skill, or group some. `real` is where it really is.
    fn folder(&mut self, folder: &Path, real: &Path, depth: usize) {
        if depth > MAX_DEPTH || self.is_full() || !self.seen.insert(real.to_owned()) {
            return;
        }
        let entries = self.list(folder);
        if let Some(name) = FILE_NAMES.iter().find(|name| entries.iter().any(|entry| entry.name == **name)) {
            self.skill(folder, real, name, &entries);
            return;
        }
        for entry in entries {
            let is_passed_over = entry.name.starts_with('.') || entry.name == "node_modules";
            let below = folder.join(&entry.name);
            if !is_passed_over
                && entry.is_folder(&below)
                && let Some(real) = self.inside(&below, real, &entry)
            {
                self.folder(&below, &real, depth + 1);
            }
        }
    }

    fn skill(&mut self, folder: &Path, real: &Path, name: &str, entries: &[Entry]) {
        let path = folder.join(name);
        let entry = entries.iter().find(|entry| entry.name == name);
        let is_inside = entry.is_some_and(|entry| self.inside(&path, real, entry).is_some());
        let seen = fs::metadata(&path).ok().filter(|metadata| is_inside && metadata.is_file());
        let subject = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(metadata) = seen else {
            let message = "its `SKILL.md` is no regular file inside its root".to_owned();
            let finding = Diagnostic::new(Code::SkillInvalid, subject, message, "make it a file of its own");
            self.findings.push(finding.at(Location::path(path)));
            return;
        };
        let mut files = Vec::new();
        let is_whole = self.files((folder, real), name, entries, &mut files);
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        if files.len() > MAX_FILES || !is_whole {
            files.truncate(MAX_FILES);
            let message = format!(
                "beside `SKILL.md` it has more than {MAX_FILES} files, or files more than {MAX_FILE_DEPTH} folders deep; the rest is left out"
            );
            let finding =
                Diagnostic::new(Code::SkillFileLeftOut, subject, message, "keep what the skill needs");
            self.findings.push(finding.at(Location::path(folder)));
        }
        let main = Seen::new(path, &metadata);
        self.skills.push(Walked { source: self.root.source.clone(), folder: folder.to_owned(), main, files });
    }

    /// Other files of the skill at `base`, which is said and real; whether that is all of them.
    fn files(
        &mut self,
        base: (&Path, &Path),
        main: &str,
        entries: &[Entry],
        files: &mut Vec<(String, Seen)>,
    ) -> bool {
        let mut is_whole = true;
        let mut folders = vec![(String::new(), base.1.to_owned(), entries.to_vec(), 0)];
        while let Some((prefix, real, entries, depth)) = folders.pop() {
            for entry in entries {
                let below = format!("{prefix}{}", entry.name);
                let path = base.0.join(&below);
                if entry.name.starts_with('.') || below == main || files.len() > MAX_FILES {
                    continue;
                }
                let Some(real) = self.inside(&path, &real, &entry) else { continue };
                match fs::metadata(&path) {
                    Ok(metadata) if metadata.is_file() => files.push((below, Seen::new(path, &metadata))),
                    Ok(metadata) if metadata.is_dir() && depth == MAX_FILE_DEPTH => is_whole = false,
                    Ok(metadata) if metadata.is_dir() && self.seen.insert(real.clone()) => {
                        let entries = self.list(&path);
                        folders.push((format!("{below}/"), real, entries, depth + 1));
                    }
                    _ => {}
                }
            }
        }
        is_whole
    }

    /// The real path of an entry of a folder whose real path is known, if that is below the root. Only a link can lead out.
    fn inside(&mut self, path: &Path, folder: &Path, entry: &Entry) -> Option<PathBuf> {
        if !entry.kind.is_symlink() {
            return Some(folder.join(&entry.name));
        }
        let real = path.canonicalize().ok()?;
        if real.starts_with(&self.real) {
            return Some(real);
        }
        let message = format!("`{}` is a link out of its folder of skills, and is not followed", entry.name);
        let finding = Diagnostic::new(Code::SkillLinkRefused, &self.root.source, message, "copy it there");
        self.findings.push(finding.at(Location::path(path)));
        None
    }

    /// What is in a folder, by name. A name that is no Unicode is passed over.
    fn list(&mut self, folder: &Path) -> Vec<Entry> {
        let left = MAX_ENTRIES.saturating_sub(self.entries) + 1;
        let read = fs::read_dir(folder).map(|entries| entries.flatten().take(left).collect::<Vec<_>>());
        match read {
            Ok(found) => {
                self.entries += found.len();
                let mut entries: Vec<Entry> = found.iter().filter_map(Entry::new).collect();
                entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
                entries
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

/// One name in a folder, and what it is itself, not what it leads to.
#[derive(Debug, Clone)]
struct Entry {
    name: String,
    kind: FileType,
}

impl Entry {
    fn new(entry: &DirEntry) -> Option<Self> {
        let kind = entry.file_type().ok()?;
        Some(Self { name: entry.file_name().into_string().ok()?, kind })
    }

    /// Whether it is a folder, or leads to one.
    fn is_folder(&self, path: &Path) -> bool {
        self.kind.is_dir()
            || self.kind.is_symlink() && fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
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
