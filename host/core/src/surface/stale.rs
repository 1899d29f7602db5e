//! Calls through a surface that is older than the configuration: the new snapshot is asked again, and can only forbid.

use super::narrow::Rules;
use super::{Cause, ExposedTool, Implementation, Owner, deferral};
use crate::policy::Words;

/// Why the tool may no longer be called, by the snapshot that is in force; `None` if it still may.
pub(super) fn staleness(exposed: &ExposedTool, rules: &Rules<'_>) -> Option<String> {
    let (name, current) = (&exposed.tool.name, rules.snapshot);
    if let Implementation::Control(_) = exposed.implementation {
        return deferral::refusal(rules).map(|cause| cause.reason);
    }
    if let Owner::Plugin(id) = &exposed.owner {
        // Of several copies the one that is used counts.
        let copies = current.catalogue.entries().iter().filter(|entry| entry.manifest.id == *id);
        let Some(entry) = copies.min_by_key(|entry| entry.refusal().is_some()) else {
            return Some(format!("`{id}` is no longer installed"));
        };
        if entry.refusal().is_none() && Some(entry.fingerprint) != exposed.fingerprint {
            return Some(format!("`{id}` has changed"));
        }
    }
    let candidates = current
        .candidates
        .iter()
        .filter(|candidate| candidate.name == *name && candidate.owner == exposed.owner);
    let mut judged: Vec<Vec<Cause>> = candidates
        .map(|candidate| {
            let mut causes = rules.causes(candidate, Words::OfFirst);
            // What its registration alone made optional is not in the manifest.
            if causes.is_empty() && exposed.optional {
                causes.extend(rules.opted_in(candidate, "registration"));
            }
            causes
        })
        .collect();
    if judged.is_empty() {
        return Some(format!("`{}` no longer declares `{name}`", exposed.owner));
    }
    if judged.iter().any(Vec::is_empty) {
        return None;
    }
    judged.pop().and_then(|causes| causes.into_iter().next()).map(|cause| cause.reason)
}
