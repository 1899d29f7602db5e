//! Exposed → called → executed: one call of one tool, from its arguments to its record.
//!
//! [`run`] is the list of checkpoints. Each takes what the one before it made, so that none can be skipped: only
//! acceptance makes an [`AcceptedCall`], only the gates make an [`AdmittedCall`], only that executes.

mod accept;
mod after;
mod approval;
mod before;
mod concurrency;
mod end;
mod execute;
mod gate;
mod ledger;
mod persist;
mod receipt;
mod repetition;
mod stale;
mod trusted;
mod unwrap;
mod via;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::hooks::ToolAttempt;
use crate::id::CallId;
use crate::plugin::ProgressSink;
use crate::skills::SkillName;
use crate::surface::{ExposedTool, Surface};

pub use approval::{ApprovalAnswer, ApprovalQuestion, ApprovalReason, Approver};
pub use end::{CallError, CallKind, CallStatus, Outcome};
pub use receipt::{Checkpoint, GuestReceipt, NearestLimit, Receipt, TrailEntry};
pub use trusted::TrustedPolicy;

pub(crate) use concurrency::Turns;
use execute::Executed;
use ledger::Ledger;
use receipt::Trail;
pub(crate) use repetition::Repetitions;
use via::Via;

/// What a model asks for: a tool by its canonical name, with arguments.
#[derive(Debug, Clone)]
pub struct Call {
    tool: String,
    arguments: Arguments,
    id: Option<CallId>,
    progress: ProgressSink,
    cancellation: CancellationToken,
    is_dry: bool,
    /// The skill whose command it is.
    command_of: Option<SkillName>,
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
            is_dry: false,
            command_of: None,
        }
    }

    /// The same call, which the command of a skill makes.
    pub(crate) fn by_command_of(mut self, skill: SkillName) -> Self {
        self.command_of = Some(skill);
        self
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

    /// Stops before the tool runs: every gate is asked, and the trail says what each decided.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.is_dry = true;
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
    /// As the model wrote them.
    written: Value,
    /// What it came through.
    via: Option<Via>,
    progress: ProgressSink,
}

/// A call that every gate let through, with its final arguments. Only [`approval::obtain`] makes one.
#[derive(Debug)]
pub(crate) struct AdmittedCall<'surface>(AcceptedCall<'surface>);

impl AcceptedCall<'_> {
    /// The call as policies and handlers are shown it.
    fn attempt(&self) -> ToolAttempt {
        ToolAttempt {
            call_id: self.id.clone(),
            tool: self.exposed.tool.name.clone(),
            owner: self.exposed.owner.to_string(),
            side_effecting: self.exposed.side_effecting,
            params: self.arguments.clone(),
            via: self.via.as_ref().map(ToString::to_string),
        }
    }
}

/// What a record and an outcome say about the call, whatever its end.
#[derive(Debug, Clone)]
struct Identity {
    id: CallId,
    /// Canonical if it could be a name, else a harmless form of what was written.
    tool: String,
    owner: Option<String>,
    /// As they were when the call ended.
    arguments: Value,
    /// What it came through.
    via: Option<Via>,
}

/// The checkpoints in their order.
pub(crate) async fn run(surface: &Surface, call: Call) -> Outcome {
    let host = surface.host();
    let _at_work = host.at_work();
    let current = host.current();
    let guards = current.guards().await;
    let contents = current.config.file().audit.contents;
    let is_loop_protected = current.config.file().loop_protection.enabled;
    let mut ledger = Ledger::open(host, surface.run(), contents).await;
    let mut trail = Trail::start(host.clock());
    let (cancellation, is_dry) = (call.cancellation.clone(), call.is_dry);

    let (mut identity, accepted) = accept::accept(surface, call, &mut trail);
    ledger.know(&identity);
    let exposed = accepted.as_ref().ok().map(|accepted| accepted.exposed);
    let written = is_loop_protected.then(|| identity.arguments.clone());
    let mut asks = Vec::new();
    let gates = async {
        let call = accepted.map_err(Box::new)?;
        let call = stale::still_allowed(surface, call, &mut trail)?;
        let call = if is_loop_protected { repetition::judge(surface, call, &mut trail)? } else { call };
        let call = trusted::judge(surface, call, &mut asks, &mut trail).await?;
        let call = before::ask(surface, &guards, call, &mut asks, &mut ledger.witnesses, &mut trail).await?;
        if call.arguments != identity.arguments {
            identity.arguments.clone_from(&call.arguments);
        }
        approval::obtain(surface, call, &asks, is_dry, &mut trail).await
    };
    let gates = host.closing().run_until_cancelled(cancellation.run_until_cancelled(gates));
    let admitted = gates.await.flatten();
    let admitted = admitted.unwrap_or_else(|| Err(Box::new(Executed::cancelled(surface, &identity.tool))));
    let executed = match admitted {
        Ok(admitted) if is_dry => execute::not_run(&admitted, &mut trail),
        Ok(admitted) => execute::execute(surface, admitted, &mut ledger, &cancellation, &mut trail).await,
        Err(refusal) => *refusal,
    };
    ledger.is_dry = is_dry;
    // Nothing happened in a dry run, so that nobody is told.
    if let Some(exposed) = exposed.filter(|_| !is_dry) {
        if let Some(written) = &written {
            repetition::remember(surface, written, &identity, &executed);
        }
        after::tell(surface, &guards, exposed, &identity, &executed, trail.elapsed());
    }
    persist::persist(surface, &guards, exposed, identity, executed, ledger, trail).await
}
