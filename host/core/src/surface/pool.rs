//! Candidates: every name that a native tool or a manifest stands for, before any rule was asked. Made once a snapshot.

use std::collections::HashSet;
use std::sync::Arc;

use super::Owner;
use crate::catalog::{CatalogEntry, Catalogue};
use crate::diagnostic::{Code, Location};
use crate::discover::Origin;
use crate::host::NativeRegistration;
use crate::id::{PluginId, ToolName};
use crate::manifest::ToolMetadata;

/// A name with its owner and what its author says about it; nothing of a plugin's code is known yet.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) name: ToolName,
    pub(crate) owner: Owner,
    pub(crate) metadata: ToolMetadata,
    pub(crate) source: Source,
}

impl Candidate {
    /// Where its plugin comes from; none for a native tool.
    pub(crate) fn origin(&self) -> Option<Origin> {
        match &self.source {
            Source::Native(_) => None,
            Source::Plugin(entry) => Some(entry.origin),
        }
    }

    /// Where the manifest says `field` about the tool; a native tool has none.
    pub(crate) fn marked_at(&self, field: &str) -> Option<Location> {
        match &self.source {
            Source::Native(_) => None,
            Source::Plugin(entry) => Some(entry.metadata_location(&self.name, field)),
        }
    }
}

/// Where a candidate comes from.
#[derive(Debug)]
pub(crate) enum Source {
    Native(Arc<NativeRegistration>),
    Plugin(Arc<CatalogEntry>),
}

/// Native tools, then every declared tool of every plugin.
pub(crate) fn candidates(natives: &[Arc<NativeRegistration>], catalogue: &Catalogue) -> Vec<Arc<Candidate>> {
    let native = natives.iter().map(|native| Candidate {
        name: native.tool.name.clone(),
        owner: Owner::Core,
        metadata: native.metadata.clone(),
        source: Source::Native(Arc::clone(native)),
    });
    // A copy that another one shadows is no second tool, unless it alone declares the name.
    let is_shadowed =
        |entry: &CatalogEntry| entry.refusals.iter().any(|why| why.code == Code::PluginShadowed);
    let used = catalogue.entries().iter().filter(|entry| !is_shadowed(entry));
    let known: HashSet<(&PluginId, &ToolName)> = used
        .flat_map(|entry| entry.manifest.contracts.tools.iter().map(|name| (&entry.manifest.id, name)))
        .collect();
    let declared = catalogue
        .entries()
        .iter()
        .flat_map(|entry| entry.manifest.contracts.tools.iter().map(move |name| (entry, name)))
        .filter(|(entry, name)| !is_shadowed(entry) || !known.contains(&(&entry.manifest.id, *name)))
        .map(|(entry, name)| Candidate {
            name: name.clone(),
            owner: Owner::Plugin(entry.manifest.id.clone()),
            metadata: entry.manifest.metadata(name),
            source: Source::Plugin(Arc::clone(entry)),
        });
    native.chain(declared).map(Arc::new).collect()
}
