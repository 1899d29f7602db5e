//! A list of operations enters; what came of each leaves, a line for each. The host's bounds decide how far it gets. Its
//! factory tries too, where no plugin may reach anything.

use airlock_plugin::key_value;
use airlock_plugin::key_value::KeyValueError;
use airlock_plugin::prelude::*;

#[arguments]
struct Hoard {
    /// What to do, in this order.
    operations: Vec<Operation>,
}

#[arguments]
struct Operation {
    /// `open`, `set`, `get`, `delete`, `increment`, `keys`, or `many`, which sets many keys.
    verb: String,
    /// The bucket's name.
    bucket: String,
    /// The key.
    #[serde(default)]
    key: String,
    /// Makes the key this long.
    #[serde(default)]
    key_bytes: usize,
    /// The value.
    #[serde(default)]
    value: String,
    /// Makes the value this long.
    #[serde(default)]
    value_bytes: usize,
    /// How often, or how many.
    #[serde(default = "once")]
    times: u64,
}

fn once() -> u64 {
    1
}

/// Does things with the plugin's key-value store.
#[tool]
fn hoard(arguments: Hoard) -> String {
    let lines = arguments.operations.iter().map(|operation| match perform(operation) {
        Ok(line) => line,
        Err(KeyValueError::AccessDenied) => "access-denied".to_owned(),
        Err(KeyValueError::Other(message)) => format!("error: {message}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Says that the factory was refused a store.
#[tool]
fn hoard_refused() -> String {
    "the factory was refused a store".to_owned()
}

#[factory(tools = [hoard_refused])]
fn hoarders(_run: &RunContext) -> Option<BoundTool> {
    (key_value::open("early").err() == Some(KeyValueError::AccessDenied)).then(hoard_refused::bound)
}

fn perform(operation: &Operation) -> Result<String, KeyValueError> {
    let padded = |text: &str, bytes: usize| format!("{text}{}", "x".repeat(bytes.saturating_sub(text.len())));
    let key = padded(&operation.key, operation.key_bytes);
    let value = padded(&operation.value, operation.value_bytes);
    let bucket = key_value::open(&operation.bucket)?;
    match operation.verb.as_str() {
        "open" => Ok("opened".to_owned()),
        "set" => bucket.set(&key, value).map(|()| "set".to_owned()),
        "get" => match bucket.get(&key)? {
            Some(value) if value.len() > 100 => Ok(format!("{} bytes", value.len())),
            Some(value) => Ok(String::from_utf8_lossy(&value).into_owned()),
            None => Ok("none".to_owned()),
        },
        "delete" => bucket.delete(&key).map(|()| "deleted".to_owned()),
        "increment" => {
            let mut sum = 0;
            for _ in 0..operation.times {
                sum = bucket.increment(&key, 1)?;
            }
            Ok(sum.to_string())
        }
        "many" => {
            for number in 0..operation.times {
                bucket.set(&format!("{key}{number:04}"), &value)?;
            }
            Ok(format!("{} set", operation.times))
        }
        "keys" => {
            let keys = bucket.keys()?;
            let (first, last) = (keys.first().cloned(), keys.last().cloned());
            Ok(format!("{} from {} to {}", keys.len(), first.unwrap_or_default(), last.unwrap_or_default()))
        }
        other => Ok(format!("no such verb: {other}")),
    }
}

plugin!(tools: [hoard], factories: [hoarders]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
