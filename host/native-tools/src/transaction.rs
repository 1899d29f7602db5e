//! Changes of files enter, all of them happen or none; what was there before comes back if one of them fails.
//!
//! New contents are first written beside their files and flushed; only then is anything that can be seen changed, by
//! renaming. It follows no link: the places that it gets are open folders and names in them.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{MutexGuard, PoisonError};

use airlock_core::ToolError;
use cap_std::fs::{File, OpenOptions, Permissions};

use crate::open::Seen;
use crate::problem::{failed, io_problem};
use crate::workspace::{Place, Workspace};

/// How many names are tried for a file beside another: somebody may have left some, and nobody leaves many.
const MAX_NAMES_TRIED: usize = 64;

/// One change of one file.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) place: Place,
    pub(crate) what: What,
}

/// What happens to a file.
#[derive(Debug)]
pub(crate) enum What {
    /// Comes into being, with these permissions or the usual ones.
    Create { contents: Vec<u8>, permissions: Option<Permissions> },
    /// Gets other contents and keeps its permissions, if it still is what was seen.
    Replace { contents: Vec<u8>, seen: Seen },
    /// Goes, if it still is what was seen.
    Delete { seen: Seen },
}

/// The right to change files of one workspace: one at a time has it.
#[derive(Debug)]
pub(crate) struct Transaction<'workspace> {
    workspace: &'workspace Workspace,
    _changing: MutexGuard<'workspace, ()>,
    made_folders: Vec<PathBuf>,
}

impl<'workspace> Transaction<'workspace> {
    pub(crate) fn begin(workspace: &'workspace Workspace) -> Self {
        // A panic while it was held left files that are whole, since only renaming changes them.
        let changing = workspace.changing.lock().unwrap_or_else(PoisonError::into_inner);
        Self { workspace, _changing: changing, made_folders: Vec::new() }
    }

    /// The place of a file that exists.
    pub(crate) fn place(&self, path: &Path) -> Result<Place, ToolError> {
        self.workspace.place(path, None)
    }

    /// The place of a file that may be new. Folders that are missing are made now and go again if nothing is committed.
    pub(crate) fn new_place(&mut self, path: &Path) -> Result<Place, ToolError> {
        self.workspace.place(path, Some(&mut self.made_folders))
    }

    /// Makes all changes, or none and says why.
    pub(crate) fn commit(mut self, changes: Vec<Change>) -> Result<(), ToolError> {
        // A single file that is replaced is replaced by one step of the system, which needs no way back.
        let keeps_backups = changes.len() > 1;
        let mut steps: Vec<Step> = changes.into_iter().map(Step::new).collect();
        let done = steps.iter_mut().try_for_each(Step::stage);
        let done = done.and_then(|()| steps.iter_mut().try_for_each(|step| step.switch(keeps_backups)));
        let Err(error) = done else {
            steps.iter().for_each(Step::clean);
            self.made_folders.clear();
            return Ok(());
        };
        let lost: Vec<String> = steps.iter_mut().rev().filter_map(|step| step.undo().err()).collect();
        if lost.is_empty() {
            return Err(error);
        }
        let cause = match error {
            ToolError::Failed { message, .. } => message,
            other => format!("{other:?}"),
        };
        Err(failed(format!("{cause}. Not everything could be put back: {}", lost.join("; "))))
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        for folder in self.made_folders.iter().rev() {
            // Somebody may have put something into it meanwhile; then it stays.
            let _ = self.workspace.folder.remove_dir(folder);
        }
    }
}

/// A change on its way.
#[derive(Debug)]
struct Step {
    change: Change,
    /// The new contents, in a file beside.
    staged: Option<OsString>,
    /// The old file, under another name.
    backup: Option<OsString>,
    /// Whether the new contents stand under the file's name.
    is_created: bool,
}

impl Step {
    fn new(change: Change) -> Self {
        Self { change, staged: None, backup: None, is_created: false }
    }

    fn problem(&self, error: &io::Error) -> ToolError {
        io_problem("change", &self.change.place.shown, error)
    }

    /// Writes the new contents beside.
    fn stage(&mut self) -> Result<(), ToolError> {
        let (contents, permissions) = match &self.change.what {
            What::Create { contents, permissions } => (contents, permissions.clone()),
            What::Replace { contents, seen } => (contents, Some(seen.permissions.clone())),
            What::Delete { .. } => return Ok(()),
        };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let folder = &self.change.place.folder;
        let opened = beside(|name| folder.open_with(name, &options));
        let (name, mut file) = opened.map_err(|error| self.problem(&error))?;
        self.staged = Some(name);
        let written = file.write_all(contents).and_then(|()| {
            if let What::Replace { seen, .. } = &self.change.what {
                keep_owner(&file, seen);
            }
            if let Some(permissions) = permissions {
                file.set_permissions(plain(&permissions))?;
            }
            // Otherwise a loss of power could leave the new name with no contents.
            file.sync_data()
        });
        written.map_err(|error| self.problem(&error))
    }

    /// Puts it in its place.
    fn switch(&mut self, keeps_backup: bool) -> Result<(), ToolError> {
        let place = &self.change.place;
        let seen = match &self.change.what {
            What::Create { .. } => None,
            What::Replace { seen, .. } | What::Delete { seen } => Some(seen),
        };
        if let Some(seen) = seen {
            let now = place.folder.symlink_metadata(&place.name);
            if !seen.is_still(&now.map_err(|error| self.problem(&error))?) {
                let shown = &place.shown;
                return Err(failed(format!(
                    "`{shown}` was changed by somebody else meanwhile; read it again"
                )));
            }
        }
        match (&self.change.what, self.staged.clone()) {
            (What::Create { .. }, Some(staged)) => {
                create(place, &staged).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => {
                        failed(format!("`{}` was created by somebody else meanwhile", place.shown))
                    }
                    _ => self.problem(&error),
                })?;
                self.is_created = true;
            }
            (What::Replace { .. }, Some(staged)) => {
                if keeps_backup {
                    self.backup = Some(self.keep(true).map_err(|error| self.problem(&error))?);
                }
                let place = &self.change.place;
                let renamed = place.folder.rename(&staged, &place.folder, &place.name);
                renamed.map_err(|error| self.problem(&error))?;
                self.staged = None;
            }
            (What::Delete { .. }, _) => {
                self.backup = Some(self.keep(false).map_err(|error| self.problem(&error))?);
            }
            (What::Create { .. } | What::Replace { .. }, None) => {}
        }
        Ok(())
    }

    /// Gives the old file another name, and if it can be, leaves it its own too.
    fn keep(&self, in_place: bool) -> io::Result<OsString> {
        let Place { folder, name, .. } = &self.change.place;
        if in_place && let Ok((backup, ())) = beside(|backup| folder.hard_link(name, folder, backup)) {
            return Ok(backup);
        }
        // Renaming would overwrite, so the name is taken first.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let (backup, _taken) = beside(|backup| folder.open_with(backup, &options))?;
        folder.rename(name, folder, &backup)?;
        Ok(backup)
    }

    /// Takes away what is not needed any more.
    fn clean(&self) {
        // If one of these cannot be removed, then a hidden file stays, which hurts nobody.
        for name in self.staged.iter().chain(&self.backup) {
            let _ = self.change.place.folder.remove_file(name);
        }
    }

    /// Puts back what was there, or says what could not be.
    fn undo(&mut self) -> Result<(), String> {
        let Place { folder, name, shown, .. } = &self.change.place;
        if let Some(staged) = self.staged.take() {
            let _ = folder.remove_file(staged);
        }
        if self.is_created {
            folder.remove_file(name).map_err(|error| format!("`{shown}` is new and stays ({error})"))?;
        }
        if let Some(backup) = self.backup.take() {
            folder.rename(&backup, folder, name).map_err(|error| {
                format!("what `{shown}` was is in `{}` beside it ({error})", backup.to_string_lossy())
            })?;
        }
        Ok(())
    }
}

/// Gives a staged file its name, and overwrites nothing.
fn create(place: &Place, staged: &OsString) -> io::Result<()> {
    let Place { folder, name, .. } = place;
    match folder.hard_link(staged, folder, name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // Some file systems have no hard links. Then it is looked at before, which leaves a moment.
            if folder.symlink_metadata(name).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            folder.rename(staged, folder, name)
        }
        linked => linked,
    }
}

/// Does something with a name that nothing in a folder has. The name need not be secret: whoever has it first wins.
fn beside<T>(mut with: impl FnMut(&OsString) -> io::Result<T>) -> io::Result<(OsString, T)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..MAX_NAMES_TRIED {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!(".airlock-{}-{number}.tmp", std::process::id()));
        match with(&name) {
            Ok(value) => return Ok((name, value)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Permissions without those that lend a program its owner's rights: other contents have not earned them.
fn plain(permissions: &Permissions) -> Permissions {
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt as _;
        Permissions::from_mode(permissions.mode() & 0o777)
    }
    #[cfg(not(unix))]
    permissions.clone()
}

/// A host that runs as root must not take a user's files away from them. Anyone else cannot, and need not.
fn keep_owner(file: &File, seen: &Seen) {
    #[cfg(unix)]
    {
        use rustix::fs::{Gid, Uid};
        let (user, group) = seen.owner;
        let _ = rustix::fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
    }
    #[cfg(not(unix))]
    let _ = (file, seen);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::open::read_text;
    use crate::tool::testing::workspace_in;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn replace(transaction: &Transaction<'_>, path: &str, contents: &str) -> Change {
        let place = transaction.place(Path::new(path)).unwrap();
        let (_, seen) = read_text(&place).unwrap();
        Change { place, what: What::Replace { contents: contents.into(), seen } }
    }

    fn create(transaction: &mut Transaction<'_>, path: &str) -> Change {
        let place = transaction.new_place(Path::new(path)).unwrap();
        Change { place, what: What::Create { contents: "new".into(), permissions: None } }
    }

    #[test]
    fn all_changes_happen() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let workspace = workspace_in(folder.path());
        let mut transaction = Transaction::begin(&workspace.workspace);
        let mut changes = vec![replace(&transaction, "a", "A"), create(&mut transaction, "c/d/e")];
        let mut gone = replace(&transaction, "b", "");
        if let What::Replace { seen, .. } = gone.what {
            gone.what = What::Delete { seen };
        }
        changes.push(gone);
        transaction.commit(changes).unwrap();
        assert_eq!(names(folder.path()), ["a", "c"]);
        assert_eq!(names(&folder.path().join("c/d")), ["e"]);
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "A");
    }

    #[test]
    fn a_failure_puts_everything_back() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "z"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let workspace = workspace_in(folder.path());
        let mut transaction = Transaction::begin(&workspace.workspace);
        let mut changes = vec![replace(&transaction, "a", "A"), create(&mut transaction, "c/d/e")];
        let mut gone = replace(&transaction, "b", "");
        if let What::Replace { seen, .. } = gone.what {
            gone.what = What::Delete { seen };
        }
        changes.extend([gone, replace(&transaction, "z", "Z")]);
        fs::write(folder.path().join("z"), "somebody else was here").unwrap();
        let error = transaction.commit(changes).unwrap_err();
        let expected = "`z` was changed by somebody else meanwhile; read it again";
        assert!(matches!(error, ToolError::Failed { message, .. } if message == expected));
        assert_eq!(names(folder.path()), ["a", "b", "z"]);
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "a");
        assert_eq!(fs::read_to_string(folder.path().join("b")).unwrap(), "b");
    }

    #[test]
    fn what_appears_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = workspace_in(folder.path());
        let mut transaction = Transaction::begin(&workspace.workspace);
        let change = create(&mut transaction, "a");
        fs::write(folder.path().join("a"), "theirs").unwrap();
        assert!(transaction.commit(vec![change]).is_err());
        assert_eq!(names(folder.path()), ["a"]);
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "theirs");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_appears_meanwhile_is_not_followed() {
        let (outside, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "theirs").unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        let workspace = workspace_in(folder.path());
        let transaction = Transaction::begin(&workspace.workspace);
        let change = replace(&transaction, "a", "A");
        fs::remove_file(folder.path().join("a")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("a")).unwrap();
        assert!(transaction.commit(vec![change]).is_err());
        assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "theirs");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_but_for_those_that_lend_rights() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "a").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4751)).unwrap();
        let workspace = workspace_in(folder.path());
        let transaction = Transaction::begin(&workspace.workspace);
        let change = replace(&transaction, "a", "A");
        transaction.commit(vec![change]).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o751);
    }
}
