//! Discovered → registered: a catalogue entry enters, a compiled plugin with its closed registration leaves.
//!
//! Each plugin of a snapshot is loaded and registered at most once, when something first needs it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::catalog::{CatalogEntry, Catalogue};
use crate::clock::Clock;
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::id::{Digest, PluginId, ToolName};
use crate::limits::Limits;
use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::plugin::{LoadRequest, Plugin, Sandbox, Stop};
use crate::registry::{RegisteredFactory, RegisteredTool, Registrar, Registration};
use crate::text;

/// A plugin whose code was compiled and whose `register` agreed to be run.
#[derive(Debug)]
pub struct Loaded {
    /// The code.
    pub plugin: Arc<dyn Plugin>,
    /// What it registered.
    pub registration: Registration,
    /// Who it is, for approvals: manifest and code.
    pub(crate) digest: Digest,
    /// What each of its invocations may use.
    pub(crate) limits: Limits,
    /// Where in the registration a name is: a plugin may have a thousand.
    places: BTreeMap<ToolName, Registered>,
}

/// What a plugin registered under a name, as its place in the list.
#[derive(Debug, Clone, Copy)]
enum Registered {
    Tool(usize),
    Factory(usize),
}

impl Loaded {
    fn new(manifest: &Manifest, plugin: Arc<dyn Plugin>, registration: Registration, limits: Limits) -> Self {
        let digest = Digest::of_parts(
            [manifest.digest.as_bytes(), plugin.digest().as_bytes()].map(<[u8; 32]>::as_slice),
        );
        let tools = registration.tools.iter().enumerate();
        let tools = tools.map(|(place, tool)| (tool.tool.name.clone(), Registered::Tool(place)));
        let factories = registration.factories.iter().enumerate().flat_map(|(place, factory)| {
            factory.names.iter().map(move |name| (name.clone(), Registered::Factory(place)))
        });
        let places = tools.chain(factories).collect();
        Self { plugin, registration, digest, limits, places }
    }

    /// The static tool of that name.
    pub(crate) fn tool(&self, name: &ToolName) -> Option<&RegisteredTool> {
        match self.places.get(name)? {
            Registered::Tool(place) => self.registration.tools.get(*place),
            Registered::Factory(_) => None,
        }
    }

    /// The factory that claims that name.
    pub(crate) fn factory(&self, name: &ToolName) -> Option<&RegisteredFactory> {
        match self.places.get(name)? {
            Registered::Tool(_) => None,
            Registered::Factory(place) => self.registration.factories.get(*place),
        }
    }
}

/// Loads the plugins of one catalogue on demand.
#[derive(Debug)]
pub(crate) struct Loader {
    sandbox: Arc<dyn Sandbox>,
    patience: Duration,
    clock: Arc<dyn Clock>,
    /// A lock a plugin, so that two runs that need it wait for one loading; shared with the snapshots before, as long
    /// as the plugin's bytes, configuration and limits are the same.
    slots: BTreeMap<PluginId, (Key, Arc<Mutex<Slot>>)>,
}

/// What must be the same for a loaded plugin to stay loaded over a reload.
type Key = (Digest, Limits);

type LoadResult = Result<Arc<Loaded>, Diagnostic>;

/// What is known of one plugin's loading.
#[derive(Debug, Default)]
struct Slot {
    /// `None` until it was tried.
    known: Option<LoadResult>,
    /// When a failure may be tried again; `None` if it stays.
    retry_at: Option<Duration>,
    failures: u32,
}

/// Why a plugin is not loaded, and whether trying again could help.
struct Failure {
    diagnostic: Diagnostic,
    retry: Retry,
}

enum Retry {
    /// The plugin itself is at fault.
    Never,
    /// It ran into a limit, which a busy machine can cause: later, and less and less often.
    WithBackOff,
    /// Nothing failed yet.
    AtOnce,
}

/// Waiting time after the first failure that may pass; doubled after each further one.
const FIRST_BACK_OFF: Duration = Duration::from_secs(5);

/// Longest waiting time: an operator who mended the machine should not have to restart the host.
const MAX_BACK_OFF: Duration = Duration::from_secs(300);

impl Loader {
    /// A loader of one catalogue. What `previous` has loaded stays, if nothing about it changed.
    pub(crate) fn new(
        catalogue: &Catalogue,
        config: &Config,
        sandbox: Arc<dyn Sandbox>,
        limits: Limits,
        patience: Duration,
        clock: Arc<dyn Clock>,
        previous: Option<&Self>,
    ) -> Self {
        // Of several copies of one id only the one that is used has a slot, with its own limits and fingerprint.
        let used = catalogue.entries().iter().filter(|entry| entry.refusals.is_empty());
        let slots = used.map(|entry| {
            let written = config.entry(&entry.manifest.id, entry.origin).map(|entry| entry.limits.ceiling());
            let limits = limits.lowered_by(&entry.manifest.limits).lowered_by(&written.unwrap_or_default());
            let key = (entry.fingerprint, limits);
            let kept = previous.and_then(|previous| previous.slots.get(&entry.manifest.id));
            let kept = kept.filter(|(known, _)| *known == key).map(|(_, slot)| Arc::clone(slot));
            (entry.manifest.id.clone(), (key, kept.unwrap_or_default()))
        });
        Self { slots: slots.collect(), sandbox, patience, clock }
    }

    /// The loaded plugin, or why it cannot be. A failure is remembered; one that may pass is tried again later.
    pub(crate) async fn load(&self, entry: &CatalogEntry) -> LoadResult {
        if let Some(refusal) = entry.refusal() {
            return Err(refusal.clone());
        }
        let Some(((_, limits), slot)) = self.slots.get(&entry.manifest.id) else {
            return Err(register_failed(entry, "the plugin is not part of this snapshot".to_owned()));
        };
        let mut slot = slot.lock().await;
        let now = self.clock.monotonic();
        if let Some(known) = &slot.known
            && slot.retry_at.is_none_or(|retry_at| now < retry_at)
        {
            return known.clone();
        }
        match self.load_now(entry, *limits).await {
            Ok(loaded) => {
                let loaded = Ok(Arc::new(loaded));
                *slot = Slot { known: Some(loaded.clone()), ..Slot::default() };
                loaded
            }
            Err(Failure { diagnostic, retry }) => {
                slot.retry_at = match retry {
                    Retry::Never => None,
                    Retry::AtOnce => Some(now),
                    Retry::WithBackOff => {
                        let waiting = FIRST_BACK_OFF.saturating_mul(2_u32.saturating_pow(slot.failures));
                        slot.failures = slot.failures.saturating_add(1);
                        Some(now.saturating_add(waiting.min(MAX_BACK_OFF)))
                    }
                };
                slot.known = Some(Err(diagnostic.clone()));
                Err(diagnostic)
            }
        }
    }

    async fn load_now(&self, entry: &CatalogEntry, limits: Limits) -> Result<Loaded, Failure> {
        let lasting = |diagnostic| Failure { diagnostic, retry: Retry::Never };
        let Some(component) = entry.component.clone() else {
            let (message, hint) = ("the plugin has no code to load", "name a `component`");
            return Err(lasting(Diagnostic::new(Code::ComponentMissing, &entry.manifest.id, message, hint)));
        };
        let plugin = self
            .sandbox
            .load(LoadRequest {
                plugin: entry.manifest.id.clone(),
                component,
                permissions: entry.manifest.permissions.clone(),
                configuration: entry.configuration.to_string().into(),
                patience: self.patience,
            })
            .await
            .map_err(|diagnostic| match diagnostic.code {
                Code::NotReady => Failure { diagnostic, retry: Retry::AtOnce },
                Code::CompileTimedOut => Failure { diagnostic, retry: Retry::WithBackOff },
                _ => lasting(diagnostic),
            })?;
        let registered = plugin.register(Registrar::new(entry), limits.for_registration()).await;
        match registered.end {
            Ok(Ok(())) => {}
            Ok(Err(message)) => {
                let cause = text::single_line(&text::shorten(&message, 500)).into_owned();
                return Err(lasting(register_failed(entry, format!("`register` failed: {cause}"))));
            }
            Err(Stop::Mismatched(cause)) => {
                let message = format!("the component does not fit the contract that it claims: {cause}");
                let hint = "build it against the released contract of that version";
                return Err(lasting(Diagnostic::new(Code::WorldMismatch, &entry.manifest.id, message, hint)));
            }
            Err(stop) => {
                let retry = match &stop {
                    Stop::TimedOut | Stop::OutOfFuel | Stop::OutOfMemory | Stop::Busy => Retry::WithBackOff,
                    _ => Retry::Never,
                };
                let diagnostic = register_failed(entry, format!("`register` {}", stopped(&stop)));
                return Err(Failure { diagnostic, retry });
            }
        }
        if let Some(guard) = registered.registrar.refused_guard() {
            return Err(lasting(guard.clone()));
        }
        Ok(Loaded::new(&entry.manifest, plugin, registered.registrar.close(), limits))
    }
}

fn register_failed(entry: &CatalogEntry, message: String) -> Diagnostic {
    let hint = "correct the plugin's `register`; none of its tools is available";
    let location = Location::path(entry.folder.join(MANIFEST_FILE));
    Diagnostic::new(Code::RegisterFailed, &entry.manifest.id, message, hint).at(location)
}

/// How a guest stopped, as the end of a sentence about it.
pub(crate) fn stopped(stop: &Stop) -> String {
    match stop {
        Stop::TimedOut => "ran into its deadline".to_owned(),
        Stop::OutOfFuel => "ran out of fuel".to_owned(),
        Stop::OutOfMemory => "ran out of memory".to_owned(),
        Stop::OutputTooLarge(what) => format!("passed too much to the host: {what}"),
        Stop::Trapped { cause, panic: None } => format!("trapped: {cause}"),
        Stop::Trapped { panic: Some(panic), .. } => format!("panicked: {}", text::single_line(panic)),
        Stop::Withheld { secret } => format!("answered with the value of the secret `{secret}`"),
        Stop::Busy => "found no free slot in time".to_owned(),
        Stop::Mismatched(cause) => format!("does not fit its contract: {cause}"),
        Stop::HostFault(what) => format!("met a fault of the host: {what}"),
    }
}
