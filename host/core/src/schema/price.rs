//! What checking a value against a schema can cost: both enter, a number of evaluations leaves, without doing them.
//!
//! References let a small schema ask for an astronomical number of evaluations, and a validator cannot be stopped once
//! it runs. So the work is counted first: per place of the value, how often each part of the schema looks at it. Counting
//! is cheap where evaluating is not, because equal evaluations are counted together.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// How many evaluations one check may take: a second of work at most, and ten times what a megabyte of arguments needs.
pub(super) const MAX_EVALUATIONS: u64 = 1_000_000;

/// Evaluations up to which every violation is collected; above, only the first, since each is kept in memory.
pub(super) const MAX_COLLECTED_EVALUATIONS: u64 = 50_000;

/// A schema as far as its cost goes: which parts look at the same place, and which look at the places below.
#[derive(Debug)]
pub(super) struct Price {
    parts: Vec<Part>,
    /// Parts in an order in which each stands before those that it applies to the same place.
    order: Vec<usize>,
    has_references: bool,
}

#[derive(Debug, Default)]
struct Part {
    same_place: Vec<usize>,
    properties: HashMap<String, usize>,
    /// Applied to members that `properties` does not name, or whose names match: to all, as an upper bound.
    any_member: Vec<usize>,
    prefix_items: Vec<usize>,
    any_item: Vec<usize>,
    /// `unevaluated…` looks at the same place a second time.
    is_doubled: bool,
}

impl Price {
    /// Reads a schema whose depth is bounded.
    ///
    /// # Errors
    /// Says which reference leads nowhere or back to its own place, or why references cannot be followed.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let mut reader = Reader {
            root: schema,
            parts: Vec::new(),
            known: HashMap::new(),
            has_references: false,
            has_id: false,
        };
        let root = reader.part(schema)?;
        debug_assert_eq!(root, 0);
        if reader.has_id && reader.has_references {
            return Err("has an `$id` below its root beside references; remove the `$id`".to_owned());
        }
        let order = order(&reader.parts)?;
        Ok(Self { parts: reader.parts, order, has_references: reader.has_references })
    }

    /// Evaluations that checking `value` takes at most; stops counting above [`MAX_EVALUATIONS`].
    pub(super) fn of_checking(&self, value: &Value) -> u64 {
        if !self.has_references {
            // Without references each part looks at a place at most once (twice where it is doubled).
            let bound = places(value).saturating_mul(self.parts.len() as u64);
            if bound <= MAX_COLLECTED_EVALUATIONS && !self.parts.iter().any(|part| part.is_doubled) {
                return bound;
            }
        }
        let mut total = 0;
        self.count(value, &HashMap::from([(0, 1)]), &mut total);
        total
    }

    /// Adds what this place and those below it cost, if the parts in `looks` look at it that many times.
    fn count(&self, value: &Value, looks: &HashMap<usize, u64>, total: &mut u64) {
        let mut here = looks.clone();
        for part in &self.order {
            let Some(&times) = here.get(part) else { continue };
            let Some(part) = self.parts.get(*part) else { continue };
            let times = if part.is_doubled { times.saturating_mul(2) } else { times };
            for other in &part.same_place {
                add(&mut here, *other, times);
            }
        }
        *total = here.values().fold(*total, |sum, times| sum.saturating_add(*times));
        let mut below = HashMap::new();
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    self.descend(&here, &mut below, |part| {
                        part.properties.get(name).into_iter().chain(&part.any_member)
                    });
                    self.go_on(member, &below, total);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.descend(&here, &mut below, |part| {
                        part.prefix_items.get(index).into_iter().chain(&part.any_item)
                    });
                    self.go_on(item, &below, total);
                }
            }
            _ => {}
        }
    }

    fn descend<'price, Children: Iterator<Item = &'price usize>>(
        &'price self,
        here: &HashMap<usize, u64>,
        below: &mut HashMap<usize, u64>,
        children: impl Fn(&'price Part) -> Children,
    ) {
        below.clear();
        for (part, times) in here {
            let Some(part) = self.parts.get(*part) else { continue };
            for child in children(part) {
                add(below, *child, *times);
            }
        }
    }

    fn go_on(&self, value: &Value, looks: &HashMap<usize, u64>, total: &mut u64) {
        if !looks.is_empty() && *total <= MAX_EVALUATIONS {
            self.count(value, looks, total);
        }
    }
}

fn add(looks: &mut HashMap<usize, u64>, part: usize, times: u64) {
    let sum = looks.entry(part).or_insert(0);
    *sum = sum.saturating_add(times);
}

/// How many values a value consists of.
fn places(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(places).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(places).sum::<u64>(),
        _ => 1,
    }
}

struct Reader<'schema> {
    root: &'schema Value,
    parts: Vec<Part>,
    /// Parts by the identity of the value they were read from.
    known: HashMap<*const Value, usize>,
    has_references: bool,
    has_id: bool,
}

impl<'schema> Reader<'schema> {
    fn part(&mut self, schema: &'schema Value) -> Result<usize, String> {
        let identity = std::ptr::from_ref(schema);
        if let Some(part) = self.known.get(&identity) {
            return Ok(*part);
        }
        let index = self.parts.len();
        self.parts.push(Part::default());
        self.known.insert(identity, index);
        if let Value::Object(members) = schema {
            self.has_id |= index > 0 && members.contains_key("$id");
            let part = self.read(members)?;
            if let Some(place) = self.parts.get_mut(index) {
                *place = part;
            }
        }
        Ok(index)
    }

    fn read(&mut self, members: &'schema Map<String, Value>) -> Result<Part, String> {
        let mut part = Part::default();
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef", Value::String(reference)) => {
                    self.has_references = true;
                    let target = self.resolve(reference).ok_or_else(|| {
                        let shown =
                            crate::text::single_line(&crate::text::shorten(reference, 120)).into_owned();
                        format!("refers to `{shown}`, which is nothing in it; correct the reference")
                    })?;
                    part.same_place.push(self.part(target)?);
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                    part.same_place.extend(self.parts_of(schemas)?);
                }
                ("not" | "if" | "then" | "else", schema) => part.same_place.push(self.part(schema)?),
                ("dependentSchemas", Value::Object(named)) => {
                    part.same_place.extend(self.parts_of(named.values())?);
                }
                ("properties", Value::Object(named)) => {
                    for (name, schema) in named {
                        part.properties.insert(name.clone(), self.part(schema)?);
                    }
                }
                ("patternProperties", Value::Object(named)) => {
                    part.any_member.extend(self.parts_of(named.values())?);
                }
                ("additionalProperties" | "propertyNames", schema) => {
                    part.any_member.push(self.part(schema)?);
                }
                ("prefixItems", Value::Array(schemas)) => part.prefix_items.extend(self.parts_of(schemas)?),
                ("items" | "contains", schema) => part.any_item.push(self.part(schema)?),
                ("unevaluatedProperties", schema) => {
                    part.any_member.push(self.part(schema)?);
                    part.is_doubled = true;
                }
                ("unevaluatedItems", schema) => {
                    part.any_item.push(self.part(schema)?);
                    part.is_doubled = true;
                }
                _ => {}
            }
        }
        Ok(part)
    }

    fn parts_of(&mut self, schemas: impl IntoIterator<Item = &'schema Value>) -> Result<Vec<usize>, String> {
        schemas.into_iter().map(|schema| self.part(schema)).collect()
    }

    /// The value that a local reference names: the whole, a pointer into it, or an anchor.
    fn resolve(&self, reference: &str) -> Option<&'schema Value> {
        let fragment = percent_decoded(reference.strip_prefix('#')?)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        anchored(self.root, &fragment)
    }
}

fn anchored<'schema>(schema: &'schema Value, anchor: &str) -> Option<&'schema Value> {
    match schema {
        Value::Object(members) => {
            let named = |keyword: &str| members.get(keyword).and_then(Value::as_str) == Some(anchor);
            if named("$anchor") || named("$dynamicAnchor") {
                return Some(schema);
            }
            members.values().find_map(|member| anchored(member, anchor))
        }
        Value::Array(items) => items.iter().find_map(|item| anchored(item, anchor)),
        _ => None,
    }
}

fn percent_decoded(fragment: &str) -> Option<String> {
    let mut bytes = fragment.bytes();
    let mut decoded = Vec::with_capacity(fragment.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16));
            let (high, low) = (digit()?, digit()?);
            decoded.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}

/// Orders parts so that each comes before those it applies to its own place; a circle there would never end.
fn order(parts: &[Part]) -> Result<Vec<usize>, String> {
    let mut uses = vec![0_usize; parts.len()];
    for other in parts.iter().flat_map(|part| &part.same_place) {
        if let Some(uses) = uses.get_mut(*other) {
            *uses += 1;
        }
    }
    let mut order: Vec<usize> =
        uses.iter().enumerate().filter(|(_, uses)| **uses == 0).map(|(part, _)| part).collect();
    let mut next = 0;
    while let Some(part) = order.get(next).copied() {
        next += 1;
        for other in parts.get(part).into_iter().flat_map(|part| &part.same_place) {
            if let Some(uses) = uses.get_mut(*other) {
                *uses -= 1;
                if *uses == 0 {
                    order.push(*other);
                }
            }
        }
    }
    if order.len() == parts.len() {
        return Ok(order);
    }
    Err("refers to itself without going deeper, so that checking it would never end; break the circle"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn price(schema: &Value, value: &Value) -> u64 {
        Price::of(schema).unwrap().of_checking(value)
    }

    /// `levels` definitions of which each refers to the next one twice.
    fn doubling(levels: usize) -> Value {
        let mut definitions = Map::new();
        for level in 0..levels {
            let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
            definitions.insert(format!("d{level}"), json!({ "allOf": [next, next] }));
        }
        definitions.insert(format!("d{levels}"), json!(true));
        json!({ "$ref": "#/$defs/d0", "$defs": definitions })
    }

    #[test]
    fn ordinary_schemas_cost_about_what_they_look_like() {
        let schema =
            json!({ "properties": { "a": { "type": "string" }, "b": { "items": { "type": "integer" } } } });
        assert!(price(&schema, &json!({ "a": "x", "b": [1, 2, 3] })) <= 40);
        let tree = json!({ "properties": { "kids": { "items": { "$ref": "#" } } } });
        let value = json!({ "kids": [{ "kids": [] }, { "kids": [{}] }] });
        assert!(price(&tree, &value) < 40, "{}", price(&tree, &value));
    }

    #[test]
    fn fanning_references_are_counted_without_being_followed() {
        assert!(price(&doubling(4), &json!({})) < 100);
        assert!(price(&doubling(30), &json!({})) > MAX_EVALUATIONS);
        let sideways = json!({
            "$ref": "#/$defs/t",
            "$defs": { "t": { "properties": { "k": { "allOf": [{ "$ref": "#/$defs/t" }, { "$ref": "#/$defs/t" }] } } } },
        });
        let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "k": inner }));
        assert!(price(&sideways, &nested(5)) < 1_000);
        assert!(price(&sideways, &nested(40)) > MAX_EVALUATIONS);
        let doubled =
            (0..40).fold(json!({}), |inner, _| json!({ "allOf": [inner], "unevaluatedProperties": false }));
        assert!(price(&doubled, &json!({})) > MAX_EVALUATIONS);
    }

    #[test]
    fn circles_and_dangling_references_are_refused() {
        for circle in [
            json!({ "$ref": "#" }),
            json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "anyOf": [{ "$ref": "#/$defs/a" }] } }, "$ref": "#/$defs/a" }),
            json!({ "not": { "$ref": "#" } }),
        ] {
            assert!(Price::of(&circle).unwrap_err().contains("without going deeper"), "{circle}");
        }
        assert!(
            Price::of(&json!({ "$ref": "#/$defs/nope" })).unwrap_err().contains("which is nothing in it")
        );
        assert!(Price::of(&json!({ "$ref": "#here", "$defs": { "x": { "$anchor": "here" } } })).is_ok());
        assert!(Price::of(&json!({ "$ref": "#/$defs/a%25b", "$defs": { "a%b": {} } })).is_ok());
    }
}
