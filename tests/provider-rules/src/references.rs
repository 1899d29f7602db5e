//! References: where they lead, what stands beside them, and whether following them ends.

use serde_json::Value;

use crate::keywords::below;
use crate::rule::{Say, Subject};
use crate::walk::{Node, Role};

fn referring<'s, 'a>(subject: &'s Subject<'a>) -> impl Iterator<Item = (usize, &'s Node<'a>, &'a str)> {
    let nodes = subject.nodes.iter().enumerate();
    nodes.filter_map(|(index, node)| Some((index, node, node.get("$ref")?.as_str()?)))
}

/// The node that a reference in `node` names.
fn target(subject: &Subject<'_>, node: &Node<'_>, reference: &str) -> Option<usize> {
    let fragment = decoded(reference.strip_prefix('#')?)?;
    let position = |pointer: &str| subject.nodes.iter().position(|other| other.pointer == pointer);
    if fragment.is_empty() || fragment.starts_with('/') {
        return position(&format!("{}{fragment}", node.resource));
    }
    let is_named = |other: &Node<'_>| {
        ["$anchor", "$dynamicAnchor"]
            .iter()
            .any(|keyword| other.get(keyword).is_some_and(|name| *name == *fragment))
    };
    subject.nodes.iter().position(|other| other.resource == node.resource && is_named(other))
}

/// Whether a reference names an object that is no part of the schema as such, such as an example; what that means is left open
/// by JSON Schema (core, 9.4.2).
fn is_somewhere(subject: &Subject<'_>, node: &Node<'_>, reference: &str) -> bool {
    let pointer =
        reference.strip_prefix('#').and_then(decoded).map(|fragment| format!("{}{fragment}", node.resource));
    pointer
        .and_then(|pointer| subject.schema.pointer(&pointer))
        .is_some_and(|found| found.is_object() || found.is_boolean())
}

/// A fragment without its percent signs.
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Nothing leaves the schema.
pub(crate) fn outside(subject: &Subject<'_>, say: Say<'_>) {
    for node in &subject.nodes {
        for keyword in ["$ref", "$dynamicRef"] {
            let reference = node.get(keyword).and_then(Value::as_str);
            if let Some(reference) = reference.filter(|reference| !reference.starts_with('#')) {
                say(&below(node, keyword), format!("`{reference}` is outside"));
            }
        }
    }
}

/// Every reference names a schema.
pub(crate) fn unresolved(subject: &Subject<'_>, say: Say<'_>) {
    for (_, node, reference) in referring(subject) {
        if reference.starts_with('#')
            && target(subject, node, reference).is_none()
            && !is_somewhere(subject, node, reference)
        {
            say(&below(node, "$ref"), format!("`{reference}` is nothing in it"));
        }
    }
}

/// No schema comes back to itself.
pub(crate) fn recursion(subject: &Subject<'_>, say: Say<'_>) {
    cycles(subject, |_| true, say);
}

/// A schema comes back to itself through properties that may be left out only.
pub(crate) fn required_recursion(subject: &Subject<'_>, say: Say<'_>) {
    cycles(subject, |role| role != (Role::Property { required: false }), say);
}

/// Says each reference that closes a cycle over steps that `counts`.
fn cycles(subject: &Subject<'_>, counts: impl Fn(Role) -> bool, say: Say<'_>) {
    let mut steps: Vec<Vec<usize>> = vec![Vec::new(); subject.nodes.len()];
    let mut references = Vec::new();
    for (index, node) in subject.nodes.iter().enumerate() {
        let is_part = node.role != Role::Definition && counts(node.role);
        if let Some(from) = node.parent.filter(|_| is_part).and_then(|parent| steps.get_mut(parent)) {
            from.push(index);
        }
    }
    for (index, node, reference) in referring(subject) {
        if let (Some(to), Some(from)) = (target(subject, node, reference), steps.get_mut(index)) {
            from.push(to);
            references.push((index, to));
        }
    }
    for (from, to) in references {
        if let Some(node) = subject.nodes.get(from).filter(|_| reaches(&steps, to, from)) {
            say(&below(node, "$ref"), "comes back to itself".to_owned());
        }
    }
}

fn reaches(steps: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; steps.len()];
    let mut waiting = vec![from];
    while let Some(at) = waiting.pop() {
        if at == to {
            return true;
        }
        let Some(is_new) = seen.get_mut(at).filter(|seen| !**seen) else { continue };
        *is_new = true;
        waiting.extend(steps.get(at).into_iter().flatten());
    }
    false
}

/// Gemini: only keywords with a `$` beside a reference.
pub(crate) fn gemini(subject: &Subject<'_>, say: Say<'_>) {
    beside(subject, |keyword| keyword.starts_with('$'), say);
}

/// OpenAI: nothing beside a reference.
pub(crate) fn alone(subject: &Subject<'_>, say: Say<'_>) {
    beside(subject, |keyword| keyword == "$ref", say);
}

fn beside(subject: &Subject<'_>, is_allowed: impl Fn(&str) -> bool, say: Say<'_>) {
    for (_, node, _) in referring(subject) {
        for keyword in node.members().into_iter().flat_map(|members| members.keys()) {
            if !is_allowed(keyword) {
                say(&below(node, keyword), format!("`{keyword}` beside a reference"));
            }
        }
    }
}
