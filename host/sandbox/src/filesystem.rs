//! Granted folders: a guest that asks for its folders enters; those that manifest and operator both want leave, as open
//! descriptors below which Wasmtime's own file system resolves every path. It never opens what could block for ever.

use std::path::Path;

use airlock_core::{FileAccess, FilesystemCapability, Reached};
use cap_std::ambient_authority;
use cap_std::fs::Dir as Folder;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemView as _};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, DirectoryEntryStream, ErrorCode, HostDescriptor as _, OpenFlags,
    PathFlags,
};
use wasmtime_wasi::{FsPerms, OpenMode, runtime};

use crate::state::State;

/// The only folder that there is so far, by its name in manifests and grants: the workspace of the run.
const WORKSPACE: &str = "workspace";

/// Where a guest finds it.
const WORKSPACE_PATH: &str = "/workspace";

/// Entries of a folder that a guest may list: a listing is read as a whole, at a hundred bytes an entry or more.
const MAX_ENTRIES: usize = 100_000;

/// The interfaces some of whose functions are replaced here, exactly as Wasmtime's own file system names them.
const PREOPENS: &str = "wasi:filesystem/preopens@0.2.12";
const TYPES: &str = "wasi:filesystem/types@0.2.12";

type Opening = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);

/// Replaces what Wasmtime's own file system cannot decide or bound; all the rest of it stays.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.instance(PREOPENS)?.func_wrap_async(
        "get-directories",
        |mut store: StoreContextMut<'_, State>, (): ()| {
            Box::new(async move { Ok((folders(store.data_mut()).await?,)) })
        },
    )?;
    let mut types = linker.instance(TYPES)?;
    types.func_wrap_async(
        "[method]descriptor.open-at",
        |mut store: StoreContextMut<'_, State>, opening: Opening| {
            Box::new(async move { Ok((answer(open(store.data_mut(), opening).await)?,)) })
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.read-directory",
        |mut store: StoreContextMut<'_, State>, (folder,): (Resource<Descriptor>,)| {
            Box::new(async move { Ok((answer(list(store.data_mut(), folder).await)?,)) })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// What a guest is told of a failure; one that is the guest's own fault ends it.
fn answer<T>(result: FsResult<T>) -> wasmtime::Result<Result<T, ErrorCode>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}

/// The folders of an instance, and a note on the receipt of each that was asked for.
async fn folders(state: &mut State) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
    state.count_host_call();
    let Some(access) = &state.access else { return Ok(Vec::new()) };
    let capability = access.capabilities.filesystem.clone();
    let workspace = state.run.as_ref().and_then(|run| run.workspace.clone());
    let mut folders = Vec::new();
    for name in capability.asked() {
        let (access, found) = match allowed(&capability, name) {
            Ok(access) => (access, open_folder(name, workspace.clone()).await),
            Err(refusal) => (FileAccess::Read, Err(refusal)),
        };
        let reason = match found {
            Ok(folder) => {
                let folder = state.table.push(Descriptor::Dir(descriptor(folder, access)))?;
                folders.push((folder, WORKSPACE_PATH.to_owned()));
                None
            }
            Err(reason) => Some(reason),
        };
        if !state.are_folders_noted {
            let word = if access == FileAccess::Write { "write" } else { "read" };
            let reached = Reached::new(capability.plugin(), "filesystem", &format!("{word} `{name}`"));
            let reached = match &reason {
                Some(reason) => reached.refused(reason),
                None => reached,
            };
            state.meter.traces.lock().reached.push(reached);
        }
    }
    state.are_folders_noted = true;
    Ok(folders)
}

/// The most that may be done in a folder, or who does not want it.
fn allowed(capability: &FilesystemCapability, name: &str) -> Result<FileAccess, String> {
    if capability.allows(name, FileAccess::Write).is_ok() {
        return Ok(FileAccess::Write);
    }
    capability
        .allows(name, FileAccess::Read)
        .map(|()| FileAccess::Read)
        .map_err(|refusal| refusal.to_string())
}

/// Opens a folder by its name, on a thread that may block.
async fn open_folder(name: &str, workspace: Option<String>) -> Result<Folder, String> {
    // Manifests and grants with another name are refused when they are read.
    if name != WORKSPACE {
        return Err("there is no folder of that name; `workspace` is the only one".to_owned());
    }
    let Some(workspace) = workspace else {
        return Err("the run has no workspace".to_owned());
    };
    if !Path::new(&workspace).is_absolute() {
        return Err("the run's workspace is no absolute path; who starts the run must name one".to_owned());
    }
    let opened = runtime::spawn_blocking(move || Folder::open_ambient_dir(workspace, ambient_authority()));
    opened.await.map_err(|error| format!("the run's workspace cannot be opened: {error}"))
}

fn descriptor(folder: Folder, access: FileAccess) -> Dir {
    let (permissions, mode) = match access {
        FileAccess::Write => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
        FileAccess::Read => (FsPerms::ReadOnly, OpenMode::READ),
    };
    // Work that blocks must not keep a thread that other guests need.
    Dir::new(folder.into_std_file(), permissions, mode, false)
}

/// Opens a file or a folder, and nothing else: opening a pipe or a device can block for ever, with a thread that no
/// deadline gives back.
async fn open(state: &mut State, opening: Opening) -> FsResult<Resource<Descriptor>> {
    let (folder, follow, path, how, flags) = opening;
    let mut files = state.filesystem();
    // What is not there yet is made as a file.
    if let Ok(found) = files.stat_at(borrowed(&folder), follow, path.clone()).await
        && !matches!(
            found.type_,
            DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink
        )
    {
        return Err(ErrorCode::NotPermitted.into());
    }
    files.open_at(folder, follow, path, how, flags).await
}

/// Lists a folder that is not too large to be listed.
async fn list(state: &mut State, folder: Resource<Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
    if let Descriptor::Dir(listed) = state.table.get(&folder)? {
        let listed = Folder::from_std_file(listed.dir.try_clone()?);
        let counted = runtime::spawn_blocking(move || {
            listed.entries().map(|entries| entries.take(MAX_ENTRIES + 1).count())
        });
        if counted.await? > MAX_ENTRIES {
            return Err(ErrorCode::InsufficientMemory.into());
        }
    }
    state.filesystem().read_directory(folder).await
}

/// The same handle once more: a function that only borrows one takes it as its own.
fn borrowed(handle: &Resource<Descriptor>) -> Resource<Descriptor> {
    Resource::new_borrow(handle.rep())
}
