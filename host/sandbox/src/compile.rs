//! From a component file to code: read within bounds, found in the cache or compiled, never twice at once.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use airlock_core::{Code, Diagnostic, Digest, LoadRequest, Location};
use futures_util::future::{BoxFuture, Either, FutureExt as _, Shared, select};
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::cache::{Cache, Lookup};
use crate::scan::scan;
use crate::ticker::Ticker;
use crate::workers::Workers;

/// Largest component in bytes: Python guests have 18 MB.
const MAX_COMPONENT_BYTES: u64 = 64 << 20;

/// Compilations at once. Each uses all cores, and its memory is a multiple of the component's size.
const CONCURRENT_COMPILATIONS: usize = 2;

/// How long one compilation is awaited: a Python or JavaScript guest takes up to 18 s.
const MAX_COMPILATION: Duration = Duration::from_secs(120);

/// What compiling has cost so far, for whoever wants to know whether the cache works.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) compiled: AtomicU64,
    pub(crate) from_cache: AtomicU64,
    pub(crate) damaged_cache_entries: AtomicU64,
}

/// Turns component bytes into code.
#[derive(Debug)]
pub(crate) struct Compiler {
    engine: Engine,
    cache: Option<Cache>,
    permits: Arc<Semaphore>,
    /// Compilations that are going on, so that a second request for the same bytes joins the first.
    running: Mutex<HashMap<Digest, Started>>,
    pub(crate) counters: Counters,
}

type Compilation = Shared<BoxFuture<'static, Result<Component, Fault>>>;

/// A compilation, and the moment at which its turn came, once it has.
type Started = (Arc<OnceLock<Instant>>, Compilation);

/// Why there is no code.
#[derive(Debug, Clone)]
struct Fault {
    code: Code,
    message: String,
    hint: &'static str,
}

impl Fault {
    fn new(code: Code, message: impl Into<String>, hint: &'static str) -> Self {
        Self { code, message: message.into(), hint }
    }

    fn diagnostic(self, request: &LoadRequest) -> Diagnostic {
        Diagnostic::new(self.code, &request.plugin, self.message, self.hint)
            .at(Location::path(&request.component))
    }
}

impl Compiler {
    pub(crate) fn new(engine: Engine, cache: Option<Cache>) -> Self {
        let permits = Arc::new(Semaphore::new(CONCURRENT_COMPILATIONS));
        Self { engine, cache, permits, running: Mutex::default(), counters: Counters::default() }
    }

    /// The code of the component that `request` names, and the digest of exactly the bytes that were compiled.
    pub(crate) async fn component(
        self: &Arc<Self>,
        request: &LoadRequest,
        workers: &Arc<Workers>,
        ticker: &Ticker,
    ) -> Result<(Component, Digest), Diagnostic> {
        let (path, compiler) = (request.component.clone(), Arc::clone(self));
        let read = workers.spawn_blocking(move || {
            let bytes = read_component(&path)?;
            let digest = Digest::of(&bytes);
            Ok((compiler.cached(digest), bytes, digest))
        });
        let read = read.await.unwrap_or_else(|| {
            Err(Fault::new(Code::ComponentInvalid, "reading the component failed", "try again"))
        });
        let (cached, bytes, digest) = read.map_err(|fault| fault.diagnostic(request))?;
        if let Some(component) = cached {
            return Ok((component, digest));
        }
        let (since, compilation) = self.join(digest, bytes, workers);
        // Whoever waits longer than a compilation may take waits for others' compilations too.
        let patience = request.patience.min(MAX_COMPILATION);
        let mut alarm = ticker.alarm(Instant::now() + patience);
        match select(compilation, &mut alarm.fired).await {
            Either::Left((result, _)) => {
                result.map(|component| (component, digest)).map_err(|fault| fault.diagnostic(request))
            }
            Either::Right(_) => Err(match since.get().map(Instant::elapsed) {
                Some(elapsed) if elapsed >= MAX_COMPILATION => Fault::new(
                    Code::CompileTimedOut,
                    format!("the component takes longer than {} s to compile", MAX_COMPILATION.as_secs()),
                    "make the component smaller",
                ),
                Some(elapsed) => Fault::new(
                    Code::NotReady,
                    format!("the component is still compiling after {} ms", elapsed.as_millis()),
                    "it is ready at a later assembly; `airlock plugins` compiles ahead",
                ),
                None => Fault::new(
                    Code::NotReady,
                    format!("the component waits for other compilations, after {} ms", patience.as_millis()),
                    "it is ready at a later assembly; `airlock plugins` compiles ahead",
                ),
            }
            .diagnostic(request)),
        }
    }

    fn cached(&self, digest: Digest) -> Option<Component> {
        match self.cache.as_ref()?.load(&self.engine, digest) {
            Lookup::Hit(component) => {
                self.counters.from_cache.fetch_add(1, Ordering::Relaxed);
                Some(component)
            }
            Lookup::Miss => None,
            Lookup::Damaged => {
                self.counters.damaged_cache_entries.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<Digest, Started>> {
        // The lock guards a map, which no panic leaves half-changed.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The compilation of these bytes: the one that is going on, or a new one, which goes on if nobody waits for it.
    fn join(self: &Arc<Self>, digest: Digest, bytes: Vec<u8>, workers: &Arc<Workers>) -> Started {
        let mut running = self.running();
        if let Some(started) = running.get(&digest) {
            return started.clone();
        }
        let since = Arc::new(OnceLock::new());
        let begun = Arc::clone(&since);
        let (compiler, blocking_workers) = (Arc::clone(self), Arc::clone(workers));
        let compilation = async move {
            let permit = Arc::clone(&compiler.permits).acquire_owned().await;
            let _ = begun.set(Instant::now());
            let inner = Arc::clone(&compiler);
            let task = blocking_workers.spawn_blocking(move || {
                let _permit = permit;
                inner.compile(digest, &bytes)
            });
            let result = task.await;
            compiler.running().remove(&digest);
            result.unwrap_or_else(|| {
                Err(Fault::new(
                    Code::ComponentInvalid,
                    "the compiler failed on this component",
                    "report it, with the component",
                ))
            })
        }
        .boxed()
        .shared();
        let started = (since, compilation.clone());
        running.insert(digest, started.clone());
        workers.detach(compilation);
        started
    }

    fn compile(&self, digest: Digest, bytes: &[u8]) -> Result<Component, Fault> {
        scan(bytes).map_err(|cause| {
            let message = format!("invalid component: {cause}");
            Fault::new(Code::ComponentInvalid, message, "build it again, or make it simpler")
        })?;
        let component = Component::from_binary(&self.engine, bytes).map_err(|error| {
            let cause = airlock_core::text::single_line(&format!("{error:#}")).into_owned();
            let cause = airlock_core::text::shorten(&cause, 300).into_owned();
            Fault::new(
                Code::ComponentInvalid,
                format!("invalid component: {cause}"),
                "build it again; the file may be cut, or use a feature or a size that the sandbox does not allow",
            )
        })?;
        self.counters.compiled.fetch_add(1, Ordering::Relaxed);
        if let Some(cache) = &self.cache
            && let Ok(artefact) = component.serialize()
        {
            // A cache that cannot be written costs time, not correctness.
            let _ = cache.store(digest, &artefact);
        }
        Ok(component)
    }
}

/// The bytes of a component file, after the checks that need no parser.
fn read_component(path: &Path) -> Result<Vec<u8>, Fault> {
    const WASM_MAGIC: &[u8] = b"\0asm";
    const MODULE_VERSION: &[u8] = b"\0asm\x01\0\0\0";
    const COMPONENT_VERSION: &[u8] = b"\0asm\x0d\0\x01\0";
    let unreadable = |error: io::Error| {
        Fault::new(
            Code::ComponentMissing,
            format!("the component cannot be read: {error}"),
            "make it a readable file",
        )
    };
    let too_large = |bytes: u64| {
        let message = format!("the component has {bytes} bytes, the limit is {MAX_COMPONENT_BYTES}");
        Fault::new(Code::ComponentTooLarge, message, "make it smaller: optimise for size, strip it")
    };
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length > MAX_COMPONENT_BYTES {
        return Err(too_large(length));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let invalid = |cause: &str| {
        Fault::new(
            Code::ComponentInvalid,
            format!("invalid component: {cause}"),
            "build it for wasm32-wasip2",
        )
    };
    if bytes.len() as u64 > MAX_COMPONENT_BYTES {
        Err(too_large(bytes.len() as u64))
    } else if bytes.is_empty() {
        Err(invalid("the file is empty"))
    } else if bytes.starts_with(MODULE_VERSION) {
        Err(Fault::new(
            Code::ComponentIsModule,
            "the file is a core WebAssembly module, not a component",
            "build it for wasm32-wasip2, or make a component of it",
        ))
    } else if bytes.starts_with(COMPONENT_VERSION) {
        Ok(bytes)
    } else if bytes.starts_with(WASM_MAGIC) {
        Err(invalid("the file is WebAssembly of an unknown version, or cut"))
    } else {
        Err(invalid("the file is not WebAssembly"))
    }
}
