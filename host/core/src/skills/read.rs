//! `skill_read`: a skill's name enters, its text leaves, from the snapshot of the turn and nowhere else.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::manifest::ToolMetadata;
use crate::native::{Binding, NativeCall, NativeTool};
use crate::run::RunContext;
use crate::tool::{ToolDescriptor, ToolError, ToolResult};

/// The tool by which a model reads skills. Policy decides about it as about any other.
#[derive(Debug)]
pub(crate) struct SkillRead;

impl SkillRead {
    pub(crate) const NAME: &'static str = "skill_read";
}

impl NativeTool for SkillRead {
    fn descriptor(&self) -> ToolDescriptor {
        ToolDescriptor {
            name: Self::NAME.to_owned(),
            title: Some("Read a skill".to_owned()),
            description: "Reads the instructions of a skill, or another of its files.".to_owned(),
            parameters: json!({
                "type": "object", "additionalProperties": false, "required": ["name"],
                "properties": {
                    "name": { "type": "string", "description": "The skill's name" },
                    "file": { "type": "string", "description": "One of its other files, by its path below the skill" },
                },
            })
            .to_string(),
            output_schema: None,
        }
    }

    fn metadata(&self) -> ToolMetadata {
        ToolMetadata { side_effecting: false, ..ToolMetadata::default() }
    }

    fn groups(&self) -> Vec<&'static str> {
        vec!["skills"]
    }

    fn bind(&self, run: &RunContext) -> Result<Binding, String> {
        let has_some = run.skills().is_some_and(|skills| !skills.catalogue().is_empty());
        Ok(if has_some {
            Binding::Same
        } else {
            Binding::Unavailable("has no skill to read in this run".to_owned())
        })
    }

    fn execute(&self, call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let text = |key: &str| call.arguments.get(key).and_then(Value::as_str);
            let name = text("name").unwrap_or_default();
            let skills = call
                .run
                .skills()
                .ok_or_else(|| ToolError::Unavailable("this run has no skills".to_owned()))?;
            skills.read(name, text("file")).map(ToolResult::text).map_err(ToolError::InvalidParams)
        })
    }
}
