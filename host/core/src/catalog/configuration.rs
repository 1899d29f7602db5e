//! A plugin's configuration: what the operator wrote enters, a value that fits the plugin's schema leaves, with defaults.

use serde_json::{Map, Value};

use super::{CatalogEntry, MissingConfiguration};
use crate::capability::Secrets;
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::manifest::MANIFEST_FILE;
use crate::schema::ContractSchema;

/// How deep defaults are looked for; a schema may be 64 deep, and references are not followed.
const MAX_DEFAULT_DEPTH: usize = 16;

pub(super) fn configure(
    config: &Config,
    entry: &CatalogEntry,
    missing: MissingConfiguration,
    secrets: &Secrets,
) -> Result<Value, Box<Diagnostic>> {
    let id = &entry.manifest.id;
    let written = config.entry(id, entry.origin).and_then(|entry| entry.config.as_ref()).map(|json| &json.0);
    let path = ["plugins", "entries", id.as_str(), "config"];
    let invalid = |message: String, hint: &str, location: Option<Location>| {
        Box::new(Diagnostic::new(Code::ConfigInvalid, id, message, hint).at(location))
    };
    if let Some(secret) = written.and_then(|value| secrets.found_in(value.to_string().as_bytes())) {
        let message = format!(
            "its configuration has the value of the secret `{secret}` in it, and the plugin may read that"
        );
        let hint = "remove it; a plugin whose manifest asks for the secret gets it into its requests by `secrets` among its \
                    grants, and never sees it";
        let finding = Diagnostic::new(Code::SecretInConfig, id, message, hint);
        return Err(Box::new(finding.at(config.location(&path))));
    }
    let mut value = written.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    let Some(source) = &entry.manifest.config_schema else {
        let is_empty = value.as_object().is_some_and(Map::is_empty);
        let unread = "the plugin takes no configuration: its manifest has no `configSchema`".to_owned();
        return if is_empty {
            Ok(value)
        } else {
            Err(invalid(unread, "remove `config` from its entry", config.location(&path)))
        };
    };
    let schema = ContractSchema::for_arguments(&source.to_string()).map_err(|problem| {
        let location = Location::path(entry.folder.join(MANIFEST_FILE));
        invalid(format!("its `configSchema` {problem}"), "correct the manifest", Some(location))
    })?;
    apply_defaults(&mut value, source, MAX_DEFAULT_DEPTH);
    let violations = schema.violations(&value);
    let Some(first) = violations.first() else { return Ok(value) };
    if written.is_none() && missing == MissingConfiguration::Overlook {
        return Ok(value);
    }
    let place = if first.path.is_empty() { String::new() } else { format!("{}: ", first.path) };
    let message = format!("its configuration does not fit its `configSchema`: {place}{}", first.message);
    let hint = format!("correct `config` in `[plugins.entries.{id}]`");
    Err(invalid(message, &hint, config.location(&path)))
}

/// Puts in what a schema's `properties` say is the default of an absent member.
fn apply_defaults(value: &mut Value, schema: &Value, depth: usize) {
    let (Value::Object(members), Some(Value::Object(properties))) = (value, schema.get("properties")) else {
        return;
    };
    if depth == 0 {
        return;
    }
    for (name, property) in properties {
        if let (false, Some(default)) = (members.contains_key(name), property.get("default")) {
            members.insert(name.clone(), default.clone());
        }
        if let Some(member) = members.get_mut(name) {
            apply_defaults(member, property, depth - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_fill_what_is_absent_and_nothing_else() {
        let schema = json!({ "properties": {
            "a": { "default": 1 },
            "b": { "default": {}, "properties": { "c": { "default": "x" } } },
            "d": { "type": "string" },
        } });
        let mut value = json!({ "a": 2, "e": null });
        apply_defaults(&mut value, &schema, 4);
        assert_eq!(value, json!({ "a": 2, "b": { "c": "x" }, "e": null }));
    }
}
