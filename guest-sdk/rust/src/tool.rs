//! One tool: what `#[tool]` knows about a function enters, the descriptor for the host and an entry that answers a call
//! leave. It never keeps state between calls.

use serde_json::Value;

use crate::Arguments;
use crate::Binding;
use crate::Call;
use crate::Exposure;
use crate::IntoToolResult;
use crate::ToolError;
use crate::ToolResult;
use crate::arguments;
use crate::binding;
use crate::bindings::airlock::plugin::types as wit;
use crate::schema;

/// A function as a tool. [`#[tool]`](macro@crate::tool) implements it for a type that has the function's name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "write `#[tool]` above the function and list the function's name"
)]
pub trait Tool {
    /// The canonical name, `^[a-z][a-z0-9_-]{0,63}$`; the manifest's `contracts.tools` lists it.
    const NAME: &'static str;
    /// A short name for people.
    const TITLE: Option<&'static str>;
    /// What the model is told.
    const DESCRIPTION: &'static str;
    /// Whether an operator must name the tool before a run can have it.
    const EXPOSURE: Exposure;
    /// What the function takes.
    type Arguments: Arguments;
    /// What a factory binds to it: the type of the `#[bound]` parameter, or [`NoBinding`](crate::NoBinding).
    type Binding: Binding;
    /// What the function returns.
    type Answer: IntoToolResult;

    /// Calls the function.
    fn run(arguments: Self::Arguments, binding: Self::Binding, call: &Call) -> Self::Answer;
}

/// A [`Tool`] as a value, so that tools of different types stand in one list.
#[derive(Debug, Clone, Copy)]
pub struct ToolEntry {
    name: &'static str,
    exposure: Exposure,
    needs_binding: bool,
    descriptor: fn() -> wit::Tool,
    execute: fn(&str, Option<&str>, &Call) -> Result<ToolResult, ToolError>,
}

impl ToolEntry {
    /// The entry of the tool `T`.
    pub const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            exposure: T::EXPOSURE,
            needs_binding: T::Binding::NEEDED,
            descriptor: descriptor::<T>,
            execute: execute::<T>,
        }
    }

    /// The tool's canonical name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) const fn exposure(&self) -> Exposure {
        self.exposure
    }

    /// Whether only a factory can give the tool what it needs.
    pub(crate) const fn needs_binding(&self) -> bool {
        self.needs_binding
    }

    pub(crate) fn descriptor(&self) -> wit::Tool {
        (self.descriptor)()
    }

    pub(crate) fn execute(
        &self,
        params: &str,
        binding: Option<&str>,
        call: &Call,
    ) -> Result<ToolResult, ToolError> {
        (self.execute)(params, binding, call)
    }
}

pub(crate) fn descriptor<T: Tool>() -> wit::Tool {
    wit::Tool {
        name: T::NAME.to_owned(),
        title: T::TITLE.map(str::to_owned),
        description: T::DESCRIPTION.to_owned(),
        parameters: schema::of_arguments::<T::Arguments>().to_string(),
        output_schema: T::Answer::output_schema().as_ref().map(Value::to_string),
    }
}

pub(crate) fn execute<T: Tool>(
    params: &str,
    binding: Option<&str>,
    call: &Call,
) -> Result<ToolResult, ToolError> {
    let binding = binding::read(T::NAME, binding)?;
    let arguments = arguments::parse(params).map_err(ToolError::InvalidParams)?;
    T::run(arguments, binding, call).into_tool_result()
}
