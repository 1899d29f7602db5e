//! Where local references lead: a contract schema enters; for a `$ref`, the schema that it names leaves, with its pointer.
//! Nothing is fetched, and what cannot be followed for certain is not followed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::keyword::subschemas;

#[derive(Debug)]
pub(super) struct Targets<'schema> {
    root: &'schema Value,
    /// Pointers by name; `None` where a name stands twice.
    anchors: BTreeMap<&'schema str, Option<String>>,
    /// A schema with an `$id` below the root is the base of references inside it.
    has_inner_bases: bool,
}

impl<'schema> Targets<'schema> {
    pub(super) fn new(root: &'schema Value) -> Self {
        let mut targets = Self { root, anchors: BTreeMap::new(), has_inner_bases: false };
        let mut waiting = vec![(String::new(), root)];
        while let Some((at, schema)) = waiting.pop() {
            if let Some(name) = schema.get("$anchor").and_then(Value::as_str) {
                targets
                    .anchors
                    .entry(name)
                    .and_modify(|known| *known = None)
                    .or_insert_with(|| Some(at.clone()));
            }
            targets.has_inner_bases |= !at.is_empty() && schema.get("$id").is_some();
            waiting
                .extend(subschemas(schema).into_iter().map(|(below, inner)| (format!("{at}{below}"), inner)));
        }
        targets
    }

    /// The schema that a reference names.
    pub(super) fn resolve(&self, reference: &str) -> Option<(&'schema Value, String)> {
        let fragment = reference.strip_prefix('#').filter(|_| !self.has_inner_bases)?;
        let fragment = percent_decoded(fragment)?;
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            fragment
        } else {
            self.anchors.get(fragment.as_str())?.clone()?
        };
        let target = self.root.pointer(&pointer)?;
        (target.is_object() || target.is_boolean()).then_some((target, pointer))
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_local_and_lead_to_schemas() {
        let root =
            json!({ "$defs": { "a~/b c": { "$anchor": "here" }, "n": 1 }, "properties": { "$anchor": {} } });
        let targets = Targets::new(&root);
        let pointer = |reference| targets.resolve(reference).map(|(_, pointer)| pointer);
        assert_eq!(pointer("#"), Some(String::new()));
        assert_eq!(pointer("#/$defs/a~0~1b%20c"), Some("/$defs/a~0~1b c".to_owned()));
        assert_eq!(pointer("#here"), Some("/$defs/a~0~1b c".to_owned()));
        for nowhere in ["", "#/$defs/x", "#/$defs/n", "#there", "#%4", "http://a/b", "#/%zz"] {
            assert_eq!(pointer(nowhere), None, "{nowhere}");
        }
        let inner = json!({ "$defs": { "a": { "$id": "x" } } });
        assert_eq!(Targets::new(&inner).resolve("#/$defs/a"), None);
    }
}
