//! One root: a place enters; what it has leaves, read once for all sets of roots that it is in. A look reads only what is not as
//! it was.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::root::Place;
use super::seen::Walked;
use super::skill::{Reading, Skill};
use super::walk::walk;
use crate::diagnostic::{Code, Diagnostic, Location};

/// How long a look is good for: nobody notices a quarter of a second.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// All skills of one root with their files, in bytes: 300 with 200 KiB each.
const MAX_ROOT_BYTES: u64 = 64 << 20;

/// What time it is, by both clocks of a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) monotonic: Duration,
    pub(crate) wall: SystemTime,
}

impl Now {
    /// Whether something of this time is good for `now`.
    pub(super) fn is_recent(self, now: Self) -> bool {
        now.monotonic.saturating_sub(self.monotonic) < LOOK_AGAIN
    }
}

/// A root, and what it had when somebody looked last.
#[derive(Debug, Default)]
pub(super) struct Folder(Mutex<Option<(Now, Arc<Files>)>>);

/// What a root had at one time.
#[derive(Debug)]
pub(super) struct Files {
    /// Counts the different ones of a root.
    pub(super) number: u64,
    /// Where the root really is, if it is anywhere.
    pub(super) real: Option<PathBuf>,
    pub(super) read: Vec<Read>,
    /// What the walk alone found.
    pub(super) findings: Vec<Diagnostic>,
}

/// One folder, and what came of reading it.
#[derive(Debug, Clone)]
pub(super) struct Read {
    walked: Walked,
    /// Whether a later change shows; else it is read again the next time.
    is_settled: bool,
    pub(super) skill: Option<Arc<Skill>>,
    pub(super) findings: Vec<Diagnostic>,
}

impl Folder {
    pub(super) fn look(&self, place: &Place, is_watched: bool, now: Now) -> Arc<Files> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, files)) = known.as_ref().filter(|(at, _)| !is_watched || at.is_recent(now)) {
            return Arc::clone(files);
        }
        let files = Files::look(place, known.as_ref().map(|(_, files)| files), now.wall);
        *known = Some((now, Arc::clone(&files)));
        files
    }
}

impl Files {
    /// Looks at a root, and reads what is not as it was.
    fn look(place: &Place, before: Option<&Arc<Self>>, wall: SystemTime) -> Arc<Self> {
        let mut findings = Vec::new();
        let (real, walked) = walk(place, &mut findings);
        let walked = within_budget(place, walked, &mut findings);
        let settled = before.iter().flat_map(|before| &before.read).filter(|read| read.is_settled);
        let known: HashMap<&Walked, &Read> = settled.map(|read| (&read.walked, read)).collect();
        if let Some(before) = before
            && before.real == real
            && before.findings == findings
            && before.read.len() == walked.len()
            && walked.iter().all(|walked| known.contains_key(walked))
        {
            return Arc::clone(before);
        }
        let read = walked.into_iter().map(|walked| match known.get(&walked) {
            Some(read) => Read::clone(read),
            None => Read::new(walked, wall),
        });
        let number = before.map_or(0, |before| before.number) + 1;
        Arc::new(Self { number, real, read: read.collect(), findings })
    }
}

impl Read {
    fn new(walked: Walked, wall: SystemTime) -> Self {
        let mut reading = Reading::default();
        let skill = Skill::read(&walked, &mut reading).map(Arc::new);
        let Reading { findings, has_failed } = reading;
        Self { is_settled: !has_failed && walked.is_settled(wall), walked, skill, findings }
    }
}

/// The first folders of a root, as far as the budget for all goes.
fn within_budget(place: &Place, walked: Vec<Walked>, findings: &mut Vec<Diagnostic>) -> Vec<Walked> {
    let (found, mut left) = (walked.len(), MAX_ROOT_BYTES);
    let fits = |walked: &Walked| {
        let rest = left.checked_sub(walked.bytes());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let kept: Vec<Walked> = walked.into_iter().filter(fits).collect();
    if kept.len() < found {
        let message = format!(
            "its skills have more than {MAX_ROOT_BYTES} bytes together; {} of {found} are left out",
            found - kept.len()
        );
        let hint = "put what skills need elsewhere, or fewer skills there";
        let finding = Diagnostic::new(Code::SkillsTooMany, &place.root.source, message, hint);
        findings.push(finding.at(Location::path(&place.root.path)));
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::root::{SkillRoot, SkillSource};
    use super::*;

    fn place(folder: &tempfile::TempDir) -> Place {
        let root = SkillRoot { source: SkillSource::Extra, path: folder.path().to_owned() };
        Place { root, within: None }
    }

    fn write(folder: &tempfile::TempDir, said: &str) {
        fs::create_dir_all(folder.path().join("tidy")).unwrap();
        let text = format!("---\nname: tidy\ndescription: {said}\n---\n");
        fs::write(folder.path().join("tidy/SKILL.md"), text).unwrap();
    }

    /// A change in the step of the file's time in which it was read cannot be seen, so that it is read once more.
    #[test]
    fn what_was_read_in_the_instant_of_a_change_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, "old");
        let old = Files::look(&place(&folder), None, SystemTime::now());
        assert!(!old.read[0].is_settled, "the file is new");
        write(&folder, "new");
        let now = Files::look(&place(&folder), None, SystemTime::now());
        for (is_settled, said) in [(false, "new"), (true, "old")] {
            // As if the change had left nothing that a look sees.
            let read = Read { walked: now.read[0].walked.clone(), is_settled, ..old.read[0].clone() };
            let real = now.real.clone();
            let before = Arc::new(Files { number: 1, real, read: vec![read], findings: Vec::new() });
            let after = Files::look(&place(&folder), Some(&before), SystemTime::now());
            assert_eq!(after.read[0].skill.as_ref().unwrap().description(), said);
            assert_eq!(Arc::ptr_eq(&before, &after), is_settled);
        }
        let later = SystemTime::now() + Duration::from_secs(10);
        assert!(Files::look(&place(&folder), None, later).read[0].is_settled);
    }

    #[test]
    fn what_could_not_be_read_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, "x");
        let (_, mut walked) = walk(&place(&folder), &mut Vec::new());
        let gone = folder.path().canonicalize().unwrap().join("gone");
        walked[0].main.real = gone;
        let later = SystemTime::now() + Duration::from_secs(10);
        let read = Read::new(walked.remove(0), later);
        assert!(!read.is_settled && read.skill.is_none() && read.findings.len() == 1);
    }

    #[test]
    fn a_root_has_a_budget() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..70 {
            let skill = folder.path().join(format!("s{number:02}"));
            fs::create_dir_all(&skill).unwrap();
            fs::write(skill.join("SKILL.md"), format!("---\nname: s{number:02}\ndescription: x\n---\n"))
                .unwrap();
            for file in 0..5 {
                let file = fs::File::create(skill.join(format!("f{file}"))).unwrap();
                file.set_len(250_000).unwrap();
            }
        }
        let files = Files::look(&place(&folder), None, SystemTime::now());
        assert_eq!(files.read.len(), 63);
        assert!(files.findings[0].message.contains("7 of 70 are left out"), "{:?}", files.findings);
    }
}
