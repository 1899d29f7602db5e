//! A plugin: its list of tools enters, the contract's four exported functions leave. It never answers for an id that it
//! did not register.

use crate::Call;
use crate::RunContext;
use crate::ToolEntry;
use crate::ToolResult;
use crate::bindings::airlock::plugin::hook_types::HookEvent;
use crate::bindings::airlock::plugin::hook_types::HookOutcome;
use crate::bindings::airlock::plugin::registry::RegistrationError;
use crate::bindings::airlock::plugin::types as wit;
use crate::bindings::exports::airlock::plugin::guest::Guest;
use crate::host;
use crate::log;

/// What [`plugin!`](macro@crate::plugin) exports.
pub trait Plugin {
    /// The plugin's tools, each name once.
    const TOOLS: &'static [ToolEntry];
}

/// Exports a plugin: `plugin!(tools: [greet, part]);`, once a crate, at its root.
///
/// It defines a type `Plugin` that stands for the plugin in [`testing`](crate::testing).
#[macro_export]
macro_rules! plugin {
    (tools: [$($tool:ty),* $(,)?] $(,)?) => {
        /// This plugin, as the host sees it.
        #[allow(unreachable_pub, reason = "the macro does not know where it stands")]
        #[derive(Debug)]
        pub struct Plugin;

        impl $crate::Plugin for Plugin {
            const TOOLS: &'static [$crate::ToolEntry] = &[$($crate::ToolEntry::of::<$tool>()),*];
        }

        const _: () = assert!(
            $crate::names_are_unique(<Plugin as $crate::Plugin>::TOOLS),
            "two tools of this plugin have the same name: give one of them another with `#[tool(name = \"…\")]`"
        );

        #[cfg(target_arch = "wasm32")]
        $crate::bindings::export!(Plugin with_types_in $crate::bindings);
    };
}

impl<P: Plugin> Guest for P {
    fn register() -> Result<(), String> {
        for tool in P::TOOLS {
            match host::register_tool(tool.descriptor(), tool.exposure()) {
                Ok(()) => {}
                Err(RegistrationError::Closed) => {
                    return Err(format!("the registry is closed, so `{}` was not registered", tool.name()));
                }
                // The host refused this tool only, and its diagnostic says so; the others stay.
                Err(refusal) => log::error!("the host refused the tool `{}`: {refusal:?}", tool.name()),
            }
        }
        Ok(())
    }

    fn materialize(factory: wit::FactoryId, _run: RunContext) -> Result<Vec<wit::BoundTool>, String> {
        Err(format!("this plugin registered no tool factory, so it cannot materialize factory {factory}"))
    }

    fn execute(call: wit::ToolCall, run: RunContext) -> Result<ToolResult, wit::ToolError> {
        let Some(tool) = P::TOOLS.iter().find(|tool| tool.name() == call.tool) else {
            let known: Vec<&str> = P::TOOLS.iter().map(ToolEntry::name).collect();
            let message = format!("this plugin has no tool `{}`; it has: {}", call.tool, known.join(", "));
            return Err(wit::ToolError::Unavailable(message));
        };
        tool.execute(&call.params, &Call::new(call.call_id, call.tool, run)).map_err(wit::ToolError::from)
    }

    fn on_hook(
        handler: wit::HandlerId,
        _event: HookEvent,
        _run: Option<RunContext>,
    ) -> Result<HookOutcome, String> {
        Err(format!("this plugin registered no hook handler, so it cannot run handler {handler}"))
    }
}

#[doc(hidden)]
#[expect(clippy::indexing_slicing, reason = "a constant function has neither iterators nor `get`")]
pub const fn names_are_unique(tools: &[ToolEntry]) -> bool {
    let mut later = 1;
    while later < tools.len() {
        let mut earlier = 0;
        while earlier < later {
            if equal(tools[earlier].name().as_bytes(), tools[later].name().as_bytes()) {
                return false;
            }
            earlier += 1;
        }
        later += 1;
    }
    true
}

#[expect(clippy::indexing_slicing, reason = "a constant function has neither iterators nor `get`")]
const fn equal(left: &[u8], right: &[u8]) -> bool {
    let mut position = 0;
    while position < left.len() && position < right.len() && left[position] == right[position] {
        position += 1;
    }
    position == left.len() && position == right.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Exposure;
    use crate::prelude::*;
    use crate::testing;

    #[arguments]
    struct Steps {
        steps: u8,
    }

    /// Walks.
    #[tool(title = "Walk", optional)]
    fn walk(arguments: Steps, call: &Call) -> Result<String, Box<dyn std::error::Error>> {
        call.progress(0.0, Some(f64::from(arguments.steps)), Some("walking"));
        let steps = arguments
            .steps
            .checked_sub(1)
            .ok_or_else(|| ToolError::invalid_params("walk at least one step"))?;
        log::info!("{} of {steps} steps", call.id());
        Ok(format!("{} walked for {}", call.tool(), call.run().agent_id))
    }

    /// Rests.
    #[tool(name = "take-rest")]
    fn rest() -> &'static str {
        "rested"
    }

    plugin!(tools: [walk, rest]);

    fn execute(tool: &str, params: &str) -> Result<ToolResult, wit::ToolError> {
        let call = wit::ToolCall {
            call_id: "call-1".to_owned(),
            tool: tool.to_owned(),
            params: params.to_owned(),
            factory: None,
            binding: None,
        };
        <Plugin as Guest>::execute(call, testing::run_context())
    }

    #[test]
    fn registration_tells_everything() {
        let registered = testing::register::<Plugin>().unwrap();
        let [(walk, walk_exposure), (rest, rest_exposure)] = registered.as_slice() else {
            panic!("{registered:?}")
        };
        assert_eq!((walk.name.as_str(), walk.title.as_deref()), ("walk", Some("Walk")));
        assert_eq!((walk.description.as_str(), &walk.output_schema), ("Walks.", &None));
        assert!(walk.parameters.contains(r#""steps""#), "{}", walk.parameters);
        assert_eq!((rest.name.as_str(), rest.title.as_deref()), ("take-rest", None));
        assert_eq!((*walk_exposure, *rest_exposure), (Exposure::Optional, Exposure::Required));
    }

    #[test]
    fn a_call_reaches_the_function() {
        assert_eq!(execute("walk", r#"{"steps":2}"#).unwrap().text(), "walk walked for main");
        assert_eq!(execute("take-rest", "{}").unwrap().text(), "rested");
        assert_eq!(rest(), "rested");
    }

    #[test]
    fn every_error_keeps_its_kind() {
        let refused = execute("walk", r#"{"steps":0}"#).unwrap_err();
        assert_eq!(refused, wit::ToolError::InvalidParams("walk at least one step".to_owned()));
        let misfit = execute("walk", r#"{"steps":-1}"#).unwrap_err();
        assert!(
            matches!(&misfit, wit::ToolError::InvalidParams(text) if text.starts_with("at `/steps`: ")),
            "{misfit:?}"
        );
        let surplus = execute("take-rest", r#"{"long":true}"#).unwrap_err();
        assert!(
            matches!(&surplus, wit::ToolError::InvalidParams(text) if text.contains("`long`")),
            "{surplus:?}"
        );
    }

    #[test]
    fn what_was_never_registered_is_refused() {
        let unknown = execute("fly", "{}").unwrap_err();
        let expected = "this plugin has no tool `fly`; it has: walk, take-rest";
        assert_eq!(unknown, wit::ToolError::Unavailable(expected.to_owned()));
        assert!(<Plugin as Guest>::materialize(4, testing::run_context()).unwrap_err().contains("factory 4"));
        assert!(<Plugin as Guest>::on_hook(9, HookEvent::HostStart, None).unwrap_err().contains("handler 9"));
    }

    #[test]
    fn the_manifest_must_agree() {
        let manifest = |tools, optional| {
            json!({ "contracts": { "tools": tools }, "toolMetadata": { "walk": { "optional": optional } } })
                .to_string()
        };
        assert_eq!(testing::check_manifest::<Plugin>(&manifest(["walk", "take-rest"], true)), Ok(()));
        let problems = testing::check_manifest::<Plugin>(&manifest(["walk", "fly"], false)).unwrap_err();
        for expected in ["has the tool `take-rest`", "declares `fly`", "`walk` must be optional"] {
            assert!(problems.contains(expected), "{problems}");
        }
    }

    #[test]
    fn names_must_differ() {
        assert!(names_are_unique(<Plugin as crate::Plugin>::TOOLS));
        assert!(!names_are_unique(&[
            ToolEntry::of::<walk>(),
            ToolEntry::of::<rest>(),
            ToolEntry::of::<walk>()
        ]));
    }
}
