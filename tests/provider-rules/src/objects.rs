//! What is said of objects: the names of their properties, which are required, and whether they take others.

use serde_json::Value;

use crate::keywords::below;
use crate::rule::{Say, Subject};
use crate::walk::escape;

/// Anthropic looks at the names at the top only.
pub(crate) fn anthropic_names(subject: &Subject<'_>, say: Say<'_>) {
    let fits = |name: &str| {
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
        !name.is_empty() && name.len() <= 64 && name.chars().all(allowed)
    };
    let properties = subject.schema.get("properties").and_then(Value::as_object);
    for name in properties.into_iter().flat_map(|named| named.keys()).filter(|name| !fits(name)) {
        say(&format!("/properties/{}", escape(name)), format!("the name `{name}`"));
    }
}

/// Gemini's rule holds everywhere.
pub(crate) fn gemini_names(subject: &Subject<'_>, say: Say<'_>) {
    let fits = |name: &str| {
        let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        starts
            && name.len() <= 64
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    for node in &subject.nodes {
        for (name, _) in node.properties().filter(|(name, _)| !fits(name)) {
            say(&format!("{}/properties/{}", node.pointer, escape(name)), format!("the name `{name}`"));
        }
    }
}

/// No object takes members that are not described.
pub(crate) fn closed(subject: &Subject<'_>, say: Say<'_>) {
    for node in subject.nodes.iter().filter(|node| node.is_object()) {
        if node.get("additionalProperties") != Some(&Value::Bool(false)) {
            say(&node.pointer, "`additionalProperties` is not false".to_owned());
        }
    }
}

/// Every property is required.
pub(crate) fn all_required(subject: &Subject<'_>, say: Say<'_>) {
    for node in &subject.nodes {
        for (name, _) in node.properties() {
            if !node.required().any(|required| required == name) {
                say(&node.pointer, format!("`{name}` is not required"));
            }
        }
    }
}

/// What is required is described.
pub(crate) fn required_unknown(subject: &Subject<'_>, say: Say<'_>) {
    for node in &subject.nodes {
        for name in node.required() {
            if !node.properties().any(|(known, _)| known == name) {
                say(&below(node, "required"), format!("`{name}` is not among the properties"));
            }
        }
    }
}

/// xAI takes an object that says nothing of other members for one that has none, so it is said.
pub(crate) fn additional_written(subject: &Subject<'_>, say: Say<'_>) {
    for node in subject.nodes.iter().filter(|node| node.is_object()) {
        if node.get("additionalProperties").is_none() {
            say(&node.pointer, "`additionalProperties` is not written".to_owned());
        }
    }
}
