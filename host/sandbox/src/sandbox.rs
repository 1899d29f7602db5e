//! The sandbox as an embedder sees it: settings enter, plugins that can be invoked leave.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use airlock_core::{Code, Diagnostic, LoadRequest, Location, Plugin};
use futures_util::future::BoxFuture;
use wasmtime::Engine;
use wasmtime::component::Linker;

use crate::audit::audit;
use crate::bindings;
use crate::cache::Cache;
use crate::compile::Compiler;
use crate::engine::engine;
use crate::filesystem;
use crate::http::{self, Outbound, Resolver, SystemResolver};
use crate::key_value;
use crate::plugin::SandboxedPlugin;
use crate::queue::Slots;
use crate::state::State;
use crate::ticker::Ticker;
use crate::workers::Workers;

/// Settings of a sandbox.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// A folder for compiled code, made readable by this user only; without one, every start compiles everything.
    pub cache: Option<PathBuf>,
    /// Guests that run at once; 64 by default. Each reserves address space, and memory only while it runs.
    pub concurrent_guests: u32,
    /// Of those, guests of one plugin; 16 by default.
    pub concurrent_guests_per_plugin: u32,
    /// Who finds the addresses of hosts that plugins call; the system by default.
    pub resolver: Arc<dyn Resolver>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            cache: None,
            concurrent_guests: 64,
            concurrent_guests_per_plugin: 16,
            resolver: Arc::new(SystemResolver::default()),
        }
    }
}

/// Why a sandbox cannot start.
#[derive(Debug)]
pub struct SandboxError(String);

impl fmt::Display for SandboxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for SandboxError {}

/// What loading has cost since the sandbox started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Components that were compiled.
    pub compiled: u64,
    /// Components whose code came from the cache.
    pub from_cache: u64,
    /// Cache entries that were not what had been written; they were thrown away and compiled again.
    pub damaged_cache_entries: u64,
}

/// Runs WebAssembly components. Cheap to clone; make one a process.
#[derive(Debug, Clone)]
pub struct Sandbox(pub(crate) Arc<Runtime>);

/// What all plugins of a sandbox share.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) workers: Arc<Workers>,
    pub(crate) ticker: Ticker,
    pub(crate) slots: Slots,
    pub(crate) outbound: Arc<Outbound>,
    linker: Linker<State>,
    compiler: Arc<Compiler>,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Runtime").field("slots", &self.slots).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Starts the engine, its threads and, if configured, the cache.
    ///
    /// # Errors
    /// If the system refuses the address space or a thread, or the cache folder is not this user's alone.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        let failed = |what: &str, error: &dyn fmt::Display| {
            SandboxError(format!("the sandbox cannot start: {what}: {error}"))
        };
        let engine = engine(config.concurrent_guests.max(1))
            .map_err(|error| failed("the engine refuses its settings", &format!("{error:#}")))?;
        let workers = Workers::start().map_err(|error| failed("no worker threads", &error))?;
        let ticker = Ticker::start(&engine).map_err(|error| failed("no ticker thread", &error))?;
        let cache = config.cache.map(|folder| {
            Cache::open(&folder, &engine).map_err(|error| {
                failed(&format!("the cache folder {} cannot be used", folder.display()), &error)
            })
        });
        let cache = cache.transpose()?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)
            .and_then(|()| {
                bindings::Plugin::add_to_linker::<State, wasmtime::component::HasSelf<State>>(
                    &mut linker,
                    |state| state,
                )
            })
            .and_then(|()| key_value::add_to_linker(&mut linker))
            .and_then(|()| filesystem::add_to_linker(&mut linker))
            .and_then(|()| http::add_to_linker(&mut linker))
            .map_err(|error| failed("an interface cannot be linked", &format!("{error:#}")))?;
        let slots = Slots::new(config.concurrent_guests, config.concurrent_guests_per_plugin);
        let compiler = Arc::new(Compiler::new(engine.clone(), cache));
        let (workers, outbound) = (Arc::new(workers), Arc::new(Outbound::new(config.resolver)));
        Ok(Self(Arc::new(Runtime { engine, workers, ticker, slots, outbound, linker, compiler })))
    }

    /// What loading has cost so far.
    pub fn statistics(&self) -> Statistics {
        let counters = &self.0.compiler.counters;
        Statistics {
            compiled: counters.compiled.load(Ordering::Relaxed),
            from_cache: counters.from_cache.load(Ordering::Relaxed),
            damaged_cache_entries: counters.damaged_cache_entries.load(Ordering::Relaxed),
        }
    }

    async fn load_plugin(&self, request: LoadRequest) -> Result<Arc<dyn Plugin>, Diagnostic> {
        let runtime = &self.0;
        let (component, digest) =
            runtime.compiler.component(&request, &runtime.workers, &runtime.ticker).await?;
        let location = || Location::path(&request.component);
        audit(&runtime.engine, &component, &request.permissions).map_err(|(code, message, hint)| {
            Diagnostic::new(code, &request.plugin, message, hint).at(location())
        })?;
        let misfit = |code, what: &str, error: &wasmtime::Error| {
            let cause = airlock_core::text::single_line(&format!("{error:#}")).into_owned();
            let message = format!("the component {what}: {}", airlock_core::text::shorten(&cause, 300));
            Diagnostic::new(code, &request.plugin, message, "build it against the released contract")
                .at(location())
        };
        let linked = runtime
            .linker
            .instantiate_pre(&component)
            .map_err(|error| misfit(Code::ImportUnknown, "imports what the host does not provide", &error))?;
        let plugin = bindings::PluginPre::new(linked)
            .map_err(|error| misfit(Code::WorldMismatch, "does not export what the contract says", &error))?;
        Ok(Arc::new(SandboxedPlugin::new(Arc::clone(runtime), plugin, digest, request.configuration)))
    }
}

impl airlock_core::Sandbox for Sandbox {
    fn load(&self, request: LoadRequest) -> BoxFuture<'_, Result<Arc<dyn Plugin>, Diagnostic>> {
        Box::pin(self.load_plugin(request))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.0.workers.detach(task);
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let alarm = self.0.ticker.alarm(Instant::now() + duration);
        Box::pin(async move {
            let mut alarm = alarm;
            // A ticker that is gone keeps no time: then it is over at once.
            let _ = (&mut alarm.fired).await;
        })
    }
}
