//! What one instance may reach while it lives: WASI with nothing granted, the registry while it registers, its log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use airlock_core::{
    Access, Exposure, Limits, LogLevel, LogLine, Progress, ProgressSink, Registrar, RegistrationError,
    RunContext, TraceSink, text,
};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use crate::bindings::airlock::plugin::{hook_types, registry, runtime, types};
use crate::convert;
use crate::http::{Http, Outbound};
use crate::invoke::Reach;
use crate::key_value;
use crate::limiter::MemoryLimiter;
use crate::stdio::CapturedOutput;

/// Host resources that a guest may hold at once; a pollable takes two.
const MAX_RESOURCES: usize = 256;

/// Random bytes that one request may ask for: keys and seeds are under a hundred.
const MAX_RANDOM_BYTES: u64 = 64 << 10;

/// Stack on which a registration is judged, in bytes: an ordinary thread's.
const JUDGE_STACK_BYTES: usize = 8 << 20;

/// Log lines kept of one invocation.
const MAX_LOG_LINES: usize = 1_000;

/// Longest log line, in bytes.
const MAX_LOG_LINE_BYTES: usize = 4 << 10;

/// Shortest time between two progress reports that are passed on: 20 a second.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

/// Longest progress message, in characters.
const MAX_PROGRESS_CHARS: usize = 200;

/// Read from outside while the guest runs, and after it was dropped in the middle of something.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub(crate) peak_memory_bytes: Arc<AtomicU64>,
    pub(crate) fuel: AtomicU64,
    /// Ticks that found the guest busy.
    pub(crate) ticks: AtomicU64,
    pub(crate) host_calls: AtomicU64,
    pub(crate) log_lines: AtomicU64,
    pub(crate) log_lines_dropped: AtomicU64,
    /// What it reached for beyond what is kept one by one, and how much of that was refused.
    pub(crate) more_reached: AtomicU64,
    pub(crate) more_refused: AtomicU64,
    pub(crate) traces: TraceSink,
}

/// How an instance's requests get out, and until when.
pub(crate) struct Outgoing {
    pub(crate) outbound: Arc<Outbound>,
    pub(crate) deadline: Instant,
}

/// The data of one store, dropped with its instance.
pub(crate) struct State {
    pub(crate) limiter: MemoryLimiter,
    pub(crate) meter: Arc<Meter>,
    pub(crate) stdout: CapturedOutput,
    pub(crate) stderr: CapturedOutput,
    /// Present only while `register` runs.
    pub(crate) registrar: Option<Registrar>,
    configuration: Arc<str>,
    progress: ProgressSink,
    /// What the guest may reach; nothing while it registers and makes tools.
    pub(crate) access: Option<Access>,
    pub(crate) key_value: key_value::Session,
    /// The run that this belongs to, whose workspace a granted folder is.
    pub(crate) run: Option<Arc<RunContext>>,
    /// Whether it is on the receipt which folders the guest was given.
    pub(crate) are_folders_noted: bool,
    outgoing: Outgoing,
    http: Option<Http>,
    last_progress: Option<Instant>,
    /// Made when the guest first asks for something of WASI: most calls never do.
    wasi: Option<WasiCtx>,
    pub(crate) table: ResourceTable,
}

impl State {
    pub(crate) fn new(
        limits: &Limits,
        configuration: Arc<str>,
        registrar: Option<Registrar>,
        progress: ProgressSink,
        reach: Option<Reach>,
        outgoing: Outgoing,
    ) -> Self {
        let (access, run, traces) = match reach {
            Some(Reach { access, run, traces }) => (Some(access), run, traces),
            None => (None, None, TraceSink::default()),
        };
        let meter = Arc::new(Meter { traces, ..Meter::default() });
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        Self {
            limiter: MemoryLimiter::new(limits.memory_bytes, Arc::clone(&meter.peak_memory_bytes)),
            meter,
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            registrar,
            configuration,
            progress,
            access,
            key_value: key_value::Session::default(),
            run,
            are_folders_noted: false,
            outgoing,
            http: None,
            last_progress: None,
            wasi: None,
            table,
        }
    }

    pub(crate) fn count_host_call(&self) {
        self.meter.host_calls.fetch_add(1, Ordering::Relaxed);
    }

    /// What requests need, made at the first of them, and the table in which they lie.
    pub(crate) fn http_parts(&mut self) -> (&mut Http, &mut ResourceTable) {
        let Outgoing { outbound, deadline } = &self.outgoing;
        let http = self.http.get_or_insert_with(|| {
            Http::new(Arc::clone(outbound), self.access.clone(), Arc::clone(&self.meter), *deadline)
        });
        (http, &mut self.table)
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.count_host_call();
        let (stdout, stderr) = (&self.stdout, &self.stderr);
        let ctx = self.wasi.get_or_insert_with(|| {
            let mut builder = WasiCtxBuilder::new();
            builder.stdout(stdout.clone()).stderr(stderr.clone());
            builder.max_random_size(MAX_RANDOM_BYTES);
            builder.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
            builder.build()
        });
        WasiCtxView { ctx, table: &mut self.table }
    }
}

impl types::Host for State {}
impl hook_types::Host for State {}

impl registry::Host for State {
    fn register_tool(
        &mut self,
        tool: types::Tool,
        exposure: registry::Exposure,
    ) -> wasmtime::Result<Result<(), registry::RegistrationError>> {
        let descriptor = convert::descriptor(tool);
        Ok(self.register(|registrar| registrar.register_tool(&descriptor, convert::exposure(exposure))))
    }

    fn register_factory(
        &mut self,
        factory: types::FactoryId,
        names: Vec<String>,
        exposure: registry::Exposure,
    ) -> wasmtime::Result<Result<(), registry::RegistrationError>> {
        let exposure: Exposure = convert::exposure(exposure);
        Ok(self.register(|registrar| registrar.register_factory(factory, &names, exposure)))
    }

    fn on(
        &mut self,
        handler: types::HandlerId,
        hook: hook_types::HookName,
        options: hook_types::HookOptions,
    ) -> wasmtime::Result<Result<(), registry::RegistrationError>> {
        let (hook, options) = (convert::hook_name(hook), convert::hook_options(options));
        Ok(self.register(|registrar| registrar.on(handler, hook, options)))
    }
}

impl State {
    fn register(
        &mut self,
        act: impl FnOnce(&mut Registrar) -> Result<(), RegistrationError> + Send,
    ) -> Result<(), registry::RegistrationError> {
        self.count_host_call();
        let Some(registrar) = self.registrar.as_mut() else {
            return Err(convert::registration_error(RegistrationError::Closed));
        };
        // Judging a schema recurses; the guest's fiber, on which a host call runs, has a small stack.
        let judged = std::thread::scope(|scope| {
            let judge = std::thread::Builder::new()
                .stack_size(JUDGE_STACK_BYTES)
                .spawn_scoped(scope, || act(registrar));
            judge.ok().and_then(|judge| judge.join().ok())
        });
        let judged = judged
            .unwrap_or_else(|| Err(RegistrationError::Invalid("the host could not judge it".to_owned())));
        judged.map_err(convert::registration_error)
    }
}

impl runtime::Host for State {
    fn log(&mut self, level: runtime::Level, message: String) -> wasmtime::Result<()> {
        self.count_host_call();
        self.meter.log_lines.fetch_add(1, Ordering::Relaxed);
        let log = &mut self.meter.traces.lock().log;
        if log.len() >= MAX_LOG_LINES {
            self.meter.log_lines_dropped.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        // Escaping makes text longer, up to ten times: what is escaped is bounded before and after.
        let escaped = text::escape(text::prefix_within(&message, MAX_LOG_LINE_BYTES));
        let mut line = text::prefix_within(&escaped, MAX_LOG_LINE_BYTES).to_owned();
        if line.len() < escaped.len() || message.len() > MAX_LOG_LINE_BYTES {
            line.push_str(&format!(" [… shortened from {} bytes]", message.len()));
        }
        log.push(LogLine { level: log_level(level), message: line });
        Ok(())
    }

    fn config(&mut self) -> wasmtime::Result<String> {
        self.count_host_call();
        Ok(self.configuration.to_string())
    }

    fn progress(&mut self, done: f64, total: Option<f64>, message: Option<String>) -> wasmtime::Result<()> {
        self.count_host_call();
        let now = Instant::now();
        if self.last_progress.is_some_and(|last| now.duration_since(last) < PROGRESS_INTERVAL) {
            return Ok(());
        }
        self.last_progress = Some(now);
        let message = message
            .map(|message| text::single_line(&text::shorten(&message, MAX_PROGRESS_CHARS)).into_owned());
        self.progress.send(Progress { done, total, message });
        Ok(())
    }
}

fn log_level(level: runtime::Level) -> LogLevel {
    match level {
        runtime::Level::Trace => LogLevel::Trace,
        runtime::Level::Debug => LogLevel::Debug,
        runtime::Level::Info => LogLevel::Info,
        runtime::Level::Warn => LogLevel::Warn,
        runtime::Level::Error => LogLevel::Error,
    }
}
