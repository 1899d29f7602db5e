//! The rules that need no plugin code: each takes candidates and gives back those that survive, recording the others.

use super::pool::{Candidate, Source};
use super::{Owner, Removal, Rule, Stage};
use crate::catalog::Catalogue;
use crate::id::ToolName;

/// Removes tools of refused plugins.
pub(super) fn enabled(candidates: Vec<Candidate>, removed: &mut Vec<Removal>) -> Vec<Candidate> {
    keep(candidates, removed, |candidate| {
        let Source::Plugin(entry) = &candidate.source else { return None };
        let refusal = entry.refusal.as_ref()?;
        Some(Removal::because(candidate.name.clone(), candidate.owner(), Stage::Enablement, refusal))
    })
}

/// Removes names that another owner has.
pub(super) fn uncontested(
    candidates: Vec<Candidate>,
    catalogue: &Catalogue,
    removed: &mut Vec<Removal>,
) -> Vec<Candidate> {
    keep(candidates, removed, |candidate| {
        let Source::Plugin(entry) = &candidate.source else { return None };
        let conflict = catalogue.conflict(&entry.manifest.id, &candidate.name)?;
        Some(Removal::because(
            candidate.name.clone(),
            candidate.owner(),
            Stage::Conflict,
            &conflict.diagnostic,
        ))
    })
}

/// Removes tools that their manifest makes optional.
pub(super) fn opted_in(candidates: Vec<Candidate>, removed: &mut Vec<Removal>) -> Vec<Candidate> {
    keep(candidates, removed, |candidate| {
        candidate.optional.then(|| not_opted_in(candidate.name.clone(), candidate.owner(), "manifest"))
    })
}

/// The removal of an optional tool that no entry of an operator's layer names.
pub(super) fn not_opted_in(name: ToolName, owner: Owner, made_optional_by: &str) -> Removal {
    let reason = format!("`{name}` is optional, and no allow entry names it");
    let rule = Rule {
        layer: Stage::Optional.to_string(),
        rule: format!("optional by its {made_optional_by}"),
        location: None,
    };
    Removal { name, plugin: owner, stage: Stage::Optional, rules: vec![rule], reason }
}

fn keep(
    candidates: Vec<Candidate>,
    removed: &mut Vec<Removal>,
    removal: impl Fn(&Candidate) -> Option<Removal>,
) -> Vec<Candidate> {
    let judged = candidates.into_iter().map(|candidate| (removal(&candidate), candidate));
    let mut surviving = Vec::new();
    for (removal, candidate) in judged {
        match removal {
            Some(removal) => removed.push(removal),
            None => surviving.push(candidate),
        }
    }
    surviving
}
