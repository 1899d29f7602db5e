//! What a look at files says of them: metadata enters; something that can be compared leaves. If it is the same the next time, the
//! file was not changed. No file is opened here.

use std::fs::Metadata;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::root::SkillSource;
use super::skill::{MAX_FILE_BYTES, MAX_FILES_BYTES};

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

/// One file.
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
    pub(super) fn new(path: PathBuf, real: PathBuf, metadata: &Metadata) -> Self {
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
