//! A plugin written against the contract itself, without the SDK's macro: one tool and one hook handler. It never
//! answers an event with anything but "no opinion".

use airlock_plugin::bindings::airlock::plugin::hook_types::{HookEvent, HookName, HookOptions, HookOutcome};
use airlock_plugin::bindings::airlock::plugin::registry::{self, Exposure};
use airlock_plugin::bindings::airlock::plugin::types;
use airlock_plugin::bindings::exports::airlock::plugin::guest::Guest;

/// The plugin.
#[derive(Debug)]
pub struct Watcher;

/// The number by which the host names the only handler.
const HANDLER: types::HandlerId = 7;

impl Guest for Watcher {
    fn register() -> Result<(), String> {
        let tool = types::Tool {
            name: "watch".to_owned(),
            title: None,
            description: "Says that it watches.".to_owned(),
            parameters: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
        };
        let options = HookOptions { priority: 0, timeout_ms: None, tools: Vec::new() };
        registry::register_tool(&tool, Exposure::Required)
            .and_then(|()| registry::on(HANDLER, HookName::AfterToolCall, &options))
            .map_err(|refusal| format!("{refusal:?}"))
    }

    fn materialize(
        factory: types::FactoryId,
        _run: types::RunContext,
    ) -> Result<Vec<types::BoundTool>, String> {
        Err(format!("there is no factory {factory}"))
    }

    fn execute(
        _call: types::ToolCall,
        _run: types::RunContext,
    ) -> Result<types::ToolResult, types::ToolError> {
        let content = vec![types::Content::Text("watching".to_owned())];
        Ok(types::ToolResult { content, details: None })
    }

    fn on_hook(
        handler: types::HandlerId,
        _event: HookEvent,
        _run: Option<types::RunContext>,
    ) -> Result<HookOutcome, String> {
        if handler == HANDLER { Ok(HookOutcome::None) } else { Err(format!("there is no handler {handler}")) }
    }
}

#[cfg(target_arch = "wasm32")]
airlock_plugin::bindings::export!(Watcher with_types_in airlock_plugin::bindings);
