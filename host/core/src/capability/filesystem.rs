//! Folders: a folder's name and what is to be done there enter; whether manifest and grants both have it leaves.

use super::Refusal;
use crate::config::FilesystemGrant;
use crate::id::PluginId;
use crate::manifest::{FileAccess, FilesystemRequest};

/// Which folders a plugin may see.
#[derive(Debug, Clone)]
pub struct FilesystemCapability {
    plugin: PluginId,
    asked: Vec<FilesystemRequest>,
    granted: Vec<FilesystemRequest>,
}

impl FilesystemCapability {
    pub(super) fn new(plugin: &PluginId, asked: Vec<FilesystemRequest>, granted: &[FilesystemGrant]) -> Self {
        let granted = granted.iter();
        let granted =
            granted.map(|grant| FilesystemRequest { path: grant.path.clone(), access: grant.access });
        Self { plugin: plugin.clone(), asked, granted: granted.collect() }
    }

    /// Whose it is.
    pub fn plugin(&self) -> &PluginId {
        &self.plugin
    }

    /// Names of the folders that the manifest asks for, each once.
    pub fn asked(&self) -> Vec<&str> {
        let mut folders: Vec<&str> = self.asked.iter().map(|asked| asked.path.as_str()).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// Whether the folder of that name may be read, or written too.
    ///
    /// # Errors
    /// Who does not want it.
    pub fn allows(&self, folder: &str, access: FileAccess) -> Result<(), Refusal> {
        let has = |all: &[FilesystemRequest]| {
            all.iter().any(|one| one.path == folder && one.access.includes(access))
        };
        let word = if access == FileAccess::Write { "write" } else { "read" };
        let what = format!("{word} access to the folder `{folder}`");
        if !has(&self.asked) {
            let line =
                format!("`{{ \"path\": \"{folder}\", \"access\": \"{word}\" }}` to `permissions.filesystem`");
            return Err(Refusal::not_requested(&self.plugin, &what, &line));
        }
        if !has(&self.granted) {
            let line = format!("filesystem = [{{ path = \"{folder}\", access = \"{word}\" }}]");
            return Err(Refusal::not_granted(&self.plugin, &what, &line));
        }
        Ok(())
    }

    /// The folders and what may be done there.
    pub fn effective(&self) -> Vec<FilesystemRequest> {
        let allowed = |folder: &str| {
            [FileAccess::Write, FileAccess::Read]
                .into_iter()
                .find(|access| self.allows(folder, *access).is_ok())
        };
        self.asked()
            .into_iter()
            .filter_map(|folder| {
                Some(FilesystemRequest { path: folder.to_owned(), access: allowed(folder)? })
            })
            .collect()
    }

    pub(super) fn may_write(&self) -> bool {
        self.effective().iter().any(|folder| folder.access == FileAccess::Write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_means_it_on_either_side() {
        use FileAccess::{Read, Write};
        let id = PluginId::parse("notes").unwrap();
        for (asked, granted, effective) in [
            (Some(Read), Some(Write), Some(Read)),
            (Some(Write), Some(Read), Some(Read)),
            (Some(Write), Some(Write), Some(Write)),
            (None, Some(Write), None),
            (Some(Write), None, None),
        ] {
            let path = || "workspace".to_owned();
            let asked = asked.map(|access| FilesystemRequest { path: path(), access }).into_iter().collect();
            let granted: Vec<_> =
                granted.map(|access| FilesystemGrant { path: path(), access }).into_iter().collect();
            let capability = FilesystemCapability::new(&id, asked, &granted);
            let found: Vec<_> = capability.effective().iter().map(|folder| folder.access).collect();
            assert_eq!(found, effective.into_iter().collect::<Vec<_>>());
            assert_eq!(capability.may_write(), effective == Some(Write));
        }
    }
}
