//! What checking a value against a schema can cost: both enter, a number of evaluations leaves, without doing them.
//!
//! References let a small schema ask for an astronomical number of evaluations, and a validator cannot be stopped once
//! it runs. So the work is counted first: per place of the value, how often each part of the schema looks at it. Counting
//! is cheap where evaluating is not, because equal evaluations are counted together.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

/// How many evaluations one check may take: a second of work at most, and ten times what a megabyte of arguments needs.
pub(super) const MAX_EVALUATIONS: u64 = 1_000_000;

/// Evaluations up to which every violation is collected; above, only the first, since each is kept in memory.
pub(super) const MAX_COLLECTED_EVALUATIONS: u64 = 50_000;

/// How many steps, through keywords and references together, a schema may be followed: validators recurse once for
/// each, on a stack that is nobody's to grow.
const MAX_PATH: usize = 128;

/// Characters of text whose reading costs as much as one evaluation.
const TEXT_UNIT: u64 = 128;

/// A schema as far as its cost goes: which parts look at the same place, and which look at the places below.
#[derive(Debug)]
pub(super) struct Price {
    parts: Vec<Part>,
    /// Where each part stands in an order in which it comes before those that it applies to the same place.
    ranks: Vec<usize>,
    /// The order itself.
    order: Vec<usize>,
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
    /// Reads a text to its end.
    reads_text: bool,
    /// Values that the place is compared with.
    compared: u64,
    /// Compares the items of a list with each other.
    compares_items: bool,
}

impl Price {
    /// Reads a schema.
    ///
    /// # Errors
    /// Says which reference leads nowhere, back to its own place or too far, or why references cannot be followed.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let mut reader = Reader {
            root: schema,
            parts: Vec::new(),
            known: HashMap::new(),
            has_references: false,
            has_id: false,
        };
        let root = reader.part(schema, 0)?;
        debug_assert_eq!(root, 0);
        if reader.has_id && reader.has_references {
            return Err("has an `$id` below its root beside references; remove the `$id`".to_owned());
        }
        let order = order(&reader.parts)?;
        let mut ranks = vec![0; order.len()];
        for (rank, part) in order.iter().enumerate() {
            if let Some(place) = ranks.get_mut(*part) {
                *place = rank;
            }
        }
        Ok(Self { parts: reader.parts, ranks, order })
    }

    /// Evaluations that checking `value` takes at most; stops counting above [`MAX_EVALUATIONS`].
    pub(super) fn of_checking(&self, value: &Value) -> u64 {
        let mut total = 0;
        self.count(value, &HashMap::from([(0, 1)]), &mut total);
        total
    }

    /// Adds what this place and those below it cost, if the parts in `looks` look at it that many times.
    fn count(&self, value: &Value, looks: &HashMap<usize, u64>, total: &mut u64) {
        // Parts by rank, so that each is complete before it adds to those that it applies here.
        let mut waiting: BTreeMap<usize, u64> = BTreeMap::new();
        for (part, times) in looks {
            add(&mut waiting, self.rank(*part), *times);
        }
        let mut here: Vec<(usize, u64)> = Vec::new();
        while let Some((rank, times)) = waiting.pop_first() {
            let Some((index, part)) =
                self.order.get(rank).and_then(|index| Some((*index, self.parts.get(*index)?)))
            else {
                continue;
            };
            *total = total.saturating_add(times.saturating_mul(part.weight(value)));
            if *total > MAX_EVALUATIONS {
                return;
            }
            here.push((index, times));
            let times = if part.is_doubled { times.saturating_mul(2) } else { times };
            for other in &part.same_place {
                add(&mut waiting, self.rank(*other), times);
            }
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if *total > MAX_EVALUATIONS {
                        return;
                    }
                    let below = self
                        .descend(&here, |part| part.properties.get(name).into_iter().chain(&part.any_member));
                    self.go_on(member, &below, total);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if *total > MAX_EVALUATIONS {
                        return;
                    }
                    let below = self.descend(&here, |part| {
                        part.prefix_items.get(index).into_iter().chain(&part.any_item)
                    });
                    self.go_on(item, &below, total);
                }
            }
            _ => {}
        }
    }

    fn rank(&self, part: usize) -> usize {
        self.ranks.get(part).copied().unwrap_or_default()
    }

    fn descend<'price, Children: Iterator<Item = &'price usize>>(
        &'price self,
        here: &[(usize, u64)],
        children: impl Fn(&'price Part) -> Children,
    ) -> HashMap<usize, u64> {
        let mut below = HashMap::new();
        for (part, times) in here {
            for child in self.parts.get(*part).into_iter().flat_map(&children) {
                let sum = below.entry(*child).or_insert(0_u64);
                *sum = sum.saturating_add(*times);
            }
        }
        below
    }

    fn go_on(&self, value: &Value, looks: &HashMap<usize, u64>, total: &mut u64) {
        if !looks.is_empty() {
            self.count(value, looks, total);
        }
    }
}

impl Part {
    /// What one look at this value costs, in evaluations.
    fn weight(&self, value: &Value) -> u64 {
        let mut weight = 1_u64;
        match value {
            Value::String(text) if self.reads_text => {
                weight = weight.saturating_add(text.len() as u64 / TEXT_UNIT);
            }
            // A member's name may be held against a pattern too.
            Value::Object(members) if !self.any_member.is_empty() => {
                weight =
                    weight.saturating_add(members.keys().map(|name| 1 + name.len() as u64 / TEXT_UNIT).sum());
            }
            Value::Array(items) if self.compares_items => {
                let size = places(value);
                weight = weight.saturating_add(size.saturating_mul(items.len() as u64) / 16);
            }
            _ => {}
        }
        if self.compared > 0 {
            let size = match value {
                Value::String(text) => text.len() as u64 / TEXT_UNIT,
                Value::Array(_) | Value::Object(_) => places(value),
                _ => 0,
            };
            weight = weight.saturating_add(self.compared.saturating_mul(1 + size) / 16);
        }
        weight
    }
}

fn add(looks: &mut BTreeMap<usize, u64>, rank: usize, times: u64) {
    let sum = looks.entry(rank).or_insert(0);
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
    /// The part for a schema that is `depth` steps from the root, on the way that finds it first.
    fn part(&mut self, schema: &'schema Value, depth: usize) -> Result<usize, String> {
        if depth > MAX_PATH {
            return Err(format!(
                "is followed for more than {MAX_PATH} steps through its references; flatten it"
            ));
        }
        let identity = std::ptr::from_ref(schema);
        if let Some(part) = self.known.get(&identity) {
            return Ok(*part);
        }
        let index = self.parts.len();
        self.parts.push(Part::default());
        self.known.insert(identity, index);
        if let Value::Object(members) = schema {
            self.has_id |= index > 0 && members.contains_key("$id");
            let part = self.read(members, depth + 1)?;
            if let Some(place) = self.parts.get_mut(index) {
                *place = part;
            }
        }
        Ok(index)
    }

    fn read(&mut self, members: &'schema Map<String, Value>, depth: usize) -> Result<Part, String> {
        let mut part = Part::default();
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef", Value::String(reference)) => {
                    self.has_references = true;
                    let target = self.resolve(reference)?;
                    part.same_place.push(self.part(target, depth)?);
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                    part.same_place.extend(self.parts_of(schemas, depth)?);
                }
                ("not" | "if" | "then" | "else", schema) => part.same_place.push(self.part(schema, depth)?),
                // The second is an older dialect's, which the validator still knows.
                ("dependentSchemas" | "dependencies", Value::Object(named)) => {
                    part.same_place.extend(self.parts_of(named.values(), depth)?);
                }
                ("properties", Value::Object(named)) => {
                    for (name, schema) in named {
                        part.properties.insert(name.clone(), self.part(schema, depth)?);
                    }
                }
                ("patternProperties", Value::Object(named)) => {
                    part.any_member.extend(self.parts_of(named.values(), depth)?);
                }
                ("additionalProperties" | "propertyNames", schema) => {
                    part.any_member.push(self.part(schema, depth)?);
                }
                ("prefixItems" | "items", Value::Array(schemas)) => {
                    part.prefix_items.extend(self.parts_of(schemas, depth)?);
                }
                ("items" | "contains" | "additionalItems", schema) => {
                    part.any_item.push(self.part(schema, depth)?);
                }
                ("unevaluatedProperties", schema) => {
                    part.any_member.push(self.part(schema, depth)?);
                    part.is_doubled = true;
                }
                ("unevaluatedItems", schema) => {
                    part.any_item.push(self.part(schema, depth)?);
                    part.is_doubled = true;
                }
                ("pattern" | "minLength" | "maxLength", _) => part.reads_text = true,
                ("enum", Value::Array(values)) => part.compared += values.iter().map(places).sum::<u64>(),
                ("const", value) => part.compared += places(value),
                ("required", Value::Array(names)) => part.compared += names.len() as u64,
                ("dependentRequired", Value::Object(named)) => {
                    part.compared += named.values().map(places).sum::<u64>();
                }
                ("uniqueItems", Value::Bool(true)) => part.compares_items = true,
                _ => {}
            }
        }
        Ok(part)
    }

    fn parts_of(
        &mut self,
        schemas: impl IntoIterator<Item = &'schema Value>,
        depth: usize,
    ) -> Result<Vec<usize>, String> {
        schemas.into_iter().map(|schema| self.part(schema, depth)).collect()
    }

    /// The value that a local reference names: the whole, a pointer into it, or an anchor.
    fn resolve(&self, reference: &str) -> Result<&'schema Value, String> {
        let shown = || crate::text::single_line(&crate::text::shorten(reference, 120)).into_owned();
        let fragment = reference.strip_prefix('#').and_then(percent_decoded);
        let target = match fragment {
            Some(fragment) if fragment.is_empty() || fragment.starts_with('/') => {
                self.root.pointer(&fragment)
            }
            Some(anchor) => {
                let mut found = Vec::new();
                anchored(self.root, &anchor, &mut found);
                // Which of several the validator takes is its business; here it must be clear.
                if found.len() > 1 {
                    return Err(format!(
                        "refers to `{}`, an anchor that occurs more than once in it; rename one",
                        shown()
                    ));
                }
                found.pop()
            }
            None => None,
        };
        target
            .ok_or_else(|| format!("refers to `{}`, which is nothing in it; correct the reference", shown()))
    }
}

/// Everything that has this anchor, data that only looks like a schema included.
fn anchored<'schema>(schema: &'schema Value, anchor: &str, found: &mut Vec<&'schema Value>) {
    match schema {
        Value::Object(members) => {
            let named = |keyword: &str| members.get(keyword).and_then(Value::as_str) == Some(anchor);
            if named("$anchor") || named("$dynamicAnchor") {
                found.push(schema);
            }
            members.values().for_each(|member| anchored(member, anchor, found));
        }
        Value::Array(items) => items.iter().for_each(|item| anchored(item, anchor, found)),
        _ => {}
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
    fn counting_is_bounded_by_what_the_value_meets() {
        let wide: Vec<Value> = vec![json!({}); 5_000];
        let schema = json!({ "items": {}, "properties": { "never": { "allOf": wide } } });
        let start = std::time::Instant::now();
        assert!(price(&schema, &json!(vec![0; 200_000])) >= 200_000);
        assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
    }

    #[test]
    fn a_look_costs_what_it_reads() {
        let mut definitions = Map::new();
        for level in 0..14 {
            let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
            definitions.insert(format!("d{level}"), json!({ "allOf": [next, next] }));
        }
        definitions.insert("d14".to_owned(), json!({ "pattern": "^a*$" }));
        let schema = json!({ "$ref": "#/$defs/d0", "$defs": definitions });
        assert!(price(&schema, &json!("a")) < MAX_EVALUATIONS);
        assert!(price(&schema, &json!("a".repeat(1 << 20))) > MAX_EVALUATIONS);
        let unique = json!({ "uniqueItems": true });
        assert!(price(&unique, &json!(vec![1; 100])) < 2_000);
        assert!(price(&unique, &json!((0..20_000).collect::<Vec<_>>())) > MAX_EVALUATIONS);
    }

    #[test]
    fn long_ways_decoys_and_older_dialects_are_not_missed() {
        let chain: Map<String, Value> = (0..400)
            .map(|level| (level.to_string(), json!({ "$ref": format!("#/$defs/{}", level + 1) })))
            .collect();
        let mut schema = json!({ "$ref": "#/$defs/0", "$defs": chain });
        schema["$defs"]["400"] = json!({});
        assert!(Price::of(&schema).unwrap_err().contains("more than 128 steps"));
        let decoy =
            json!({ "default": [{ "$anchor": "a" }], "$ref": "#a", "$defs": { "x": { "$anchor": "a" } } });
        assert!(Price::of(&decoy).unwrap_err().contains("more than once"));
        let mut older = doubling(30);
        let text = older
            .to_string()
            .replace("\"allOf\":[", "\"dependencies\":{\"a\":")
            .replace("},{", "},\"b\":{")
            .replace("}]}", "}}}");
        older = serde_json::from_str(&text).unwrap();
        assert!(price(&older, &json!({ "a": 1, "b": 1 })) > MAX_EVALUATIONS);
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
