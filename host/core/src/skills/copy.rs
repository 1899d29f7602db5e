//! A copy of skills for a sandbox that has files of its own: a snapshot and a folder enter; a folder with the snapshot's bytes
//! leaves. What stands on the disk where skills are looked for is not read again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::skill::Skill;
use super::snapshot::SkillSnapshot;
use crate::error::Error;
use crate::id::Digest;

/// What a copy is called until it is whole.
const UNFINISHED: &str = ".unfinished";

/// Only one copy of a host is made at a time, so that none is taken away while another turn begins to use it.
pub(super) type Copying = Arc<Mutex<()>>;

/// Files to write, by their paths below the copy with `/` between the parts.
type Files<'a> = BTreeMap<String, &'a [u8]>;

impl SkillSnapshot {
    /// Copies the skills that the model is told of, and those that are active, with all their files, and gives the folder in
    /// which each has one of its name. That is a folder of its own below `folder`, named after what is in it: turns with other
    /// skills have another, and a turn with the same finds it there. One that somebody changed is made anew.
    ///
    /// `folder` is this host's alone: mount the copy so that the sandbox can only read it. Whoever ends the session removes it.
    /// Works on files, for as long as that takes.
    ///
    /// # Errors
    /// If the copy cannot be written, with the path; nothing is left half-written where copies are.
    pub fn copy_to<'a>(
        &'a self,
        folder: &Path,
        active: impl IntoIterator<Item = &'a Skill>,
    ) -> Result<PathBuf, Error> {
        let skills: BTreeMap<&str, &Skill> = self
            .told()
            .map(AsRef::as_ref)
            .chain(active)
            .map(|skill| (skill.name().as_str(), skill))
            .collect();
        let mut files = Files::new();
        for (name, skill) in skills {
            files.insert(format!("{name}/SKILL.md"), skill.text().as_bytes());
            files.extend(skill.files().iter().map(|(below, bytes)| (format!("{name}/{below}"), &**bytes)));
        }
        let parts: Vec<&[u8]> = files.iter().flat_map(|(path, bytes)| [path.as_bytes(), bytes]).collect();
        let copy = folder.join(Digest::of_parts(parts).to_hex());
        let _one_at_a_time = self.copying().lock().unwrap_or_else(PoisonError::into_inner);
        if holds(&copy, &files) {
            return Ok(copy);
        }
        make(folder, &copy, &files).map_err(|error| {
            Error::configuration(format!("skills cannot be copied to {}: {error}", copy.display()))
        })?;
        Ok(copy)
    }
}

/// Writes a copy beside its place, and puts it there when it is whole.
fn make(folder: &Path, copy: &Path, files: &Files<'_>) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let unfinished = folder.join(UNFINISHED);
    remove(&unfinished)?;
    let made = write(&unfinished, files).and_then(|()| {
        remove(copy)?;
        fs::rename(&unfinished, copy)
    });
    made.or_else(|error| remove(&unfinished).and(Err(error)))
}

/// Takes away whatever stands there, but not what a link leads to.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn write(folder: &Path, files: &Files<'_>) -> io::Result<()> {
    for (below, bytes) in files {
        let path = folder.join(below);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, bytes)?;
        #[cfg(unix)]
        if bytes.starts_with(b"#!") {
            use std::os::unix::fs::PermissionsExt as _;
            // A script says so itself; the snapshot has no other word on it.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// Whether a folder has these files, byte for byte, and nothing else. Links are not followed.
fn holds(folder: &Path, files: &Files<'_>) -> bool {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    is_folder && listed(folder, files).is_some_and(|found| found == files.len())
}

/// How many of the files a folder has, each as it should be; `None` if anything else is there.
fn listed(folder: &Path, files: &Files<'_>) -> Option<usize> {
    let (mut found, mut folders) = (0, vec![(folder.to_owned(), String::new())]);
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(folder).ok()? {
            let entry = entry.ok()?;
            let below = format!("{prefix}{}", entry.file_name().to_str()?);
            let kind = entry.file_type().ok()?;
            if kind.is_dir() {
                let inside = format!("{below}/");
                // A folder in which nothing belongs is looked at no further.
                files.range(inside.clone()..).next().filter(|(path, _)| path.starts_with(&inside))?;
                folders.push((entry.path(), inside));
            } else {
                let bytes = files.get(&below)?;
                let is_same = kind.is_file()
                    && entry.metadata().ok()?.len() == bytes.len() as u64
                    && fs::read(entry.path()).ok()? == *bytes;
                found += is_same.then_some(1)?;
            }
        }
    }
    Some(found)
}
