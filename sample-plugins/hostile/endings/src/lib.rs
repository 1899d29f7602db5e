//! A call enters; it leaves in the way that the tool's name says. No tool here traps or runs out of anything.

use airlock_plugin::prelude::*;
use airlock_plugin::serde_json::json;

/// Fails, with details.
#[tool]
fn fail() -> Result<String, ToolError> {
    Err(ToolError::failed_with("the disk is full; free some space and try again", json!({ "free_bytes": 0 })))
}

/// Is unavailable.
#[tool]
fn unavailable() -> Result<String, ToolError> {
    Err(ToolError::unavailable("the tide is out; try again at noon"))
}

/// Refuses arguments that fit the schema.
#[tool]
fn refuse() -> Result<String, ToolError> {
    Err(ToolError::invalid_params("nothing can be asked of this tool"))
}

#[details]
struct Lie {
    // The schema promises a number and the value is a text.
    #[schemars(with = "u64")]
    count: &'static str,
}

/// Returns details that violate its own output schema.
#[tool]
fn lie() -> Output<Lie> {
    Output::new("there are seven", Lie { count: "seven" })
}

#[details]
struct Secret {
    unseen: bool,
}

/// Returns details that the model does not see, and no content.
#[tool]
fn mute() -> Output<Secret> {
    Output { content: Vec::new(), details: Secret { unseen: true } }
}

/// Ends the guest's process.
#[tool]
#[expect(clippy::exit, reason = "this is what the tool is for")]
fn leave() -> String {
    std::process::exit(3)
}

plugin!(tools: [fail, unavailable, refuse, lie, mute, leave]);

#[cfg(test)]
mod tests {
    use airlock_plugin::testing;

    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn each_error_has_its_kind() {
        assert!(matches!(testing::call::<fail>(json!({})), Err(ToolError::Failed { details: Some(_), .. })));
        assert!(matches!(testing::call::<unavailable>(json!({})), Err(ToolError::Unavailable(_))));
        assert!(matches!(testing::call::<refuse>(json!({})), Err(ToolError::InvalidParams(_))));
    }

    #[test]
    fn the_lie_is_one() {
        let registered = testing::register::<Plugin>().unwrap();
        let (tool, _) = registered.tools.iter().find(|(tool, _)| tool.name == "lie").unwrap();
        assert!(tool.output_schema.as_ref().unwrap().contains(r#""type":"integer""#));
        assert_eq!(
            testing::call::<lie>(json!({})).unwrap().json_details().unwrap(),
            json!({ "count": "seven" })
        );
    }
}
