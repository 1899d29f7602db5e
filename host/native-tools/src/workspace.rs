//! A run enters; its workspace leaves, as an open folder out of which no path leads.
//!
//! The only module that uses ambient authority: it opens the folder that the host itself named in the run, once for
//! each binding. Everything after that is resolved below the open folder by cap-std, links and `..` included.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use airlock_core::{RunContext, ToolError};
use cap_fs_ext::MetadataExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::problem::{failed, io_problem, shown};

/// Longest path that a call may name, in bytes: the longest that Linux takes.
const MAX_PATH_BYTES: usize = 4_096;

/// An open workspace. All tools of a set that are bound to one folder share one.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) folder: Dir,
    /// Held while files change, so that of two edits of one file the second sees the first.
    pub(crate) changing: Mutex<()>,
}

/// A workspace under the names by which a run knows it.
#[derive(Debug, Clone)]
pub(crate) struct NamedWorkspace {
    pub(crate) workspace: Arc<Workspace>,
    /// As the run has it, and without links.
    names: Vec<PathBuf>,
}

/// The open workspaces of one set of tools, by device and inode: a thousand surfaces of one folder are one descriptor.
#[derive(Debug, Default)]
pub(crate) struct Workspaces(Mutex<HashMap<(u64, u64), Weak<Workspace>>>);

impl Workspaces {
    /// The workspace that a run names, or why there is none, as the end of a sentence that begins with a tool's name.
    pub(crate) fn open(&self, run: &RunContext) -> Result<NamedWorkspace, String> {
        let Some(named) = run.workspace.as_deref().filter(|named| !named.is_empty()) else {
            return Err("needs a workspace, and the run names none".to_owned());
        };
        let named = PathBuf::from(named);
        let quoted = shown(&named);
        if !named.is_absolute() {
            return Err(format!("needs a workspace with an absolute path, and the run names `{quoted}`"));
        }
        let problem = |error: io::Error| format!("cannot open the run's workspace `{quoted}`: {error}");
        let folder = Dir::open_ambient_dir(&named, ambient_authority()).map_err(problem)?;
        let metadata = folder.dir_metadata().map_err(problem)?;
        let mut names = vec![named];
        // Only to understand the paths that a model writes, so it does not matter if it has moved by now.
        names.extend(names.first().and_then(|named| named.canonicalize().ok()));
        let identity = (metadata.dev(), metadata.ino());
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(workspace) = open.get(&identity).and_then(Weak::upgrade) {
            return Ok(NamedWorkspace { workspace, names });
        }
        open.retain(|_, workspace| workspace.strong_count() > 0);
        let workspace = Arc::new(Workspace { folder, changing: Mutex::new(()) });
        open.insert(identity, Arc::downgrade(&workspace));
        Ok(NamedWorkspace { workspace, names })
    }
}

impl NamedWorkspace {
    /// The folder's path, as the run has it.
    #[cfg(unix)]
    pub(crate) fn path(&self) -> &Path {
        self.names.first().map_or(Path::new("."), PathBuf::as_path)
    }

    /// What a call wrote, relative to the workspace. An absolute path is taken if it is below the workspace.
    pub(crate) fn relative(&self, written: &str) -> Result<PathBuf, ToolError> {
        if written.is_empty() {
            return Err(ToolError::InvalidParams(
                "the path is empty; `.` is the workspace itself".to_owned(),
            ));
        }
        if written.len() > MAX_PATH_BYTES || written.contains('\0') {
            let message = format!("the path has a NUL character or over {MAX_PATH_BYTES} bytes; correct it");
            return Err(ToolError::InvalidParams(message));
        }
        let path = Path::new(written);
        let inside = if path.is_relative() && !path.has_root() {
            Some(path)
        } else {
            self.names.iter().find_map(|name| path.strip_prefix(name).ok())
        };
        let Some(inside) = inside else {
            let shown = shown(path);
            return Err(failed(format!(
                "`{shown}` is outside the workspace; use a path that is relative to it"
            )));
        };
        Ok(if inside.as_os_str().is_empty() { PathBuf::from(".") } else { inside.to_owned() })
    }
}

/// Where a file is or will be: an open folder and a name in it, with links already followed.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) folder: Dir,
    pub(crate) name: OsString,
    /// As the call named it, safe to show.
    pub(crate) shown: String,
    /// Which place it is, under whatever path it was named.
    pub(crate) identity: (u64, u64, OsString),
}

impl Workspace {
    /// The place of a file. Folders that are missing are made, and noted in `made`, so that they can be taken away again.
    pub(crate) fn place(&self, path: &Path, mut made: Option<&mut Vec<PathBuf>>) -> Result<Place, ToolError> {
        let shown = shown(path);
        let problem = |error: io::Error| io_problem("use", &shown, &error);
        let is_link = match self.folder.symlink_metadata(path) {
            Ok(metadata) => metadata.is_symlink(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(problem(error)),
        };
        // A change goes through a link to what it leads to, and does not put a file in the link's place.
        let path = if is_link {
            self.folder.canonicalize(path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => failed(format!(
                    "`{shown}` is a link to something that does not exist; name the file itself"
                )),
                _ => problem(error),
            })?
        } else {
            path.to_owned()
        };
        let Some(Component::Normal(name)) = path.components().next_back() else {
            return Err(failed(format!("`{shown}` is a folder; name a file in it")));
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        if let Some(made) = &mut made {
            self.make_folders(parent, made).map_err(problem)?;
        }
        let folder = self.folder.open_dir(parent).map_err(problem)?;
        let metadata = folder.dir_metadata().map_err(problem)?;
        let identity = (metadata.dev(), metadata.ino(), name.to_owned());
        Ok(Place { folder, name: name.to_owned(), shown, identity })
    }

    fn make_folders(&self, path: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
        let missing: Vec<&Path> = path
            .ancestors()
            .filter(|folder| !folder.as_os_str().is_empty())
            .take_while(|folder| {
                matches!(self.folder.metadata(folder), Err(error) if error.kind() == io::ErrorKind::NotFound)
            })
            .collect();
        for folder in missing.into_iter().rev() {
            match self.folder.create_dir(folder) {
                Ok(()) => made.push(folder.to_owned()),
                // Somebody else made it meanwhile; if it is no folder, opening it says so.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::testing::{run_in, workspace_in};

    #[test]
    fn a_run_without_a_usable_workspace_gets_the_reason() {
        let open = |named: &str| Workspaces::default().open(&run_in(Path::new(named))).unwrap_err();
        assert_eq!(
            Workspaces::default().open(&RunContext::new("a")).unwrap_err(),
            "needs a workspace, and the run names none"
        );
        assert!(open("relative").contains("absolute path"));
        assert!(open("/nowhere/at/all").starts_with("cannot open the run's workspace `/nowhere/at/all`"));
        assert!(open("/dev/null").contains("cannot open"));
    }

    #[test]
    fn paths_are_taken_relative_to_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = workspace_in(folder.path());
        let relative =
            |written: &str| workspace.relative(written).map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(relative("a/b").unwrap(), "a/b");
        assert_eq!(relative(".").unwrap(), ".");
        let absolute = folder.path().to_str().unwrap();
        assert_eq!(relative(absolute).unwrap(), ".");
        assert_eq!(relative(&format!("{absolute}/a")).unwrap(), "a");
        for bad in ["", "/etc/passwd", &format!("{absolute}x/a"), "a\0b", &"a/".repeat(3_000)] {
            assert!(relative(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn one_folder_is_opened_once_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let all = Workspaces::default();
        let one = all.open(&run_in(folder.path())).unwrap();
        let other = all.open(&run_in(&folder.path().join("."))).unwrap();
        assert!(Arc::ptr_eq(&one.workspace, &other.workspace));
        drop((one, other));
        let another = tempfile::tempdir().unwrap();
        let _third = all.open(&run_in(another.path())).unwrap();
        assert_eq!(all.0.lock().unwrap().len(), 1);
    }
}
