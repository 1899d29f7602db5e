//! The keywords of JSON Schema 2020-12: where schemas stand inside a schema, and how a constraint reads as text.

use serde_json::Value;

use crate::text;

/// Longest value that is written into a description, in characters.
const MAX_VALUE_CHARS: usize = 120;

/// What stands behind a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A schema.
    One,
    /// A list of schemas.
    List,
    /// Schemas by name; the names are no keywords.
    Named,
    /// Anything else.
    Nothing,
}

pub(super) fn holds(keyword: &str) -> Holds {
    match keyword {
        "items"
        | "contains"
        | "additionalProperties"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => Holds::One,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::List,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => Holds::Named,
        _ => Holds::Nothing,
    }
}

/// Keywords that say nothing about which values are valid.
pub(super) fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$comment"
    )
}

/// Keywords that only have a meaning for references, which are resolved.
pub(super) fn is_for_references(keyword: &str) -> bool {
    matches!(
        keyword,
        "$id"
            | "$anchor"
            | "$dynamicRef"
            | "$dynamicAnchor"
            | "$defs"
            | "definitions"
            | "$schema"
            | "$vocabulary"
    )
}

/// Keywords with a meaning for validity that no other function here names; others are their authors' own notes.
fn is_known(keyword: &str) -> bool {
    holds(keyword) != Holds::Nothing
        || matches!(keyword, "type" | "required" | "dependentRequired" | "minContains" | "maxContains")
}

/// The schemas right inside this one, with their pointers below it.
pub(super) fn subschemas(schema: &Value) -> Vec<(String, &Value)> {
    let Value::Object(members) = schema else { return Vec::new() };
    let mut found = Vec::new();
    for (keyword, value) in members {
        match (holds(keyword), value) {
            (Holds::One, _) => found.push((pointer("", &[keyword]), value)),
            (Holds::List, Value::Array(list)) => {
                let placed = list.iter().enumerate();
                found.extend(placed.map(|(place, one)| (pointer("", &[keyword, &place.to_string()]), one)));
            }
            (Holds::Named, Value::Object(named)) => {
                found.extend(named.iter().map(|(name, one)| (pointer("", &[keyword, name]), one)));
            }
            _ => {}
        }
    }
    found
}

/// An RFC 6901 pointer with more steps.
pub(super) fn pointer(at: &str, steps: &[&str]) -> String {
    let mut pointer = at.to_owned();
    for step in steps {
        pointer.push('/');
        pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
    }
    pointer
}

/// A constraint as a few words, for a provider that does not take the keyword.
pub(super) fn in_words(keyword: &str, value: &Value) -> Option<String> {
    if is_annotation(keyword) && keyword != "default" || is_for_references(keyword) {
        return None;
    }
    let plain = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let shown = text::single_line(&text::shorten(&plain, MAX_VALUE_CHARS)).into_owned();
    Some(match keyword {
        "minimum" => format!("at least {shown}"),
        "maximum" => format!("at most {shown}"),
        "exclusiveMinimum" => format!("more than {shown}"),
        "exclusiveMaximum" => format!("less than {shown}"),
        "multipleOf" => format!("a multiple of {shown}"),
        "minLength" => format!("at least {shown} characters"),
        "maxLength" => format!("at most {shown} characters"),
        "pattern" => format!("matches {shown}"),
        "format" => format!("as {shown}"),
        "minItems" => format!("at least {shown} items"),
        "maxItems" => format!("at most {shown} items"),
        "uniqueItems" if *value == Value::Bool(true) => "no two items alike".to_owned(),
        "uniqueItems" => return None,
        "minProperties" => format!("at least {shown} members"),
        "maxProperties" => format!("at most {shown} members"),
        "const" => format!("exactly {shown}"),
        "enum" => format!("one of {shown}"),
        "default" => format!("{shown} by default"),
        known if is_known(known) => format!("{known}: {shown}"),
        _ => return None,
    })
}
