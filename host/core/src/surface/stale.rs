//! Calls through a surface that is older than the configuration: the new snapshot is asked again, and can only forbid.

use super::{ExposedTool, Owner, narrow, pool};
use crate::host::Snapshot;
use crate::run::RunContext;

/// Why the tool may no longer be called, by the snapshot that is in force; `None` if it still may.
pub(super) fn staleness(exposed: &ExposedTool, run: &RunContext, current: &Snapshot) -> Option<String> {
    let Owner::Plugin(id) = &exposed.owner else { return None };
    let name = &exposed.tool.name;
    // Of several copies the one that is used counts.
    let copies = current.catalogue.entries().iter().filter(|entry| entry.manifest.id == *id);
    let Some(entry) = copies.min_by_key(|entry| entry.refusal.is_some()) else {
        return Some(format!("`{id}` is no longer installed"));
    };
    if entry.refusal.is_none() && Some(entry.fingerprint) != exposed.fingerprint {
        return Some(format!("`{id}` has changed"));
    }
    let mut removed = Vec::new();
    let candidates = pool::candidates(current)
        .into_iter()
        .filter(|candidate| candidate.name == *name && candidate.owner() == exposed.owner);
    let surviving = narrow::names(candidates.collect(), current, run, &mut removed);
    match (surviving.is_empty(), removed.pop()) {
        (true, Some(removal)) => Some(removal.reason),
        (true, None) => Some(format!("`{id}` no longer declares `{name}`")),
        (false, _) => None,
    }
}
