//! Exposed → called → executed: one call of one tool, from its arguments to its record.
//!
//! [`run`] is the list of checkpoints. Each takes what the one before it made, so that none can be skipped: only
//! acceptance makes an [`AcceptedCall`], only the gates make an [`AdmittedCall`], only that executes.

mod accept;
mod end;
mod execute;
mod persist;
mod receipt;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::hooks::HookName;
use crate::id::CallId;
use crate::plugin::ProgressSink;
use crate::surface::{ExposedTool, Surface};

pub use end::{CallError, CallKind, CallStatus, Outcome};
pub use receipt::{Checkpoint, GuestReceipt, NearestLimit, Receipt, TrailEntry};

use execute::Executed;
use receipt::Trail;

/// What a model asks for: a tool by its canonical name, with arguments.
#[derive(Debug, Clone)]
pub struct Call {
    tool: String,
    arguments: Arguments,
    id: Option<CallId>,
    progress: ProgressSink,
    cancellation: CancellationToken,
}

/// A call's arguments before they were checked.
#[derive(Debug, Clone)]
pub enum Arguments {
    /// A JSON document, as a provider sends it; blank means no arguments.
    Text(String),
    /// A JSON value; null means no arguments.
    Value(Value),
}

impl Call {
    /// A call of the tool named `tool` with a JSON value.
    pub fn new(tool: impl Into<String>, arguments: Value) -> Self {
        Self::with(tool, Arguments::Value(arguments))
    }

    /// A call whose arguments are still text; text that is no JSON ends the call as `invalid-params`.
    pub fn from_json(tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::with(tool, Arguments::Text(arguments.into()))
    }

    fn with(tool: impl Into<String>, arguments: Arguments) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            id: None,
            progress: ProgressSink::default(),
            cancellation: CancellationToken::new(),
        }
    }

    /// The provider's id of this call; without one the host numbers it.
    #[must_use]
    pub fn id(mut self, id: CallId) -> Self {
        self.id = Some(id);
        self
    }

    /// Where the tool's progress goes.
    #[must_use]
    pub fn on_progress(mut self, progress: ProgressSink) -> Self {
        self.progress = progress;
        self
    }

    /// Ends the call as `cancelled` when the token is cancelled; the tool is really stopped.
    #[must_use]
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }
}

/// A call that named an exposed tool with arguments that fit its schema.
#[derive(Debug)]
pub(crate) struct AcceptedCall<'surface> {
    id: CallId,
    exposed: &'surface ExposedTool,
    /// Always an object.
    arguments: Value,
    progress: ProgressSink,
    cancellation: CancellationToken,
}

/// A call that every gate let through, with its final arguments. Only [`AcceptedCall::admit`] makes one.
#[derive(Debug)]
pub(crate) struct AdmittedCall<'surface>(AcceptedCall<'surface>);

impl<'surface> AcceptedCall<'surface> {
    /// The gates between acceptance and execution: the configuration that is in force, and guards that are missing.
    fn admit(
        self,
        surface: &Surface,
        trail: &mut Trail<'_>,
    ) -> Result<AdmittedCall<'surface>, Box<Executed>> {
        let name = &self.exposed.tool.name;
        if let Some(reason) = surface.staleness(self.exposed) {
            let message = format!("the tool `{name}` is no longer available");
            let error = CallError::new(CallKind::StaleSurface, message).with_detail(reason.clone());
            trail.note(Checkpoint::Gate, error.kind.as_str(), "core", Some(reason));
            return Err(Box::new(Executed::refused(error)));
        }
        if let Some(guard) = surface.missing_guard(HookName::BeforeToolCall, name.as_str()) {
            let message =
                format!("the tool `{name}` is blocked: its guard `{}` {}", guard.plugin, guard.reason);
            let error = CallError::new(CallKind::Blocked, message).bounded();
            trail.note(
                Checkpoint::Gate,
                error.kind.as_str(),
                guard.plugin.as_str(),
                Some(guard.reason.clone()),
            );
            return Err(Box::new(Executed::refused(error)));
        }
        Ok(AdmittedCall(self))
    }
}

/// What a record and an outcome say about the call, whatever its end.
#[derive(Debug, Clone)]
struct Identity {
    id: CallId,
    /// Canonical if it could be a name, else a harmless form of what was written.
    tool: String,
    owner: Option<String>,
    arguments: Value,
}

/// The checkpoints in their order.
pub(crate) async fn run(surface: &Surface, call: Call) -> Outcome {
    let clock = &*surface.snapshot().clock;
    let mut trail = Trail::start(clock);
    let (identity, accepted) = accept::accept(surface, call, &mut trail);
    let admitted = accepted.map_err(Box::new).and_then(|accepted| accepted.admit(surface, &mut trail));
    let executed = match admitted {
        Ok(admitted) => execute::execute(surface, admitted, &mut trail).await,
        Err(refusal) => *refusal,
    };
    persist::persist(surface, identity, executed, trail)
}
