//! Arguments of a contract, as they are said to a strict function: what is absent and must be there is null.

use serde_json::{Map, Value};

/// `value` as `schema`, which stands somewhere in `root`, takes it.
pub(super) fn said(root: &Value, schema: &Value, value: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.strip_prefix('#').unwrap();
        return said(root, root.pointer(pointer).unwrap(), value);
    }
    if let Some(alternatives) = schema["anyOf"].as_array() {
        let fitting = alternatives.iter().find(|one| fits(root, one, value));
        return fitting.map_or_else(|| value.clone(), |one| said(root, one, value));
    }
    match value {
        Value::Object(members) => {
            let empty = Map::new();
            let properties = schema["properties"].as_object().unwrap_or(&empty);
            let mut all: Map<String, Value> = members
                .iter()
                .map(|(name, value)| {
                    let said = properties.get(name).map(|schema| said(root, schema, value));
                    (name.clone(), said.unwrap_or_else(|| value.clone()))
                })
                .collect();
            for name in properties.keys().filter(|name| !members.contains_key(*name)) {
                all.insert(name.clone(), Value::Null);
            }
            all.into()
        }
        Value::Array(items) => items.iter().map(|item| said(root, &schema["items"], item)).collect(),
        other => other.clone(),
    }
}

fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    let mut whole = schema.clone();
    if let (Value::Object(members), Some(definitions)) = (&mut whole, root.get("$defs")) {
        members.insert("$defs".to_owned(), definitions.clone());
    }
    super::compiled(&whole).is_valid(&said(root, schema, value))
}
