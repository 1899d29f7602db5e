//! Who is called when: registrations and grants enter, handlers in dispatch order leave. A plugin's tool hooks see its own
//! tools; what else it sees, an operator granted.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::{Guards, HookEvent, HookName, HookOptions, HookOutcome};
use crate::audit::Party;
use crate::catalog::CatalogEntry;
use crate::config::{Config, PluginEntry};
use crate::host::{PluginStatus, Snapshot};
use crate::id::{Digest, PluginId};
use crate::limits::Limits;
use crate::load::Loaded;
use crate::manifest::HookContract;
use crate::plugin::Plugin;
use crate::registry::RegisteredHandler;
use crate::run::RunContext;

/// A handler that is the embedder's own code.
pub trait NativeHook: Send + Sync + fmt::Debug {
    /// Its name, for trails and diagnostics.
    fn name(&self) -> &str;

    /// Which hook it handles; read once, when the host is built.
    fn hook(&self) -> HookName;

    /// What it asks for; read once, when the host is built.
    fn options(&self) -> HookOptions {
        HookOptions::default()
    }

    /// Handles one event. `run` is absent for events that belong to no run. Dropping the future stops it.
    fn handle(
        &self,
        event: HookEvent,
        run: Option<Arc<RunContext>>,
    ) -> BoxFuture<'_, Result<HookOutcome, String>>;
}

/// Whose handler it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HandlerOwner {
    /// The embedder's, by name. Natives come before plugins.
    Native(String),
    Plugin(PluginId),
}

impl fmt::Display for HandlerOwner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Native(name) => name,
            Self::Plugin(id) => id.as_str(),
        })
    }
}

/// One handler of one hook.
#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) hook: HookName,
    pub(crate) owner: HandlerOwner,
    /// The plugin's own number for it; of a native one its place.
    pub(crate) number: u32,
    pub(crate) priority: i32,
    pub(crate) timeout: Duration,
    /// Whether an operator granted it, so that it sees more than its own plugin's tools.
    pub(crate) is_granted: bool,
    /// The tools that a tool hook is about; empty means every tool.
    pub(crate) tools: Vec<String>,
    /// Who it is, for approvals: a plugin of another digest is somebody else.
    pub(crate) party: Party,
    pub(crate) code: HandlerCode,
}

#[derive(Debug)]
pub(crate) enum HandlerCode {
    Native(Arc<dyn NativeHook>),
    Guest { id: PluginId, plugin: Arc<dyn Plugin>, limits: Limits },
}

impl Handler {
    /// Whether it is called for an event about that tool, or about none.
    fn sees(&self, tool: Option<&str>) -> bool {
        self.tools.is_empty() || tool.is_none_or(|tool| self.tools.iter().any(|seen| seen == tool))
    }

    /// In which place it is called: by priority, natives first, plugins by id, then in the order of registration.
    fn place(&self) -> impl Ord + use<'_> {
        (std::cmp::Reverse(self.priority), &self.owner, self.number)
    }
}

/// Handlers by hook, in dispatch order.
#[derive(Debug, Default)]
pub(crate) struct Handlers(BTreeMap<HookName, Vec<Arc<Handler>>>);

impl Handlers {
    pub(crate) fn new(handlers: impl IntoIterator<Item = Handler>) -> Self {
        let mut by_hook: BTreeMap<HookName, Vec<Arc<Handler>>> = BTreeMap::new();
        for handler in handlers {
            by_hook.entry(handler.hook).or_default().push(Arc::new(handler));
        }
        for handlers in by_hook.values_mut() {
            handlers.sort_by(|one, other| one.place().cmp(&other.place()));
        }
        Self(by_hook)
    }

    /// Every handler of a hook, in dispatch order.
    pub(crate) fn of(&self, hook: HookName) -> &[Arc<Handler>] {
        self.0.get(&hook).map_or(&[], Vec::as_slice)
    }

    /// Those of a hook that see the tool: the ones here and its owner's, which see it without a grant.
    pub(crate) fn about(&self, hook: HookName, tool: &str, own: &Self) -> Vec<Arc<Handler>> {
        let (granted, own) = (self.of(hook), own.of(hook));
        if granted.is_empty() && own.is_empty() {
            return Vec::new();
        }
        let seen = granted.iter().filter(|handler| handler.sees(Some(tool)));
        let is_known = |handler: &Arc<Handler>| {
            granted.iter().any(|known| {
                (&known.owner, known.number) == (&handler.owner, handler.number) && known.sees(Some(tool))
            })
        };
        let own = own.iter().filter(|handler| handler.sees(Some(tool)) && !is_known(handler));
        let mut handlers: Vec<_> = seen.chain(own).cloned().collect();
        handlers.sort_by(|one, other| one.place().cmp(&other.place()));
        handlers
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Handler>> {
        self.0.values().flatten()
    }
}

/// What is to be said about one handler, for people who look at an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookStatus {
    /// The hook.
    pub hook: HookName,
    /// A plugin's id, or a native handler's name.
    pub plugin: String,
    /// The plugin's own number for it.
    pub handler: u32,
    /// Higher is called earlier.
    pub priority: i32,
    /// The tools that it is about; empty means every tool.
    pub tools: Vec<String>,
    /// How long it may take.
    pub timeout_ms: u64,
    /// Whether it sees more than its own plugin's tools, by the operator's grant.
    pub granted: bool,
    /// Whether its plugin's code is there and registered it.
    pub loaded: bool,
    /// Whether any event reaches it: it is granted, or about tools of its own plugin.
    pub called: bool,
    /// How it failed last, since the host began.
    pub last_failure: Option<String>,
}

/// Every handler, in dispatch order; then those that no event reaches, because nobody granted it.
pub(crate) fn statuses(
    snapshot: &Snapshot,
    plugins: &[PluginStatus],
    guards: &Guards,
    failures: &BTreeMap<(String, u32), String>,
) -> Vec<HookStatus> {
    let status = |handler: &Handler| HookStatus {
        hook: handler.hook,
        plugin: handler.owner.to_string(),
        handler: handler.number,
        priority: handler.priority,
        tools: handler.tools.clone(),
        timeout_ms: u64::try_from(handler.timeout.as_millis()).unwrap_or(u64::MAX),
        granted: handler.is_granted,
        loaded: true,
        called: true,
        last_failure: failures.get(&(handler.owner.to_string(), handler.number)).cloned(),
    };
    let mut all: Vec<HookStatus> = guards.handlers.iter().map(|handler| status(handler)).collect();
    for plugin in plugins {
        let entry = &plugin.entry;
        let Ok(Some(loaded)) = &plugin.loaded else { continue };
        let own = own(entry, loaded, &snapshot.config);
        for registered in &loaded.registration.handlers {
            let id = entry.manifest.id.to_string();
            let is_known = all.iter().any(|known| known.plugin == id && known.handler == registered.handler);
            if is_known {
                continue;
            }
            match own.iter().find(|handler| handler.number == registered.handler) {
                Some(handler) => all.push(status(handler)),
                None => all.push(HookStatus {
                    tools: registered.options.tools.clone(),
                    called: false,
                    ..status(&handler(entry, loaded, &snapshot.config, registered, Vec::new(), false))
                }),
            }
        }
    }
    for guard in &guards.missing {
        all.push(HookStatus {
            hook: guard.covers.hook,
            plugin: guard.plugin.to_string(),
            handler: 0,
            priority: 0,
            tools: guard.covers.tools.iter().map(ToString::to_string).collect(),
            timeout_ms: 0,
            granted: true,
            loaded: false,
            called: false,
            last_failure: Some(guard.reason.clone()),
        });
    }
    all.sort_by(|one, other| {
        (one.hook, std::cmp::Reverse(one.priority)).cmp(&(other.hook, std::cmp::Reverse(other.priority)))
    });
    all
}

/// The embedder's handlers.
pub(crate) fn native(hooks: &[Arc<dyn NativeHook>], config: &Config) -> Vec<Handler> {
    let numbered = (0_u32..).zip(hooks);
    numbered
        .map(|(number, native)| {
            let (hook, options) = (native.hook(), native.options());
            Handler {
                hook,
                owner: HandlerOwner::Native(native.name().to_owned()),
                number,
                priority: options.priority,
                timeout: timeout(hook, &options, None, config, None),
                is_granted: true,
                tools: options.tools,
                party: Party { id: native.name().to_owned(), digest: Digest::of(native.name().as_bytes()) },
                code: HandlerCode::Native(Arc::clone(native)),
            }
        })
        .collect()
}

/// A plugin's handlers over its own tools, which need no grant.
pub(crate) fn own(entry: &CatalogEntry, loaded: &Loaded, config: &Config) -> Vec<Handler> {
    let own = &entry.manifest.contracts.tools;
    let about_tools = loaded.registration.handlers.iter().filter(|handler| handler.hook.is_about_a_tool());
    about_tools
        .filter_map(|registered| {
            let asked = &registered.options.tools;
            let named =
                own.iter().filter(|tool| asked.is_empty() || asked.iter().any(|name| name == tool.as_str()));
            let named = named.filter(|tool| declares(entry, registered.hook, tool.as_str()));
            let tools: Vec<String> = named.map(ToString::to_string).collect();
            // An empty list would mean every tool.
            (!tools.is_empty()).then(|| handler(entry, loaded, config, registered, tools, false))
        })
        .collect()
}

/// A plugin's handlers as far as `granted` goes.
pub(crate) fn granted(
    entry: &CatalogEntry,
    loaded: &Loaded,
    config: &Config,
    granted: &[HookContract],
) -> Vec<Handler> {
    let mut handlers = Vec::new();
    for registered in &loaded.registration.handlers {
        let covering: Vec<_> = granted.iter().filter(|contract| contract.hook == registered.hook).collect();
        if covering.is_empty() {
            continue;
        }
        let asked = &registered.options.tools;
        let everything = covering.iter().any(|contract| contract.tools.is_empty());
        let mut tools: Vec<String> = if everything {
            asked.clone()
        } else {
            let covered = covering.iter().flat_map(|contract| &contract.tools).map(ToString::to_string);
            covered.filter(|tool| asked.is_empty() || asked.contains(tool)).collect()
        };
        if !everything && tools.is_empty() {
            continue;
        }
        if !tools.is_empty() {
            // Its own tools it sees in any case.
            let own = entry.manifest.contracts.tools.iter().filter(|tool| {
                (asked.is_empty() || asked.iter().any(|name| name == tool.as_str()))
                    && declares(entry, registered.hook, tool.as_str())
            });
            tools.extend(own.map(ToString::to_string));
            tools.sort();
            tools.dedup();
        }
        handlers.push(handler(entry, loaded, config, registered, tools, true));
    }
    handlers
}

/// Whether the manifest declares the hook for that tool.
fn declares(entry: &CatalogEntry, hook: HookName, tool: &str) -> bool {
    entry.manifest.contracts.hooks.iter().any(|contract| {
        contract.hook == hook
            && (contract.tools.is_empty() || contract.tools.iter().any(|declared| declared.as_str() == tool))
    })
}

fn handler(
    entry: &CatalogEntry,
    loaded: &Loaded,
    config: &Config,
    registered: &RegisteredHandler,
    tools: Vec<String>,
    is_granted: bool,
) -> Handler {
    let id = &entry.manifest.id;
    let (hook, options) = (registered.hook, &registered.options);
    let written = config.entry(id, entry.origin);
    let timeout = timeout(hook, options, written, config, Some(loaded.limits.timeout));
    Handler {
        hook,
        owner: HandlerOwner::Plugin(id.clone()),
        number: registered.handler,
        priority: options.priority,
        timeout,
        is_granted,
        tools,
        party: Party { id: id.to_string(), digest: loaded.digest },
        code: HandlerCode::Guest {
            id: id.clone(),
            plugin: Arc::clone(&loaded.plugin),
            limits: Limits { timeout, ..loaded.limits },
        },
    }
}

/// How long a handler may take: what an operator says for the plugin or for the hook, else the least of the hook's
/// default, what the registration asks for, and the plugin's own limit.
fn timeout(
    hook: HookName,
    options: &HookOptions,
    written: Option<&PluginEntry>,
    config: &Config,
    limit: Option<Duration>,
) -> Duration {
    let of_plugin = written.and_then(|entry| entry.hook_timeouts.get(&hook));
    let of_hook = config.file().hooks.timeouts.get(&hook);
    if let Some(operator) = of_plugin.or(of_hook) {
        return Duration::from_millis(operator.get());
    }
    let asked = options.timeout_ms.map(|asked| Duration::from_millis(asked.into()));
    let all = [Some(hook.default_timeout()), asked, limit];
    all.into_iter().flatten().min().unwrap_or_default()
}
