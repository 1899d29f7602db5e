//! The candidates of a run: every name that a native tool or a manifest stands for, before any rule was asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ExposedTool, Implementation, Owner, Removal, Rule, Stage};
use crate::catalog::CatalogEntry;
use crate::diagnostic::Diagnostic;
use crate::host::{NativeRegistration, Snapshot};
use crate::id::{PluginId, ToolName};
use crate::load::Loaded;
use crate::registry::Exposure;

/// A name with its owner; nothing of a plugin's code is known yet.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) name: ToolName,
    pub(super) source: Source,
    /// Optional by its manifest.
    pub(super) optional: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Source {
    Native(NativeRegistration),
    Plugin(Arc<CatalogEntry>),
}

impl Candidate {
    pub(super) fn owner(&self) -> Owner {
        match &self.source {
            Source::Native(_) => Owner::Core,
            Source::Plugin(entry) => Owner::Plugin(entry.manifest.id.clone()),
        }
    }
}

/// Native tools, then every declared tool of every plugin.
pub(super) fn candidates(snapshot: &Snapshot) -> Vec<Candidate> {
    let native = snapshot.natives.iter().map(|native| Candidate {
        name: native.tool.name.clone(),
        source: Source::Native(native.clone()),
        optional: false,
    });
    let declared = snapshot.catalogue.entries().iter().flat_map(|entry| {
        entry.manifest.contracts.tools.iter().map(|name| Candidate {
            name: name.clone(),
            source: Source::Plugin(Arc::clone(entry)),
            optional: entry.manifest.metadata(name).optional,
        })
    });
    native.chain(declared).collect()
}

/// Surviving names become tools, now that their owners are loaded; a registration may still make one optional.
pub(super) fn materialise(
    surviving: Vec<Candidate>,
    owners: &BTreeMap<PluginId, Arc<Loaded>>,
    failures: &BTreeMap<PluginId, Diagnostic>,
    removed: &mut Vec<Removal>,
) -> Vec<ExposedTool> {
    let mut exposed = Vec::new();
    for candidate in surviving {
        let owner = candidate.owner();
        let entry = match candidate.source {
            Source::Native(native) => {
                exposed.push(ExposedTool {
                    tool: native.tool,
                    owner,
                    origin: None,
                    optional: false,
                    fingerprint: None,
                    implementation: Implementation::Native(native.implementation),
                });
                continue;
            }
            Source::Plugin(entry) => entry,
        };
        if let Some(failure) = failures.get(&entry.manifest.id) {
            removed.push(Removal::because(candidate.name, owner, Stage::Enablement, failure));
            continue;
        }
        let Some(loaded) = owners.get(&entry.manifest.id) else { continue };
        if let Some(registered) = loaded.tool(&candidate.name) {
            if registered.exposure == Exposure::Optional {
                removed.push(super::narrow::not_opted_in(candidate.name, owner, "registration"));
                continue;
            }
            exposed.push(ExposedTool {
                tool: Arc::clone(&registered.tool),
                owner,
                origin: Some(entry.origin),
                optional: candidate.optional,
                fingerprint: Some(entry.fingerprint),
                implementation: Implementation::Guest(Arc::clone(&loaded.plugin), loaded.limits),
            });
        } else if loaded.registration.factories.iter().any(|factory| factory.names.contains(&candidate.name))
        {
            let reason = format!("`{}` comes from a factory, and this host runs none", candidate.name);
            let rule =
                Rule { layer: Stage::Factory.to_string(), rule: "no factories".to_owned(), location: None };
            removed.push(Removal {
                name: candidate.name,
                plugin: owner,
                stage: Stage::Factory,
                rules: vec![rule],
                reason,
            });
        }
        // A declared name that nothing registered is not a tool: its diagnostic says so.
    }
    exposed
}
