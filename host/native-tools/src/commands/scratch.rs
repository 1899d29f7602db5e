//! A folder in which temporary folders are made enters; a private one leaves, which is gone with everything in it when
//! nobody needs it any more.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Permissions, PermissionsExt as _};

/// How long the last owner waits until the folder is gone. What a command left there usually goes in a millisecond; if it
/// left a million files, a thread goes on with it, if the process lives.
const PATIENCE: Duration = Duration::from_millis(100);

/// How many entries of a folder are taken into memory at once.
const BATCH: usize = 1_024;

/// How many names are tried for a folder that is moved: a command may have used some to be a nuisance.
const MAX_NAMES_TRIED: usize = 1_000;

/// A private temporary folder.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(crate) fn make_in(folder: &Path) -> io::Result<Self> {
        let private = fs::Permissions::from_mode(0o700);
        let made = tempfile::Builder::new().prefix("airlock-").permissions(private).tempdir_in(folder)?;
        // It is removed below and not by the crate, which would follow a hostile depth with its stack.
        Ok(Self { path: made.keep() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        let (send, receive) = mpsc::channel();
        let spawned = thread::Builder::new().name("airlock-scratch".to_owned()).spawn(move || {
            // What cannot be removed stays, as it does after a crash.
            let _ = remove(&path);
            let _ = send.send(());
        });
        if spawned.is_ok() {
            let _ = receive.recv_timeout(PATIENCE);
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let folder = Dir::open_ambient_dir(path, ambient_authority())?;
    flatten(&folder)?;
    fs::remove_dir(path)
}

/// Removes everything in a folder. What is deeper is moved up first, so that a depth of a hundred thousand folders, which
/// a command can make, costs no stack and no descriptors. Links are removed and not followed.
fn flatten(folder: &Dir) -> io::Result<()> {
    let mut number = 0_u64;
    loop {
        let entries: Vec<_> = folder.entries()?.take(BATCH).collect::<io::Result<_>>()?;
        if entries.is_empty() {
            return Ok(());
        }
        for entry in entries {
            let name = entry.file_name();
            if !entry.file_type()?.is_dir() {
                folder.remove_file(&name)?;
                continue;
            }
            folder.set_permissions(&name, Permissions::from_mode(0o700))?;
            lift(&folder.open_dir_nofollow(&name)?, folder, &mut number)?;
            folder.remove_dir(&name)?;
        }
    }
}

/// Empties `inner`: its files go, its folders move to `outer`.
fn lift(inner: &Dir, outer: &Dir, number: &mut u64) -> io::Result<()> {
    loop {
        let entries: Vec<_> = inner.entries()?.take(BATCH).collect::<io::Result<_>>()?;
        if entries.is_empty() {
            return Ok(());
        }
        for entry in entries {
            let name = entry.file_name();
            if !entry.file_type()?.is_dir() {
                inner.remove_file(&name)?;
                continue;
            }
            // A folder that moves changes its own `..`, for which it must be writable.
            inner.set_permissions(&name, Permissions::from_mode(0o700))?;
            let mut last = Ok(());
            for _ in 0..MAX_NAMES_TRIED {
                *number += 1;
                last = inner.rename(&name, outer, format!("lifted-{number}"));
                if last.is_ok() {
                    break;
                }
            }
            last?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn it_is_private_and_goes_with_everything_in_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kept"), "").unwrap();
        let scratch = Scratch::make_in(folder.path()).unwrap();
        let path = scratch.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        symlink(folder.path(), path.join("link")).unwrap();
        fs::create_dir_all(path.join("a/b/c")).unwrap();
        fs::create_dir_all(path.join("lifted-1/x")).unwrap();
        for number in 0..2_000 {
            fs::write(path.join(format!("a/{number}")), "").unwrap();
        }
        fs::set_permissions(path.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
        assert!(folder.path().join("kept").exists());
        drop(scratch);
    }

    #[test]
    fn depth_is_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::make_in(folder.path()).unwrap();
        // Deeper than any path can be written, as a command can make it step by step.
        let mut inner = Dir::open_ambient_dir(scratch.path(), ambient_authority()).unwrap();
        for _ in 0..5_000 {
            inner.create_dir("deep").unwrap();
            inner = inner.open_dir("deep").unwrap();
        }
        drop(inner);
        remove(scratch.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
