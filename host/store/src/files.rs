//! Where everything lies: the database's path enters; the paths beside it, files that only this user can use, and the lock
//! between processes leave.
//!
//! SQLite gives its own two companions (`-wal`, `-shm`) the mode of the database.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind};

/// How often a lock that another process holds is tried again: it is held for a few writes to the disk.
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// The database and what lies beside it.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) database: PathBuf,
    /// The count and hash of the last row that is known to be on disk.
    pub(crate) head: PathBuf,
    /// One file for every process that has the store open, locked as long as it lives.
    pub(crate) instances: PathBuf,
    lock: PathBuf,
}

/// Held while the head or the instances are changed; let go when it is dropped, or the process ends.
#[derive(Debug)]
pub(crate) struct Locked {
    _file: File,
}

impl Files {
    pub(crate) fn beside(database: &Path) -> Self {
        let with = |suffix: &str| {
            let mut name = OsString::from(database);
            name.push(suffix);
            PathBuf::from(name)
        };
        Self {
            database: database.to_owned(),
            head: with(".head"),
            instances: with(".instances"),
            lock: with(".lock"),
        }
    }

    /// Makes the folders and an empty database, if they are missing, and refuses those that others may use.
    pub(crate) fn prepare(&self) -> Result<(), Error> {
        if let Some(folder) = self.database.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_folder(folder)?;
            check_private(folder, 0o022, "others may write to it; the folder of a store needs `chmod go-w`")?;
        }
        create_folder(&self.instances)?;
        // Only a file that is not there is opened: closing one that SQLite has open in this process would take SQLite's
        // locks away.
        if let Err(error) = private().create_new(true).open(&self.database)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(Error::io("create", &self.database, &error));
        }
        self.check()
    }

    /// Refuses a database that others may read or change: a log of calls is nobody else's to read.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check_private(&self.database, 0o077, "others may use it; a store needs `chmod 600`")
    }

    /// Waits for the lock between processes, at most `patience`; `None` if another one still has it then.
    pub(crate) fn lock(&self, patience: Duration) -> Result<Option<Locked>, Error> {
        let failed = |error: &io::Error| Error::io("lock", &self.lock, error);
        let file = open_private(&self.lock).map_err(|error| failed(&error))?;
        let until = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Locked { _file: file })),
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY),
            }
        }
    }
}

/// Puts `text` into a file in one step: whoever reads it, and after a power cut too, finds the old or the new text.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = OsString::from(path);
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut file = open_private(&beside)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => sync_folder(folder),
        None => sync_folder(Path::new(".")),
    }
}

/// Opens a file for writing, and makes it with mode 0600 if it is not there.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    private().create(true).truncate(false).open(path)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn create_folder(folder: &Path) -> Result<(), Error> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| Error::io("create the folder", folder, &error))
}

#[cfg(unix)]
fn check_private(path: &Path, forbidden: u32, what: &str) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt as _;
    /// In a folder with this bit, only its owner can replace a file.
    const STICKY: u32 = 0o1000;
    let metadata = fs::metadata(path).map_err(|error| Error::io("look at", path, &error))?;
    let is_safe = metadata.is_dir() && metadata.mode() & STICKY != 0;
    if metadata.mode() & forbidden != 0 && !is_safe {
        let message =
            format!("{} is not safe: {what} (its mode is {:03o})", path.display(), metadata.mode() & 0o777);
        return Err(Error::new(ErrorKind::Exposed, message));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &Path, _: u32, _: &str) -> Result<(), Error> {
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_this_user_can_use_what_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::beside(&folder.path().join("data/airlock.db"));
        files.prepare().unwrap();
        replace(&files.head, "one").unwrap();
        replace(&files.head, "two").unwrap();
        assert_eq!(fs::read_to_string(&files.head).unwrap(), "two");
        assert_eq!((mode(&files.database), mode(&files.head)), (0o600, 0o600));
        assert_eq!((mode(&folder.path().join("data")), mode(&files.instances)), (0o700, 0o700));
    }

    #[test]
    fn what_others_may_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::beside(&folder.path().join("airlock.db"));
        files.prepare().unwrap();
        fs::set_permissions(&files.database, fs::Permissions::from_mode(0o640)).unwrap();
        let error = files.prepare().unwrap_err();
        assert!(error.kind() == ErrorKind::Exposed && error.to_string().contains("chmod 600"), "{error}");
        fs::set_permissions(&files.database, fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o770)).unwrap();
        assert!(files.prepare().unwrap_err().to_string().contains("chmod go-w"));
    }

    #[test]
    fn the_lock_is_one_holders_and_freed_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::beside(&folder.path().join("airlock.db"));
        let locked = files.lock(Duration::ZERO).unwrap();
        assert!(locked.is_some());
        assert!(files.lock(Duration::from_millis(5)).unwrap().is_none());
        drop(locked);
        assert!(files.lock(Duration::ZERO).unwrap().is_some());
    }

    #[test]
    fn a_path_through_a_file_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let error = Files::beside(&folder.path().join("file/airlock.db")).prepare().unwrap_err();
        assert!(error.to_string().contains("name another place"), "{error}");
    }
}
