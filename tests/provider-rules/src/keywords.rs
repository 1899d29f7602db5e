//! Which keywords a provider knows, and what must stand beside which.

use serde_json::Value;

use crate::rule::{Say, Subject};
use crate::walk::{Node, Role, escape};

/// `title` is in every example that OpenAI's own library sends; the bounds of texts are refused for fine-tuned models only.
const STRICT: &[&str] = &[
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
];

/// `default` is accepted and ignored.
const GEMINI: &[&str] = &[
    "$anchor",
    "$defs",
    "$id",
    "$ref",
    "additionalProperties",
    "anyOf",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "oneOf",
    "prefixItems",
    "properties",
    "propertyOrdering",
    "required",
    "title",
    "type",
];

/// Only what OpenAI lists for strict functions.
pub(crate) fn strict(subject: &Subject<'_>, say: Say<'_>) {
    only(subject, STRICT, say);
}

/// Only what Gemini lists.
pub(crate) fn gemini(subject: &Subject<'_>, say: Say<'_>) {
    only(subject, GEMINI, say);
}

fn only(subject: &Subject<'_>, known: &[&str], say: Say<'_>) {
    for node in &subject.nodes {
        for keyword in node.members().into_iter().flat_map(|members| members.keys()) {
            if !known.contains(&keyword.as_str()) {
                say(&below(node, keyword), format!("`{keyword}` is not known"));
            }
        }
    }
}

/// What xAI answers with 400.
pub(crate) fn xai(subject: &Subject<'_>, say: Say<'_>) {
    for node in &subject.nodes {
        for keyword in ["minContains", "maxContains"] {
            if node.get(keyword).is_some() {
                say(&below(node, keyword), format!("`{keyword}` is refused"));
            }
        }
    }
}

/// `items` is one schema; a list of them is an older draft's.
pub(crate) fn items_list(subject: &Subject<'_>, say: Say<'_>) {
    for node in &subject.nodes {
        if node.get("items").is_some_and(Value::is_array) {
            say(&below(node, "items"), "`items` is a list".to_owned());
        }
    }
}

/// Lists say what is in them.
pub(crate) fn items_missing(subject: &Subject<'_>, say: Say<'_>) {
    for node in &subject.nodes {
        let has_items =
            node.get("items").is_some() || subject.rules == "gemini" && node.get("prefixItems").is_some();
        if node.is_of("array") && !has_items {
            say(&node.pointer, "a list without `items`".to_owned());
        }
    }
}

/// Every place says of what type it is.
pub(crate) fn type_missing(subject: &Subject<'_>, say: Say<'_>) {
    for node in &subject.nodes {
        let says = ["type", "anyOf", "$ref"].iter().any(|keyword| node.get(keyword).is_some());
        if node.schema.is_object() && !says {
            say(&node.pointer, "neither `type` nor `anyOf` nor `$ref`".to_owned());
        }
    }
}

/// `true` and `false` are no schemas, but for `additionalProperties`. xAI speaks of properties only.
pub(crate) fn boolean(subject: &Subject<'_>, say: Say<'_>) {
    for node in &subject.nodes {
        let is_judged = if subject.rules == "xai" {
            matches!(node.role, Role::Property { .. })
        } else {
            !node.pointer.ends_with("/additionalProperties") || matches!(node.role, Role::Property { .. })
        };
        if node.schema.is_boolean() && is_judged {
            say(&node.pointer, format!("`{}` as a schema", node.schema));
        }
    }
}

pub(crate) fn below(node: &Node<'_>, keyword: &str) -> String {
    format!("{}/{}", node.pointer, escape(keyword))
}
