//! Runs a plugin natively, as the host would: JSON arguments enter, the `tool-result` leaves, through the code that
//! runs in the component. It never enforces a limit or a policy; those need the host. Only native builds have it.

mod emit;
mod event;
mod manifest;
mod materialized;
mod registered;
mod run;

use serde_json::Value;

use crate::Call;
use crate::Plugin;
use crate::RunContext;
use crate::Tool;
use crate::ToolError;
use crate::ToolResult;
use crate::host;
use crate::tool;

pub use emit::emit;
pub use emit::emit_in;
pub use event::install_request;
pub use event::persist_record;
pub use event::tool_attempt;
pub use event::tool_completion;
pub use manifest::check_manifest;
pub use materialized::Materialized;
pub use materialized::materialize;
pub use registered::Registered;
pub use registered::RegisteredFactory;
pub use registered::RegisteredHandler;
pub use run::run_context;

/// Calls the tool `T` in [`run_context`].
///
/// # Errors
///
/// What the host would be told: the tool's own error, or [`ToolError::InvalidParams`] for arguments that do not fit. A
/// tool with a `#[bound]` parameter always fails: [`materialize`] its factory and call what that makes.
pub fn call<T: Tool>(arguments: Value) -> Result<ToolResult, ToolError> {
    call_in::<T>(arguments, run_context())
}

/// Calls the tool `T` in a run of your choice. Null means no arguments, as it does to the host.
///
/// # Errors
///
/// As [`call`].
#[expect(clippy::needless_pass_by_value, reason = "`json!` at the call site makes a value")]
pub fn call_in<T: Tool>(arguments: Value, run: RunContext) -> Result<ToolResult, ToolError> {
    // As the host has it: null means no arguments.
    let arguments = if arguments.is_null() { "{}".to_owned() } else { arguments.to_string() };
    tool::execute::<T>(&arguments, None, &Call::new("call-1".to_owned(), T::NAME.to_owned(), run))
}

/// Sets what [`config`](crate::config()) returns on this thread, which is to say in this test.
#[expect(clippy::needless_pass_by_value, reason = "`json!` at the call site makes a value")]
pub fn set_config(config: Value) {
    host::set_config(config.to_string());
}

/// What the plugin registers, in order, with everything the model would be told.
///
/// # Errors
///
/// What the plugin's `register` answered.
pub fn register<P: Plugin>() -> Result<Registered, String> {
    registered::of::<P>()
}
