//! Which plugins a run needs, and why: names and configuration enter, no plugin code runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Candidate, Source};
use crate::catalog::{CatalogEntry, disabled};
use crate::config::{Config, OnFailure};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::discover::Origin;
use crate::hooks::HookName;
use crate::host::Snapshot;
use crate::id::{PluginId, ToolName};
use crate::load::Loaded;
use crate::manifest::HookContract;
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

/// The hooks over others that a plugin declares *and* the operator grants, each for the tools that both name.
fn granted_hooks(config: &Config, entry: &CatalogEntry) -> Vec<HookContract> {
    let Some(written) = config.entry(&entry.manifest.id, entry.origin) else { return Vec::new() };
    let mut effective = Vec::new();
    for declared in &entry.manifest.contracts.hooks {
        for granted in written.grants.hooks.iter().filter(|granted| granted.hook == declared.hook) {
            let tools = match (declared.tools.is_empty(), granted.tools.is_empty()) {
                (true, _) => granted.tools.clone(),
                (false, true) => declared.tools.clone(),
                (false, false) => {
                    declared.tools.iter().filter(|tool| granted.tools.contains(tool)).cloned().collect()
                }
            };
            let is_nothing = tools.is_empty() && !declared.tools.is_empty() && !granted.tools.is_empty();
            if !is_nothing {
                effective.push(HookContract { hook: declared.hook, tools });
            }
        }
    }
    effective
}

/// A guard that is not there: what it covers takes the hook's failure action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingGuard {
    pub(crate) plugin: PluginId,
    /// The hook, and the tools that it is about; none means all.
    pub(crate) covers: HookContract,
    pub(crate) reason: String,
    /// Where the operator made it a guard.
    location: Option<Location>,
}

impl MissingGuard {
    pub(crate) fn covers(&self, hook: HookName, tool: &str) -> bool {
        let tools = &self.covers.tools;
        self.covers.hook == hook && (tools.is_empty() || tools.iter().any(|covered| covered.as_str() == tool))
    }

    pub(super) fn diagnostic(&self) -> Diagnostic {
        let tools = self.covers.tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ");
        let what = if tools.is_empty() { "everything".to_owned() } else { tools };
        let message =
            format!("`{}` guards {what} with `{}`, and {}", self.plugin, self.covers.hook, self.reason);
        let hint = "mend the plugin, or set `on-load-failure = \"ignore\"` in its entry to go on without it";
        Diagnostic::new(Code::GuardMissing, &self.plugin, message, hint).at(self.location.clone())
    }
}

/// Guards that are not installed, could not be loaded, or were loaded and did not register what they were granted. Asked
/// of the configuration and not of what is installed: a guard that somebody removed is missing too.
pub(super) fn missing_guards(
    snapshot: &Snapshot,
    owners: &BTreeMap<PluginId, Arc<Loaded>>,
    failures: &BTreeMap<PluginId, Diagnostic>,
) -> Vec<MissingGuard> {
    let mut missing = Vec::new();
    for (id, written) in &snapshot.config.file().plugins.entries {
        if written.on_load_failure == OnFailure::Ignore {
            continue;
        }
        let guards = |covers: &HookContract| covers.hook.is_fail_closed();
        let mut lacks = |covers: HookContract, reason: String| {
            let location = snapshot.config.location(&["plugins", "entries", id.as_str(), "grants"]);
            missing.push(MissingGuard { plugin: id.clone(), covers, reason, location });
        };
        let copies =
            snapshot.catalogue.entries().iter().filter(|entry| {
                entry.manifest.id == *id && snapshot.config.entry(id, entry.origin).is_some()
            });
        // Of several copies the one that is used counts.
        match copies.min_by_key(|entry| entry.refusal().is_some()) {
            // Whoever switched it off did not want it to guard, installed or not.
            None if !disabled(&snapshot.config, id, written.origin.unwrap_or(Origin::User)).is_empty() => {}
            None => {
                for covers in written.grants.hooks.iter().filter(|covers| guards(covers)) {
                    lacks(covers.clone(), "is not installed, or its manifest cannot be read".to_owned());
                }
            }
            Some(entry) if entry.refusal().is_some_and(|refusal| refusal.code == Code::PluginDisabled) => {}
            Some(entry) => {
                let failure = entry.refusal().or_else(|| failures.get(id));
                for covers in granted_hooks(&snapshot.config, entry).into_iter().filter(guards) {
                    let is_registered = |loaded: &Arc<Loaded>| {
                        loaded.registration.handlers.iter().any(|handler| handler.hook == covers.hook)
                    };
                    match (failure, owners.get(id)) {
                        (Some(failure), _) => {
                            lacks(covers, format!("could not be loaded: {}", failure.message));
                        }
                        (None, Some(loaded)) if is_registered(loaded) => {}
                        (None, Some(_)) => lacks(covers, "did not register that hook".to_owned()),
                        (None, None) => lacks(covers, "could not be loaded".to_owned()),
                    }
                }
            }
        }
    }
    missing
}
