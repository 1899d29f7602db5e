//! Events of the contract that carry JSON enter, the same events with readable JSON leave. They never hold JSON that
//! could not be read: then the handler fails, and a guard that fails refuses.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::json::Json;
use crate::ToolResult;
use crate::arguments;
use crate::bindings::airlock::plugin::hook_types as wit;

/// A call that is about to be made, for `before_tool_call`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAttempt {
    /// The call's id, unique within its run.
    pub call_id: String,
    /// The tool's canonical name.
    pub tool: String,
    /// Whose tool it is: a plugin's id, a node's name, or `core`.
    pub owner: String,
    /// Whether the call may change something.
    pub side_effecting: bool,
    /// `tool_call` when the model went through tool search, `skill:NAME` when a person gave a skill's command.
    pub via: Option<String>,
    pub(crate) params: Json,
}

/// A call that ended, for `after_tool_call`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCompletion {
    /// The call's id, unique within its run.
    pub call_id: String,
    /// The tool's canonical name.
    pub tool: String,
    /// Whose tool it is: a plugin's id, a node's name, or `core`.
    pub owner: String,
    /// How the call ended.
    pub outcome: wit::ToolOutcome,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    pub(crate) params: Json,
}

/// The copy of a call that is about to be stored, for `tool_result_persist`.
#[derive(Debug, Clone, PartialEq)]
pub struct PersistRecord {
    /// The call's id, unique within its run.
    pub call_id: String,
    /// The tool's canonical name.
    pub tool: String,
    /// What the call returned, or the text of its error.
    pub result: ToolResult,
    /// Whether the call failed.
    pub is_error: bool,
    /// How the call ended, such as `completed` or `timed-out`.
    pub kind: String,
    pub(crate) params: Json,
}

/// A package that is about to be installed, for `before_install`.
#[derive(Debug, Clone, PartialEq)]
pub struct InstallRequest {
    /// What it is.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Where it comes from.
    pub source: String,
    /// The digest of its bytes.
    pub digest: String,
    /// Who signed it, if somebody did.
    pub signer: Option<String>,
    pub(crate) permissions: Json,
    pub(crate) contracts: Json,
}

/// What the events about a call say of its arguments.
macro_rules! arguments_of {
    ($event:ident, $which:literal) => {
        impl $event {
            #[doc = concat!("The arguments, ", $which, ".")]
            pub fn params(&self) -> &Value {
                self.params.value()
            }

            /// The same as JSON text, in which a number has every digit.
            pub fn params_text(&self) -> &str {
                self.params.text()
            }

            /// The arguments as a `T`.
            ///
            /// # Errors
            ///
            /// A sentence that says where they do not fit.
            pub fn parse<T: DeserializeOwned>(&self) -> Result<T, String> {
                self.params.parse()
            }
        }
    };
}

arguments_of!(ToolAttempt, "as rewritten by the handlers before this one");
arguments_of!(ToolCompletion, "as they were executed");
arguments_of!(PersistRecord, "as changed by the handlers before this one");

impl PersistRecord {
    /// What is to be stored, as it is; a handler changes it and returns it.
    pub fn to_change(&self) -> wit::PersistChange {
        wit::PersistChange { params: self.params.text().to_owned(), result: self.result.clone() }
    }
}

impl InstallRequest {
    /// What the package asks for: `permissions` of its manifest.
    pub fn permissions(&self) -> &Value {
        self.permissions.value()
    }

    /// What the package owns: `contracts` of its manifest.
    pub fn contracts(&self) -> &Value {
        self.contracts.value()
    }
}

impl wit::ToolOutcome {
    /// How the call ended, in one word: `completed`, or the kind of its problem.
    pub fn kind(&self) -> &str {
        match self {
            Self::Success(_) => "completed",
            Self::Error(problem) | Self::Blocked(problem) => &problem.kind,
        }
    }
}

impl wit::Message {
    /// What of the message may change, as it is; a handler changes it and returns it.
    pub fn to_change(&self) -> wit::MessageChange {
        wit::MessageChange { body: self.body.clone(), metadata: self.metadata.clone() }
    }

    /// The metadata as JSON; null if there is none.
    ///
    /// # Errors
    ///
    /// A sentence that says why it cannot be read.
    pub fn json_metadata(&self) -> Result<Value, String> {
        optional(self.metadata.as_deref())
    }
}

impl wit::TranscriptMessage {
    /// The details as JSON; null if there are none.
    ///
    /// # Errors
    ///
    /// A sentence that says why they cannot be read.
    pub fn json_details(&self) -> Result<Value, String> {
        optional(self.details.as_deref())
    }
}

fn optional(json: Option<&str>) -> Result<Value, String> {
    json.map_or(Ok(Value::Null), arguments::parse)
}

/// How an event travels: as the contract has it, or with its JSON read.
pub(super) trait Event: Sized {
    type Wire;

    fn from_wire(wire: Self::Wire) -> Result<Self, String>;
    fn into_wire(self) -> Self::Wire;
}

macro_rules! travels_as_it_is {
    ($($event:ty),*) => {
        $(impl Event for $event {
            type Wire = Self;

            fn from_wire(wire: Self) -> Result<Self, String> {
                Ok(wire)
            }

            fn into_wire(self) -> Self {
                self
            }
        })*
    };
}

travels_as_it_is!(
    wit::PromptBuild,
    wit::AgentRun,
    wit::TranscriptMessage,
    wit::Message,
    wit::MessageReceipt,
    wit::SessionEvent,
    wit::AgentSummary,
    wit::SubagentEvent
);

impl Event for ToolAttempt {
    type Wire = wit::ToolAttempt;

    fn from_wire(wire: Self::Wire) -> Result<Self, String> {
        let wit::ToolAttempt { call_id, tool, owner, side_effecting, params, via } = wire;
        let params = read_arguments(&tool, params)?;
        Ok(Self { call_id, tool, owner, side_effecting, via, params })
    }

    fn into_wire(self) -> Self::Wire {
        let Self { call_id, tool, owner, side_effecting, via, params } = self;
        wit::ToolAttempt { call_id, tool, owner, side_effecting, params: params.into_text(), via }
    }
}

impl Event for ToolCompletion {
    type Wire = wit::ToolCompletion;

    fn from_wire(wire: Self::Wire) -> Result<Self, String> {
        let wit::ToolCompletion { call_id, tool, owner, params, outcome, duration_us } = wire;
        let params = read_arguments(&tool, params)?;
        Ok(Self { call_id, tool, owner, outcome, duration_us, params })
    }

    fn into_wire(self) -> Self::Wire {
        let Self { call_id, tool, owner, outcome, duration_us, params } = self;
        wit::ToolCompletion { call_id, tool, owner, params: params.into_text(), outcome, duration_us }
    }
}

impl Event for PersistRecord {
    type Wire = wit::PersistRecord;

    fn from_wire(wire: Self::Wire) -> Result<Self, String> {
        let wit::PersistRecord { call_id, tool, params, result, is_error, kind } = wire;
        let params = read_arguments(&tool, params)?;
        Ok(Self { call_id, tool, result, is_error, kind, params })
    }

    fn into_wire(self) -> Self::Wire {
        let Self { call_id, tool, result, is_error, kind, params } = self;
        wit::PersistRecord { call_id, tool, params: params.into_text(), result, is_error, kind }
    }
}

impl Event for InstallRequest {
    type Wire = wit::InstallRequest;

    fn from_wire(wire: Self::Wire) -> Result<Self, String> {
        let wit::InstallRequest { kind, id, version, source, digest, signer, permissions, contracts } = wire;
        let permissions = Json::read(&format!("what `{id}` asks for"), permissions)?;
        let contracts = Json::read(&format!("what `{id}` owns"), contracts)?;
        Ok(Self { kind, id, version, source, digest, signer, permissions, contracts })
    }

    fn into_wire(self) -> Self::Wire {
        let Self { kind, id, version, source, digest, signer, permissions, contracts } = self;
        let (permissions, contracts) = (permissions.into_text(), contracts.into_text());
        wit::InstallRequest { kind, id, version, source, digest, signer, permissions, contracts }
    }
}

fn read_arguments(tool: &str, params: String) -> Result<Json, String> {
    Json::read(&format!("the arguments of `{tool}`"), params)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing;

    #[crate::arguments]
    #[derive(Debug, PartialEq)]
    struct Command {
        command: String,
    }

    #[test]
    fn arguments_are_read_in_three_ways() {
        let attempt = testing::tool_attempt("exec", json!({ "command": "ls" }));
        assert_eq!(attempt.params()["command"], "ls");
        assert_eq!(attempt.params_text(), r#"{"command":"ls"}"#);
        assert_eq!(attempt.parse(), Ok(Command { command: "ls".to_owned() }));
        let misfit = testing::tool_attempt("exec", json!({ "command": 7 })).parse::<Command>().unwrap_err();
        assert!(misfit.starts_with("at `/command`: invalid type"), "{misfit}");
    }

    #[test]
    fn an_event_comes_back_as_it_went() {
        let attempt = testing::tool_attempt("exec", json!({ "command": "ls" }));
        assert_eq!(ToolAttempt::from_wire(attempt.clone().into_wire()), Ok(attempt));
        let record = testing::persist_record("exec", json!({}), "done");
        assert_eq!(PersistRecord::from_wire(record.clone().into_wire()), Ok(record));
        let outcome =
            wit::ToolOutcome::Blocked(wit::ToolProblem { kind: "blocked".into(), message: "no".into() });
        let completion = testing::tool_completion("exec", json!({}), outcome);
        assert_eq!(completion.outcome.kind(), "blocked");
        assert_eq!(ToolCompletion::from_wire(completion.clone().into_wire()), Ok(completion));
        let request = testing::install_request("x", json!({ "keyValue": { "maxBytes": 1 } }), json!({}));
        assert_eq!(request.permissions()["keyValue"]["maxBytes"], 1);
        assert_eq!(InstallRequest::from_wire(request.clone().into_wire()), Ok(request));
    }

    #[test]
    fn what_may_be_absent_is_read_when_asked_for() {
        let mut message = wit::Message {
            channel: "mail".to_owned(),
            sender: None,
            recipient: None,
            body: String::new(),
            metadata: None,
        };
        assert_eq!(message.json_metadata(), Ok(Value::Null));
        message.metadata = Some("{".to_owned());
        assert!(message.json_metadata().is_err());
        let details = Some(r#"{"a":1}"#.to_owned());
        let (role, body) = (wit::Role::Tool, Vec::new());
        let written = wit::TranscriptMessage { role, call_id: None, body, details };
        assert_eq!(written.json_details(), Ok(json!({ "a": 1 })));
    }

    #[test]
    fn arguments_that_cannot_be_read_fail_the_handler() {
        let mut wire = testing::tool_attempt("exec", json!({})).into_wire();
        wire.params = r#"{"command":"#.to_owned();
        let problem = ToolAttempt::from_wire(wire).unwrap_err();
        assert!(problem.starts_with("the arguments of `exec` cannot be read: "), "{problem}");
    }
}
