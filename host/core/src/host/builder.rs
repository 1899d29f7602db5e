//! What a host is made from: an embedder hands it in piece by piece, and a host that can be used leaves, or one error.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{Host, MAX_AT_WORK, NativeRegistration, Parts, Shared};
use crate::audit::{MemoryStore, Store};
use crate::call::{Approver, Repetitions, TrustedPolicy, Turns};
use crate::capability::{KeyValue, MemoryKeyValue, Secrets};
use crate::catalog::MissingConfiguration;
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, PolicyEntry};
use crate::discover::PluginRoot;
use crate::error::Error;
use crate::hooks::NativeHook;
use crate::id::ToolName;
use crate::limits::Limits;
use crate::native::NativeTool;
use crate::plugin::{LogSink, Sandbox};
use crate::search::{Control, controls};
use crate::skills::{SkillLibrary, SkillRead, SkillRoot, Surroundings, UnknownSurroundings};
use crate::tool::Tool;

/// How long an assembly waits for a plugin that is still compiling: a person waits two seconds without wondering.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(2);

/// Collects what a host is made from.
#[derive(Debug)]
pub struct HostBuilder {
    sandbox: Option<Arc<dyn Sandbox>>,
    roots: Vec<PluginRoot>,
    natives: Vec<Arc<dyn NativeTool>>,
    hooks: Vec<Arc<dyn NativeHook>>,
    policies: Vec<Arc<dyn TrustedPolicy>>,
    approver: Option<Arc<dyn Approver>>,
    store: Option<Arc<dyn Store>>,
    secrets: Secrets,
    key_value: Option<Arc<dyn KeyValue>>,
    skills: Option<Vec<SkillRoot>>,
    surroundings: Arc<dyn Surroundings>,
    config: Config,
    log: LogSink,
    limits: Option<Limits>,
    patience: Duration,
    clock: Arc<dyn Clock>,
    configuration: MissingConfiguration,
}

impl HostBuilder {
    pub(super) fn new() -> Self {
        Self {
            sandbox: None,
            roots: Vec::new(),
            natives: Vec::new(),
            hooks: Vec::new(),
            policies: Vec::new(),
            approver: None,
            store: None,
            secrets: Secrets::default(),
            key_value: None,
            skills: None,
            surroundings: Arc::new(UnknownSurroundings),
            config: Config::default(),
            log: LogSink::default(),
            limits: None,
            patience: DEFAULT_PATIENCE,
            clock: Arc::new(SystemClock::default()),
            configuration: MissingConfiguration::Refuse,
        }
    }

    /// Where components run. Required.
    #[must_use]
    pub fn sandbox(mut self, sandbox: impl Sandbox + 'static) -> Self {
        self.sandbox = Some(Arc::new(sandbox));
        self
    }

    /// What the operator decided; its plugin roots come in addition to those added here.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Adds a folder in which plugins are installed.
    #[must_use]
    pub fn plugin_root(mut self, root: PluginRoot) -> Self {
        self.roots.push(root);
        self
    }

    /// Adds a tool of the embedder's own.
    #[must_use]
    pub fn native_tool(mut self, tool: impl NativeTool + 'static) -> Self {
        self.natives.push(Arc::new(tool));
        self
    }

    /// Adds tools of the embedder's own that are made together, such as a set of file tools.
    #[must_use]
    pub fn native_tools(mut self, tools: impl IntoIterator<Item = Arc<dyn NativeTool>>) -> Self {
        self.natives.extend(tools);
        self
    }

    /// Adds a handler of the embedder's own. It sees everything that its hook is about.
    #[must_use]
    pub fn hook(mut self, hook: impl NativeHook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Adds a policy that judges every accepted call before any hook does, after those added before.
    #[must_use]
    pub fn trusted_policy(mut self, policy: impl TrustedPolicy + 'static) -> Self {
        self.policies.push(Arc::new(policy));
        self
    }

    /// Who is asked when a policy or a hook wants an approval. Without one such calls are refused.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Where records and standing approvals are kept; in memory by default.
    #[must_use]
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Where lines go that plugins log in handlers that no call waits for; what is logged in a call is in its outcome.
    #[must_use]
    pub fn on_log(mut self, log: LogSink) -> Self {
        self.log = log;
        self
    }

    /// The values of the secrets that the configuration names, as [`Secrets::read`] reads them.
    #[must_use]
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Where plugins' key-value stores are kept; in memory by default.
    #[must_use]
    pub fn key_value(mut self, key_value: impl KeyValue + 'static) -> Self {
        self.key_value = Some(Arc::new(key_value));
        self
    }

    /// Has the host have skills: those below these folders, those that plugins carry, those of `[skills] extra-dirs`, and those
    /// of a run's workspace. Adds the tool `skill_read`.
    #[must_use]
    pub fn skills(mut self, roots: impl IntoIterator<Item = SkillRoot>) -> Self {
        self.skills = Some(roots.into_iter().collect());
        self
    }

    /// What the machine has, for skills that need some of it; by default only its system is known.
    #[must_use]
    pub fn surroundings(mut self, surroundings: impl Surroundings + 'static) -> Self {
        self.surroundings = Arc::new(surroundings);
        self
    }

    /// Upper limits of every invocation, in place of the configuration's; manifests can only lower them.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// How long an assembly waits for a plugin that is still compiling (2 s by default) before leaving it out.
    #[must_use]
    pub fn load_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// What the host takes for the time; the system's clocks by default.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Loads plugins whose schema wants configuration that nobody wrote, as their author's check does.
    #[must_use]
    pub fn overlook_missing_configuration(mut self) -> Self {
        self.configuration = MissingConfiguration::Overlook;
        self
    }

    /// Reads the roots and settles the catalogue. Runs no plugin code.
    ///
    /// # Errors
    /// If no sandbox was given, a limit makes no sense, or a native tool's descriptor breaks a rule. Problems with
    /// plugins are not errors but diagnostics.
    pub async fn build(self) -> Result<Host, Error> {
        let Some(sandbox) = self.sandbox else {
            return Err(Error::configuration("the host has no sandbox: give one to `HostBuilder::sandbox`"));
        };
        let mut natives = self.natives;
        if self.skills.is_some() {
            natives.push(Arc::new(SkillRead));
        }
        let skills = self.skills.map(|roots| SkillLibrary::new(roots, self.surroundings));
        let parts = Parts {
            sandbox,
            roots: self.roots,
            natives: accept_natives(&natives)?,
            controls: controls().map_err(Error::configuration)?,
            hooks: self.hooks,
            policies: self.policies,
            approver: self.approver,
            secrets: RwLock::new(Arc::new(self.secrets)),
            key_value: self.key_value.unwrap_or_else(|| Arc::new(MemoryKeyValue::default())),
            store: self.store.unwrap_or_else(|| Arc::new(MemoryStore::default())),
            log: self.log,
            limits: self.limits,
            patience: self.patience,
            clock: self.clock,
            configuration: self.configuration,
        };
        let first = parts.snapshot(self.config, None)?;
        Ok(Host(Arc::new(Shared {
            parts,
            current: RwLock::new(Arc::new(first)),
            calls: AtomicU64::new(0),
            at_work: Arc::new(Semaphore::new(MAX_AT_WORK as usize)),
            closing: CancellationToken::new(),
            stopping: CancellationToken::new(),
            skills,
            turns: Turns::default(),
            repetitions: Repetitions::default(),
            sessions: Mutex::default(),
            failures: Mutex::default(),
        })))
    }
}

fn accept_natives(natives: &[Arc<dyn NativeTool>]) -> Result<Vec<Arc<NativeRegistration>>, Error> {
    let mut accepted: Vec<Arc<NativeRegistration>> = Vec::new();
    for implementation in natives {
        let descriptor = implementation.descriptor();
        let name = ToolName::parse(&descriptor.name)
            .map_err(|problem| Error::configuration(format!("a native tool: {problem}")))?;
        if Control::named(name.as_str()).is_some() {
            let message = format!("a native tool is named `{name}`, which is the host's own; rename it");
            return Err(Error::configuration(message));
        }
        if accepted.iter().any(|known| known.tool.name == name) {
            return Err(Error::configuration(format!("two native tools are named `{name}`; rename one")));
        }
        let tool = Tool::accept(name.clone(), &descriptor)
            .map_err(|cause| Error::configuration(format!("the native tool `{name}` is refused: {cause}")))?;
        let mut groups = Vec::new();
        for group in implementation.groups() {
            let entry = PolicyEntry::parse(&format!("group:{group}")).ok();
            let canonical = entry.as_ref().and_then(|entry| entry.as_str().strip_prefix("group:"));
            match canonical.filter(|group| *group != "plugins") {
                Some(canonical) => groups.push(canonical.to_owned()),
                None => {
                    let message =
                        format!("the native tool `{name}` is in the group `{group}`, which cannot be one");
                    return Err(Error::configuration(message));
                }
            }
        }
        let (tool, implementation) = (Arc::new(tool), Arc::clone(implementation));
        let metadata = implementation.metadata();
        accepted.push(Arc::new(NativeRegistration { tool, descriptor, metadata, groups, implementation }));
    }
    Ok(accepted)
}
