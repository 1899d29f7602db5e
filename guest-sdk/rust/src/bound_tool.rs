//! A tool for one run: a tool and what a factory fixes for it enter, the contract's `bound-tool` leaves. It never changes
//! a tool's name or schema.

use std::fmt;

use crate::Tool;
use crate::binding;
use crate::bindings::airlock::plugin::types as wit;
use crate::tool;

/// A tool as a factory gives it to one run. A [`#[tool]`](macro@crate::tool) function `send` makes it with
/// `send::bound(&target)`, or with `send::bound()` if it has no `#[bound]` parameter.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a factory returns the tools that the run gets"]
pub struct BoundTool {
    descriptor: wit::Tool,
    /// A binding that cannot be sent fails the factory, and no function before it needs a `Result`.
    binding: Result<Option<String>, String>,
}

impl BoundTool {
    #[doc(hidden)]
    pub fn of<T: Tool>(binding: &T::Binding) -> Self {
        Self { descriptor: tool::descriptor::<T>(), binding: binding::write(T::NAME, binding) }
    }

    /// Tells the model this in this run, instead of the function's doc comment.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.descriptor.description = description.into();
        self
    }

    /// Tells the model this in this run, as a paragraph after the rest of the description: the default target, for
    /// example.
    pub fn note(mut self, note: impl fmt::Display) -> Self {
        self.descriptor.description = format!("{}\n\n{note}", self.descriptor.description);
        self
    }

    /// Shows people this title in this run.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.descriptor.title = Some(title.into());
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.descriptor.name
    }

    pub(crate) fn into_wit(self) -> Result<wit::BoundTool, String> {
        Ok(wit::BoundTool { tool: self.descriptor, binding: self.binding? })
    }
}

/// What a factory's function may return. None of the tools means "not available in this run".
#[diagnostic::on_unimplemented(
    message = "a factory cannot return `{Self}`",
    label = "not the tools of a run",
    note = "return `BoundTool`, `Option<BoundTool>`, `Vec<BoundTool>`, `[BoundTool; N]`, or a `Result` of one of these with a text or an error for the operator"
)]
pub trait IntoBoundTools {
    /// The tools that the run gets.
    ///
    /// # Errors
    ///
    /// A text for the operator. The run gets none of the factory's tools.
    fn into_bound_tools(self) -> Result<Vec<BoundTool>, String>;
}

impl IntoBoundTools for BoundTool {
    fn into_bound_tools(self) -> Result<Vec<BoundTool>, String> {
        Ok(vec![self])
    }
}

impl IntoBoundTools for Option<BoundTool> {
    fn into_bound_tools(self) -> Result<Vec<BoundTool>, String> {
        Ok(self.into_iter().collect())
    }
}

impl IntoBoundTools for Vec<BoundTool> {
    fn into_bound_tools(self) -> Result<Vec<BoundTool>, String> {
        Ok(self)
    }
}

impl<const COUNT: usize> IntoBoundTools for [BoundTool; COUNT] {
    fn into_bound_tools(self) -> Result<Vec<BoundTool>, String> {
        Ok(self.into())
    }
}

impl<T: IntoBoundTools, E: fmt::Display> IntoBoundTools for Result<T, E> {
    fn into_bound_tools(self) -> Result<Vec<BoundTool>, String> {
        self.map_err(|error| error.to_string())?.into_bound_tools()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[binding]
    struct Room {
        room: String,
    }

    /// Knocks.
    #[tool]
    fn knock(#[bound] room: Room) -> String {
        format!("knocked at {}", room.room)
    }

    /// Listens.
    #[tool(title = "Listen")]
    fn listen() -> &'static str {
        "silence"
    }

    #[test]
    fn a_run_gets_its_own_texts_and_binding() {
        let knock = knock::bound(&Room { room: "7".to_owned() }).note(format_args!("At door {}.", 7));
        let bound = knock.title("Knock at 7").into_wit().unwrap();
        assert_eq!(bound.binding.as_deref(), Some(r#"{"room":"7"}"#));
        assert_eq!(bound.tool.description, "Knocks.\n\nAt door 7.");
        assert_eq!((bound.tool.name.as_str(), bound.tool.title.as_deref()), ("knock", Some("Knock at 7")));

        let bound = listen::bound().description("Listens at the wall.").into_wit().unwrap();
        assert_eq!((bound.tool.description.as_str(), bound.binding), ("Listens at the wall.", None));
        assert_eq!(bound.tool.title.as_deref(), Some("Listen"));
    }

    #[test]
    fn a_factory_returns_what_suits_it() {
        let names =
            |tools: Vec<BoundTool>| tools.iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(listen::bound().into_bound_tools().unwrap()), ["listen"]);
        assert_eq!(names(None.into_bound_tools().unwrap()), [""; 0]);
        assert_eq!(names([listen::bound(), listen::bound()].into_bound_tools().unwrap()), ["listen"; 2]);
        let refused: Result<Vec<BoundTool>, ToolError> = Err("no key".into());
        assert_eq!(refused.into_bound_tools().unwrap_err(), "no key");
    }
}
