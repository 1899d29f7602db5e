//! What may stand in an enum, a union and a format.

use serde_json::Value;

use crate::keywords::below;
use crate::rule::{Say, Subject};

fn each_enum(subject: &Subject<'_>, wrong: impl Fn(&[Value]) -> Option<String>, say: Say<'_>) {
    for node in &subject.nodes {
        if let Some(detail) = node.get("enum").and_then(Value::as_array).and_then(|values| wrong(values)) {
            say(&below(node, "enum"), detail);
        }
    }
}

/// At least one value.
pub(crate) fn enum_empty(subject: &Subject<'_>, say: Say<'_>) {
    each_enum(subject, |values| values.is_empty().then(|| "no value".to_owned()), say);
}

/// No lists and objects.
pub(crate) fn enum_primitive(subject: &Subject<'_>, say: Say<'_>) {
    let complex =
        |values: &[Value]| values.iter().find(|value| value.is_array() || value.is_object()).cloned();
    each_enum(subject, |values| complex(values).map(|value| format!("the value {value}")), say);
}

/// Texts and numbers only.
pub(crate) fn enum_gemini(subject: &Subject<'_>, say: Say<'_>) {
    let other =
        |values: &[Value]| values.iter().find(|value| !value.is_string() && !value.is_number()).cloned();
    each_enum(subject, |values| other(values).map(|value| format!("the value {value}")), say);
}

/// At least one alternative.
pub(crate) fn union_empty(subject: &Subject<'_>, say: Say<'_>) {
    for node in &subject.nodes {
        for keyword in ["anyOf", "oneOf", "allOf"] {
            if node.get(keyword).and_then(Value::as_array).is_some_and(Vec::is_empty) {
                say(&below(node, keyword), format!("`{keyword}` is empty"));
            }
        }
    }
}

/// OpenAI's formats of texts.
pub(crate) fn format_strict(subject: &Subject<'_>, say: Say<'_>) {
    let known = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
    formats(subject, &known, say);
}

/// Gemini's formats: of texts, and OpenAPI's of numbers.
pub(crate) fn format_gemini(subject: &Subject<'_>, say: Say<'_>) {
    formats(subject, &["date-time", "date", "time", "float", "double", "int32", "int64"], say);
}

fn formats(subject: &Subject<'_>, known: &[&str], say: Say<'_>) {
    for node in &subject.nodes {
        let format = node.get("format").and_then(Value::as_str);
        if let Some(format) = format.filter(|format| !known.contains(format)) {
            say(&below(node, "format"), format!("the format `{format}`"));
        }
    }
}
