//! The seam between the rules and an engine: what core asks of a sandbox, and all that it may learn back.
//!
//! No engine type appears here. A plugin behind this seam is untrusted: its answers are checked by core, its use of
//! time, memory and output is bounded by the sandbox.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::capability::{Access, Reached};
use crate::diagnostic::Diagnostic;
use crate::hooks::{HookEvent, HookOutcome};
use crate::id::{CallId, Digest, PluginId, ToolName};
use crate::limits::Limits;
use crate::manifest::Permissions;
use crate::registry::Registrar;
use crate::run::RunContext;
use crate::tool::{Content, ToolDescriptor};

/// Turns components into plugins that can be run.
pub trait Sandbox: Send + Sync + fmt::Debug {
    /// Reads, audits and compiles a component, or takes it from the compile cache. No code of it runs.
    fn load(&self, request: LoadRequest) -> BoxFuture<'_, Result<Arc<dyn Plugin>, Diagnostic>>;

    /// Runs a task of the host to its end, whoever waits for it, on threads that are not the caller's.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Is over after that time, under any runtime. Dropping it costs nothing.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// Which component to load.
#[derive(Debug, Clone)]
pub struct LoadRequest {
    /// Whose it is.
    pub plugin: PluginId,
    /// The component file, already confined to its package.
    pub component: PathBuf,
    /// What the manifest asks for: imports beyond it are refused.
    pub permissions: Permissions,
    /// The plugin's configuration as JSON, which the guest may read.
    pub configuration: Arc<str>,
    /// How long to wait for a compilation before `not-ready`; the compilation goes on.
    pub patience: Duration,
}

/// A compiled plugin. Every invocation runs in a fresh instance, and dropping its future really stops the guest.
pub trait Plugin: Send + Sync + fmt::Debug {
    /// Of the component's exact bytes.
    fn digest(&self) -> Digest;

    /// Runs `register`. What the guest registers is judged by the registrar, which comes back whatever happens.
    fn register(&self, registrar: Registrar, limits: Limits) -> BoxFuture<'_, Registered>;

    /// Asks a factory for the tools of one run.
    fn materialise(&self, request: Materialisation) -> BoxFuture<'_, Materialised>;

    /// Asks a hook's handler.
    fn handle(&self, request: Handling) -> BoxFuture<'_, Handled>;

    /// Runs one tool call.
    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Invoked>;
}

/// How `register` ended.
#[derive(Debug)]
pub struct Registered {
    /// What was registered, with every refusal.
    pub registrar: Registrar,
    /// `Ok` if the guest returned; the inner error is its own message.
    pub end: Result<Result<(), String>, Stop>,
    /// What it used.
    pub usage: Usage,
}

/// Which handler to ask about what.
#[derive(Debug, Clone)]
pub struct Handling {
    /// The plugin's own number for it.
    pub handler: u32,
    /// What happened, or is about to.
    pub event: HookEvent,
    /// The run that it belongs to, if to any.
    pub run: Option<Arc<RunContext>>,
    /// What it may use.
    pub limits: Limits,
    /// What it may reach.
    pub access: Access,
    /// Where it leaves its traces.
    pub traces: TraceSink,
}

/// What a handler answered.
#[derive(Debug)]
pub struct Handled {
    /// Its outcome, unchecked; the inner error is the guest's own message.
    pub end: Result<Result<HookOutcome, String>, Stop>,
    /// What it used.
    pub usage: Usage,
}

/// Which factory to ask, for which run.
#[derive(Debug, Clone)]
pub struct Materialisation {
    /// The plugin's own number for it.
    pub factory: u32,
    /// The run.
    pub run: Arc<RunContext>,
    /// What it may use.
    pub limits: Limits,
}

/// What a factory answered.
#[derive(Debug)]
pub struct Materialised {
    /// Its tools, unchecked; the inner error is the guest's own message.
    pub end: Result<Result<Vec<BoundDescriptor>, String>, Stop>,
    /// What it used.
    pub usage: Usage,
}

/// A tool as a factory made it, unchecked.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundDescriptor {
    /// The tool.
    pub descriptor: ToolDescriptor,
    /// JSON that comes back with each call.
    pub binding: Option<String>,
}

/// The factory that made a tool, and what it bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The plugin's own number for it.
    pub factory: u32,
    /// JSON, as the factory wrote it.
    pub binding: Option<String>,
}

/// One call of one tool, ready to run.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The final arguments as JSON.
    pub arguments: String,
    /// The factory that made the tool for this run, if one did.
    pub bound: Option<Bound>,
    /// The run that the call belongs to.
    pub run: Arc<RunContext>,
    /// What it may use.
    pub limits: Limits,
    /// What it may reach.
    pub access: Access,
    /// Where progress goes.
    pub progress: ProgressSink,
    /// Where it leaves its traces.
    pub traces: TraceSink,
}

/// How an invocation ended.
#[derive(Debug)]
pub struct Invoked {
    /// The tool's answer, or why there is none.
    pub end: Result<Answer, Stop>,
    /// What it used.
    pub usage: Usage,
}

/// What an invocation left behind, whatever its end: all of it bounded.
#[derive(Debug, Default)]
pub struct Traces {
    /// What it logged.
    pub log: Vec<LogLine>,
    /// What it reached for outside its sandbox.
    pub reached: Vec<Reached>,
}

/// Where one invocation leaves its traces while it runs, so that one that is given up leaves them too. Clones are one sink.
#[derive(Debug, Clone, Default)]
pub struct TraceSink(Arc<Mutex<Traces>>);

impl TraceSink {
    /// Everything so far. The lock guards plain lists, which no panic leaves half-changed.
    pub fn lock(&self) -> MutexGuard<'_, Traces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a guest returned, in its own words: details are still unparsed text.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It did its work.
    Result {
        /// For the model.
        content: Vec<Content>,
        /// JSON for people and programs.
        details: Option<String>,
    },
    /// The arguments fit the schema and still make no sense.
    InvalidParams(String),
    /// Something it needs is not there.
    Unavailable(String),
    /// It tried and failed.
    Failed {
        /// For the model.
        message: String,
        /// JSON for people and programs.
        details: Option<String>,
    },
}

/// Why a guest did not return. Decided by type wherever the engine has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The wall clock ran out.
    TimedOut,
    /// The fuel ran out.
    OutOfFuel,
    /// It asked for more memory or table elements than it may have.
    OutOfMemory,
    /// It passed the host more than it may.
    OutputTooLarge(String),
    /// It trapped.
    Trapped {
        /// What the engine says.
        cause: String,
        /// The guest's own last words, if it panicked.
        panic: Option<String>,
    },
    /// What it answered had the value of a secret in it.
    Withheld {
        /// The secret's name.
        secret: String,
    },
    /// No slot came free in time.
    Busy,
    /// Its component does not have the shape that the contract's version has.
    Mismatched(String),
    /// The host itself is at fault.
    HostFault(String),
}

/// What an invocation used. Fields that an engine cannot tell are zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Fuel used.
    pub fuel: u64,
    /// Most bytes of linear memory held at once, all memories together.
    pub peak_memory_bytes: u64,
    /// From having the slot to the end.
    #[serde(rename = "wall_us")]
    pub wall: Micros,
    /// Waiting for the slot.
    #[serde(rename = "queued_us")]
    pub queued: Micros,
    /// Times that the host served the guest, standard interfaces included.
    pub host_calls: u64,
    /// Lines logged.
    pub log_lines: u64,
    /// Lines over the limit, which are counted and not kept.
    pub log_lines_dropped: u64,
    /// Bytes written to standard output and standard error.
    pub stdio_bytes: u64,
    /// Of those, bytes over the limit, which are counted and not kept.
    pub stdio_bytes_dropped: u64,
}

/// A duration, shown in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub Duration);

impl Serialize for Micros {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX))
    }
}

/// One line that a plugin logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// How important.
    pub level: LogLevel,
    /// What; at most 4 KiB with what had to be escaped, the rest replaced by a marker.
    pub message: String,
}

/// Importance of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words are everybody's")]
pub enum LogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// One report of a running call.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Units done.
    pub done: f64,
    /// Units in all, if known.
    pub total: Option<f64>,
    /// A few words.
    pub message: Option<String>,
}

/// Where a call's progress goes; by default nowhere.
#[derive(Clone, Default)]
pub struct ProgressSink(Option<Arc<dyn Fn(Progress) + Send + Sync>>);

impl ProgressSink {
    /// Calls `receive` for every report. It must return at once: the guest waits for it.
    pub fn new(receive: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receive)))
    }

    /// Passes one report on.
    pub fn send(&self, progress: Progress) {
        if let Some(receive) = &self.0 {
            receive(progress);
        }
    }
}

impl fmt::Debug for ProgressSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "ProgressSink" } else { "ProgressSink(nowhere)" })
    }
}

type ReceiveLog = dyn Fn(&str, LogLine) + Send + Sync;

/// Where lines go that a plugin logs beside a call: in an observer, say. By default nowhere.
#[derive(Clone, Default)]
pub struct LogSink(Option<Arc<ReceiveLog>>);

impl LogSink {
    /// Calls `receive` with the plugin's id and each line, when its handler is done. It must return at once.
    pub fn new(receive: impl Fn(&str, LogLine) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receive)))
    }

    /// Passes lines on.
    pub(crate) fn send(&self, plugin: &str, lines: Vec<LogLine>) {
        if let Some(receive) = &self.0 {
            lines.into_iter().for_each(|line| receive(plugin, line));
        }
    }
}

impl fmt::Debug for LogSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "LogSink" } else { "LogSink(nowhere)" })
    }
}
