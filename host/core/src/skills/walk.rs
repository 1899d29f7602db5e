//! Where in a root skills are: a place enters; folders with a `SKILL.md` leave, with what a look at each file says of it. No file
//! is opened here. Links may lead anywhere below the root, those of a skill's other files anywhere below the skill, and nowhere
//! else; each real folder is seen once.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::root::{Place, SkillRoot, SkillSource};
use super::skill::{MAX_FILE_BYTES, MAX_FILES_BYTES};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::discover::unsafe_to_trust;

/// Names of a skill's file, the first one first; the second is what some clients write.
const FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];

/// How deep below a root a skill's folder may lie: six folders that group, and its own.
const MAX_DEPTH: usize = 7;

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
    /// The real folder that nothing leads out of.
    pub(super) boundary: PathBuf,
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
    /// Without any link.
    pub(super) real: PathBuf,
    pub(super) bytes: u64,
    /// Its number, where files have one.
    number: u64,
    modified: Option<SystemTime>,
    /// When anything about it changed, which no program can set where systems keep it.
    changed: Option<SystemTime>,
}

impl Seen {
    fn new(path: PathBuf, real: PathBuf, metadata: &Metadata) -> Self {
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
        Self { path, real, bytes, number, modified, changed }
    }
}

impl Walked {
    /// What is read of it, in bytes; files that are too large are not.
    pub(super) fn bytes(&self) -> u64 {
        let sizes = self.files.iter().map(|(_, seen)| seen.bytes).filter(|bytes| *bytes <= MAX_FILE_BYTES);
        sizes.sum::<u64>().min(MAX_FILES_BYTES) + self.main.bytes.min(MAX_FILE_BYTES)
    }

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
pub(super) fn walk(place: &Place, findings: &mut Vec<Diagnostic>) -> Vec<Walked> {
    let root = &place.root;
    let found = |code, message: String, hint: &str| {
        Diagnostic::new(code, &root.source, message, hint).at(Location::path(&root.path))
    };
    let Real { root: real, boundary } = match Real::of(place) {
        Ok(Some(real)) => real,
        Ok(None) => return Vec::new(),
        Err(Refused { code, problem, hint }) => {
            findings.push(found(code, format!("its folder of skills {problem}"), hint));
            return Vec::new();
        }
    };
    let (skills, seen) = (Vec::new(), BTreeSet::new());
    let mut walk =
        Walk { root, real: real.clone(), boundary, skills, seen, entries: 0, is_deeper: false, findings };
    walk.folder(&root.path, &real, 0);
    let Walk { mut skills, entries, is_deeper, .. } = walk;
    if skills.len() > MAX_SKILLS || entries > MAX_ENTRIES {
        skills.truncate(MAX_SKILLS);
        let message = format!(
            "its folder of skills has more than {MAX_SKILLS} skills, or more than {MAX_ENTRIES} files; the rest is not looked at"
        );
        findings.push(found(Code::SkillsTooMany, message, "put skills that nobody needs elsewhere"));
    }
    if is_deeper {
        let message = format!(
            "its folder of skills has folders more than {MAX_DEPTH} deep, in which no skill is looked for"
        );
        findings.push(found(Code::SkillsTooMany, message, "put skills higher up"));
    }
    skills
}

/// Where a root really is, and what nothing may lead out of.
struct Real {
    root: PathBuf,
    boundary: PathBuf,
}

/// Why a root is not looked at.
struct Refused {
    code: Code,
    problem: String,
    hint: &'static str,
}

impl Real {
    /// `None` if there is no such folder, and need not be.
    fn of(place: &Place) -> Result<Option<Self>, Refused> {
        let Place { root, within } = place;
        // Most roots are places where skills may be; what a manifest names is to be there.
        let may_be_gone = !matches!(root.source, SkillSource::Plugin(_));
        let real = match root.path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_gone => return Ok(None),
            Err(error) => {
                let (problem, hint) =
                    (format!("cannot be read: {error}"), "make it readable, or take it away");
                return Err(Refused { code: Code::SkillRootUnreadable, problem, hint });
            }
        };
        let boundary = within.as_ref().map_or_else(|| Ok(real.clone()), |within| within.canonicalize());
        let Some(boundary) = boundary.ok().filter(|boundary| real.starts_with(boundary)) else {
            let problem = "is a link out of where it belongs, and is not followed".to_owned();
            return Err(Refused { code: Code::SkillLinkRefused, problem, hint: "copy it there" });
        };
        let is_workspace = matches!(root.source, SkillSource::Workspace | SkillSource::WorkspaceAgents);
        let seen = fs::metadata(&real).ok().filter(|_| !is_workspace);
        if let Some(problem) = seen.and_then(|seen| unsafe_to_trust(&seen)) {
            let hint = "make it this user's own: `chown`, `chmod o-w`";
            return Err(Refused { code: Code::SkillRootUnreadable, problem, hint });
        }
        Ok(Some(Self { root: real, boundary }))
    }
}

struct Walk<'a> {
    root: &'a SkillRoot,
    real: PathBuf,
    boundary: PathBuf,
    skills: Vec<Walked>,
    /// Real folders that were looked at.
    seen: BTreeSet<PathBuf>,
    entries: usize,
    /// Whether there are folders below those that are looked at.
    is_deeper: bool,
    findings: &'a mut Vec<Diagnostic>,
}

impl Walk<'_> {
    fn is_full(&self) -> bool {
        self.skills.len() > MAX_SKILLS || self.entries > MAX_ENTRIES
    }

    /// A folder that may be a skill, or group some. `real` is where it really is.
    fn folder(&mut self, folder: &Path, real: &Path, depth: usize) {
        self.is_deeper |= depth > MAX_DEPTH;
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
                && let Some(real) = self.inside(&below, real, &entry, None)
            {
                self.folder(&below, &real, depth + 1);
            }
        }
    }

    fn skill(&mut self, folder: &Path, real: &Path, name: &str, entries: &[Entry]) {
        let path = folder.join(name);
        let entry = entries.iter().find(|entry| entry.name == name);
        let main = entry.and_then(|entry| self.inside(&path, real, entry, None));
        let seen = main.and_then(|real| Some((fs::metadata(&path).ok()?, real)));
        let subject = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((metadata, main)) = seen.filter(|(metadata, _)| metadata.is_file()) else {
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
        let (source, boundary) = (self.root.source.clone(), self.boundary.clone());
        let main = Seen::new(path, main, &metadata);
        self.skills.push(Walked { source, boundary, folder: folder.to_owned(), main, files });
    }

    /// Other files of the skill at `base`, which is said and real; whether that is all of them.
    fn files(
        &mut self,
        base: (&Path, &Path),
        main: &str,
        entries: &[Entry],
        files: &mut Vec<(String, Seen)>,
    ) -> bool {
        let (mut is_whole, mut seen) = (true, BTreeSet::from([base.1.to_owned()]));
        let mut folders = vec![(String::new(), base.1.to_owned(), entries.to_vec(), 0)];
        while let Some((prefix, real, entries, depth)) = folders.pop() {
            for entry in entries {
                let below = format!("{prefix}{}", entry.name);
                let path = base.0.join(&below);
                if entry.name.starts_with('.') || below == main || files.len() > MAX_FILES {
                    continue;
                }
                let Some(real) = self.inside(&path, &real, &entry, Some(base.1)) else { continue };
                match fs::metadata(&path) {
                    Ok(metadata) if metadata.is_file() => {
                        files.push((below, Seen::new(path, real, &metadata)));
                    }
                    Ok(metadata) if metadata.is_dir() && depth == MAX_FILE_DEPTH => is_whole = false,
                    Ok(metadata) if metadata.is_dir() && seen.insert(real.clone()) => {
                        let entries = self.list(&path);
                        folders.push((format!("{below}/"), real, entries, depth + 1));
                    }
                    _ => {}
                }
            }
        }
        is_whole
    }

    /// The real path of an entry of a folder whose real path is known, if that is below the root, or below the skill that it
    /// belongs to: another skill's files are not this one's. Only a link can lead out.
    fn inside(&mut self, path: &Path, folder: &Path, entry: &Entry, skill: Option<&Path>) -> Option<PathBuf> {
        if !entry.kind.is_symlink() {
            return Some(folder.join(&entry.name));
        }
        let real = path.canonicalize().ok()?;
        if real.starts_with(skill.unwrap_or(&self.real)) {
            return Some(real);
        }
        let whose = if skill.is_some() { "skill" } else { "folder of skills" };
        let message = format!("`{}` is a link out of its {whose}, and is not followed", entry.name);
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
        let root_of = SkillRoot { source: SkillSource::Extra, path: root.to_owned() };
        let skills = walk(&Place { root: root_of, within: None }, &mut findings);
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
            "1/2/3/4/5/6/7/eight/SKILL.md",
            ".hidden/SKILL.md",
            "node_modules/d/SKILL.md",
            "no/README.md",
        ] {
            write(root.path(), path);
        }
        let (skills, findings) = look(root.path());
        assert_eq!(skills, ["1/2/3/4/5/6/seven", "1/2/3/4/5/six", "a", "b", "group/c"]);
        assert!(findings.len() == 1 && findings[0].contains("more than 7 deep"), "{findings:?}");
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
