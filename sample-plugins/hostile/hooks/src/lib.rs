//! An event enters; its handler ends in the way that a mode says. No mode is honest but `pass`, `block`, `rewrite`, `ask`,
//! `replace`, `context` and `no-tools`.
//!
//! Each hook has its mode in the plugin's configuration, under the hook's name. A call of the plugin's own tool `hooked`, which
//! the handlers see without any grant, can choose others: `{"before": "trap", "persist": "lie", "after": "error"}`. The
//! manifest limits no hook to tools, so that an operator can grant them over others' tools.
//!
//! Every hook has these:
//!
//! | mode | what the handler does |
//! |---|---|
//! | `pass` | has no opinion |
//! | `error`, `long-error` | returns an error; the second has 1 MiB and begins with an escape sequence |
//! | `lie` | answers with another hook's outcome |
//! | `trap`, `panic` | traps without a word; panics with one |
//! | `endless`, `sleep` | computes, or waits in the host, past any deadline |
//! | `hog` | allocates until it is refused |
//!
//! `before-tool-call` has these too:
//!
//! | mode | what the verdict is |
//! |---|---|
//! | `block`, `long-block` | a block; the second has a reason of 1 MiB with escape sequences and invisible characters |
//! | `rewrite` | `count` becomes 7 |
//! | `invalid-rewrite` | `count` becomes a text, which breaks the schema of `hooked` |
//! | `garbled-rewrite`, `list-rewrite` | a rewrite that is no JSON; one that is no object |
//! | `deep-rewrite`, `huge-rewrite` | a rewrite 65 levels deep; one of over 1 MiB |
//! | `ask`, `long-title`, `long-description`, `hidden-title` | an approval; one with a title of 81 characters, a description of 513, a title with invisible and direction-changing characters |
//! | `invalid-ask` | an approval with the rewrite of `invalid-rewrite` |
//!
//! `tool-result-persist`: `replace` puts `replaced` in place of everything; `garbled-params`, `list-params` and
//! `garbled-details` return arguments or details that are no JSON, or arguments that are no object; `huge-text` returns 2 MiB.
//!
//! `before-prompt-build`: `context` and `huge-context` add context, the second 1 MiB with escape sequences; `no-tools` allows
//! none, `widen` allows `*` and a tool that nobody has, `garbled-tools` allows entries that are none.

use airlock_plugin::bindings::airlock::plugin::hook_types::{HookEvent, HookName, HookOptions, HookOutcome};
use airlock_plugin::bindings::airlock::plugin::registry::{self, Exposure};
use airlock_plugin::bindings::airlock::plugin::types::{
    BoundTool, Content, FactoryId, HandlerId, RunContext, Tool, ToolCall, ToolError, ToolResult,
};
use airlock_plugin::bindings::exports::airlock::plugin::guest::Guest;

mod answer;
mod ending;
mod mode;

/// Written against the bindings, because the SDK's handlers cannot lie.
#[derive(Debug)]
pub struct Hooks;

/// The plugin's own tool.
const TOOL: &str = "hooked";

/// `count` is what rewrites change; the others choose a mode for one call.
const PARAMETERS: &str = r#"{
    "type": "object",
    "additionalProperties": false,
    "properties": {
        "count": { "type": "integer" },
        "before": { "type": "string" },
        "persist": { "type": "string" },
        "after": { "type": "string" }
    }
}"#;

/// The numbers by which the host names the handlers, the same in every instance.
const HANDLERS: [(HandlerId, HookName); 4] = [
    (1, HookName::BeforeToolCall),
    (2, HookName::AfterToolCall),
    (3, HookName::ToolResultPersist),
    (4, HookName::BeforePromptBuild),
];

impl Guest for Hooks {
    fn register() -> Result<(), String> {
        let tool = Tool {
            name: TOOL.to_owned(),
            title: None,
            description: "Returns its arguments.".to_owned(),
            parameters: PARAMETERS.to_owned(),
            output_schema: None,
        };
        registry::register_tool(&tool, Exposure::Required).map_err(|refusal| format!("{refusal:?}"))?;
        let options = HookOptions { priority: 0, timeout_ms: None, tools: Vec::new() };
        for (handler, hook) in HANDLERS {
            registry::on(handler, hook, &options).map_err(|refusal| format!("{hook}: {refusal:?}"))?;
        }
        Ok(())
    }

    fn materialize(factory: FactoryId, _run: RunContext) -> Result<Vec<BoundTool>, String> {
        Err(format!("there is no factory {factory}"))
    }

    fn execute(call: ToolCall, _run: RunContext) -> Result<ToolResult, ToolError> {
        Ok(ToolResult { content: vec![Content::Text(call.params)], details: None })
    }

    fn on_hook(
        handler: HandlerId,
        event: HookEvent,
        _run: Option<RunContext>,
    ) -> Result<HookOutcome, String> {
        if !HANDLERS.iter().any(|(known, _)| *known == handler) {
            return Err(format!("there is no handler {handler}"));
        }
        let mode = mode::of(&event)?;
        ending::all(&mode, &event)
            .or_else(|| answer::own(&mode, &event))
            .unwrap_or_else(|| Err(format!("there is no mode `{mode}` for handler {handler}")))
    }
}

#[cfg(target_arch = "wasm32")]
airlock_plugin::bindings::export!(Hooks with_types_in airlock_plugin::bindings);
