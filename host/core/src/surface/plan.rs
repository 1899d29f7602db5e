//! Which plugins a run needs, and why: names and configuration enter, no plugin code runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Candidate, Source};
use crate::catalog::CatalogEntry;
use crate::hooks::{HookName, granted_hooks};
use crate::host::Snapshot;
use crate::id::{PluginId, ToolName};
use crate::run::RunContext;

/// One reason to load a plugin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadReason {
    /// It owns a tool that survived so far.
    Tool(ToolName),
    /// It handles a hook over others that the operator granted.
    Hook(HookName),
    /// Its manifest asks to be loaded at once.
    Startup,
    /// Its manifest asks for runs of this channel.
    Channel(String),
    /// Its manifest asks for runs of this model provider.
    Provider(String),
}

impl fmt::Display for LoadReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(formatter, "it owns the tool `{name}`"),
            Self::Hook(hook) => write!(formatter, "it handles `{hook}` by the operator's grant"),
            Self::Startup => formatter.write_str("its activation says: on startup"),
            Self::Channel(channel) => write!(formatter, "its activation says: on the channel `{channel}`"),
            Self::Provider(provider) => {
                write!(formatter, "its activation says: with the provider `{provider}`")
            }
        }
    }
}

/// The plugins to load, each with every reason.
pub(super) type Plan = BTreeMap<PluginId, (Arc<CatalogEntry>, Vec<LoadReason>)>;

pub(super) fn plan(snapshot: &Snapshot, run: &RunContext, surviving: &[Arc<Candidate>]) -> Plan {
    let mut plan = Plan::new();
    let mut need = |entry: &Arc<CatalogEntry>, reason: LoadReason| {
        let planned =
            plan.entry(entry.manifest.id.clone()).or_insert_with(|| (Arc::clone(entry), Vec::new()));
        planned.1.push(reason);
    };
    for candidate in surviving {
        if let Source::Plugin(entry) = &candidate.source {
            need(entry, LoadReason::Tool(candidate.name.clone()));
        }
    }
    let channel = run.channel.as_ref().map(|channel| &channel.name);
    let provider = run.model.as_ref().map(|model| &model.provider);
    let names = |names: &[String], name: &String| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let usable = |entry: &&Arc<CatalogEntry>| entry.refusal().is_none() && entry.manifest.code.is_some();
    for entry in snapshot.catalogue.entries().iter().filter(usable) {
        for granted in granted_hooks(&snapshot.config, entry) {
            need(entry, LoadReason::Hook(granted.hook));
        }
        let activation = &entry.manifest.activation;
        if activation.on_startup {
            need(entry, LoadReason::Startup);
        }
        if let Some(channel) = channel.filter(|channel| names(&activation.on_channels, channel)) {
            need(entry, LoadReason::Channel(channel.clone()));
        }
        if let Some(provider) = provider.filter(|provider| names(&activation.on_providers, provider)) {
            need(entry, LoadReason::Provider(provider.clone()));
        }
    }
    for (_, reasons) in plan.values_mut() {
        reasons.sort();
    }
    plan
}
