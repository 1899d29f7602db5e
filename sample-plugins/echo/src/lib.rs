//! A text enters and leaves as it is: the smallest useful call, which the benchmark measures. It never changes a byte.

use airlock_plugin::prelude::*;

#[arguments]
struct Message {
    /// The text to return.
    text: String,
}

/// Returns its text unchanged.
#[tool]
fn echo(arguments: Message) -> String {
    arguments.text
}

plugin!(tools: [echo]);

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn the_text_comes_back() {
        let result = testing::call::<echo>(json!({ "text": "wörds" })).unwrap();
        assert_eq!(result.text(), "wörds");
    }

    #[test]
    fn the_text_is_needed() {
        let error = testing::call::<echo>(json!({})).unwrap_err();
        assert_eq!(error, ToolError::invalid_params("missing field `text`"));
    }
}
