//! The host: what an embedder hands in becomes one immutable snapshot, from which surfaces are assembled.
//!
//! It owns no policy of its own and does nothing in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;

use crate::catalog::{CatalogEntry, Catalogue};
use crate::clock::{Clock, SystemClock};
use crate::diagnostic::Diagnostic;
use crate::discover::{PluginRoot, discover};
use crate::error::Error;
use crate::id::{CallId, ToolName};
use crate::limits::Limits;
use crate::load::{Loaded, Loader};
use crate::native::NativeTool;
use crate::plugin::Sandbox;
use crate::run::RunContext;
use crate::surface::Surface;
use crate::tool::Tool;

/// How long an assembly waits for a plugin that is still compiling: a person waits two seconds without wondering.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(2);

/// Hosts plugins for agents. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Host(Arc<Snapshot>);

/// Everything that a surface is made from; never changes.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) catalogue: Catalogue,
    pub(crate) loader: Loader,
    pub(crate) natives: Vec<NativeRegistration>,
    pub(crate) clock: Arc<dyn Clock>,
    calls: AtomicU64,
}

/// A native tool whose descriptor was accepted.
#[derive(Debug, Clone)]
pub(crate) struct NativeRegistration {
    pub(crate) tool: Arc<Tool>,
    pub(crate) implementation: Arc<dyn NativeTool>,
}

impl Snapshot {
    pub(crate) fn next_call_id(&self) -> CallId {
        CallId::numbered(self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// What a plugin has come to, for people who look at an installation.
#[derive(Debug, Clone)]
pub struct PluginStatus {
    /// The plugin.
    pub entry: Arc<CatalogEntry>,
    /// Its code and registration, or why there are none. `Ok(None)`: it has no code.
    pub loaded: Result<Option<Arc<Loaded>>, Diagnostic>,
}

impl Host {
    /// Starts building a host.
    pub fn builder() -> HostBuilder {
        HostBuilder {
            sandbox: None,
            roots: Vec::new(),
            natives: Vec::new(),
            limits: Limits::default(),
            patience: DEFAULT_PATIENCE,
            clock: Arc::new(SystemClock::default()),
        }
    }

    /// What is installed, from manifests alone.
    pub fn catalogue(&self) -> &Catalogue {
        &self.0.catalogue
    }

    /// Assembles the surface of one run. Loads only plugins that own a surviving name.
    pub async fn assemble(&self, run: RunContext) -> Surface {
        Surface::assemble(Arc::clone(&self.0), run).await
    }

    /// Loads and registers every plugin that can be, to see what each has come to.
    pub async fn inspect(&self) -> Vec<PluginStatus> {
        let snapshot = &self.0;
        join_all(snapshot.catalogue.entries().iter().map(|entry| async move {
            let loaded = match (&entry.refusal, &entry.manifest.code) {
                (Some(refusal), _) => Err(refusal.clone()),
                (None, None) => Ok(None),
                (None, Some(_)) => snapshot.loader.load(entry).await.map(Some),
            };
            PluginStatus { entry: Arc::clone(entry), loaded }
        }))
        .await
    }
}

/// Collects what a host is made from.
#[derive(Debug)]
pub struct HostBuilder {
    sandbox: Option<Arc<dyn Sandbox>>,
    roots: Vec<PluginRoot>,
    natives: Vec<Arc<dyn NativeTool>>,
    limits: Limits,
    patience: Duration,
    clock: Arc<dyn Clock>,
}

impl HostBuilder {
    /// Where components run. Required.
    #[must_use]
    pub fn sandbox(mut self, sandbox: impl Sandbox + 'static) -> Self {
        self.sandbox = Some(Arc::new(sandbox));
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

    /// Upper limits of every invocation; manifests can only lower them.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
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

    /// Reads the roots and settles the catalogue. Runs no plugin code.
    ///
    /// # Errors
    /// If no sandbox was given, a limit makes no sense, or a native tool's descriptor breaks a rule. Problems with plugins are not errors but
    /// diagnostics of the catalogue.
    pub async fn build(self) -> Result<Host, Error> {
        let Some(sandbox) = self.sandbox else {
            return Err(Error::configuration("the host has no sandbox: give one to `HostBuilder::sandbox`"));
        };
        if let Some(problem) = self.limits.problem() {
            return Err(Error::configuration(problem));
        }
        let natives = accept_natives(&self.natives)?;
        let names: Vec<ToolName> = natives.iter().map(|native| native.tool.name.clone()).collect();
        let (candidates, diagnostics) = discover(&self.roots);
        let catalogue = Catalogue::build(candidates, diagnostics, &names);
        let loader = Loader::new(&catalogue, sandbox, self.limits, self.patience, Arc::clone(&self.clock));
        Ok(Host(Arc::new(Snapshot {
            catalogue,
            loader,
            natives,
            clock: self.clock,
            calls: AtomicU64::new(0),
        })))
    }
}

fn accept_natives(natives: &[Arc<dyn NativeTool>]) -> Result<Vec<NativeRegistration>, Error> {
    let mut accepted: Vec<NativeRegistration> = Vec::new();
    for implementation in natives {
        let descriptor = implementation.descriptor();
        let name = ToolName::parse(&descriptor.name)
            .map_err(|problem| Error::configuration(format!("a native tool: {problem}")))?;
        if accepted.iter().any(|known| known.tool.name == name) {
            return Err(Error::configuration(format!("two native tools are named `{name}`; rename one")));
        }
        let tool = Tool::accept(name.clone(), &descriptor)
            .map_err(|cause| Error::configuration(format!("the native tool `{name}` is refused: {cause}")))?;
        accepted
            .push(NativeRegistration { tool: Arc::new(tool), implementation: Arc::clone(implementation) });
    }
    Ok(accepted)
}
