//! How a call can end: everywhere the same words, statuses and exit codes.

use serde::Serialize;
use serde_json::Value;

use super::receipt::{Receipt, TrailEntry};
use crate::plugin::LogLine;
use crate::result::CallRecord;
use crate::schema::Violation;
use crate::text;
use crate::tool::Content;

/// Longest error message that a model gets, in characters.
const MAX_ERROR_CHARS: usize = 4_000;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal, $status:ident, $exit:literal;)+) => {
        /// How a call ended, exactly.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum CallKind { $($(#[doc = $doc])+ $variant,)+ }

        impl CallKind {
            /// Every kind.
            pub const ALL: &'static [CallKind] = &[$(CallKind::$variant,)+];

            /// The kebab-case word.
            pub fn as_str(self) -> &'static str {
                match self { $(CallKind::$variant => $text,)+ }
            }

            /// The coarse status.
            pub fn status(self) -> CallStatus {
                match self { $(CallKind::$variant => CallStatus::$status,)+ }
            }

            /// The exit code of a program that made this one call.
            pub fn exit_code(self) -> u8 {
                match self { $(CallKind::$variant => $exit,)+ }
            }
        }
    };
}

kinds! {
    /// The tool did its work.
    Completed = "completed", Success, 0;
    /// The tool tried and says that it failed.
    Failed = "failed", Error, 1;
    /// The arguments do not fit, by the schema or by the tool's own judgement.
    InvalidParams = "invalid-params", Error, 1;
    /// The result does not fit what the tool declares; it may have taken effect.
    InvalidOutput = "invalid-output", Error, 1;
    /// Something the tool needs is not there.
    Unavailable = "unavailable", Error, 1;
    /// The tool's code crashed.
    Trapped = "trapped", Error, 1;
    /// No tool of that name is on the surface.
    NotExposed = "not-exposed", Blocked, 3;
    /// The surface is older than the configuration, which no longer allows the tool.
    StaleSurface = "stale-surface", Blocked, 3;
    /// A policy or hook blocked it.
    Blocked = "blocked", Blocked, 3;
    /// Whoever was asked did not allow it.
    ApprovalDenied = "approval-denied", Blocked, 3;
    /// Nobody could be asked.
    ApprovalUnavailable = "approval-unavailable", Blocked, 3;
    /// The call could not be recorded.
    AuditUnavailable = "audit-unavailable", Blocked, 3;
    /// The deadline passed.
    TimedOut = "timed-out", Error, 4;
    /// The fuel ran out.
    OutOfFuel = "out-of-fuel", Error, 4;
    /// The memory ran out.
    OutOfMemory = "out-of-memory", Error, 4;
    /// The tool produced more than may be passed on.
    OutputTooLarge = "output-too-large", Error, 4;
    /// No slot came free in time.
    Busy = "busy", Error, 4;
    /// The host is at fault, not the tool.
    HostFault = "host-fault", Error, 5;
    /// Whoever made the call withdrew it.
    Cancelled = "cancelled", Cancelled, 130;
}

impl Serialize for CallKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How a call ended, roughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallStatus {
    /// It worked.
    Success,
    /// It was tried and did not work.
    Error,
    /// It was not let through.
    Blocked,
    /// It was withdrawn.
    Cancelled,
}

/// Why a call did not complete.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallError {
    /// The exact end.
    pub kind: CallKind,
    /// What the model is told; bounded and without secrets of the plugin's inside.
    pub message: String,
    /// Where in the arguments or details the first violation is, as a JSON pointer.
    pub path: Option<String>,
    /// Every violation that was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// For the plugin's author and the log, never for a model: a panic's text, an engine's cause.
    pub detail: Option<String>,
}

impl CallError {
    pub(super) fn new(kind: CallKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), path: None, violations: Vec::new(), detail: None }
    }

    /// The same error with a message that is safe to pass on, whoever wrote parts of it.
    pub(super) fn bounded(mut self) -> Self {
        self.message = text::shorten(&text::escape(&self.message), MAX_ERROR_CHARS).into_owned();
        self
    }

    pub(super) fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    pub(super) fn with_violations(mut self, violations: Vec<Violation>) -> Self {
        self.path = violations.first().map(|violation| violation.path.clone());
        self.violations = violations;
        self
    }
}

/// Everything that is known about a call that has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended.
    pub kind: CallKind,
    /// What the model reads next; for an error, its message.
    pub content: Vec<Content>,
    /// For people and programs.
    pub details: Option<Value>,
    /// Why it did not complete.
    pub error: Option<CallError>,
    /// The copy for the transcript.
    pub record: CallRecord,
    /// What it cost.
    pub receipt: Receipt,
    /// What each checkpoint decided.
    pub trail: Vec<TrailEntry>,
    /// What the plugin logged.
    pub log: Vec<LogLine>,
}

impl Outcome {
    /// How it ended, roughly.
    pub fn status(&self) -> CallStatus {
        self.kind.status()
    }
}

impl Serialize for Outcome {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut object = serializer.serialize_struct("Outcome", 8)?;
        object.serialize_field("status", &self.status())?;
        object.serialize_field("error", &self.error)?;
        object.serialize_field("content", &self.content)?;
        object.serialize_field("details", &self.details)?;
        object.serialize_field("record", &self.record)?;
        object.serialize_field("receipt", &self.receipt)?;
        object.serialize_field("trail", &self.trail)?;
        object.serialize_field("log", &self.log)?;
        object.end()
    }
}
