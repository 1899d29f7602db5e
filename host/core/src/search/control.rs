//! The host's own three tools of a surface that withholds others: their names, which nobody else may have, and what a model
//! is told about them. What enters is nothing, what leaves are exposed tools, made once a host; they never run anything
//! themselves: two of them only read their surface, and a call of the third is taken for the call in it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{DEFAULT_HITS, MAX_HITS};
use crate::id::ToolName;
use crate::manifest::{Concurrency, Deferral};
use crate::surface::{ExposedTool, Implementation, Owner};
use crate::tool::{Tool, ToolDescriptor};

/// Most queries of one search, and most tools of one description: one step of a model's plan.
pub(super) const MAX_BATCH: usize = 8;

/// Longest name that a description is asked for, in characters; canonical ones are shorter, and slips are too.
const MAX_ASKED_CHARS: usize = 128;

/// One of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    /// Finds tools by what they do.
    Search,
    /// Says all about tools by their names.
    Describe,
    /// Stands around the call of another tool.
    Call,
}

impl Control {
    pub(crate) const ALL: [Self; 3] = [Self::Search, Self::Describe, Self::Call];

    /// Its name, reserved whether or not a surface has it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Search => "tool_search",
            Self::Describe => "tool_describe",
            Self::Call => "tool_call",
        }
    }

    /// The one of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|control| control.as_str() == name)
    }

    fn description(self) -> String {
        match self {
            Self::Search => format!(
                "Finds tools that are not listed here, by what they do. Say in a few words what you need, one query for \
                 each need. Each hit has a name, a line about it and what a call looks like. {DEFAULT_HITS} hits a query \
                 unless `limit` says otherwise."
            ),
            Self::Describe => "Says all about tools by their names: the whole description and the JSON Schema of the \
                               arguments. Ask before you call a tool whose arguments a search did not make clear."
                .to_owned(),
            Self::Call => "Calls a tool that is not listed here, by the name that a search gave. `arguments` is the object \
                           that the tool takes, as an object and not as a string."
                .to_owned(),
        }
    }

    fn parameters(self) -> Value {
        match self {
            Self::Search => json!({
                "type": "object",
                "properties": {
                    "queries": {
                        "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": MAX_BATCH,
                        "description": "What you need, in a few words each.",
                    },
                    "limit": {
                        "type": "integer", "minimum": 1, "maximum": MAX_HITS,
                        "description": "Most hits of one query.",
                    },
                },
                "required": ["queries"],
                "additionalProperties": false,
            }),
            Self::Describe => json!({
                "type": "object",
                "properties": {
                    "names": {
                        "type": "array", "items": { "type": "string", "maxLength": MAX_ASKED_CHARS },
                        "minItems": 1, "maxItems": MAX_BATCH, "description": "Names of tools.",
                    },
                },
                "required": ["names"],
                "additionalProperties": false,
            }),
            Self::Call => json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "The tool's name." },
                    "arguments": { "type": "object", "description": "The tool's arguments." },
                },
                "required": ["name"],
                "additionalProperties": false,
            }),
        }
    }

    fn exposed(self) -> Result<ExposedTool, String> {
        let name = ToolName::parse(self.as_str()).map_err(|problem| problem.to_string())?;
        let descriptor = ToolDescriptor {
            name: self.as_str().to_owned(),
            title: None,
            description: self.description(),
            parameters: self.parameters().to_string(),
            output_schema: None,
        };
        Ok(ExposedTool {
            tool: Arc::new(Tool::accept(name, &descriptor)?),
            owner: Owner::Core,
            origin: None,
            optional: false,
            fingerprint: None,
            side_effecting: false,
            concurrency: Concurrency::Parallel,
            defer: Deferral::Never,
            own_handlers: Arc::default(),
            implementation: Implementation::Control(self),
        })
    }
}

/// The three as every surface that withholds tools has them.
///
/// # Errors
/// If one breaks a rule for tools, which is a mistake of this file.
pub(crate) fn controls() -> Result<Vec<Arc<ExposedTool>>, String> {
    Control::ALL.into_iter().map(|control| control.exposed().map(Arc::new)).collect()
}
