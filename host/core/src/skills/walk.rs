//! Where in a root skills are: a place enters; folders with a `SKILL.md` leave, with what a look at each file says of it. No file
//! is opened here. Links may lead anywhere below the root, those of a skill's other files anywhere below the skill, and nowhere
//! else; each real folder is seen once. What is passed over is told.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::root::{Place, SkillRoot, SkillSource};
use super::seen::{Seen, Walked};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::discover::unsafe_to_trust;
use crate::text;

/// Names of a skill's file, the first one first; the second is what some clients write.
const FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];

/// How deep below a root a skill's folder may lie: six folders that group, and its own.
const MAX_DEPTH: usize = 7;

/// Skills of one root.
const MAX_SKILLS: usize = 300;

/// Entries of one root that are looked at beside those of skills: sixty for each skill.
const MAX_ENTRIES: usize = 20_000;

/// How deep below a skill's folder its other files may lie.
const MAX_FILE_DEPTH: usize = 4;

/// Other files of one skill.
pub(super) const MAX_FILES: usize = 64;

/// Entries of one skill that are looked at: eight for each file.
const MAX_SKILL_ENTRIES: usize = 8 * MAX_FILES;

/// Findings about one root; people mend the first ones first.
const MAX_FINDINGS: usize = 256;

/// Names in one message, in characters.
const MAX_NAMES_CHARS: usize = 600;

/// Walks one root: where it really is, if it is anywhere, and its skills. What cannot be read, what is over a limit and what is
/// passed over is told.
pub(super) fn walk(place: &Place, findings: &mut Vec<Diagnostic>) -> (Option<PathBuf>, Vec<Walked>) {
    let real = match Real::of(place) {
        Ok(Some(real)) => real,
        Ok(None) => return (None, Vec::new()),
        Err(Refused { code, problem, hint }) => {
            let message = format!("its folder of skills {problem}");
            let finding = Diagnostic::new(code, &place.root.source, message, hint);
            findings.push(finding.at(Location::path(&place.root.path)));
            return (None, Vec::new());
        }
    };
    let root = &place.root;
    let (seen, over) = (BTreeSet::new(), Vec::new());
    let mut walk = Walk {
        root,
        real,
        skills: Vec::new(),
        over,
        seen,
        entries: 0,
        is_deeper: false,
        findings: Vec::new(),
    };
    walk.folder(&root.path, &walk.real.root.clone(), 0);
    walk.tell_limits();
    let Walk { real, skills, findings: found, .. } = walk;
    if found.len() > MAX_FINDINGS {
        let message = format!("{} more findings about its folder of skills", found.len() - MAX_FINDINGS);
        let more =
            Diagnostic::new(Code::SkillsTooMany, &root.source, message, "mend those that are told first");
        findings.push(more.at(Location::path(&root.path)));
    }
    findings.extend(found.into_iter().take(MAX_FINDINGS));
    (Some(real.root), skills)
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
        // Most roots are places where skills may be; what somebody names is to be there.
        let may_be_gone = !matches!(root.source, SkillSource::Plugin(_) | SkillSource::Extra);
        let real = match root.path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_gone => return Ok(None),
            Err(error) => {
                let hint = "make it a folder that can be read, or take it away";
                let problem = format!("cannot be read: {error}");
                return Err(Refused { code: Code::SkillRootUnreadable, problem, hint });
            }
        };
        let boundary = within.as_ref().map_or_else(|| Ok(real.clone()), |within| within.canonicalize());
        let Some(boundary) = boundary.ok().filter(|boundary| real.starts_with(boundary)) else {
            let problem = "is a link out of where it belongs, and is not followed".to_owned();
            return Err(Refused { code: Code::SkillLinkRefused, problem, hint: "copy it there" });
        };
        let seen = fs::metadata(&real).ok();
        if let Some(problem) = seen.and_then(|seen| distrust(root, &seen)) {
            let hint = "make it this user's own: `chown`, `chmod o-w`";
            return Err(Refused { code: Code::SkillRootUnreadable, problem, hint });
        }
        Ok(Some(Self { root: real, boundary }))
    }
}

/// Why something must not be read, as the end of a sentence. A workspace is whoever's it is.
fn distrust(root: &SkillRoot, metadata: &Metadata) -> Option<String> {
    let is_workspace = matches!(root.source, SkillSource::Workspace | SkillSource::WorkspaceAgents);
    Some(metadata).filter(|_| !is_workspace).and_then(unsafe_to_trust)
}

struct Walk<'a> {
    root: &'a SkillRoot,
    real: Real,
    skills: Vec<Walked>,
    /// Skills beyond those.
    over: Vec<String>,
    /// Real folders that were looked at.
    seen: BTreeSet<PathBuf>,
    entries: usize,
    /// Whether there are folders below those that are looked at.
    is_deeper: bool,
    findings: Vec<Diagnostic>,
}

impl Walk<'_> {
    fn find(&mut self, code: Code, subject: &str, message: String, hint: &str, path: &Path) {
        self.findings.push(Diagnostic::new(code, subject, message, hint).at(Location::path(path)));
    }

    /// A folder that may be a skill, or group some. `real` is where it really is.
    fn folder(&mut self, folder: &Path, real: &Path, depth: usize) {
        self.is_deeper |= depth > MAX_DEPTH;
        if depth > MAX_DEPTH || self.entries > MAX_ENTRIES || !self.seen.insert(real.to_owned()) {
            return;
        }
        let subject = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(main) = FILE_NAMES.iter().find_map(|name| Entry::at(folder, name)) {
            if self.skills.len() == MAX_SKILLS {
                self.over.push(subject);
            } else {
                self.skill(folder, real, &main, &subject);
            }
            return;
        }
        let (entries, _) = self.list(folder, MAX_ENTRIES.saturating_sub(self.entries) + 1);
        self.entries += entries.len();
        for entry in entries {
            let below = folder.join(&entry.name);
            if entry.name.eq_ignore_ascii_case("SKILL.md") {
                let message = format!("`{}` is not `SKILL.md`, and is passed over", entry.name);
                self.find(Code::SkillPassedOver, &subject, message, "name it `SKILL.md`", &below);
            }
            if !entry.is_passed_over()
                && entry.is_folder(&below)
                && let Some(real) = self.inside(&below, real, &entry, None)
            {
                self.folder(&below, &real, depth + 1);
            }
        }
    }

    fn skill(&mut self, folder: &Path, real: &Path, entry: &Entry, subject: &str) {
        let path = folder.join(&entry.name);
        let main = self.inside(&path, real, entry, None);
        let seen = main.and_then(|real| Some((fs::metadata(&path).ok()?, real)));
        let Some((metadata, main)) = seen.filter(|(metadata, _)| metadata.is_file()) else {
            let message = "its `SKILL.md` is no regular file inside its root".to_owned();
            return self.find(Code::SkillInvalid, subject, message, "make it a file of its own", &path);
        };
        let of_folder = fs::metadata(folder).ok();
        let distrusted =
            of_folder.into_iter().chain([metadata.clone()]).find_map(|seen| distrust(self.root, &seen));
        if let Some(problem) = distrusted {
            let message = format!("its folder or its `SKILL.md` {problem}");
            return self.find(
                Code::SkillInvalid,
                subject,
                message,
                "make both this user's own: `chmod o-w`",
                &path,
            );
        }
        let mut files = self.files((folder, real), &entry.name, subject);
        files.truncate(MAX_FILES);
        let (source, boundary) = (self.root.source.clone(), self.real.boundary.clone());
        let main = Seen::new(path, main, &metadata);
        self.skills.push(Walked { source, boundary, folder: folder.to_owned(), main, files });
    }

    /// Other files of the skill at `base`, which is said and real.
    fn files(&mut self, base: (&Path, &Path), main: &str, subject: &str) -> Vec<(String, Seen)> {
        let (mut files, mut is_whole, mut left) = (Vec::new(), true, MAX_SKILL_ENTRIES);
        let mut seen = BTreeSet::from([base.1.to_owned()]);
        let mut folders = vec![(String::new(), base.1.to_owned(), 0)];
        while let Some((prefix, folder, depth)) = folders.pop() {
            let (entries, is_all) = self.list(&base.0.join(&prefix), left);
            left = left.saturating_sub(entries.len());
            is_whole &= is_all && (depth <= MAX_FILE_DEPTH || entries.is_empty());
            for entry in entries {
                let below = format!("{prefix}{}", entry.name);
                let path = base.0.join(&below);
                if entry.is_passed_over() || below == main || depth > MAX_FILE_DEPTH {
                    continue;
                }
                if depth > 0 && FILE_NAMES.contains(&entry.name.as_str()) {
                    let message = format!("`{below}` lies in the skill, and is no skill of its own");
                    self.find(
                        Code::SkillPassedOver,
                        subject,
                        message,
                        "lay it beside, if it is to be one",
                        &path,
                    );
                }
                let Some(real) = self.inside(&path, &folder, &entry, Some(base.1)) else { continue };
                match fs::metadata(&path) {
                    Ok(metadata) if metadata.is_dir() && seen.insert(real.clone()) => {
                        folders.push((format!("{below}/"), real, depth + 1));
                    }
                    Ok(metadata) if metadata.is_file() => match distrust(self.root, &metadata) {
                        Some(problem) => {
                            let message = format!("its file `{below}` {problem}, and is left out");
                            self.find(
                                Code::SkillFileLeftOut,
                                subject,
                                message,
                                "make it this user's own",
                                &path,
                            );
                        }
                        None => files.push((below, Seen::new(path, real, &metadata))),
                    },
                    _ => {}
                }
            }
        }
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        if files.len() > MAX_FILES || !is_whole {
            let message = format!(
                "beside `SKILL.md` it has more than {MAX_FILES} files, {MAX_SKILL_ENTRIES} entries, or folders more than {MAX_FILE_DEPTH} deep; the rest is left out"
            );
            self.find(Code::SkillFileLeftOut, subject, message, "keep what the skill needs", base.0);
        }
        files
    }

    /// The real path of an entry of a folder whose real path is known, if that is below the root, or below the skill that it
    /// belongs to: another skill's files are not this one's. Only a link can lead out.
    fn inside(&mut self, path: &Path, folder: &Path, entry: &Entry, skill: Option<&Path>) -> Option<PathBuf> {
        if !entry.kind.is_symlink() {
            return Some(folder.join(&entry.name));
        }
        let real = path.canonicalize().ok()?;
        if real.starts_with(skill.unwrap_or(&self.real.root)) {
            return Some(real);
        }
        let whose = if skill.is_some() { "skill" } else { "folder of skills" };
        let message = format!("`{}` is a link out of its {whose}, and is not followed", entry.name);
        self.find(Code::SkillLinkRefused, &self.root.source.to_string(), message, "copy it there", path);
        None
    }

    /// At most so many entries of a folder, links last and else by name, and whether those are all.
    fn list(&mut self, folder: &Path, most: usize) -> (Vec<Entry>, bool) {
        let subject = self.root.source.to_string();
        let mut found = match fs::read_dir(folder) {
            Ok(entries) => entries.flatten(),
            Err(error) => {
                let message = format!("a folder of skills cannot be read: {error}");
                self.find(Code::SkillRootUnreadable, &subject, message, "make it readable", folder);
                return (Vec::new(), true);
            }
        };
        let looked_at: Vec<DirEntry> = found.by_ref().take(most).collect();
        let mut entries: Vec<Entry> = looked_at.iter().filter_map(Entry::new).collect();
        if entries.len() < looked_at.len() {
            let message = "something in it has a name that is no Unicode, and is passed over".to_owned();
            self.find(Code::SkillPassedOver, &subject, message, "give it another name", folder);
        }
        entries.sort_unstable_by(|one, other| {
            (one.kind.is_symlink(), &one.name).cmp(&(other.kind.is_symlink(), &other.name))
        });
        (entries, found.next().is_none())
    }

    /// Tells which limits of the root were reached.
    fn tell_limits(&mut self) {
        let (source, path) = (self.root.source.to_string(), self.root.path.clone());
        let hint = "put skills that nobody needs elsewhere";
        if !self.over.is_empty() {
            let message = format!(
                "its folder has {} skills, the limit is {MAX_SKILLS}; left out: {}",
                MAX_SKILLS + self.over.len(),
                text::shorten(&self.over.join(", "), MAX_NAMES_CHARS)
            );
            self.find(Code::SkillsTooMany, &source, message, hint, &path);
        }
        if self.entries > MAX_ENTRIES {
            let message =
                format!("its folder has more than {MAX_ENTRIES} entries; the rest is not looked at");
            self.find(Code::SkillsTooMany, &source, message, hint, &path);
        }
        if self.is_deeper {
            let message = format!("its folder is more than {MAX_DEPTH} deep; no skill is looked for below");
            self.find(Code::SkillsTooMany, &source, message, "put skills higher up", &path);
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

    /// The one of that name, if it is there.
    fn at(folder: &Path, name: &str) -> Option<Self> {
        let metadata = fs::symlink_metadata(folder.join(name)).ok()?;
        Some(Self { name: name.to_owned(), kind: metadata.file_type() })
    }

    /// What people keep beside skills, and not in them.
    fn is_passed_over(&self) -> bool {
        self.name.starts_with('.') || self.name == "node_modules"
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
        let (_, skills) = walk(&Place { root: root_of, within: None }, &mut findings);
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
        assert_eq!(findings.len(), 2);
        assert!(findings[0].contains("`nested/SKILL.md` lies in the skill"), "{findings:?}");
        assert!(findings[1].contains("more than 7 deep"), "{findings:?}");
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
