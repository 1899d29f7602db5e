//! Schemas that hold together become one: the members of an `allOf`, and a schema beside a `$ref`. What two of them say
//! differently and cannot be said at once is left out, so that the result never refuses what all of them take.

use serde_json::{Map, Value, json};

const GROUPS: [&[&str]; 2] = [&["if", "then", "else"], &["contains", "minContains", "maxContains"]];

/// The schema that both say; with the keywords that were left out.
pub(super) fn both(
    one: &Map<String, Value>,
    other: &Map<String, Value>,
    lost: &mut Vec<String>,
) -> Map<String, Value> {
    let mut merged = one.clone();
    let mut apart: Vec<&str> = Vec::new();
    for (keyword, value) in other {
        // Keywords that mean something together only: of two such groups there is none that says both.
        if let Some(group) = GROUPS.iter().find(|group| group.contains(&keyword.as_str()))
            && group.iter().any(|keyword| one.contains_key(*keyword))
            && group.iter().any(|keyword| one.get(*keyword) != other.get(*keyword))
        {
            apart.extend(
                group.iter().filter(|word| one.contains_key(**word) || other.contains_key(**word)).copied(),
            );
            continue;
        }
        let Some(known) = merged.get(keyword).cloned() else {
            merged.insert(keyword.clone(), value.clone());
            continue;
        };
        if known == *value {
            continue;
        }
        match agreed(keyword, &known, value, lost) {
            Some(agreed) => drop(merged.insert(keyword.clone(), agreed)),
            None => {
                lost.push(keyword.clone());
                merged.shift_remove(keyword);
            }
        }
    }
    for keyword in apart {
        merged.shift_remove(keyword);
        lost.push(keyword.to_owned());
    }
    // What these leave open is for the other to close, which then would close too much.
    let is_lost = |keyword: &str| lost.iter().any(|lost| lost == keyword);
    for (keyword, closing) in [("patternProperties", "additionalProperties"), ("prefixItems", "items")] {
        if is_lost(keyword) && merged.shift_remove(closing).is_some() {
            lost.push(closing.to_owned());
            break;
        }
    }
    // A closed schema knows its own properties only.
    let is_closed = |schema: &Map<String, Value>| schema.contains_key("additionalProperties");
    if is_closed(one) != is_closed(other) || merged.get("additionalProperties") == Some(&Value::Bool(false)) {
        let names = |schema: &Map<String, Value>| schema.get("properties").cloned();
        if names(one) != names(other) && merged.shift_remove("additionalProperties").is_some() {
            lost.push("additionalProperties".to_owned());
        }
    }
    merged
}

/// One value of a keyword that says what two values say.
fn agreed(keyword: &str, one: &Value, other: &Value, lost: &mut Vec<String>) -> Option<Value> {
    match (keyword, one, other) {
        ("properties" | "$defs", Value::Object(one), Value::Object(other)) => {
            let mut named = one.clone();
            for (name, schema) in other {
                let joined = match (named.get(name), schema) {
                    (Some(Value::Object(known)), Value::Object(schema)) => {
                        Value::Object(both(known, schema, lost))
                    }
                    (Some(Value::Bool(false)), _) | (_, Value::Bool(false)) => Value::Bool(false),
                    (Some(known), Value::Bool(true)) => known.clone(),
                    _ => schema.clone(),
                };
                named.insert(name.clone(), joined);
            }
            Some(Value::Object(named))
        }
        ("required", Value::Array(one), Value::Array(other)) => {
            let mut names = one.clone();
            names.extend(other.iter().filter(|name| !one.contains(name)).cloned());
            Some(Value::Array(names))
        }
        ("description", Value::String(one), Value::String(other)) => Some(json!(format!("{one} {other}"))),
        ("enum", Value::Array(one), Value::Array(other)) => {
            let is_common = |value: &&Value| other.iter().any(|known| is_same(value, known));
            let common: Vec<_> = one.iter().filter(is_common).cloned().collect();
            (!common.is_empty()).then_some(Value::Array(common))
        }
        ("type", _, _) => {
            let (one, other) = (types(one), types(other));
            let common: Vec<_> = one
                .iter()
                .filter(|kind| {
                    // Every integer is a number.
                    other.contains(kind) || **kind == "integer" && other.contains(&"number")
                })
                .copied()
                .chain(other.iter().filter(|kind| **kind == "integer" && one.contains(&"number")).copied())
                .collect();
            match common.as_slice() {
                [] => None,
                [only] => Some(json!(only)),
                several => Some(json!(several)),
            }
        }
        ("minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties", _, _) => {
            pick(one, other, |one, other| one > other)
        }
        ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties", _, _) => {
            pick(one, other, |one, other| one < other)
        }
        ("title" | "default" | "examples", _, _) => Some(one.clone()),
        ("uniqueItems", Value::Bool(_), Value::Bool(_)) => Some(Value::Bool(true)),
        ("items" | "additionalProperties", Value::Object(one), Value::Object(other)) => {
            Some(Value::Object(both(one, other, lost)))
        }
        ("items" | "additionalProperties", Value::Bool(false), _)
        | ("items" | "additionalProperties", _, Value::Bool(false)) => Some(Value::Bool(false)),
        ("items" | "additionalProperties", Value::Bool(true), kept)
        | ("items" | "additionalProperties", kept, Value::Bool(true)) => Some(kept.clone()),
        _ => None,
    }
}

fn pick(one: &Value, other: &Value, is_better: impl Fn(f64, f64) -> bool) -> Option<Value> {
    let (first, second) = (one.as_f64()?, other.as_f64()?);
    Some(if is_better(second, first) { other.clone() } else { one.clone() })
}

/// Whether two values are one, where `1` is `1.0`; numbers that differ in their last digits pass as one too.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        // What is inside is numbers too; that they are taken for one is the safe mistake.
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| is_same(value, other)))
        }
        _ => one == other,
    }
}

/// The types that a `type` keyword names.
pub(super) fn types(kind: &Value) -> Vec<&str> {
    match kind {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// One object that stands for several alternatives at the root, where no union may stand: it has the properties of all of
/// them, and requires what all of them require. Alternatives that are no objects add nothing, since arguments are one.
pub(super) fn flattened(
    base: &Map<String, Value>,
    alternatives: &[Map<String, Value>],
    lost: &mut Vec<String>,
) -> Map<String, Value> {
    let mut flat = base.clone();
    let mut properties = match flat.get("properties") {
        Some(Value::Object(properties)) => properties.clone(),
        _ => Map::new(),
    };
    let of_all = properties.clone();
    let mut common: Option<Vec<Value>> = None;
    let is_for_objects =
        |one: &&Map<String, Value>| one.get("type").is_none_or(|kind| types(kind).contains(&"object"));
    for alternative in alternatives.iter().filter(is_for_objects) {
        let said = ["properties", "required", "type"];
        lost.extend(alternative.keys().filter(|keyword| !said.contains(&keyword.as_str())).cloned());
        if let Some(Value::Object(more)) = alternative.get("properties") {
            for (name, schema) in more {
                // What holds for all alternatives holds; the part that one of them adds cannot be said of that one alone.
                if let Some(known) = of_all.get(name) {
                    if known != schema {
                        lost.push("properties".to_owned());
                    }
                    continue;
                }
                let joined = match properties.get(name) {
                    None => schema.clone(),
                    Some(known) if known == schema => schema.clone(),
                    Some(known) => any_of(known, schema),
                };
                properties.insert(name.clone(), joined);
            }
        }
        let required = match alternative.get("required") {
            Some(Value::Array(required)) => required.clone(),
            _ => Vec::new(),
        };
        common = Some(match common {
            None => required,
            Some(common) => common.into_iter().filter(|name| required.contains(name)).collect(),
        });
    }
    let mut required = match flat.get("required") {
        Some(Value::Array(required)) => required.clone(),
        _ => Vec::new(),
    };
    required.extend(
        common.unwrap_or_default().into_iter().filter(|name| !required.contains(name)).collect::<Vec<_>>(),
    );
    flat.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        flat.insert("required".to_owned(), Value::Array(required));
    }
    let is_closed = |one: &Map<String, Value>| {
        one.get("additionalProperties") == Some(&Value::Bool(false)) && !one.contains_key("patternProperties")
    };
    if !base.contains_key("additionalProperties")
        && !alternatives.is_empty()
        && alternatives.iter().all(is_closed)
    {
        flat.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    flat
}

/// The type and the values of a schema that says nothing but these.
fn valued(schema: &Value) -> Option<(Option<&Value>, Vec<Value>)> {
    let members = schema.as_object()?;
    if members.keys().any(|keyword| !matches!(keyword.as_str(), "type" | "enum" | "const")) {
        return None;
    }
    let values = match (members.get("enum"), members.get("const")) {
        (Some(Value::Array(values)), None) => values.clone(),
        (None, Some(value)) => vec![value.clone()],
        _ => return None,
    };
    Some((members.get("type"), values))
}

/// What one of two schemas takes.
fn any_of(one: &Value, other: &Value) -> Value {
    if let (Some((kind, mut values)), Some((other_kind, more))) = (valued(one), valued(other))
        && kind == other_kind
    {
        values.extend(more.into_iter().filter(|value| !values.contains(value)).collect::<Vec<_>>());
        let mut pooled = Map::new();
        pooled.extend(kind.map(|kind| ("type".to_owned(), kind.clone())));
        pooled.insert("enum".to_owned(), Value::Array(values));
        return Value::Object(pooled);
    }
    let mut list = match one {
        Value::Object(members) if members.len() == 1 => match members.get("anyOf") {
            Some(Value::Array(list)) => list.clone(),
            _ => vec![one.clone()],
        },
        _ => vec![one.clone()],
    };
    if !list.contains(other) {
        list.push(other.clone());
    }
    json!({ "anyOf": list })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn merged(one: &Value, other: &Value, expected: &Value, expected_lost: &[&str]) {
        let (Value::Object(one), Value::Object(other)) = (one, other) else { panic!("two schemas") };
        let mut lost = Vec::new();
        assert_eq!(Value::Object(both(one, other, &mut lost)), *expected);
        lost.sort();
        assert_eq!(lost, expected_lost);
    }

    #[test]
    fn what_both_say_is_said_once() {
        merged(
            &json!({ "type": ["integer", "string"], "minimum": 1, "required": ["a"] }),
            &json!({ "type": "number", "minimum": 3, "maximum": 9, "required": ["b", "a"] }),
            &json!({ "type": "integer", "minimum": 3, "required": ["a", "b"], "maximum": 9 }),
            &[],
        );
        merged(
            &json!({ "properties": { "a": { "enum": [1, "x", [2]] }, "b": true } }),
            &json!({ "properties": { "a": { "enum": ["x", 1.0, [2.0], null] }, "b": false } }),
            &json!({ "properties": { "a": { "enum": [1, "x", [2]] }, "b": false } }),
            &[],
        );
    }

    #[test]
    fn what_cannot_be_said_at_once_is_left_out_with_what_depends_on_it() {
        merged(&json!({ "pattern": "a" }), &json!({ "pattern": "b" }), &json!({}), &["pattern"]);
        merged(
            &json!({ "prefixItems": [true], "items": false }),
            &json!({ "prefixItems": [true, true] }),
            &json!({}),
            &["items", "prefixItems"],
        );
        merged(
            &json!({ "patternProperties": { "a": {} }, "additionalProperties": false }),
            &json!({ "patternProperties": { "b": {} } }),
            &json!({}),
            &["additionalProperties", "patternProperties"],
        );
        merged(
            &json!({ "if": { "minimum": 1 }, "then": { "maximum": 2 } }),
            &json!({ "else": false }),
            &json!({}),
            &["else", "if", "then"],
        );
        merged(
            &json!({ "contains": {} }),
            &json!({ "maxContains": 1 }),
            &json!({}),
            &["contains", "maxContains"],
        );
    }

    #[track_caller]
    fn flat(alternatives: &Value, expected: &Value, expected_lost: &[&str]) {
        let Value::Object(base) = json!({ "type": "object", "properties": { "base": { "type": "string" } } })
        else {
            panic!("a schema")
        };
        let Value::Array(alternatives) = alternatives else { panic!("a list") };
        let alternatives: Vec<_> = alternatives.iter().filter_map(Value::as_object).cloned().collect();
        let mut lost = Vec::new();
        let flat = Value::Object(flattened(&base, &alternatives, &mut lost));
        let of = |keyword: &str| flat.get(keyword).cloned().unwrap_or(Value::Null);
        assert_eq!(json!([of("properties"), of("required"), of("additionalProperties")]), *expected);
        assert_eq!(lost, expected_lost);
    }

    #[test]
    fn alternatives_become_one_object_that_requires_what_all_require() {
        flat(
            &json!([
                { "properties": { "kind": { "const": "a" }, "id": { "type": "integer" } }, "required": ["kind", "id"] },
                { "properties": { "kind": { "const": "b" }, "id": { "type": "string" } }, "required": ["kind"] },
            ]),
            &json!([
                {
                    "base": { "type": "string" },
                    "kind": { "enum": ["a", "b"] },
                    "id": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
                },
                ["kind"],
                null,
            ]),
            &[],
        );
        // Anything at all is one of them, so nothing is required.
        flat(
            &json!([{ "required": ["a"] }, {}]),
            &json!([{ "base": { "type": "string" } }, null, null]),
            &[],
        );
        // No object is a text.
        flat(
            &json!([{ "required": ["a"] }, { "type": "string" }]),
            &json!([{ "base": { "type": "string" } }, ["a"], null]),
            &[],
        );
        // Closed with a pattern is not closed, and what holds for all is not widened.
        flat(
            &json!([
                { "properties": { "base": { "const": "x" } }, "patternProperties": { "^x": {} }, "additionalProperties": false },
                { "additionalProperties": false },
            ]),
            &json!([{ "base": { "type": "string" } }, null, null]),
            &["patternProperties", "additionalProperties", "properties", "additionalProperties"],
        );
    }
}
