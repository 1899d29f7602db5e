//! A factory and a run context enter, the tools that the run gets leave, and can be called as the host would call them. It
//! never drops a tool that a host would refuse.

use serde_json::Value;

use crate::Call;
use crate::Factory;
use crate::FactoryEntry;
use crate::RunContext;
use crate::ToolEntry;
use crate::ToolError;
use crate::ToolResult;
use crate::bindings::airlock::plugin::types as wit;

/// A tool that a factory made for one run.
#[derive(Debug, Clone)]
pub struct Materialized {
    bound: wit::BoundTool,
    entry: &'static ToolEntry,
    run: RunContext,
}

/// Asks the factory `F` for the tools of this run.
///
/// # Errors
///
/// What the operator would be told.
pub fn materialize<F: Factory>(run: &RunContext) -> Result<Vec<Materialized>, String> {
    let factory = FactoryEntry::of::<F>();
    let tools = factory.materialize(run)?;
    let known = tools.into_iter().filter_map(|bound| {
        let entry = factory.tool(&bound.tool.name)?;
        Some(Materialized { bound, entry, run: run.clone() })
    });
    Ok(known.collect())
}

impl Materialized {
    /// The canonical name.
    pub fn name(&self) -> &str {
        &self.bound.tool.name
    }

    /// The short name for people, if there is one.
    pub fn title(&self) -> Option<&str> {
        self.bound.tool.title.as_deref()
    }

    /// What the model is told in this run.
    pub fn description(&self) -> &str {
        &self.bound.tool.description
    }

    /// What the factory bound; null if it bound nothing.
    pub fn binding(&self) -> Value {
        let json = self.bound.binding.as_deref().unwrap_or("null");
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Calls the tool in the run that it was made for.
    ///
    /// # Errors
    ///
    /// As [`testing::call`](super::call).
    #[expect(clippy::needless_pass_by_value, reason = "`json!` at the call site makes a value")]
    pub fn call(&self, arguments: Value) -> Result<ToolResult, ToolError> {
        let call = Call::new("call-1".to_owned(), self.name().to_owned(), self.run.clone());
        self.entry.execute(&arguments.to_string(), self.bound.binding.as_deref(), &call)
    }
}
