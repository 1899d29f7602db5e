//! The rules that need no plugin code: each takes candidates and gives back those that survive, recording the others.

use serde_json::Value;

use super::pool::{Candidate, Source};
use super::{Owner, Removal, Rule, Stage};
use crate::catalog::Catalogue;
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::host::Snapshot;
use crate::id::ToolName;
use crate::manifest::{JsonPointer, MANIFEST_FILE};
use crate::run::RunContext;

/// Every rule about names, in order.
pub(super) fn names(
    candidates: Vec<Candidate>,
    snapshot: &Snapshot,
    run: &RunContext,
    removed: &mut Vec<Removal>,
) -> Vec<Candidate> {
    let candidates = enabled(candidates, removed);
    let candidates = available(candidates, &snapshot.config, run, removed);
    let candidates = opted_in(candidates, removed);
    uncontested(candidates, &snapshot.catalogue, removed)
}

/// Removes tools that need a provider or a setting and have none of those that would do.
fn available(
    candidates: Vec<Candidate>,
    config: &Config,
    run: &RunContext,
    removed: &mut Vec<Removal>,
) -> Vec<Candidate> {
    let file = config.file();
    let is_authenticated = |provider: &String| {
        let listed = file.providers.authenticated.iter().chain(&run.authenticated_providers);
        listed.into_iter().any(|known| known == provider) || file.secrets.contains_key(provider)
    };
    keep(candidates, removed, |candidate| {
        let Source::Plugin(entry) = &candidate.source else { return None };
        let metadata = entry.manifest.metadata(&candidate.name);
        let (providers, signals) = (&metadata.auth_providers, &metadata.config_signals);
        let is_set = |pointer: &JsonPointer| match entry.configuration.pointer(pointer.as_str()) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.trim().is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(Value::Object(members)) => !members.is_empty(),
            Some(_) => true,
        };
        let needs_nothing = providers.is_empty() && signals.is_empty();
        if needs_nothing || providers.iter().any(is_authenticated) || signals.iter().any(is_set) {
            return None;
        }
        let providers = providers.iter().map(|provider| format!("the provider `{provider}`"));
        let signals = signals.iter().map(|signal| format!("the setting `{}`", signal.as_str()));
        let wanted = providers.chain(signals).collect::<Vec<_>>().join(" or ");
        let message = format!("`{}` needs {wanted}, and there is none", candidate.name);
        let hint = "authenticate the provider (`providers.authenticated`), or configure the plugin";
        let location = Location::path(entry.folder.join(MANIFEST_FILE));
        let finding = Diagnostic::new(Code::ToolUnavailable, &candidate.name, message, hint).at(location);
        Some(Removal::because(candidate.name.clone(), candidate.owner(), Stage::Availability, &finding))
    })
}

/// Removes tools of refused plugins.
fn enabled(candidates: Vec<Candidate>, removed: &mut Vec<Removal>) -> Vec<Candidate> {
    keep(candidates, removed, |candidate| {
        let Source::Plugin(entry) = &candidate.source else { return None };
        let refusal = entry.refusal.as_ref()?;
        Some(Removal::because(candidate.name.clone(), candidate.owner(), Stage::Enablement, refusal))
    })
}

/// Removes names that another owner has.
fn uncontested(
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
fn opted_in(candidates: Vec<Candidate>, removed: &mut Vec<Removal>) -> Vec<Candidate> {
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
