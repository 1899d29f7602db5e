//! Who stands guard in one snapshot: grants and loaded plugins enter, handlers in dispatch order leave, and the guards that
//! are not there. A call asks the snapshot in force, so that what a reload grants or takes away holds for older surfaces too.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use futures_util::future::join_all;

use super::HookName;
use super::handlers::{self, Handler, HandlerOwner, Handlers};
use crate::catalog::{CatalogEntry, disabled};
use crate::config::{Config, OnFailure};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::discover::Origin;
use crate::host::Snapshot;
use crate::id::PluginId;
use crate::load::Loaded;
use crate::manifest::HookContract;
use crate::search::Control;
use crate::text;

/// Everything that watches over more than its own plugin's tools.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    /// The embedder's handlers, and those of plugins that an operator granted.
    pub(crate) handlers: Handlers,
    pub(crate) missing: Vec<MissingGuard>,
    /// Handlers that are about tools that nothing has.
    pub(crate) strays: Vec<Diagnostic>,
}

/// How many findings about one plugin's handlers are kept.
const MAX_STRAYS: usize = 16;

impl Guards {
    /// Guards from what is loaded; `owners` and `failures` must hold every plugin with a granted hook.
    pub(crate) fn new(
        snapshot: &Snapshot,
        owners: &BTreeMap<PluginId, Arc<Loaded>>,
        failures: &BTreeMap<PluginId, Diagnostic>,
    ) -> Self {
        let config = &snapshot.config;
        let mut all: Vec<Handler> = handlers::native(&snapshot.hooks, config);
        for entry in snapshot.catalogue.entries().iter().filter(|entry| entry.refusal().is_none()) {
            let granted = granted_hooks(config, entry);
            if let Some(loaded) = owners.get(&entry.manifest.id).filter(|_| !granted.is_empty()) {
                all.extend(handlers::granted(entry, loaded, config, &granted));
            }
        }
        let missing = missing_guards(snapshot, owners, failures);
        Self { handlers: Handlers::new(all), missing, strays: strays(snapshot, owners) }
    }

    /// What a failing handler of `before-prompt-build` does, by its plugin's entry.
    pub(crate) fn on_failure(&self, snapshot: &Snapshot, handler: &Handler) -> OnFailure {
        let HandlerOwner::Plugin(id) = &handler.owner else { return OnFailure::Refuse };
        let used = snapshot.catalogue.entries().iter();
        let used = used.filter(|entry| entry.manifest.id == *id && entry.refusal().is_none());
        let written = used.filter_map(|entry| snapshot.config.entry(id, entry.origin));
        written.map(|entry| entry.on_hook_failure).next().unwrap_or_default()
    }

    /// The guard of `hook` over `tool` that is not there, if there is one.
    pub(crate) fn missing(&self, hook: HookName, tool: Option<&str>) -> Option<&MissingGuard> {
        self.missing.iter().find(|guard| guard.covers(hook, tool))
    }
}

impl Snapshot {
    /// The guards as they were last seen; loads them if nobody has looked yet.
    pub(crate) async fn guards(&self) -> Arc<Guards> {
        if let Some(known) = self.known_guards() {
            return known;
        }
        let usable = self.catalogue.entries().iter().filter(|entry| {
            entry.refusal().is_none()
                && entry.manifest.code.is_some()
                && !granted_hooks(&self.config, entry).is_empty()
        });
        let loading =
            usable.map(|entry| async move { (entry.manifest.id.clone(), self.loader.load(entry).await) });
        let (mut owners, mut failures) = (BTreeMap::new(), BTreeMap::new());
        for (id, result) in join_all(loading).await {
            match result {
                Ok(loaded) => drop(owners.insert(id, loaded)),
                Err(diagnostic) => drop(failures.insert(id, diagnostic)),
            }
        }
        self.learn_guards(Guards::new(self, &owners, &failures))
    }
}

/// The hooks over others that a plugin declares *and* the operator grants, each for the tools that both name.
pub(crate) fn granted_hooks(config: &Config, entry: &CatalogEntry) -> Vec<HookContract> {
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
    /// Whether it would watch that tool, or an event that is about none.
    fn covers(&self, hook: HookName, tool: Option<&str>) -> bool {
        let tools = &self.covers.tools;
        let is_about = |tool: &str| tools.iter().any(|covered| covered.as_str() == tool);
        self.covers.hook == hook && (tools.is_empty() || tool.is_none_or(is_about))
    }

    pub(crate) fn diagnostic(&self) -> Diagnostic {
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
fn missing_guards(
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

/// Tools that a handler is about and nothing has: a slip, or a plugin that is not installed.
fn strays(snapshot: &Snapshot, owners: &BTreeMap<PluginId, Arc<Loaded>>) -> Vec<Diagnostic> {
    let known = snapshot.candidates.iter().map(|candidate| candidate.name.as_str());
    let known: HashSet<&str> = known.chain(Control::ALL.map(Control::as_str)).collect();
    let mut findings = Vec::new();
    for (id, loaded) in owners {
        let handlers = loaded.registration.handlers.iter();
        let named =
            handlers.flat_map(|handler| handler.options.tools.iter().map(move |tool| (handler.hook, tool)));
        for (hook, tool) in named.filter(|(_, tool)| !known.contains(tool.as_str())).take(MAX_STRAYS) {
            let meant = text::suggest(tool, known.iter().copied());
            let hint = meant.map_or_else(
                || "install the plugin that has it, or take it out of the handler's tools".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            );
            let message = format!("a `{hook}` handler of `{id}` is about `{tool}`, which nothing has");
            findings.push(Diagnostic::new(Code::HookUnmatched, id, message, hint));
        }
    }
    findings
}
