//! An event enters, the mode in which its handler ends leaves: the one that the call of the plugin's own tool names, else the
//! one of the configuration. It never checks that there is such a mode.

use airlock_plugin::bindings::airlock::plugin::hook_types::HookEvent;
use airlock_plugin::config;
use airlock_plugin::serde_json::{self, Value};

use crate::TOOL;

/// A mode for each hook.
#[config]
#[derive(Default)]
#[serde(rename_all = "kebab-case", default)]
struct Modes {
    before_tool_call: String,
    after_tool_call: String,
    tool_result_persist: String,
    before_prompt_build: String,
}

pub(crate) fn of(event: &HookEvent) -> Result<String, String> {
    let modes: Modes = config().map_err(|error| error.to_string())?;
    let (configured, chosen) = match event {
        HookEvent::BeforeToolCall(attempt) => {
            (modes.before_tool_call, chosen(&attempt.tool, &attempt.params, "before"))
        }
        HookEvent::AfterToolCall(completion) => {
            (modes.after_tool_call, chosen(&completion.tool, &completion.params, "after"))
        }
        HookEvent::ToolResultPersist(record) => {
            (modes.tool_result_persist, chosen(&record.tool, &record.params, "persist"))
        }
        HookEvent::BeforePromptBuild(_) => (modes.before_prompt_build, None),
        _ => return Err("there is no handler for this hook".to_owned()),
    };
    let mode = chosen.unwrap_or(configured);
    Ok(if mode.is_empty() { "pass".to_owned() } else { mode })
}

fn chosen(tool: &str, params: &str, member: &str) -> Option<String> {
    if tool != TOOL {
        return None;
    }
    let params: Value = serde_json::from_str(params).ok()?;
    params.get(member)?.as_str().map(str::to_owned)
}
