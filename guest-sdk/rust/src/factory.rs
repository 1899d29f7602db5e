//! One factory: what `#[factory]` knows about a function enters, the tools for one run leave. It never returns a tool that
//! it does not list, and never keeps anything from one run to the next.

use std::collections::BTreeSet;

use crate::BoundTool;
use crate::Exposure;
use crate::IntoBoundTools;
use crate::RunContext;
use crate::ToolEntry;
use crate::bindings::airlock::plugin::types as wit;

/// A function as a factory. [`#[factory]`](macro@crate::factory) implements it for a type that has the function's name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a factory",
    note = "write `#[factory(tools = [ … ])]` above the function and list the function's name"
)]
pub trait Factory {
    /// The function's name, for messages to its author.
    const NAME: &'static str;
    /// Every tool that the function may return; the manifest's `contracts.tools` lists their names.
    const TOOLS: &'static [ToolEntry];
    /// Whether an operator must name the tools before a run can have them.
    const EXPOSURE: Exposure;
    /// What the function returns.
    type Answer: IntoBoundTools;

    /// Calls the function.
    fn run(run: &RunContext) -> Self::Answer;
}

/// A [`Factory`] as a value, so that factories of different types stand in one list.
#[derive(Debug, Clone, Copy)]
pub struct FactoryEntry {
    name: &'static str,
    tools: &'static [ToolEntry],
    exposure: Exposure,
    make: fn(&RunContext) -> Result<Vec<BoundTool>, String>,
}

impl FactoryEntry {
    /// The entry of the factory `F`.
    pub const fn of<F: Factory>() -> Self {
        Self { name: F::NAME, tools: F::TOOLS, exposure: F::EXPOSURE, make: make::<F> }
    }

    /// The name of the factory's function.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Every tool that the factory may return.
    pub const fn tools(&self) -> &'static [ToolEntry] {
        self.tools
    }

    /// Whether an operator must name the tools before a run can have them.
    pub const fn exposure(&self) -> Exposure {
        self.exposure
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&'static ToolEntry> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// The run's tools, as the host gets them.
    ///
    /// # Errors
    ///
    /// The factory's own text for the operator, or what is wrong with its answer. The host would drop a tool that it
    /// cannot take; here the factory fails as a whole, so that its author's first test finds the mistake.
    pub(crate) fn materialize(&self, run: &RunContext) -> Result<Vec<wit::BoundTool>, String> {
        let tools = (self.make)(run)?;
        let mut names = BTreeSet::new();
        for tool in &tools {
            let (factory, name) = (self.name, tool.name());
            if self.tool(name).is_none() {
                return Err(format!(
                    "the factory `{factory}` returned `{name}`, which it does not list: add it to `tools` of its \
                     `#[factory]`"
                ));
            }
            if !names.insert(name) {
                return Err(format!("the factory `{factory}` returned `{name}` twice"));
            }
        }
        tools.into_iter().map(BoundTool::into_wit).collect()
    }
}

fn make<F: Factory>(run: &RunContext) -> Result<Vec<BoundTool>, String> {
    F::run(run).into_bound_tools()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::testing;

    /// Opens.
    #[tool]
    fn open() -> &'static str {
        "opened"
    }

    /// Closes.
    #[tool]
    fn close() -> &'static str {
        "closed"
    }

    #[factory(tools = [open])]
    fn doors(run: &RunContext) -> Result<Vec<BoundTool>, &'static str> {
        match run.agent_id.as_str() {
            "porter" => Ok(vec![open::bound()]),
            "burglar" => Ok(vec![open::bound(), close::bound()]),
            "twins" => Ok(vec![open::bound(), open::bound()]),
            "thief" => Err("no doors for thieves"),
            _ => Ok(Vec::new()),
        }
    }

    #[factory(tools = [open, close], optional)]
    fn all() -> [BoundTool; 2] {
        [open::bound(), close::bound()]
    }

    #[track_caller]
    fn check(agent: &str, expected: Result<&[&str], &str>) {
        let run = RunContext { agent_id: agent.to_owned(), ..testing::run_context() };
        let made = FactoryEntry::of::<doors>().materialize(&run);
        let names = made.map(|tools| tools.into_iter().map(|bound| bound.tool.name).collect::<Vec<_>>());
        match (names, expected) {
            (Ok(names), Ok(expected)) => assert_eq!(names, expected),
            (Err(problem), Err(expected)) => assert!(problem.starts_with(expected), "{problem}"),
            (made, _) => panic!("{made:?}"),
        }
    }

    #[test]
    fn a_run_gets_what_the_function_returns() {
        check("porter", Ok(&["open"]));
        check("guest", Ok(&[]));
        check("thief", Err("no doors for thieves"));
    }

    #[test]
    fn an_answer_that_breaks_the_list_fails_the_factory() {
        check("burglar", Err("the factory `doors` returned `close`, which it does not list"));
        check("twins", Err("the factory `doors` returned `open` twice"));
    }

    #[test]
    fn a_factory_need_not_look_at_the_run() {
        assert_eq!(FactoryEntry::of::<all>().materialize(&testing::run_context()).unwrap().len(), 2);
        assert_eq!(FactoryEntry::of::<all>().exposure(), Exposure::Optional);
        assert_eq!(doors(&testing::run_context()), Ok(Vec::new()));
    }
}
