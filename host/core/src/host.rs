//! The host: what an embedder hands in becomes an immutable snapshot, from which surfaces are assembled.
//!
//! A reload makes another snapshot and puts it in the first one's place; what runs on the old one finishes there. The
//! host owns no policy of its own and does nothing in the background.

mod builder;
mod skills;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::audit::{AuditKind, AuditRow, Store};
use crate::call::{Approver, Repetitions, TrustedPolicy, Turns};
use crate::capability::{Access, Capabilities, KeyValue, Secrets};
use crate::catalog::{CatalogEntry, Catalogue, MissingConfiguration};
use crate::clock::Clock;
use crate::config::{Config, Grants};
use crate::diagnostic::Diagnostic;
use crate::discover::{Origin, PluginRoot, discover};
use crate::error::Error;
use crate::explain::{Explanation, explain};
use crate::hooks::{self, Guards, Handler, HookEvent, HookStatus, NativeHook, OpenSessions, within};
use crate::id::{CallId, Digest, PluginId, ToolName};
use crate::limits::Limits;
use crate::load::{Loaded, Loader};
use crate::manifest::ToolMetadata;
use crate::native::NativeTool;
use crate::plugin::{LogSink, Sandbox};
use crate::policy::Policy;
use crate::result::unix_ms;
use crate::run::RunContext;
use crate::skills::SkillLibrary;
use crate::surface::{Candidate, ExposedTool, Surface, candidates};
use crate::tool::{Tool, ToolDescriptor};

pub use builder::HostBuilder;

/// How many calls and tasks a shutdown can count; the sandbox bounds how many guests run at once.
const MAX_AT_WORK: u32 = 1 << 20;

/// How long calls that a shutdown stops may take to end and to be put on record: a guest stops within a tick or two.
const STOPPING: Duration = Duration::from_millis(500);

/// Hosts plugins for agents. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Host(Arc<Shared>);

/// What all clones of a host and all its surfaces share.
#[derive(Debug)]
pub(crate) struct Shared {
    parts: Parts,
    current: RwLock<Arc<Snapshot>>,
    calls: AtomicU64,
    /// A permit for each call, and for each task that runs beside the callers.
    at_work: Arc<Semaphore>,
    /// Cancelled when a shutdown begins: no call begins any more, and nobody is asked.
    closing: CancellationToken,
    /// Cancelled when a shutdown has waited long enough: what runs is stopped.
    stopping: CancellationToken,
    /// `None` in a host that was built without.
    skills: Option<SkillLibrary>,
    /// Whose turn it is, for tools that are not parallel.
    turns: Turns,
    /// What was called lately, for loop protection.
    repetitions: Repetitions,
    /// Sessions that began and did not end.
    sessions: Mutex<OpenSessions>,
    /// How each handler failed last, by owner and number.
    failures: Mutex<BTreeMap<(String, u32), String>>,
}

/// What stays the same over reloads.
#[derive(Debug)]
struct Parts {
    sandbox: Arc<dyn Sandbox>,
    roots: Vec<PluginRoot>,
    natives: Vec<Arc<NativeRegistration>>,
    /// The host's own tools of surfaces that withhold others.
    controls: Vec<Arc<ExposedTool>>,
    hooks: Vec<Arc<dyn NativeHook>>,
    policies: Vec<Arc<dyn TrustedPolicy>>,
    approver: Option<Arc<dyn Approver>>,
    store: Arc<dyn Store>,
    secrets: RwLock<Arc<Secrets>>,
    key_value: Arc<dyn KeyValue>,
    log: LogSink,
    limits: Option<Limits>,
    patience: Duration,
    clock: Arc<dyn Clock>,
    configuration: MissingConfiguration,
}

/// Everything that a surface is made from; never changes.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Counts reloads, from 1.
    pub(crate) generation: u64,
    pub(crate) config: Config,
    pub(crate) catalogue: Catalogue,
    pub(crate) loader: Loader,
    /// Everything that a surface could have.
    pub(crate) candidates: Vec<Arc<Candidate>>,
    pub(crate) policy: Policy,
    /// What each plugin may reach.
    capabilities: BTreeMap<PluginId, Arc<Capabilities>>,
    /// The embedder's handlers.
    pub(crate) hooks: Vec<Arc<dyn NativeHook>>,
    guards: RwLock<Option<Arc<Guards>>>,
}

impl Snapshot {
    /// What a plugin may reach; `None` if this snapshot does not have it.
    pub(crate) fn capabilities(&self, plugin: &PluginId) -> Option<&Arc<Capabilities>> {
        self.capabilities.get(plugin)
    }

    pub(crate) fn known_guards(&self) -> Option<Arc<Guards>> {
        self.guards.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps what an assembly found out about the guards: one that failed may be back.
    pub(crate) fn learn_guards(&self, guards: Guards) -> Arc<Guards> {
        let guards = Arc::new(guards);
        *self.guards.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&guards));
        guards
    }
}

/// A native tool whose descriptor was accepted.
#[derive(Debug, Clone)]
pub(crate) struct NativeRegistration {
    pub(crate) tool: Arc<Tool>,
    /// As the implementation gave it, to tell whether one that is made for a run differs.
    pub(crate) descriptor: ToolDescriptor,
    pub(crate) metadata: ToolMetadata,
    pub(crate) groups: Vec<String>,
    pub(crate) implementation: Arc<dyn NativeTool>,
}

impl Parts {
    fn secrets(&self) -> Arc<Secrets> {
        Arc::clone(&self.secrets.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the roots and settles the catalogue. Plugins that did not change stay loaded.
    fn snapshot(&self, config: Config, previous: Option<&Snapshot>) -> Result<Snapshot, Error> {
        let limits = self.limits.unwrap_or_else(|| config.limits());
        if let Some(problem) = limits.problem() {
            return Err(Error::configuration(problem));
        }
        let mut roots = self.roots.clone();
        roots.extend(
            config.plugin_roots().into_iter().map(|path| PluginRoot { path, origin: Origin::Config }),
        );
        let natives = self.natives.iter().map(|native| &native.tool.name);
        // The host's own three have their names on every surface, so that none has another meaning on a larger one.
        let own = self.controls.iter().map(|control| &control.tool.name);
        let names: Vec<ToolName> = natives.chain(own).cloned().collect();
        let (packages, mut diagnostics) = discover(&roots);
        let secrets = self.secrets();
        diagnostics.extend_from_slice(secrets.findings());
        diagnostics.extend(secrets.forgotten(&config));
        let catalogue =
            Catalogue::build(packages, diagnostics, &names, &config, self.configuration, &secrets);
        let (sandbox, clock) = (Arc::clone(&self.sandbox), Arc::clone(&self.clock));
        let loader = Loader::new(
            &catalogue,
            &config,
            sandbox,
            limits,
            self.patience,
            clock,
            previous.map(|old| &old.loader),
        );
        let candidates = candidates(&self.natives, &catalogue);
        let policy = Policy::compile(&config, &catalogue, &candidates)?;
        let generation = previous.map_or(0, |old| old.generation) + 1;
        let used = catalogue.entries().iter().filter(|entry| entry.refusal().is_none());
        let capabilities = used.map(|entry| {
            let written = config.entry(&entry.manifest.id, entry.origin);
            (entry.manifest.id.clone(), Arc::new(Capabilities::new(&entry.manifest, written)))
        });
        let capabilities = capabilities.collect();
        let (hooks, guards) = (self.hooks.clone(), RwLock::new(None));
        Ok(Snapshot {
            generation,
            config,
            catalogue,
            loader,
            candidates,
            policy,
            capabilities,
            hooks,
            guards,
        })
    }
}

impl Shared {
    /// The snapshot that new surfaces are made from.
    pub(crate) fn current(&self) -> Arc<Snapshot> {
        // The lock guards one pointer, which no panic leaves half-changed.
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn next_call_id(&self) -> CallId {
        CallId::numbered(self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    pub(crate) fn sandbox(&self) -> &Arc<dyn Sandbox> {
        &self.parts.sandbox
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    pub(crate) fn approver(&self) -> Option<&Arc<dyn Approver>> {
        self.parts.approver.as_ref()
    }

    /// The host's own tools of surfaces that withhold others.
    pub(crate) fn controls(&self) -> &[Arc<ExposedTool>] {
        &self.parts.controls
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(crate) fn repetitions(&self) -> &Repetitions {
        &self.repetitions
    }

    /// The embedder's trusted policies, in their order.
    pub(crate) fn policies(&self) -> &[Arc<dyn TrustedPolicy>] {
        &self.parts.policies
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.parts.clock
    }

    /// Looks at the open sessions, or changes them.
    pub(crate) fn with_sessions<T>(&self, act: impl FnOnce(&mut OpenSessions) -> T) -> T {
        act(&mut self.sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers how a handler failed last, for people who look at it.
    pub(crate) fn note_failure(&self, handler: &Handler, reason: &str) {
        let key = (handler.owner.to_string(), handler.number);
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).insert(key, reason.to_owned());
    }

    /// What an invocation of the plugin may reach by the snapshot in force. One that is not there any more may reach
    /// nothing.
    pub(crate) fn access(&self, plugin: &PluginId) -> Access {
        let capabilities = self.current().capabilities(plugin).cloned();
        Access {
            capabilities: capabilities.unwrap_or_else(|| Arc::new(Capabilities::none(plugin))),
            secrets: self.secrets(),
            key_value: Arc::clone(&self.parts.key_value),
        }
    }

    /// The values of secrets as they are now.
    pub(crate) fn secrets(&self) -> Arc<Secrets> {
        self.parts.secrets()
    }

    /// Where handlers log that no call waits for.
    pub(crate) fn log(&self) -> &LogSink {
        &self.parts.log
    }

    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Something that a shutdown waits for until it is dropped. More than can be counted is not waited for.
    pub(crate) fn at_work(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.at_work).try_acquire_owned().ok()
    }

    /// Runs something beside the callers; a shutdown waits for it.
    pub(crate) fn detach(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let at_work = self.at_work();
        self.parts.sandbox.spawn(Box::pin(async move {
            task.await;
            drop(at_work);
        }));
    }
}

/// What a plugin has come to, for people who look at an installation.
#[derive(Debug, Clone)]
pub struct PluginStatus {
    /// The plugin.
    pub entry: Arc<CatalogEntry>,
    /// What the operator grants it.
    pub granted: Grants,
    /// What of that it also asks for.
    pub capabilities: Arc<Capabilities>,
    /// Its code and registration, or why there are none. `Ok(None)`: it has no code.
    pub loaded: Result<Option<Arc<Loaded>>, Diagnostic>,
}

impl Host {
    /// Starts building a host.
    pub fn builder() -> HostBuilder {
        HostBuilder::new()
    }

    /// Findings about what is installed, from manifests and configuration alone.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let snapshot = self.0.current();
        let mut diagnostics = snapshot.catalogue.diagnostics().to_vec();
        diagnostics.extend_from_slice(snapshot.policy.diagnostics());
        diagnostics
    }

    /// Packages whose manifest cannot be used: folder, origin and what is wrong.
    pub fn broken_packages(&self) -> Vec<(std::path::PathBuf, Origin, Diagnostic)> {
        let snapshot = self.0.current();
        let broken = snapshot.catalogue.broken().iter();
        broken.map(|package| (package.folder.clone(), package.origin, package.diagnostic.clone())).collect()
    }

    /// Covers every manifest's exact bytes and every package's folder.
    pub fn fingerprint(&self) -> Digest {
        self.0.current().catalogue.fingerprint()
    }

    /// What all clones of the host share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// Who stands guard now.
    pub(crate) async fn guards(&self) -> Arc<Guards> {
        self.0.current().guards().await
    }

    /// Every handler that is called for anything, in dispatch order, and those that are not because nobody granted it.
    /// Loads every plugin that can be.
    pub async fn hooks(&self) -> Vec<HookStatus> {
        let snapshot = self.0.current();
        let statuses = inspect(&snapshot).await;
        let guards = snapshot.guards().await;
        let failures = self.0.failures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        hooks::statuses(&snapshot, &statuses, &guards, &failures)
    }

    /// Tells observers that the host is there. Call it once, when the agent's loop begins.
    pub async fn start(&self) {
        self.tell(HookEvent::HostStart, None).await;
    }

    /// Ends the host's work within `patience`. New calls, and those that wait for a gate or an answer, end as `cancelled`.
    /// Observers of `session-end`, for sessions that are open, and of `host-stop` are told; they and calls that run may finish, and calls that do not are stopped. At last
    /// the records are closed.
    ///
    /// # Errors
    /// If some of it was not done in time, with what.
    pub async fn shutdown(&self, patience: Duration) -> Result<(), Error> {
        let (host, clock) = (&self.0, &self.0.parts.clock);
        let end = clock.monotonic().saturating_add(patience);
        let left = || end.saturating_sub(clock.monotonic());
        host.closing.cancel();
        self.end_sessions().await;
        self.tell(HookEvent::HostStop, None).await;
        let idle = || Arc::clone(&host.at_work).acquire_many_owned(MAX_AT_WORK);
        let is_idle = within(&*host.parts.sandbox, left().saturating_sub(STOPPING), idle()).await.is_some();
        host.stopping.cancel();
        let is_idle = is_idle || within(&*host.parts.sandbox, left() / 2, idle()).await.is_some();
        host.parts.store.close(left()).await.map_err(|error| Error::configuration(error.to_string()))?;
        if is_idle {
            Ok(())
        } else {
            Err(Error::configuration("calls or observers of hooks were still at work when the time was up"))
        }
    }

    /// Assembles the surface of one run. Loads only plugins that own a surviving name, guard something, or ask for it
    /// with a reason that applies.
    pub async fn assemble(&self, run: RunContext) -> Surface {
        Surface::assemble(Arc::clone(&self.0), run).await
    }

    /// Loads and registers every plugin that can be, to see what each has come to.
    pub async fn inspect(&self) -> Vec<PluginStatus> {
        inspect(&self.0.current()).await
    }

    /// Says how far a tool or plugin has come for this run, what stopped it, and what would change that. Loads every
    /// plugin that can be, since a name may be registered where no manifest has it.
    pub async fn explain(&self, subject: &str, run: RunContext) -> Explanation {
        let surface = self.assemble(run).await;
        let statuses = inspect(surface.snapshot()).await;
        explain(subject, &surface, &statuses)
    }

    /// Takes a new configuration and whatever the roots hold. New surfaces see it; calls that run finish as they
    /// began; older surfaces can only lose tools. An error changes nothing.
    ///
    /// Values of secrets stay as they are; [`Self::replace_secrets`] changes them, and goes first.
    ///
    /// # Errors
    /// If a limit makes no sense, or the policy names a profile or group that does not exist.
    pub fn reload(&self, config: Config) -> Result<(), Error> {
        let mut current = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        let next = Arc::new(self.0.parts.snapshot(config, Some(&current))?);
        *current = Arc::clone(&next);
        drop(current);
        let body = json!({ "generation": next.generation, "catalogue": next.catalogue.fingerprint() });
        let row = AuditRow {
            kind: AuditKind::Reload,
            unix_ms: unix_ms(self.0.clock().wall()),
            call_id: None,
            tool: None,
            body: body.to_string(),
        };
        let host = Arc::clone(&self.0);
        self.0.detach(async move {
            // A store that fails says so to the calls that need it.
            let _ = host.store().write_durably(row).await;
        });
        Ok(())
    }

    /// Puts other values of secrets in force, from the next call on: one of them was changed, or the configuration names
    /// another. What they are to be held against, such as plugins' configurations, is looked at by the next
    /// [`Self::reload`].
    pub fn replace_secrets(&self, secrets: Secrets) {
        *self.0.parts.secrets.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(secrets);
    }
}

/// Loads whatever can be loaded of one snapshot.
async fn inspect(snapshot: &Snapshot) -> Vec<PluginStatus> {
    join_all(snapshot.catalogue.entries().iter().map(|entry| async move {
        let loaded = match (entry.refusal(), &entry.manifest.code) {
            (Some(refusal), _) => Err(refusal.clone()),
            (None, None) => Ok(None),
            (None, Some(_)) => snapshot.loader.load(entry).await.map(Some),
        };
        let written = snapshot.config.entry(&entry.manifest.id, entry.origin);
        let capabilities = Arc::new(Capabilities::new(&entry.manifest, written));
        let granted = written.map(|written| written.grants.clone()).unwrap_or_default();
        PluginStatus { entry: Arc::clone(entry), granted, capabilities, loaded }
    }))
    .await
}
