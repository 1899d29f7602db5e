//! A plugin whose `register` panics. No other function of it is ever called.

use airlock_plugin::bindings::airlock::plugin::hook_types::HookEvent;
use airlock_plugin::bindings::airlock::plugin::hook_types::HookOutcome;
use airlock_plugin::bindings::airlock::plugin::types::BoundTool;
use airlock_plugin::bindings::airlock::plugin::types::FactoryId;
use airlock_plugin::bindings::airlock::plugin::types::HandlerId;
use airlock_plugin::bindings::airlock::plugin::types::RunContext;
use airlock_plugin::bindings::airlock::plugin::types::ToolCall;
use airlock_plugin::bindings::airlock::plugin::types::ToolError;
use airlock_plugin::bindings::airlock::plugin::types::ToolResult;
use airlock_plugin::bindings::exports::airlock::plugin::guest::Guest;

/// Written against the bindings, because the SDK's own `register` does not panic.
#[derive(Debug)]
pub struct BadRegister;

impl Guest for BadRegister {
    #[expect(clippy::panic, reason = "this is what the plugin is for")]
    fn register() -> Result<(), String> {
        panic!("the plugin broke while it registered")
    }

    fn materialize(_factory: FactoryId, _run: RunContext) -> Result<Vec<BoundTool>, String> {
        Err("nothing was registered".to_owned())
    }

    fn execute(_call: ToolCall, _run: RunContext) -> Result<ToolResult, ToolError> {
        Err(ToolError::Unavailable("nothing was registered".to_owned()))
    }

    fn on_hook(
        _handler: HandlerId,
        _event: HookEvent,
        _run: Option<RunContext>,
    ) -> Result<HookOutcome, String> {
        Err("nothing was registered".to_owned())
    }
}

#[cfg(target_arch = "wasm32")]
airlock_plugin::bindings::export!(BadRegister with_types_in airlock_plugin::bindings);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registering_panics() {
        assert!(std::panic::catch_unwind(BadRegister::register).is_err());
    }
}
