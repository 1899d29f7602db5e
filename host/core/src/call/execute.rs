//! Execution: an admitted call runs, natively or in a fresh instance, and its answer is held against its contract.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::accept::in_words;
use super::concurrency::turn;
use super::ledger::Ledger;
use super::receipt::{Checkpoint, GuestReceipt, Trail};
use super::{AdmittedCall, CallError, CallKind};
use crate::capability::{self, Access, Witnesses};
use crate::limits::Limits;
use crate::load::stopped;
use crate::native::{NativeCall, NativeTool, panic_text};
use crate::plugin::{Answer, Bound, Invocation, Plugin, Stop, TraceSink};
use crate::result::{MAX_CONTENT_BYTES, content_bytes};
use crate::schema::untrusted_json;
use crate::search::{self, Control};
use crate::surface::{ExposedTool, Implementation, Surface};
use crate::tool::{Content, Tool, ToolError, ToolResult};

/// What came of the attempt, not yet bounded for its readers.
#[derive(Debug)]
pub(super) struct Executed {
    pub(super) end: Result<ToolResult, CallError>,
    /// A tool that failed may still have something to show to people.
    pub(super) failure_details: Option<Value>,
    pub(super) guest: Option<GuestReceipt>,
}

impl Executed {
    /// A call that never ran.
    pub(super) fn refused(error: CallError) -> Self {
        Self { end: Err(error), failure_details: None, guest: None }
    }

    /// A call that was withdrawn, or that a shutdown ended.
    pub(super) fn cancelled(surface: &Surface, tool: &str) -> Self {
        let error = CallError::new(CallKind::Cancelled, format!("the call of `{tool}` was cancelled"));
        let is_closing = surface.host().closing().is_cancelled();
        Self::refused(if is_closing {
            error.with_detail("the host is shutting down".to_owned())
        } else {
            error
        })
    }
}

/// What a dry run comes to: every gate let it pass, and nothing runs.
pub(super) fn not_run(call: &AdmittedCall<'_>, trail: &mut Trail<'_>) -> Executed {
    let name = &call.0.exposed.tool.name;
    trail.note(Checkpoint::Execute, "dry-run", "core", Some("a dry run ends here".to_owned()));
    let end = Ok(ToolResult::text(format!("`{name}` would run with {}", call.0.arguments)));
    Executed { end, failure_details: None, guest: None }
}

pub(super) async fn execute(
    surface: &Surface,
    call: AdmittedCall<'_>,
    ledger: &mut Ledger,
    cancellation: &CancellationToken,
    trail: &mut Trail<'_>,
) -> Executed {
    let exposed = call.0.exposed;
    let host = surface.host();
    let waiting =
        host.closing().run_until_cancelled(cancellation.run_until_cancelled(turn(surface, &call.0)));
    let _turn = match waiting.await.flatten() {
        Some(Ok(turn)) => turn,
        Some(Err(error)) => {
            trail.note(Checkpoint::Execute, error.kind.as_str(), "core", None);
            return Executed::refused(error);
        }
        None => return Executed::cancelled(surface, exposed.tool.name.as_str()),
    };
    let ready = Ready::new(surface, exposed, &mut ledger.witnesses);
    if (exposed.side_effecting || ready.may_have_effects())
        && let Err(error) = ledger.started(&call.0.arguments).await
    {
        let message = format!(
            "the tool `{}` did not run: it has side effects, and its call cannot be put on record",
            exposed.tool.name
        );
        let error = CallError::new(CallKind::AuditUnavailable, message).with_detail(error.to_string());
        trail.note(Checkpoint::Execute, error.kind.as_str(), "core", error.detail.clone());
        return Executed::refused(error);
    }
    let running = async {
        match ready {
            Ready::Native(native) => run_native(native, surface, call).await,
            Ready::Control(control) => answer(control, surface, &call),
            Ready::Guest(guest) => run_guest(guest, surface, call).await,
        }
    };
    let running = host.stopping().run_until_cancelled(cancellation.run_until_cancelled(running));
    let executed = running.await.flatten();
    let executed = executed.unwrap_or_else(|| Executed::cancelled(surface, exposed.tool.name.as_str()));
    let decision = executed.end.as_ref().err().map_or(CallKind::Completed, |error| error.kind);
    let reason = executed.end.as_ref().err().and_then(|error| error.detail.clone());
    trail.note(Checkpoint::Execute, decision.as_str(), exposed.owner.to_string(), reason);
    executed
}

/// Who runs, and with what.
enum Ready<'a> {
    Native(&'a dyn NativeTool),
    Control(Control),
    Guest(Guest<'a>),
}

struct Guest<'a> {
    plugin: &'a dyn Plugin,
    limits: Limits,
    bound: Option<Bound>,
    access: Access,
    traces: TraceSink,
}

impl<'a> Ready<'a> {
    fn new(surface: &Surface, exposed: &'a ExposedTool, witnesses: &mut Witnesses) -> Self {
        match &exposed.implementation {
            Implementation::Native(native) => Self::Native(&**native),
            Implementation::Control(control) => Self::Control(*control),
            Implementation::Guest { id, plugin, limits, bound, .. } => Self::Guest(Guest {
                plugin: &**plugin,
                limits: *limits,
                bound: bound.clone(),
                access: surface.host().access(id),
                traces: witnesses.sink(id),
            }),
        }
    }

    /// Whether what is granted now allows effects; it may be more than when the surface was made.
    fn may_have_effects(&self) -> bool {
        match self {
            Self::Native(_) | Self::Control(_) => false,
            Self::Guest(guest) => guest.access.capabilities.may_have_effects(),
        }
    }
}

/// What the host itself says about a surface.
fn answer(control: Control, surface: &Surface, call: &AdmittedCall<'_>) -> Executed {
    let end = search::answer(control, surface, &call.0.arguments).map_err(|detail| {
        let message = format!("the tool `{}` failed inside the host", control.as_str());
        CallError::new(CallKind::HostFault, message).with_detail(detail)
    });
    Executed { end, failure_details: None, guest: None }
}

async fn run_native(native: &dyn NativeTool, surface: &Surface, call: AdmittedCall<'_>) -> Executed {
    let AdmittedCall(call) = call;
    let tool = &call.exposed.tool;
    let native_call = NativeCall {
        call_id: call.id,
        arguments: call.arguments,
        run: Arc::clone(surface.seen_run()),
        progress: call.progress,
    };
    // A native tool is the embedder's code: a panic there must not take the agent down with it.
    let answer = AssertUnwindSafe(async { native.execute(native_call).await }).catch_unwind().await;
    let mut failure_details = None;
    let end = match answer {
        Err(panic) => {
            let detail = panic_text(&*panic);
            let error = CallError::new(
                CallKind::HostFault,
                format!("the tool `{}` failed inside the host", tool.name),
            );
            Err(error.with_detail(format!("the native tool panicked: {}", detail.unwrap_or_default())))
        }
        Ok(Ok(result)) => {
            within(tool, "details", result.details.as_ref().map_or(0, |details| details.to_string().len()))
                .and_then(|()| held_to_contract(tool, result.content, result.details))
        }
        Ok(Err(ToolError::InvalidParams(message))) => Err(CallError::new(CallKind::InvalidParams, message)),
        Ok(Err(ToolError::Unavailable(message))) => Err(CallError::new(CallKind::Unavailable, message)),
        Ok(Err(ToolError::Failed { message, details })) => {
            failure_details = details;
            Err(CallError::new(CallKind::Failed, message))
        }
    };
    Executed { end: end.map_err(CallError::bounded), failure_details, guest: None }
}

async fn run_guest(guest: Guest<'_>, surface: &Surface, call: AdmittedCall<'_>) -> Executed {
    let Guest { plugin, limits, bound, access, traces } = guest;
    let AdmittedCall(call) = call;
    let tool = &call.exposed.tool;
    let invocation = Invocation {
        call_id: call.id,
        tool: tool.name.clone(),
        arguments: call.arguments.to_string(),
        bound,
        run: Arc::clone(surface.seen_run()),
        limits,
        access,
        progress: call.progress,
        traces,
    };
    let invoked = capability::execute(plugin, invocation).await;
    let mut failure_details = None;
    let end = match invoked.end {
        Ok(Answer::Result { content, details }) => details
            .map(|details| parse_details(tool, &details))
            .transpose()
            .and_then(|details| held_to_contract(tool, content, details)),
        Ok(Answer::InvalidParams(message)) => Err(CallError::new(CallKind::InvalidParams, message)),
        Ok(Answer::Unavailable(message)) => Err(CallError::new(CallKind::Unavailable, message)),
        Ok(Answer::Failed { message, details }) => {
            let readable = |details: String| {
                parse_details(tool, &details)
                    .unwrap_or_else(|problem| json!({ "unreadable": problem.message }))
            };
            failure_details = details.map(readable);
            Err(CallError::new(CallKind::Failed, message))
        }
        Err(stop) => Err(stop_error(tool, &limits, &stop)),
    };
    let guest = Some(GuestReceipt::new(invoked.usage, &limits));
    Executed { end: end.map_err(CallError::bounded), failure_details, guest }
}

/// A guest's details as a value.
fn parse_details(tool: &Tool, source: &str) -> Result<Value, CallError> {
    within(tool, "details", source.len())?;
    untrusted_json("the details", source).map_err(|problem| invalid_output(tool, &problem))
}

fn within(tool: &Tool, what: &str, bytes: usize) -> Result<(), CallError> {
    if bytes <= MAX_CONTENT_BYTES {
        return Ok(());
    }
    let name = &tool.name;
    let message = format!(
        "the {what} of `{name}` have {bytes} bytes, the limit is {MAX_CONTENT_BYTES}; ask for less at a time"
    );
    Err(CallError::new(CallKind::OutputTooLarge, message))
}

fn held_to_contract(
    tool: &Tool,
    content: Vec<Content>,
    details: Option<Value>,
) -> Result<ToolResult, CallError> {
    within(tool, "results", content_bytes(&content))?;
    if let Some(problem) = content.iter().find_map(Content::problem) {
        return Err(invalid_output(tool, &problem));
    }
    if let Some(schema) = &tool.output_schema {
        let violations = schema.violations(details.as_ref().unwrap_or(&Value::Null));
        if !violations.is_empty() {
            let problem = format!("the details do not fit: {}", in_words(&violations));
            return Err(invalid_output(tool, &problem).with_violations(violations));
        }
    }
    Ok(ToolResult { content, details })
}

fn invalid_output(tool: &Tool, problem: &str) -> CallError {
    let message = format!(
        "the result of `{}` breaks the tool's own contract: {problem}. The tool may have taken effect",
        tool.name
    );
    CallError::new(CallKind::InvalidOutput, message)
}

/// A stop in the model's words; what only the author can use goes into the detail.
fn stop_error(tool: &Tool, limits: &Limits, stop: &Stop) -> CallError {
    let name = &tool.name;
    let kind = match stop {
        Stop::TimedOut => CallKind::TimedOut,
        Stop::OutOfFuel => CallKind::OutOfFuel,
        Stop::OutOfMemory => CallKind::OutOfMemory,
        Stop::OutputTooLarge(_) => CallKind::OutputTooLarge,
        Stop::Trapped { .. } => CallKind::Trapped,
        Stop::Withheld { .. } => CallKind::InvalidOutput,
        Stop::Busy => CallKind::Busy,
        Stop::Mismatched(_) | Stop::HostFault(_) => CallKind::HostFault,
    };
    let message = match stop {
        Stop::TimedOut => {
            format!("the tool `{name}` did not finish within {} ms", limits.timeout.as_millis())
        }
        Stop::OutOfFuel => {
            format!("the tool `{name}` used up its computing budget of {} fuel units", limits.fuel)
        }
        Stop::OutOfMemory => {
            format!("the tool `{name}` asked for more than its {} bytes of memory", limits.memory_bytes)
        }
        Stop::OutputTooLarge(_) => {
            format!("the tool `{name}` produced more output than is allowed; ask for less at a time")
        }
        Stop::Trapped { .. } => format!("the tool `{name}` failed"),
        Stop::Withheld { secret } => format!(
            "the answer of `{name}` is withheld: the value of the secret `{secret}` was in it. The tool may have taken effect"
        ),
        Stop::Busy => format!("the tool `{name}` is busy; try again later"),
        Stop::Mismatched(_) | Stop::HostFault(_) => format!("the tool `{name}` failed inside the host"),
    };
    CallError::new(kind, message).with_detail(format!("the guest {}", stopped(stop)))
}
