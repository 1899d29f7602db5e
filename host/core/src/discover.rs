//! Installed → discovered: plugin roots enter, package folders with the exact bytes of their manifests leave.
//!
//! Reads only the roots it is handed, to depth 2, in sorted order, and never follows a link out of one. What it cannot
//! read becomes a diagnostic on its own folder; nothing here runs or judges plugin code.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Code, Diagnostic, Location};
use crate::manifest::{MANIFEST_FILE, MAX_MANIFEST_BYTES, PackagePath};

/// How deep below a root a package folder may lie: `root/plugin` or `root/group/plugin`.
const MAX_DEPTH: usize = 2;

/// How many folders of one root are looked at: four times a very large installation.
const MAX_FOLDERS: usize = 4_096;

/// How many folders of one group are looked at, so that a group spends its own allowance and not its neighbours'.
const MAX_GROUP_FOLDERS: usize = 256;

/// How many entries of one folder are read, files included.
const MAX_ENTRIES: usize = 65_536;

/// Where a plugin comes from; the stronger origin wins a conflict. Ordered weakest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A workspace brought it.
    Workspace,
    /// The host was shipped with it.
    Bundled,
    /// The user installed it.
    User,
    /// The operator wrote its root down.
    Config,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Workspace => "workspace",
            Self::Bundled => "bundled",
            Self::User => "user",
            Self::Config => "config",
        })
    }
}

/// A folder in which plugins are installed. A root that is itself a package is that one plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginRoot {
    /// The folder.
    pub path: PathBuf,
    /// What being there means.
    pub origin: Origin,
}

/// An installed package: a folder that has a manifest file.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// The package's real folder.
    pub folder: PathBuf,
    /// Where it comes from.
    pub origin: Origin,
    /// The manifest's exact bytes, or why they cannot be had.
    pub manifest: Result<Vec<u8>, Diagnostic>,
}

impl Candidate {
    /// The manifest file.
    pub(crate) fn manifest_path(&self) -> PathBuf {
        self.folder.join(MANIFEST_FILE)
    }

    /// The real path of a file of the package, which must lie inside it.
    pub(crate) fn file(&self, path: &PackagePath) -> io::Result<(PathBuf, fs::Metadata)> {
        let real = self.folder.join(path.as_str()).canonicalize()?;
        let metadata = fs::metadata(&real)?;
        if real.starts_with(&self.folder) && metadata.is_file() {
            return Ok((real, metadata));
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a link out of the package, or no regular file",
        ))
    }
}

/// Every package below `roots`, each real folder once, and what could not be read.
pub(crate) fn discover(roots: &[PluginRoot]) -> (Vec<Candidate>, Vec<Diagnostic>) {
    let mut found = Found::default();
    // A folder that two roots reach counts for the stronger one.
    let mut roots: Vec<_> = roots.iter().collect();
    roots.sort_by(|one, other| other.origin.cmp(&one.origin).then_with(|| one.path.cmp(&other.path)));
    for root in roots {
        found.scan_root(root);
    }
    found.candidates.sort_by(|one, other| one.folder.cmp(&other.folder));
    (found.candidates, found.diagnostics)
}

#[derive(Default)]
struct Found {
    candidates: Vec<Candidate>,
    diagnostics: Vec<Diagnostic>,
    /// Packages, whichever root they were found through.
    packages: BTreeSet<PathBuf>,
    /// Folders of the current root, against links that lead back.
    seen: BTreeSet<PathBuf>,
}

impl Found {
    fn scan_root(&mut self, root: &PluginRoot) {
        self.seen.clear();
        let real = match root
            .path
            .canonicalize()
            .and_then(|real| fs::metadata(&real).map(|metadata| (real, metadata)))
        {
            Ok((real, metadata)) if metadata.is_dir() => {
                if let Some(cause) = unsafe_to_trust(&metadata) {
                    let (message, hint) = (
                        format!("the plugin root {cause}"),
                        "make it this user's own: `chown`, `chmod o-w`".to_owned(),
                    );
                    self.diagnose_root(Code::RootUnsafe, root, message, hint);
                    return;
                }
                real
            }
            Ok(_) => {
                let (message, hint) = (
                    "the plugin root is not a folder".to_owned(),
                    "name the folder that holds plugin folders".to_owned(),
                );
                self.diagnose_root(Code::RootUnreadable, root, message, hint);
                return;
            }
            Err(error) => {
                let (message, hint) = (
                    format!("the plugin root cannot be read: {error}"),
                    "create it, or name another".to_owned(),
                );
                self.diagnose_root(Code::RootUnreadable, root, message, hint);
                return;
            }
        };
        self.scan(&real, &real, root, 0);
    }

    fn scan(&mut self, folder: &Path, real_root: &Path, root: &PluginRoot, depth: usize) {
        if !self.seen.insert(folder.to_owned()) {
            return;
        }
        if let Some(cause) = fs::metadata(folder).ok().as_ref().and_then(unsafe_to_trust) {
            let message = format!("the folder {} {cause}, so it is not read", folder.display());
            let hint = "make it this user's own: `chown`, `chmod o-w`".to_owned();
            self.diagnose_root(Code::RootUnsafe, root, message, hint);
            return;
        }
        match read_manifest(folder) {
            Ok(Some(bytes)) => return self.push(folder, root.origin, Ok(bytes)),
            Ok(None) => {}
            Err(diagnostic) => return self.push(folder, root.origin, Err(*diagnostic)),
        }
        if depth == MAX_DEPTH {
            return;
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                let message = format!("the folder {} cannot be read: {error}", folder.display());
                self.diagnose_root(
                    Code::RootUnreadable,
                    root,
                    message,
                    "allow reading it, or remove it".to_owned(),
                );
                return;
            }
        };
        let mut children: Vec<PathBuf> = Vec::new();
        for (number, entry) in entries.filter_map(Result::ok).enumerate() {
            if number == MAX_ENTRIES {
                let message = format!("the folder {} has more than {MAX_ENTRIES} entries", folder.display());
                self.diagnose_root(Code::RootTooLarge, root, message, "remove what is no plugin".to_owned());
                break;
            }
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if !is_hidden && !is_file {
                children.push(entry.path());
            }
        }
        children.sort();
        let most = if depth == 0 { MAX_FOLDERS } else { MAX_GROUP_FOLDERS };
        if children.len() > most {
            let message =
                format!("{} holds more than {most} folders; the rest is not read", folder.display());
            let hint = "split it into several, or remove what is no plugin".to_owned();
            self.diagnose_root(Code::RootTooLarge, root, message, hint);
        }
        for child in children.into_iter().take(most) {
            let Ok(real) = child.canonicalize() else { continue };
            if real.is_dir() && real.starts_with(real_root) {
                self.scan(&real, real_root, root, depth + 1);
            }
        }
    }

    fn push(&mut self, folder: &Path, origin: Origin, manifest: Result<Vec<u8>, Diagnostic>) {
        if self.packages.insert(folder.to_owned()) {
            self.candidates.push(Candidate { folder: folder.to_owned(), origin, manifest });
        }
    }

    fn diagnose_root(&mut self, code: Code, root: &PluginRoot, message: String, hint: String) {
        let subject = root.path.display();
        self.diagnostics.push(Diagnostic::new(code, subject, message, hint).at(Location::path(&root.path)));
    }
}

/// The manifest's bytes; `None` if the folder has none and is thus no package.
fn read_manifest(folder: &Path) -> Result<Option<Vec<u8>>, Box<Diagnostic>> {
    let path = folder.join(MANIFEST_FILE);
    let subject = folder.file_name().unwrap_or(folder.as_os_str()).display().to_string();
    let fault = |code, message: String, hint: &str| {
        Box::new(Diagnostic::new(code, &subject, message, hint).at(Location::path(&path)))
    };
    let unreadable = |error: &dyn std::fmt::Display| {
        fault(
            Code::ManifestUnreadable,
            format!("the manifest cannot be read: {error}"),
            "make it a readable file inside the package",
        )
    };
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
        // Opening a pipe would wait for a writer for ever; a link could lead anywhere.
        Ok(metadata) if !metadata.is_file() => return Err(unreadable(&"it is a link, a pipe or a folder")),
        Ok(metadata) if metadata.len() > MAX_MANIFEST_BYTES => return Err(too_large(&fault, metadata.len())),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(&path).map_err(|error| unreadable(&error))?;
    file.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(too_large(&fault, bytes.len() as u64));
    }
    Ok(Some(bytes))
}

fn too_large(fault: &dyn Fn(Code, String, &str) -> Box<Diagnostic>, bytes: u64) -> Box<Diagnostic> {
    let message = format!("the manifest has {bytes} bytes, the limit is {MAX_MANIFEST_BYTES}");
    fault(Code::ManifestTooLarge, message, "remove what is not a declaration")
}

/// Why whoever else can write here could install a plugin, if somebody could.
#[cfg(unix)]
pub(crate) fn unsafe_to_trust(metadata: &fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    const WRITABLE_BY_ALL: u32 = 0o002;
    if metadata.mode() & WRITABLE_BY_ALL != 0 {
        return Some("can be written by everybody".to_owned());
    }
    let (owner, this_user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    (owner != this_user && owner != 0)
        .then(|| format!("belongs to the user {owner} and not to {this_user}, who runs the host"))
}

#[cfg(not(unix))]
pub(crate) fn unsafe_to_trust(_: &fs::Metadata) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &Path, manifest: &[u8]) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(MANIFEST_FILE), manifest).unwrap();
    }

    fn config_root(path: &Path) -> PluginRoot {
        PluginRoot { path: path.to_owned(), origin: Origin::Config }
    }

    fn names(candidates: &[Candidate]) -> Vec<String> {
        candidates
            .iter()
            .map(|candidate| candidate.folder.file_name().unwrap().display().to_string())
            .collect()
    }

    #[test]
    fn packages_lie_one_or_two_levels_down_in_sorted_order() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["zeta", "group/alpha", "group/deep/lost", ".staging/hidden", "empty"] {
            package(&root.path().join(folder), b"{}");
        }
        fs::remove_file(root.path().join("empty").join(MANIFEST_FILE)).unwrap();
        let (candidates, diagnostics) = discover(&[config_root(root.path())]);
        assert_eq!((names(&candidates), diagnostics), (vec!["alpha".to_owned(), "zeta".to_owned()], vec![]));
        let (itself, _) = discover(&[config_root(&root.path().join("zeta"))]);
        assert_eq!(names(&itself), ["zeta"]);
    }

    #[test]
    fn one_real_folder_reached_twice_is_one_plugin_of_the_stronger_origin() {
        let root = tempfile::tempdir().unwrap();
        package(&root.path().join("one"), b"{}");
        let user = PluginRoot { path: root.path().to_owned(), origin: Origin::User };
        let (candidates, _) = discover(&[user, config_root(&root.path().join("one"))]);
        assert_eq!(candidates.len(), 1);
        assert_eq!(candidates[0].origin, Origin::Config);
    }

    #[test]
    fn a_root_inside_another_loses_nothing() {
        let root = tempfile::tempdir().unwrap();
        package(&root.path().join("group/deep/one"), b"{}");
        let (candidates, _) =
            discover(&[config_root(root.path()), config_root(&root.path().join("group/deep"))]);
        assert_eq!(names(&candidates), ["one"]);
    }

    #[test]
    fn thousands_of_files_hide_no_plugin() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..MAX_FOLDERS + 10 {
            fs::write(root.path().join(format!("file-{number}")), b"").unwrap();
        }
        package(&root.path().join("zeta"), b"{}");
        let (candidates, diagnostics) = discover(&[config_root(root.path())]);
        assert_eq!((names(&candidates), diagnostics), (vec!["zeta".to_owned()], vec![]));
    }

    #[test]
    fn a_group_of_thousands_of_folders_hides_none_of_its_neighbours() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..MAX_FOLDERS + 10 {
            fs::create_dir_all(root.path().join(format!("aaa/{number}"))).unwrap();
        }
        package(&root.path().join("zeta"), b"{}");
        let (candidates, diagnostics) = discover(&[config_root(root.path())]);
        assert_eq!((names(&candidates), diagnostics[0].code), (vec!["zeta".to_owned()], Code::RootTooLarge));
        assert!(diagnostics[0].message.contains("aaa"), "{}", diagnostics[0].message);
    }

    #[cfg(unix)]
    #[test]
    fn links_cycles_and_special_files_are_harmless() {
        use std::os::unix::fs::symlink;
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        package(&outside.path().join("foreign"), b"{}");
        package(&root.path().join("good"), b"{}");
        fs::create_dir(root.path().join("linked")).unwrap();
        symlink(outside.path().join("foreign"), root.path().join("escape")).unwrap();
        symlink(root.path(), root.path().join("cycle")).unwrap();
        symlink(root.path().join("good"), root.path().join("again")).unwrap();
        symlink("/nowhere/at/all", root.path().join("dangling")).unwrap();
        symlink(
            outside.path().join("foreign").join(MANIFEST_FILE),
            root.path().join("linked").join(MANIFEST_FILE),
        )
        .unwrap();
        let (candidates, _) = discover(&[config_root(root.path())]);
        assert_eq!(names(&candidates), ["good", "linked"]);
        assert_eq!(candidates[1].manifest.as_ref().unwrap_err().code, Code::ManifestUnreadable);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_everybody_can_write_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        package(&root.path().join("one"), b"{}");
        fs::set_permissions(root.path().join("one"), fs::Permissions::from_mode(0o777)).unwrap();
        let (candidates, diagnostics) = discover(&[config_root(root.path())]);
        assert_eq!(
            (candidates.len(), diagnostics[0].code),
            (0, Code::RootUnsafe),
            "a package folder counts too"
        );
        fs::set_permissions(root.path().join("one"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let (candidates, diagnostics) = discover(&[config_root(root.path())]);
        assert!(candidates.is_empty());
        assert_eq!(diagnostics[0].code, Code::RootUnsafe);
    }

    #[cfg(unix)]
    #[test]
    fn a_root_of_another_user_is_refused() {
        // Only root can give a folder away; for anybody else there is nothing to try.
        let root = tempfile::tempdir().unwrap();
        package(&root.path().join("one"), b"{}");
        if std::os::unix::fs::chown(root.path(), Some(12_345), None).is_ok() {
            let (candidates, diagnostics) = discover(&[config_root(root.path())]);
            assert_eq!((candidates.len(), diagnostics[0].code), (0, Code::RootUnsafe));
            assert!(
                diagnostics[0].message.contains("belongs to the user 12345"),
                "{}",
                diagnostics[0].message
            );
        }
    }

    #[test]
    fn a_huge_manifest_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        package(&root.path().join("huge"), &vec![b' '; 300 * 1024]);
        let (candidates, _) = discover(&[config_root(root.path())]);
        assert_eq!(candidates[0].manifest.as_ref().unwrap_err().code, Code::ManifestTooLarge);
        let (_, missing) = discover(&[config_root(&root.path().join("nope"))]);
        assert_eq!(missing[0].code, Code::RootUnreadable);
    }
}
