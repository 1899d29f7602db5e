//! How large a strict function may be.

use serde_json::Value;

use crate::rule::{Say, Subject};
use crate::walk::Node;

/// Levels of properties and items.
pub(crate) fn depth(subject: &Subject<'_>, say: Say<'_>) {
    for node in subject.nodes.iter().filter(|node| node.depth > 10) {
        say(&node.pointer, format!("level {}, at most 10", node.depth));
    }
}

/// Properties of all objects together.
pub(crate) fn properties(subject: &Subject<'_>, say: Say<'_>) {
    let total: usize = subject.nodes.iter().map(|node| node.properties().count()).sum();
    over(total, 5_000, "properties", say);
}

/// Values of all enums together.
pub(crate) fn enum_values(subject: &Subject<'_>, say: Say<'_>) {
    let total: usize = subject.nodes.iter().map(|node| values(node).len()).sum();
    over(total, 1_000, "values of enums", say);
}

/// An enum of more than 250 texts.
pub(crate) fn enum_chars(subject: &Subject<'_>, say: Say<'_>) {
    for node in &subject.nodes {
        let values = values(node);
        let chars: usize = values.iter().map(chars_of).sum();
        if values.len() > 250 && values.iter().all(Value::is_string) && chars > 15_000 {
            say(&node.pointer, format!("{chars} characters in {} values, at most 15000", values.len()));
        }
    }
}

/// Names of properties and definitions, and values of enums and consts.
pub(crate) fn chars(subject: &Subject<'_>, say: Say<'_>) {
    let of_node = |node: &Node<'_>| {
        let names: usize = node.properties().map(|(name, _)| name.chars().count()).sum();
        let definitions = node.get("$defs").and_then(Value::as_object);
        let definitions = definitions.into_iter().flat_map(|named| named.keys());
        let definitions: usize = definitions.map(|name| name.chars().count()).sum();
        let values: usize = values(node).iter().map(chars_of).sum();
        names + definitions + values + node.get("const").map_or(0, chars_of)
    };
    over(subject.nodes.iter().map(of_node).sum(), 120_000, "characters of names and values", say);
}

fn values<'a>(node: &Node<'a>) -> &'a [Value] {
    node.get("enum").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn chars_of(value: &Value) -> usize {
    value.as_str().map_or_else(|| value.to_string().chars().count(), |text| text.chars().count())
}

fn over(total: usize, most: usize, what: &str, say: Say<'_>) {
    if total > most {
        say("", format!("{total} {what}, at most {most}"));
    }
}
