//! What a call of a tool looks like, on one line: a contract schema enters; names, types and what may be left out leave.

use serde_json::Value;

use crate::text;
use crate::tool::Tool;

/// Longest signature, in characters: two lines.
const MAX_SIGNATURE_CHARS: usize = 200;

/// Most values of an enumeration that are written out.
const MAX_VALUES: usize = 6;

/// How deep types are written out.
const MAX_DEPTH: usize = 2;

/// The tool's name with its parameters, such as `add(a: number, b?: number | null)`. What the schema says in another way is
/// `any`; the tool's description and its schema say more.
pub fn signature(tool: &Tool) -> String {
    let schema = tool.parameters.source();
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)));
    let properties = schema.get("properties").and_then(Value::as_object);
    let parameters = properties.into_iter().flatten().map(|(name, schema)| {
        let mark = if is_required(name) { "" } else { "?" };
        format!("{}{mark}: {}", text::single_line(name), kind(schema, 0))
    });
    let signature = format!("{}({})", tool.name, parameters.collect::<Vec<_>>().join(", "));
    text::shorten(&signature, MAX_SIGNATURE_CHARS).into_owned()
}

/// A schema's type in a few words.
fn kind(schema: &Value, depth: usize) -> String {
    let any = || "any".to_owned();
    if depth > MAX_DEPTH {
        return any();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let shown =
            values.iter().take(MAX_VALUES).map(|value| text::single_line(&value.to_string()).into_owned());
        let more = if values.len() > MAX_VALUES { vec!["…".to_owned()] } else { Vec::new() };
        return shown.chain(more).collect::<Vec<_>>().join(" | ");
    }
    if let Some(value) = schema.get("const") {
        return text::single_line(&value.to_string()).into_owned();
    }
    match schema.get("type") {
        Some(Value::String(word)) => one(word, schema, depth),
        Some(Value::Array(words)) => {
            let words = words.iter().filter_map(Value::as_str).map(|word| one(word, schema, depth));
            words.collect::<Vec<_>>().join(" | ")
        }
        _ => any(),
    }
}

fn one(word: &str, schema: &Value, depth: usize) -> String {
    match (word, schema.get("items")) {
        ("array", Some(items)) => {
            let items = kind(items, depth + 1);
            if items.contains(' ') { format!("({items})[]") } else { format!("{items}[]") }
        }
        ("array", None) => "any[]".to_owned(),
        _ => text::single_line(word).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::kind;

    #[test]
    fn types_are_written_as_people_write_them() {
        for (schema, shown) in [
            (json!({ "type": "string" }), "string"),
            (json!({ "type": ["integer", "null"] }), "integer | null"),
            (json!({ "enum": ["a", 1] }), "\"a\" | 1"),
            (json!({ "type": "array", "items": { "enum": ["a", "b"] } }), "(\"a\" | \"b\")[]"),
            (
                json!({ "type": "array", "items": { "type": "array", "items": { "type": "array", "items": {} } } }),
                "any[][][]",
            ),
            (json!({ "$ref": "#/$defs/a" }), "any"),
            (json!(true), "any"),
        ] {
            assert_eq!(kind(&schema, 0), shown);
        }
    }
}
