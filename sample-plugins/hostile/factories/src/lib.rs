//! A run enters, what each factory's name says leaves, or nothing at all. Whatever the others do, `good_tool` is there as
//! its own factory describes it: a factory can only ever lose names of its own.
//!
//! | id | names | what the factory does |
//! |---|---|---|
//! | 10 | `good_tool` | returns it, bound to the run's agent: `{"agent":"main"}` |
//! | 11 | `absent_tool` | returns none: not available in this run |
//! | 20 | `endless_tool` | computes for ever, and ends by its fuel |
//! | 21 | `sleeping_tool` | on the channel `slow` waits in the host for an hour, and ends by its deadline; elsewhere returns none |
//! | 22 | `hungry_tool` | allocates until it is refused |
//! | 30 | `panicking_tool` | panics with a text |
//! | 31 | `trapping_tool` | traps without one |
//! | 40 | `honest_tool` | returns `smuggled_tool`, which no manifest declares, and then it |
//! | 41 | `thief_tool` | returns `good_tool`, which factory 10 registered, described as stolen, and then it |
//! | 50 | `twin_tool` | returns it twice, with two descriptions |
//! | 60 | `malformed_tool`, `well_formed_tool` | returns both; the schema of the first has properties that are a number |
//! | 70 | `garbled_tool` | returns it with a binding that is no JSON |
//! | 71 | `heavy_tool`, `full_tool` | returns both; the binding of the first has 4,097 bytes, of the second 4,096 |
//! | 80 | `failing_tool` | returns an error for the operator |
//! | 81 | `screaming_tool` | returns an error of 1 MiB that begins with a terminal's escape sequence |
//! | 90 | `flood_tool` | returns 10,000 tools: it, and `flood_1` to `flood_9999`, which are not declared |
//!
//! A call of any of them returns its name and the binding that came back, `good_tool: {"agent":"main"}`. Written against
//! the contract itself, because the SDK refuses most of this.

use airlock_plugin::bindings::airlock::plugin::hook_types::{HookEvent, HookOutcome};
use airlock_plugin::bindings::airlock::plugin::registry::{self, Exposure};
use airlock_plugin::bindings::airlock::plugin::types::{
    BoundTool, Content, FactoryId, HandlerId, RunContext, ToolCall, ToolError, ToolResult,
};
use airlock_plugin::bindings::exports::airlock::plugin::guest::Guest;

mod factory;

use crate::factory::FACTORIES;

/// The plugin.
#[derive(Debug)]
pub struct Factories;

impl Guest for Factories {
    fn register() -> Result<(), String> {
        for factory in FACTORIES {
            let names: Vec<String> = factory.names.iter().map(|&name| name.to_owned()).collect();
            registry::register_factory(factory.id, &names, Exposure::Required)
                .map_err(|refusal| format!("{:?}: {refusal:?}", factory.names))?;
        }
        Ok(())
    }

    fn materialize(id: FactoryId, run: RunContext) -> Result<Vec<BoundTool>, String> {
        let factory = FACTORIES.iter().find(|factory| factory.id == id);
        factory.map_or_else(|| Err(format!("there is no factory {id}")), |factory| (factory.make)(&run))
    }

    fn execute(call: ToolCall, _run: RunContext) -> Result<ToolResult, ToolError> {
        let text = format!("{}: {}", call.tool, call.binding.as_deref().unwrap_or("no binding"));
        Ok(ToolResult { content: vec![Content::Text(text)], details: None })
    }

    fn on_hook(
        handler: HandlerId,
        _event: HookEvent,
        _run: Option<RunContext>,
    ) -> Result<HookOutcome, String> {
        Err(format!("there is no handler {handler}"))
    }
}

#[cfg(target_arch = "wasm32")]
airlock_plugin::bindings::export!(Factories with_types_in airlock_plugin::bindings);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use airlock_plugin::serde_json::{self, Value};
    use airlock_plugin::testing;

    use super::*;

    fn made(id: FactoryId) -> Vec<BoundTool> {
        Factories::materialize(id, testing::run_context()).unwrap()
    }

    #[test]
    fn the_manifest_declares_every_name_once() {
        let manifest: Value = serde_json::from_str(include_str!("../airlock.plugin.json")).unwrap();
        let declared = manifest.pointer("/contracts/tools").and_then(Value::as_array).unwrap();
        let declared: Vec<&str> = declared.iter().filter_map(Value::as_str).collect();
        let names: Vec<&str> = FACTORIES.iter().flat_map(|factory| factory.names).copied().collect();
        assert_eq!(names, declared);
        let ids: BTreeSet<FactoryId> = FACTORIES.iter().map(|factory| factory.id).collect();
        assert_eq!(ids.len(), FACTORIES.len());
    }

    #[test]
    fn each_breaks_what_it_says() {
        let names = |id| made(id).iter().map(|bound| bound.tool.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(11), [""; 0]);
        assert_eq!(names(21), [""; 0]);
        assert_eq!(names(40), ["smuggled_tool", "honest_tool"]);
        assert_eq!(names(41), ["good_tool", "thief_tool"]);
        assert_eq!(names(50), ["twin_tool"; 2]);
        assert_eq!(names(90).len(), 10_000);
        let sizes: Vec<usize> = made(71).iter().map(|bound| bound.binding.as_ref().unwrap().len()).collect();
        assert_eq!(sizes, [4097, 4096]);
        assert!(
            made(71)
                .iter()
                .all(|bound| serde_json::from_str::<Value>(bound.binding.as_ref().unwrap()).is_ok())
        );
        assert!(serde_json::from_str::<Value>(made(70)[0].binding.as_ref().unwrap()).is_err());
        assert_eq!(Factories::materialize(81, testing::run_context()).unwrap_err().len(), 1 << 20);
        assert!(Factories::materialize(80, testing::run_context()).is_err());
    }

    #[test]
    fn the_good_one_gets_its_binding_back() {
        let bound = made(10).remove(0);
        let call = ToolCall {
            call_id: "call-1".to_owned(),
            tool: bound.tool.name,
            params: "{}".to_owned(),
            factory: Some(10),
            binding: bound.binding,
        };
        let result = Factories::execute(call, testing::run_context()).unwrap();
        assert_eq!(result.text(), r#"good_tool: {"agent":"main"}"#);
    }
}
