//! Runs a plugin natively, as the host would: JSON arguments enter, the `tool-result` leaves, through the code that
//! runs in the component. It never enforces a limit or a policy; those need the host. Only native builds have it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Call;
use crate::Content;
use crate::Exposure;
use crate::Plugin;
use crate::RunContext;
use crate::Tool;
use crate::ToolError;
use crate::ToolResult;
use crate::Trigger;
use crate::bindings::airlock::plugin::types as wit;
use crate::bindings::exports::airlock::plugin::guest::Guest;
use crate::host;
use crate::tool;

/// Calls the tool `T` in [`run_context`].
///
/// # Errors
///
/// What the host would be told: the tool's own error, or [`ToolError::InvalidParams`] for arguments that do not fit.
pub fn call<T: Tool>(arguments: Value) -> Result<ToolResult, ToolError> {
    call_in::<T>(arguments, run_context())
}

/// Calls the tool `T` in a run of your choice.
///
/// # Errors
///
/// As [`call`].
#[expect(clippy::needless_pass_by_value, reason = "`json!` at the call site makes a value")]
pub fn call_in<T: Tool>(arguments: Value, run: RunContext) -> Result<ToolResult, ToolError> {
    tool::execute::<T>(&arguments.to_string(), &Call::new("call-1".to_owned(), T::NAME.to_owned(), run))
}

/// Sets what [`config`](crate::config()) returns on this thread, which is to say in this test.
#[expect(clippy::needless_pass_by_value, reason = "`json!` at the call site makes a value")]
pub fn set_config(config: Value) {
    host::set_config(config.to_string());
}

/// A run like many others: agent `main`, started by a user who is not there to answer, without a workspace.
pub fn run_context() -> RunContext {
    RunContext {
        agent_id: "main".to_owned(),
        session_key: "agent:main".to_owned(),
        session_id: "session-1".to_owned(),
        run_id: "run-1".to_owned(),
        parent_run: None,
        trigger: Trigger::User,
        interactive: false,
        workspace: None,
        model: None,
        channel: None,
        delivery: None,
        requester: None,
        authenticated_providers: Vec::new(),
        client_capabilities: Vec::new(),
        sandboxed: false,
    }
}

/// What the plugin registers, in order, with everything the model would be told.
///
/// # Errors
///
/// What the plugin's `register` answered.
pub fn register<P: Plugin>() -> Result<Vec<(wit::Tool, Exposure)>, String> {
    <P as Guest>::register()?;
    Ok(host::take_registered())
}

/// Compares the plugin with its manifest, given as the text of `airlock.plugin.json`.
///
/// # Errors
///
/// A sentence for each disagreement: a tool that only one side knows, or that is optional for one side only.
pub fn check_manifest<P: Plugin>(manifest: &str) -> Result<(), String> {
    let manifest: Value = serde_json::from_str(manifest)
        .map_err(|error| format!("airlock.plugin.json is not JSON: {error}"))?;
    let tools = manifest.pointer("/contracts/tools").and_then(Value::as_array);
    let declared: BTreeSet<&str> = tools.into_iter().flatten().filter_map(Value::as_str).collect();
    let registered = register::<P>()?;
    let names: BTreeSet<&str> = registered.iter().map(|(tool, _)| tool.name.as_str()).collect();

    let mut problems = Vec::new();
    for name in names.difference(&declared) {
        problems.push(format!("the plugin has the tool `{name}`; add it to `contracts.tools`"));
    }
    for name in declared.difference(&names) {
        problems
            .push(format!("`contracts.tools` declares `{name}`; list it in `plugin!` or remove it there"));
    }
    for (tool, exposure) in &registered {
        let metadata = manifest.get("toolMetadata").and_then(|metadata| metadata.get(&tool.name));
        let optional = metadata.and_then(|metadata| metadata.get("optional")) == Some(&Value::Bool(true));
        if optional != (*exposure == Exposure::Optional) {
            let name = &tool.name;
            problems
                .push(format!("`{name}` must be optional both in `toolMetadata` and in `#[tool(optional)]`"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

impl ToolResult {
    /// All text content, joined by line ends.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|content| if let Content::Text(text) = content { Some(text.as_str()) } else { None })
            .collect();
        texts.join("\n")
    }

    /// The details as JSON; null if there are none.
    ///
    /// # Errors
    ///
    /// The details are not JSON.
    pub fn json_details(&self) -> Result<Value, serde_json::Error> {
        self.details.as_deref().map_or(Ok(Value::Null), serde_json::from_str)
    }
}
