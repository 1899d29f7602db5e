//! A path in a folder enters; an open regular file leaves, or its bytes. Nothing else is ever opened, and nothing blocks.

use std::io::Read as _;
use std::path::Path;
use std::time::SystemTime;

use airlock_core::ToolError;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions, Permissions};

use crate::problem::{failed, io_problem};
use crate::workspace::Place;

/// Largest file that is changed as a whole, in bytes. Source code that people write is far below a mebibyte; generated
/// text that is larger than this should be made by a program.
pub(crate) const MAX_TEXT_BYTES: u64 = 8 << 20;

/// Opens a regular file for reading, through links that stay in `folder`.
pub(crate) fn open_file(folder: &Dir, path: &Path, shown: &str) -> Result<(File, Metadata), ToolError> {
    open(folder, path, shown, FollowSymlinks::Yes)
}

fn open(
    folder: &Dir,
    path: &Path,
    shown: &str,
    follow: FollowSymlinks,
) -> Result<(File, Metadata), ToolError> {
    let problem = |error: std::io::Error| io_problem("read", shown, &error);
    let metadata = match follow {
        FollowSymlinks::Yes => folder.metadata(path),
        FollowSymlinks::No => folder.symlink_metadata(path),
    };
    // Looked at before it is opened, since opening a device can do something.
    must_be_regular(&metadata.map_err(problem)?.file_type(), shown)?;
    // Should another thing take its place here, then opening a FIFO does not wait for a writer …
    let mut options = OpenOptions::new();
    options.read(true).follow(follow).nonblock(true);
    let file = folder.open_with(path, &options).map_err(problem)?;
    let metadata = file.metadata().map_err(problem)?;
    // … and it is found out before anything is read.
    must_be_regular(&metadata.file_type(), shown)?;
    Ok((file, metadata))
}

fn must_be_regular(kind: &FileType, shown: &str) -> Result<(), ToolError> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(failed(format!("`{shown}` is a folder; `ls` shows what is in it")));
    }
    Err(failed(format!("`{shown}` is {}, which is never opened; name a regular file", kind_name(kind))))
}

/// What a thing in a folder is, with its article.
pub(crate) fn kind_name(kind: &FileType) -> &'static str {
    if kind.is_file() {
        return "a file";
    }
    if kind.is_dir() {
        return "a folder";
    }
    if kind.is_symlink() {
        return "a link";
    }
    #[cfg(unix)]
    {
        use cap_std::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a FIFO";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    "a special file"
}

/// A file as it was when it was read, so that a change in between is noticed.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    identity: (u64, u64),
    bytes: u64,
    modified: Option<SystemTime>,
    pub(crate) permissions: Permissions,
    #[cfg(unix)]
    pub(crate) owner: (u32, u32),
}

impl Seen {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            identity: identity(metadata),
            bytes: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
            permissions: metadata.permissions(),
            #[cfg(unix)]
            owner: owner(metadata),
        }
    }

    /// Whether it still is the same file with, as far as the system says, the same contents.
    pub(crate) fn is_still(&self, metadata: &Metadata) -> bool {
        let now = Self::of(metadata);
        (self.identity, self.bytes, self.modified) == (now.identity, now.bytes, now.modified)
    }
}

/// Device and inode. Windows tells them of open files only; there, size and time must do.
fn identity(metadata: &Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use cap_fs_ext::MetadataExt as _;
        (metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        (0, 0)
    }
}

#[cfg(unix)]
fn owner(metadata: &Metadata) -> (u32, u32) {
    use cap_fs_ext::OsMetadataExt as _;
    (metadata.uid(), metadata.gid())
}

/// A whole file that is to be changed: it must be regular, writable, UTF-8 and not too large.
pub(crate) fn read_text(place: &Place) -> Result<(String, Seen), ToolError> {
    let shown = &place.shown;
    let (file, metadata) = open(&place.folder, Path::new(&place.name), shown, FollowSymlinks::No)?;
    must_be_writable(&metadata, shown)?;
    let too_large = |bytes: u64| {
        failed(format!(
            "`{shown}` has {bytes} bytes, the limit is {MAX_TEXT_BYTES}; change it with a program"
        ))
    };
    if metadata.len() > MAX_TEXT_BYTES {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    // It may grow meanwhile.
    file.take(MAX_TEXT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| io_problem("read", shown, &error))?;
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        failed(format!("`{shown}` is not UTF-8 text (at byte {position}); it cannot be changed by text"))
    })?;
    Ok((text, Seen::of(&metadata)))
}

/// Replacing a file needs no permission to write to it, so a protection must be honoured by looking.
pub(crate) fn must_be_writable(metadata: &Metadata, shown: &str) -> Result<(), ToolError> {
    if metadata.permissions().readonly() {
        return Err(failed(format!("`{shown}` is read-only, so it is left as it is")));
    }
    Ok(())
}
