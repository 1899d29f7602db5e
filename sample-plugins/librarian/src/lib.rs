//! Paths below the run's workspace enter, names and texts of files leave. It reads with the standard library alone: a
//! granted folder is `/workspace`, and nothing else is there. It never writes.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;

use airlock_plugin::prelude::*;

/// Where the host puts the run's workspace.
const WORKSPACE: &str = "/workspace";

/// Most of a text that is read, in bytes: what a model reads at once.
const MAX_TEXT_BYTES: u64 = 64 << 10;

#[arguments]
struct Shelf {
    /// A folder of the workspace, such as `docs`; the workspace itself by default.
    path: Option<PathBuf>,
}

#[arguments]
struct Book {
    /// A file of the workspace, such as `docs/plan.md`.
    path: PathBuf,
}

/// Lists a folder of the workspace.
#[tool(title = "List a shelf")]
fn shelf_list(shelf: Shelf) -> Result<String, ToolError> {
    let place = below(shelf.path.as_deref().unwrap_or(Path::new("")));
    let entries = fs::read_dir(&place).map_err(|error| unreadable(&place, &error))?;
    let mut lines = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(&place, &error))?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        lines.push(format!("{}{}", entry.file_name().to_string_lossy(), if is_folder { "/" } else { "" }));
    }
    lines.sort();
    Ok(if lines.is_empty() { "nothing is there".to_owned() } else { lines.join("\n") })
}

/// Reads the beginning of a text in the workspace, 64 KiB at most.
#[tool(title = "Read a book")]
fn shelf_read(book: Book) -> Result<String, ToolError> {
    let place = below(&book.path);
    let mut bytes = Vec::new();
    fs::File::open(&place)
        .and_then(|file| file.take(MAX_TEXT_BYTES).read_to_end(&mut bytes))
        .map_err(|error| unreadable(&place, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

plugin!(tools: [shelf_list, shelf_read]);

fn below(path: &Path) -> PathBuf {
    Path::new(WORKSPACE).join(path)
}

fn unreadable(place: &Path, error: &std::io::Error) -> ToolError {
    ToolError::failed(format_args!("{} cannot be read: {error}", place.display()))
}

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn what_is_not_there_is_said() {
        let error = testing::call::<shelf_read>(json!({ "path": "no/such.md" })).unwrap_err();
        assert!(format!("{error:?}").contains("/workspace/no/such.md cannot be read"));
    }
}
