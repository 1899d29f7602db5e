//! A plugin: its lists of tools, factories and handlers enter, the contract's four exported functions leave. It never answers for
//! an id that it did not register.

use crate::Call;
use crate::FactoryEntry;
use crate::HandlerEntry;
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
    /// The tools that are there for every run, each name once.
    const TOOLS: &'static [ToolEntry];
    /// The factories of tools that are made for each run. A factory's place in the list is its id, so that every instance
    /// of the component knows it.
    const FACTORIES: &'static [FactoryEntry] = &[];

    /// The hook handlers. A handler's place in the list is its id, as with factories.
    const HOOKS: &'static [HandlerEntry] = &[];
}

/// Exports a plugin: `plugin!(tools: [greet, part]);`, once a crate, at its root.
///
/// Tools that are made for each run come from `factories: [messengers]`, and handlers from `hooks: [no_shell]`. Whatever a
/// plugin has is listed in this order: `plugin!(tools: [ … ], factories: [ … ], hooks: [ … ]);`. A tool and a handler stand
/// in one place only; the compiler refuses any other plugin.
///
/// It defines a type `Plugin` that stands for the plugin in [`testing`](crate::testing).
#[macro_export]
macro_rules! plugin {
    (tools: [$($tool:ty),* $(,)?] $(, factories: [$($factory:ty),* $(,)?])? $(, hooks: [$($handler:ty),* $(,)?])? $(,)?) => {
        /// This plugin, as the host sees it.
        #[allow(unreachable_pub, reason = "the macro does not know where it stands")]
        #[derive(Debug)]
        pub struct Plugin;

        impl $crate::Plugin for Plugin {
            const TOOLS: &'static [$crate::ToolEntry] = &[$($crate::ToolEntry::of::<$tool>()),*];
            $(const FACTORIES: &'static [$crate::FactoryEntry] = &[$($crate::FactoryEntry::of::<$factory>()),*];)?
            $(const HOOKS: &'static [$crate::HandlerEntry] = &[$($crate::HandlerEntry::of::<$handler>()),*];)?
        }

        const _: () = {
            const MISTAKE: $crate::placement::Mistake = $crate::placement::mistake(
                <Plugin as $crate::Plugin>::TOOLS,
                <Plugin as $crate::Plugin>::FACTORIES,
                <Plugin as $crate::Plugin>::HOOKS,
            );
            ::core::assert!(!MISTAKE.is_there(), "{}", MISTAKE.text());
        };

        #[cfg(target_arch = "wasm32")]
        $crate::bindings::export!(Plugin with_types_in $crate::bindings);
    };
    (factories: $factories:tt $(, hooks: $handlers:tt)? $(,)?) => {
        $crate::plugin!(tools: [], factories: $factories $(, hooks: $handlers)?);
    };
    (hooks: $handlers:tt $(,)?) => {
        $crate::plugin!(tools: [], hooks: $handlers);
    };
    () => {
        ::core::compile_error!(
            "a plugin lists its tools, its factories, its hook handlers or several of these: `plugin!(tools: [greet], factories: [messengers], hooks: [no_shell]);`"
        );
    };
}

impl<P: Plugin> Guest for P {
    fn register() -> Result<(), String> {
        for tool in P::TOOLS {
            accept(tool.name(), host::register_tool(tool.descriptor(), tool.exposure()))?;
        }
        for (id, factory) in (0..).zip(P::FACTORIES) {
            let names = factory.tools().iter().map(|tool| tool.name().to_owned()).collect();
            accept(factory.name(), host::register_factory(id, names, factory.exposure()))?;
        }
        for (id, handler) in (0..).zip(P::HOOKS) {
            accept(handler.name(), host::on(id, handler.hook(), handler.options()))?;
        }
        Ok(())
    }

    fn materialize(id: wit::FactoryId, run: RunContext) -> Result<Vec<wit::BoundTool>, String> {
        factory::<P>(id)?.materialize(&run)
    }

    fn execute(call: wit::ToolCall, run: RunContext) -> Result<ToolResult, wit::ToolError> {
        let tool = find::<P>(&call).map_err(wit::ToolError::Unavailable)?;
        let binding = call.binding.as_deref();
        tool.execute(&call.params, binding, &Call::new(call.call_id, call.tool, run))
            .map_err(wit::ToolError::from)
    }

    fn on_hook(id: wit::HandlerId, event: HookEvent, run: Option<RunContext>) -> Result<HookOutcome, String> {
        handler::<P>(id)?.answer(event, run.as_ref())
    }
}

/// Goes on unless nothing more can be registered.
fn accept(name: &str, answer: Result<(), RegistrationError>) -> Result<(), String> {
    match answer {
        Ok(()) => Ok(()),
        Err(RegistrationError::Closed) => {
            Err(format!("the registry is closed, so `{name}` was not registered"))
        }
        // The host refused this one only, and its diagnostic says so; the others stay.
        Err(refusal) => {
            log::error!("the host refused `{name}`: {refusal:?}");
            Ok(())
        }
    }
}

fn handler<P: Plugin>(id: wit::HandlerId) -> Result<&'static HandlerEntry, String> {
    let place = usize::try_from(id).ok();
    place.and_then(|place| P::HOOKS.get(place)).ok_or_else(|| {
        format!("this plugin has {} hook handlers, numbered from 0, and no handler {id}", P::HOOKS.len())
    })
}

fn factory<P: Plugin>(id: wit::FactoryId) -> Result<&'static FactoryEntry, String> {
    let place = usize::try_from(id).ok();
    place.and_then(|place| P::FACTORIES.get(place)).ok_or_else(|| {
        format!("this plugin has {} tool factories, numbered from 0, and no factory {id}", P::FACTORIES.len())
    })
}

/// The tool that a call means: one for every run, or one of the factory that the call names.
fn find<P: Plugin>(call: &wit::ToolCall) -> Result<&'static ToolEntry, String> {
    if let Some(id) = call.factory {
        let factory = factory::<P>(id)?;
        let unlisted =
            || format!("the factory `{}` of this plugin makes no tool `{}`", factory.name(), call.tool);
        return factory.tool(&call.tool).ok_or_else(unlisted);
    }
    P::TOOLS.iter().find(|tool| tool.name() == call.tool).ok_or_else(|| unknown::<P>(&call.tool))
}

fn unknown<P: Plugin>(name: &str) -> String {
    if let Some(factory) = P::FACTORIES.iter().find(|factory| factory.tool(name).is_some()) {
        let factory = factory.name();
        return format!(
            "`{name}` is made by the factory `{factory}` for each run, and this call comes without what it made"
        );
    }
    let made = P::FACTORIES.iter().flat_map(FactoryEntry::tools);
    let known: Vec<&str> = P::TOOLS.iter().chain(made).map(ToolEntry::name).collect();
    format!("this plugin has no tool `{name}`; it has: {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Exposure;
    use crate::HookName;
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

    #[binding]
    struct Place {
        place: String,
    }

    /// Points the way.
    #[tool]
    fn point(#[bound] place: Place, call: &Call) -> String {
        format!("{} points to {}", call.tool(), place.place)
    }

    #[factory(tools = [point], optional)]
    fn signs(run: &RunContext) -> Option<BoundTool> {
        let channel = run.channel.as_ref()?;
        Some(point::bound(&Place { place: channel.name.clone() }))
    }

    #[hook(before_tool_call, priority = 7, tools = ["walk"])]
    fn no_walks(attempt: &ToolAttempt) -> Option<ToolVerdict> {
        (attempt.params()["steps"] == 9).then(|| ToolVerdict::block("nine steps are too many"))
    }

    #[hook(host_stop)]
    fn stopped() {}

    plugin!(tools: [walk, rest], factories: [signs], hooks: [no_walks, stopped]);

    fn call(tool: &str, params: &str) -> wit::ToolCall {
        wit::ToolCall {
            call_id: "call-1".to_owned(),
            tool: tool.to_owned(),
            params: params.to_owned(),
            factory: None,
            binding: None,
        }
    }

    fn execute(tool: &str, params: &str) -> Result<ToolResult, wit::ToolError> {
        <Plugin as Guest>::execute(call(tool, params), testing::run_context())
    }

    #[test]
    fn registration_tells_everything() {
        let registered = testing::register::<Plugin>().unwrap();
        let [(walk, walk_exposure), (rest, rest_exposure)] = registered.tools.as_slice() else {
            panic!("{registered:?}")
        };
        assert_eq!((walk.name.as_str(), walk.title.as_deref()), ("walk", Some("Walk")));
        assert_eq!((walk.description.as_str(), &walk.output_schema), ("Walks.", &None));
        assert!(walk.parameters.contains(r#""steps""#), "{}", walk.parameters);
        assert_eq!((rest.name.as_str(), rest.title.as_deref()), ("take-rest", None));
        assert_eq!((*walk_exposure, *rest_exposure), (Exposure::Optional, Exposure::Required));
        let signs = testing::RegisteredFactory {
            id: 0,
            names: vec!["point".to_owned()],
            exposure: Exposure::Optional,
        };
        assert_eq!(registered.factories, [signs]);
        let [walks, stop] = registered.handlers.as_slice() else { panic!("{registered:?}") };
        assert_eq!((walks.id, walks.hook, walks.priority), (0, HookName::BeforeToolCall, 7));
        assert_eq!((walks.tools.as_slice(), walks.timeout_ms), (["walk".to_owned()].as_slice(), None));
        assert_eq!((stop.id, stop.hook), (1, HookName::HostStop));
    }

    #[test]
    fn what_a_factory_bound_comes_back_with_the_call() {
        let made = <Plugin as Guest>::materialize(0, testing::run_context().on_channel("mail")).unwrap();
        let [bound] = made.as_slice() else { panic!("{made:?}") };
        let complete =
            wit::ToolCall { factory: Some(0), binding: bound.binding.clone(), ..call("point", "{}") };
        let result = <Plugin as Guest>::execute(complete, testing::run_context()).unwrap();
        assert_eq!(result.text(), "point points to mail");
        assert_eq!(<Plugin as Guest>::materialize(0, testing::run_context()), Ok(Vec::new()));
    }

    #[test]
    fn a_call_without_what_the_factory_made_fails() {
        let check = |call, expected: &str| {
            let error = <Plugin as Guest>::execute(call, testing::run_context()).unwrap_err();
            assert!(format!("{error:?}").contains(expected), "{error:?}");
        };
        check(call("point", "{}"), "`point` is made by the factory `signs` for each run");
        check(
            wit::ToolCall { factory: Some(0), ..call("point", "{}") },
            "without the binding that its factory",
        );
        check(
            wit::ToolCall { factory: Some(0), ..call("walk", "{}") },
            "`signs` of this plugin makes no tool `walk`",
        );
        check(wit::ToolCall { factory: Some(4), ..call("point", "{}") }, "no factory 4");
    }

    #[test]
    fn a_call_reaches_the_function() {
        assert_eq!(execute("walk", r#"{"steps":2}"#).unwrap().text(), "walk walked for main");
        assert_eq!(execute("take-rest", "{}").unwrap().text(), "rested");
        assert_eq!(rest(), "rested");
    }

    #[test]
    fn an_event_reaches_its_handler() {
        let emit = |steps| {
            testing::emit::<Plugin, no_walks>(testing::tool_attempt("walk", json!({ "steps": steps })))
        };
        assert_eq!(emit(9), Ok(HookOutcome::Tool(ToolVerdict::block("nine steps are too many"))));
        assert_eq!(emit(8), Ok(HookOutcome::None));
        assert_eq!(testing::emit_in::<Plugin, stopped>((), None), Ok(HookOutcome::None));
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
        let expected = "this plugin has no tool `fly`; it has: walk, take-rest, point";
        assert_eq!(unknown, wit::ToolError::Unavailable(expected.to_owned()));
        assert!(<Plugin as Guest>::materialize(4, testing::run_context()).unwrap_err().contains("factory 4"));
        assert!(<Plugin as Guest>::on_hook(9, HookEvent::HostStart, None).unwrap_err().contains("handler 9"));
    }

    #[test]
    fn the_manifest_must_agree() {
        let manifest = |tools, optional| {
            let metadata = json!({ "walk": { "optional": optional }, "point": { "optional": optional } });
            let hooks = json!([{ "hook": "before-tool-call", "tools": ["walk"] }, "host-stop"]);
            json!({ "contracts": { "tools": tools, "hooks": hooks }, "toolMetadata": metadata }).to_string()
        };
        let agreeing = manifest(["walk", "take-rest", "point"].as_slice(), true);
        assert_eq!(testing::check_manifest::<Plugin>(&agreeing), Ok(()));
        let problems = testing::check_manifest::<Plugin>(&manifest(&["walk", "fly"], false)).unwrap_err();
        for expected in [
            "has the tool `take-rest`",
            "has the tool `point`",
            "declares `fly`",
            "`walk` must be optional both in `toolMetadata` and in `#[tool(optional)]`",
            "`point` must be optional both in `toolMetadata` and in `#[factory(…, optional)]`",
        ] {
            assert!(problems.contains(expected), "{problems}");
        }
    }
}
