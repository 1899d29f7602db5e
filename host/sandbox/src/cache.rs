//! Compiled code on disk: a component's digest enters, verified native code leaves, or nothing.
//!
//! The only place in Airlock that deserialises native code. Nothing vouches for the code of an artefact but its digest,
//! so that is checked before each first use in a process; a changed byte means a recompilation, never an execution.
//! The folder belongs to the host alone; files are replaced by renaming, never rewritten.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use airlock_core::Digest;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Changes when the layout of the folder or of its files changes, so that older files are never read.
const FORMAT: u32 = 2;

/// Largest artefact that is read, in bytes: a component of 64 MiB compiles to about 2.5 times its size.
const MAX_ARTEFACT_BYTES: u64 = 512 << 20;

/// Largest record, in bytes: two digests have 143.
const MAX_RECORD_BYTES: u64 = 256;

/// What a look into the cache found.
pub(crate) enum Lookup {
    /// Verified code.
    Hit(Component),
    /// Nothing for this component and this engine.
    Miss,
    /// Something that is not what was once written; it was removed.
    Damaged,
}

/// The artefacts of one engine configuration.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    /// Files whose digest was checked by this process, by their identity.
    verified: Mutex<HashSet<Identity>>,
}

/// What changes when a file is replaced or rewritten.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified_nanoseconds: i128,
}

impl Cache {
    /// Opens the part of `folder` that belongs to this engine's version and settings, creating it for this user only.
    ///
    /// # Errors
    /// If the folder cannot be made, or another user could write there.
    pub(crate) fn open(folder: &Path, engine: &Engine) -> io::Result<Self> {
        let mut key = DefaultHasher::new();
        FORMAT.hash(&mut key);
        engine.precompile_compatibility_hash().hash(&mut key);
        let folder = folder.join(format!("{:016x}", key.finish()));
        create_private(&folder)?;
        Ok(Self { folder, verified: Mutex::default() })
    }

    fn artefact(&self, component: Digest) -> PathBuf {
        self.folder.join(format!("{}.cwasm", component.to_hex()))
    }

    fn record(&self, component: Digest) -> PathBuf {
        self.folder.join(format!("{}.sha256", component.to_hex()))
    }

    /// The compiled form of the component with that digest.
    pub(crate) fn load(&self, engine: &Engine, component: Digest) -> Lookup {
        match self.try_load(engine, component) {
            Ok(Some(loaded)) => Lookup::Hit(loaded),
            Ok(None) => Lookup::Miss,
            Err(_) => {
                // Either may be gone already; the next store replaces both.
                let _ = fs::remove_file(self.record(component));
                let _ = fs::remove_file(self.artefact(component));
                Lookup::Damaged
            }
        }
    }

    fn try_load(&self, engine: &Engine, component: Digest) -> io::Result<Option<Component>> {
        let record = self.record(component);
        match fs::symlink_metadata(&record) {
            // Opening a pipe would wait for a writer for ever.
            Ok(metadata) if !metadata.is_file() || metadata.len() > MAX_RECORD_BYTES => {
                return Err(damaged("the record is no short file"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let recorded = fs::read_to_string(record)?;
        let path = self.artefact(component);
        if !fs::symlink_metadata(&path)?.is_file() {
            return Err(damaged("the artefact is no regular file"));
        }
        let file = File::open(&path)?;
        let identity = Identity::of(&file)?;
        if identity.bytes > MAX_ARTEFACT_BYTES {
            return Err(damaged("the artefact is too large"));
        }
        let is_verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner).contains(&identity);
        if !is_verified {
            let mut bytes = Vec::with_capacity(usize::try_from(identity.bytes).unwrap_or_default());
            (&file).take(MAX_ARTEFACT_BYTES + 1).read_to_end(&mut bytes)?;
            if recorded != record_of(component, &bytes) {
                return Err(damaged("the artefact's digest is not the recorded one"));
            }
        }
        let component = deserialise(engine, &file).map_err(|_| damaged("the engine refuses the artefact"))?;
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).insert(identity);
        Ok(Some(component))
    }

    /// Keeps compiled code. Both files are complete or absent, whenever the process dies.
    pub(crate) fn store(&self, component: Digest, artefact: &[u8]) -> io::Result<()> {
        write_private(&self.artefact(component), artefact)?;
        write_private(&self.record(component), record_of(component, artefact).as_bytes())
    }
}

/// What stands beside an artefact: which component it was made of, and its own digest.
fn record_of(component: Digest, artefact: &[u8]) -> String {
    format!("{component} {}", Digest::of(artefact))
}

/// Maps the very file that was verified: by its descriptor where the system can name one, so that no other file can
/// slip in under its name meanwhile.
#[expect(unsafe_code, reason = "the compile cache is the one place that loads native code")]
fn deserialise(engine: &Engine, file: &File) -> wasmtime::Result<Component> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: the bytes are what `store` wrote for this engine, since their digest matched the record in a folder
        // that only this user can write; files there are replaced by renaming, so the mapping cannot change.
        unsafe { Component::deserialize_file(engine, path) }
    }
    #[cfg(not(target_os = "linux"))]
    {
        use std::io::Seek as _;
        let mut file = file.try_clone()?;
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // SAFETY: as above; the bytes were read from the descriptor whose content was verified.
        unsafe { Component::deserialize(engine, bytes) }
    }
}

fn damaged(cause: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}

impl Identity {
    #[cfg(unix)]
    fn of(file: &File) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = file.metadata()?;
        let modified_nanoseconds =
            i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified_nanoseconds,
        })
    }

    #[cfg(not(unix))]
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let modified = metadata.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let modified_nanoseconds = i128::try_from(modified.as_nanos()).unwrap_or_default();
        Ok(Self { device: 0, inode: 0, bytes: metadata.len(), modified_nanoseconds })
    }
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = fs::symlink_metadata(folder)?;
    if !metadata.is_dir() {
        return Err(io::Error::other("it is a link, not a folder"));
    }
    // Whoever owns a file that this process makes is this process's user.
    let probe = tempfile::NamedTempFile::new_in(folder)?;
    let is_ours = metadata.uid() == probe.as_file().metadata()?.uid();
    if !is_ours || metadata.mode() & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others may use it; it must belong to this user alone (mode 0700)",
        ));
    }
    // Whoever can replace a folder above it can put another one in its place.
    let real = folder.canonicalize()?;
    for above in real.ancestors().skip(1) {
        const ROOT: u32 = 0;
        const WRITABLE_BY_ALL: u32 = 0o002;
        const STICKY: u32 = 0o1000;
        let over = fs::metadata(above)?;
        let is_replaceable = over.mode() & WRITABLE_BY_ALL != 0 && over.mode() & STICKY == 0;
        if is_replaceable || ![ROOT, metadata.uid()].contains(&over.uid()) {
            let message = format!("another user could replace it, through {}", above.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Writes beside the target, flushes, then renames; `tempfile` makes the file readable by this user alone.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("the path has no folder"))?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::engine;

    fn compiled(engine: &Engine) -> (Digest, Vec<u8>) {
        let component = wat::parse_str("(component)").unwrap();
        (Digest::of(&component), engine.precompile_component(&component).unwrap())
    }

    #[test]
    fn what_was_stored_is_found_and_nothing_else() {
        let (folder, engine) = (tempfile::tempdir().unwrap(), engine(1).unwrap());
        let cache = Cache::open(folder.path(), &engine).unwrap();
        let (digest, artefact) = compiled(&engine);
        assert!(matches!(cache.load(&engine, digest), Lookup::Miss));
        cache.store(digest, &artefact).unwrap();
        for _ in 0..2 {
            assert!(matches!(cache.load(&engine, digest), Lookup::Hit(_)));
        }
        assert!(matches!(cache.load(&engine, Digest::of(b"other")), Lookup::Miss));
    }

    #[test]
    fn every_flipped_byte_is_noticed() {
        let (folder, engine) = (tempfile::tempdir().unwrap(), engine(1).unwrap());
        let (digest, artefact) = compiled(&engine);
        for place in (0..artefact.len()).step_by(artefact.len().div_ceil(64)) {
            let cache = Cache::open(folder.path(), &engine).unwrap();
            cache.store(digest, &artefact).unwrap();
            let path = cache.artefact(digest);
            let mut bytes = fs::read(&path).unwrap();
            bytes[place] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert!(matches!(cache.load(&engine, digest), Lookup::Damaged), "byte {place}");
            assert!(matches!(cache.load(&engine, digest), Lookup::Miss), "a damaged entry is removed");
        }
    }

    #[test]
    fn the_code_of_another_component_is_damage() {
        let (folder, engine) = (tempfile::tempdir().unwrap(), engine(1).unwrap());
        let cache = Cache::open(folder.path(), &engine).unwrap();
        let (digest, artefact) = compiled(&engine);
        let other = Digest::of(b"other");
        cache.store(digest, &artefact).unwrap();
        fs::copy(cache.artefact(digest), cache.artefact(other)).unwrap();
        fs::copy(cache.record(digest), cache.record(other)).unwrap();
        assert!(matches!(cache.load(&engine, other), Lookup::Damaged));
    }

    #[test]
    fn a_file_changed_after_it_was_verified_is_verified_again() {
        let (folder, engine) = (tempfile::tempdir().unwrap(), engine(1).unwrap());
        let cache = Cache::open(folder.path(), &engine).unwrap();
        let (digest, artefact) = compiled(&engine);
        cache.store(digest, &artefact).unwrap();
        assert!(matches!(cache.load(&engine, digest), Lookup::Hit(_)));
        let mut bytes = artefact;
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(cache.artefact(digest), &bytes).unwrap();
        assert!(matches!(cache.load(&engine, digest), Lookup::Damaged));
    }

    #[test]
    fn a_cut_artefact_or_record_is_damage_and_a_missing_record_is_a_miss() {
        let (folder, engine) = (tempfile::tempdir().unwrap(), engine(1).unwrap());
        let cache = Cache::open(folder.path(), &engine).unwrap();
        let (digest, artefact) = compiled(&engine);
        cache.store(digest, &artefact).unwrap();
        fs::write(cache.artefact(digest), &artefact[..artefact.len() / 2]).unwrap();
        assert!(matches!(cache.load(&engine, digest), Lookup::Damaged));
        cache.store(digest, &artefact).unwrap();
        fs::write(cache.record(digest), b"sha256:00").unwrap();
        assert!(matches!(cache.load(&engine, digest), Lookup::Damaged));
        cache.store(digest, &artefact).unwrap();
        fs::remove_file(cache.record(digest)).unwrap();
        assert!(matches!(cache.load(&engine, digest), Lookup::Miss));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_use_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let (folder, engine) = (tempfile::tempdir().unwrap(), engine(1).unwrap());
        let cache = Cache::open(folder.path(), &engine).unwrap();
        fs::set_permissions(&cache.folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Cache::open(folder.path(), &engine).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_could_replace_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let (folder, engine) = (tempfile::tempdir().unwrap(), engine(1).unwrap());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = Cache::open(&folder.path().join("cache"), &engine).unwrap_err();
        assert!(refused.to_string().contains("another user could replace it"), "{refused}");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(Cache::open(&folder.path().join("cache"), &engine).is_ok());
    }
}
