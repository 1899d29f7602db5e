//! Names of things enter, how often each was counted leaves: a plugin that remembers between calls. Every call has a fresh
//! instance, so that the numbers are in the plugin's key-value store, which its operator grants.

use airlock_plugin::key_value;
use airlock_plugin::prelude::*;

/// All counts are in one bucket, a key for each thing.
const BUCKET: &str = "counts";

#[arguments]
struct Thing {
    /// What to count, such as `deployments`.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// How many at once; one by default.
    #[schemars(range(max = 1000000))]
    by: Option<u64>,
}

/// Counts a thing and says how many there are now.
#[tool(title = "Count")]
fn count_up(thing: Thing) -> Result<String, ToolError> {
    let count = key_value::open(BUCKET)?.increment(&thing.name, thing.by.unwrap_or(1))?;
    Ok(format!("{}: {count}", thing.name))
}

/// Lists everything that was ever counted.
#[tool(title = "List counts")]
fn count_list() -> Result<String, ToolError> {
    let counts = key_value::open(BUCKET)?;
    let mut lines = Vec::new();
    for name in counts.keys()? {
        if let Some(count) = counts.get_text(&name)? {
            lines.push(format!("{name}: {count}"));
        }
    }
    Ok(if lines.is_empty() { "nothing was counted yet".to_owned() } else { lines.join("\n") })
}

plugin!(tools: [count_up, count_list]);

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
    fn counts_add_up() {
        let count = |arguments| testing::call::<count_up>(arguments).unwrap().text();
        assert_eq!(testing::call::<count_list>(json!({})).unwrap().text(), "nothing was counted yet");
        assert_eq!(count(json!({ "name": "ships" })), "ships: 1");
        assert_eq!(count(json!({ "name": "ships", "by": 4 })), "ships: 5");
        assert_eq!(count(json!({ "name": "cats" })), "cats: 1");
        assert_eq!(testing::call::<count_list>(json!({})).unwrap().text(), "cats: 1\nships: 5");
    }
}
