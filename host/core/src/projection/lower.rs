//! Lowering: a contract schema and one provider's rules enter; the wire schema leaves, with a row for each change and what
//! it takes to undo it. The work is counted, and a schema that needs more than there is has no wire schema.

mod inverted;
mod object;
mod reference;
mod strict;
mod union;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::decode::{Changed, Decoder, Shape};
use super::keyword::{self, Holds, in_words, is_for_references, pointer};
use super::merge;
use super::provider::{Enums, Objects, Rules};
use super::references::Targets;
use super::report::{Change, ReportRow};
use crate::id::ToolName;
use crate::text;

/// Most schemas of one tool that are looked at, references followed: real tools have hundreds, and inlining multiplies.
const MAX_SCHEMAS: usize = 10_000;

/// Longest wire schema in bytes: twice the longest contract schema. No model reads more of one tool.
const MAX_WIRE_BYTES: usize = 128 * 1024;

/// Most text that one schema's dropped constraints add to its description, in characters: a sentence or two.
const MAX_ADDED_CHARS: usize = 400;

/// A tool's schema on the wire.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) schema: Value,
    pub(super) decoder: Decoder,
    pub(super) rows: Vec<ReportRow>,
}

/// Why a tool has no wire schema, as the end of a sentence about it; of strict rules only, or of any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfit {
    pub(super) at: String,
    pub(super) reason: String,
}

impl Unfit {
    fn new(at: &str, reason: impl Into<String>) -> Box<Self> {
        Box::new(Self { at: at.to_owned(), reason: reason.into() })
    }
}

pub(super) fn lower(tool: &ToolName, contract: &Value, rules: &'static Rules) -> Result<Lowered, Box<Unfit>> {
    if rules.takes_all() {
        let mut schema = contract.clone();
        if let Value::Object(members) = &mut schema {
            members.entry("properties").or_insert_with(|| json!({}));
        }
        return Ok(Lowered { schema, decoder: Decoder::default(), rows: Vec::new() });
    }
    let (lowered, is_sound) = attempt(tool, contract, rules, true)?;
    // A definition that turned out to take more is what a `not` or an `if` somewhere refers to.
    if is_sound { Ok(lowered) } else { attempt(tool, contract, rules, false).map(|(lowered, _)| lowered) }
}

/// One pass, and whether it holds what it took for granted: that definitions take exactly what the contract's take.
fn attempt(
    tool: &ToolName,
    contract: &Value,
    rules: &'static Rules,
    trusts_definitions: bool,
) -> Result<(Lowered, bool), Box<Unfit>> {
    let mut lowering = Lowering {
        tool,
        rules,
        targets: Targets::new(contract),
        rows: Vec::new(),
        definitions: Map::new(),
        names: BTreeMap::new(),
        waiting: Vec::new(),
        shapes: BTreeMap::new(),
        keys: BTreeMap::new(),
        kept_names: names_in(contract),
        schemas: 0,
        properties: 0,
        enum_values: 0,
        inexact: 0,
        inverted: 0,
        trusts_definitions,
        has_trusted: false,
    };
    let (mut schema, root) =
        lowering.schema(contract, &Place { at: String::new(), depth: 0, inside: &[] })?;
    while let Some((name, at, target)) = lowering.waiting.pop() {
        // A definition starts anew, since it may stand at any depth.
        let inside = [at.clone()];
        let (schema, shape) = lowering.schema(target, &Place { at, depth: 1, inside: &inside })?;
        lowering.definitions.insert(name.clone(), schema);
        lowering.shapes.insert(name, shape);
    }
    lowering.definitions.sort_keys();
    if let Value::Object(members) = &mut schema {
        // Providers want to see both, also where there is nothing to pass.
        members.insert("type".to_owned(), json!("object"));
        members.entry("properties").or_insert_with(|| json!({}));
        if !lowering.definitions.is_empty() {
            members.insert("$defs".to_owned(), Value::Object(std::mem::take(&mut lowering.definitions)));
        }
    }
    if schema.to_string().len() > MAX_WIRE_BYTES {
        return Err(Unfit::new("", format!("its references unfold to more than {MAX_WIRE_BYTES} bytes")));
    }
    let is_sound = !lowering.has_trusted || lowering.inexact == 0;
    let decoder = Decoder { root, definitions: lowering.shapes };
    Ok((Lowered { schema, decoder, rows: lowering.rows }, is_sound))
}

/// The names of all properties in a schema, wherever they stand, and whatever else looks like one.
fn names_in(schema: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut waiting = vec![schema];
    while let Some(schema) = waiting.pop() {
        if let Some(Value::Object(properties)) = schema.get("properties") {
            names.extend(properties.keys().cloned());
        }
        if let Some(Value::Array(required)) = schema.get("required") {
            names.extend(required.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        waiting.extend(keyword::subschemas(schema).into_iter().map(|(_, inner)| inner));
    }
    names
}

/// Where a schema stands.
struct Place<'a> {
    /// Its pointer in the contract schema.
    at: String,
    depth: usize,
    /// The references that led here, innermost last; one of them again is recursion.
    inside: &'a [String],
}

impl Place<'_> {
    fn below(&self, steps: &[&str]) -> Place<'_> {
        Place { at: pointer(&self.at, steps), depth: self.depth + 1, inside: self.inside }
    }

    fn is_root(&self) -> bool {
        self.depth == 0
    }
}

type Lowers = Result<(Value, Shape), Box<Unfit>>;

struct Lowering<'schema> {
    tool: &'schema ToolName,
    rules: &'static Rules,
    targets: Targets<'schema>,
    rows: Vec<ReportRow>,
    /// On the wire, by name.
    definitions: Map<String, Value>,
    /// The names of definitions, by their pointers in the contract schema.
    names: BTreeMap<String, String>,
    /// Definitions that are named and not lowered yet: name, pointer, schema.
    waiting: Vec<(String, String, &'schema Value)>,
    shapes: BTreeMap<String, Shape>,
    /// What properties are called on the wire, by their names in the contract: the same everywhere, since what one schema
    /// requires another may describe.
    keys: BTreeMap<String, String>,
    /// Names in the contract, which no other property gets.
    kept_names: BTreeSet<String>,
    schemas: usize,
    properties: usize,
    enum_values: usize,
    /// Changes so far after which more values fit than before.
    inexact: usize,
    /// How many keywords that turn meaning around are above.
    inverted: usize,
    /// Whether a reference below such a keyword may be kept before its definition was lowered.
    trusts_definitions: bool,
    has_trusted: bool,
}

impl<'schema> Lowering<'schema> {
    fn row(&mut self, at: &str, change: Change, detail: impl Into<String>) {
        let detail = text::single_line(&text::shorten(&detail.into(), 200)).into_owned();
        self.inexact += usize::from(!inverted::is_exact(change, &detail));
        self.rows.push(ReportRow { tool: self.tool.clone(), pointer: at.to_owned(), change, detail });
    }

    fn is_strict(&self) -> bool {
        self.rules.objects == Objects::Strict
    }

    fn schema(&mut self, schema: &Value, place: &Place<'_>) -> Lowers {
        self.schemas += 1;
        if self.schemas > MAX_SCHEMAS {
            return Err(Unfit::new(
                &place.at,
                format!("its references unfold to more than {MAX_SCHEMAS} schemas"),
            ));
        }
        let members = match schema {
            Value::Object(members) => members,
            boolean => return self.boolean(boolean, place),
        };
        if place.depth > self.rules.max_depth {
            if self.is_strict() {
                return Err(Unfit::new(
                    &place.at,
                    format!("it is deeper than {} levels", self.rules.max_depth),
                ));
            }
            self.row(&place.at, Change::DepthCut, format!("the most is {} levels", self.rules.max_depth));
            return Ok((anything(members, "deeper than can be described"), Shape::Same));
        }
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            return self.reference(reference, members, place);
        }
        let members = self.merged(members, place);
        self.members(&members, place)
    }

    fn boolean(&mut self, boolean: &Value, place: &Place<'_>) -> Lowers {
        if self.rules.takes_booleans {
            return Ok((boolean.clone(), Shape::Same));
        }
        if self.is_strict() {
            return Err(Unfit::new(&place.at, "any value, or none, would fit there"));
        }
        self.row(&place.at, Change::BooleanReplaced, boolean.to_string());
        Ok((json!({}), Shape::Same))
    }

    /// Whether a keyword may stand there.
    fn takes(&self, keyword: &str, place: &Place<'_>) -> bool {
        self.rules.keywords.has(keyword)
            && (!place.is_root() || self.rules.root.is_none_or(|kept| kept.contains(&keyword)))
    }

    /// The members of a schema without a reference, one by one.
    fn members(&mut self, members: &Map<String, Value>, place: &Place<'_>) -> Lowers {
        let mut wire = Map::new();
        let mut changed = Changed::default();
        let mut words = Vec::new();
        let object = self.object(members, place, &mut changed, &mut words)?;
        let (undone, mut done) = self.undone(members, place, &mut changed)?;
        for (keyword, value) in members {
            if is_for_references(keyword) {
                if !matches!(keyword.as_str(), "$defs" | "definitions") {
                    self.row(&place.at, Change::Dropped, keyword);
                }
                continue;
            }
            if let Some(kept) = object.get(keyword) {
                wire.insert(keyword.clone(), kept.clone());
                continue;
            }
            if matches!(keyword.as_str(), "properties" | "required" | "additionalProperties") {
                continue;
            }
            let is_undone = undone.contains(&keyword.as_str());
            let is_taken = !is_undone && self.takes(keyword, place);
            let may_be_any_of = keyword == "oneOf"
                && !is_undone
                && self.takes("anyOf", place)
                && !members.contains_key("anyOf");
            if let Some(kept) = done.remove(keyword.as_str()) {
                wire.insert(keyword.clone(), kept);
            } else if is_taken && matches!(keyword.as_str(), "not" | "oneOf") {
                match self.exactly(keyword, value, place, &mut changed)? {
                    Some(kept) => drop(wire.insert(keyword.clone(), kept)),
                    None if may_be_any_of => self.any_of(value, place, &mut wire, &mut changed)?,
                    None => self.gone(keyword, value, place, &mut words),
                }
            } else if may_be_any_of {
                self.any_of(value, place, &mut wire, &mut changed)?;
            } else if is_taken && self.takes_value(keyword, value) {
                let kept = self.value(keyword, value, place, &mut changed)?;
                wire.insert(keyword.clone(), kept);
            } else {
                self.gone(keyword, value, place, &mut words);
            }
        }
        for (keyword, kept) in object {
            wire.entry(keyword).or_insert(kept);
        }
        if self.is_strict() {
            self.check_strict(&mut wire, place)?;
        } else if self.rules.needs_items {
            self.with_items(&mut wire, place);
        }
        if !words.is_empty() {
            describe(&mut wire, &words.join("; "));
        }
        Ok((Value::Object(wire), changed.into_shape()))
    }

    /// A `oneOf` whose alternatives may hold together.
    fn any_of(
        &mut self,
        alternatives: &Value,
        place: &Place<'_>,
        wire: &mut Map<String, Value>,
        changed: &mut Changed,
    ) -> Result<(), Box<Unfit>> {
        self.row(&place.at, Change::OneOfAsAnyOf, "");
        let kept = self.value("oneOf", alternatives, place, changed)?;
        wire.insert("anyOf".to_owned(), kept);
        Ok(())
    }

    /// A list says what its items are, if only that they may be anything.
    fn with_items(&mut self, wire: &mut Map<String, Value>, place: &Place<'_>) {
        let is_array = wire.get("type").is_some_and(|kind| merge::types(kind).contains(&"array"));
        if is_array && !wire.contains_key("items") {
            self.row(&place.at, Change::ItemsAdded, "");
            wire.insert("items".to_owned(), json!({}));
        }
    }

    /// A keyword that the provider does not take.
    fn gone(&mut self, keyword: &str, value: &Value, place: &Place<'_>, words: &mut Vec<String>) {
        match in_words(keyword, value) {
            Some(said) => {
                self.row(&place.at, Change::Described, format!("{keyword}: {value}"));
                words.push(said);
            }
            None => self.row(&place.at, Change::Dropped, keyword),
        }
    }

    fn takes_value(&self, keyword: &str, value: &Value) -> bool {
        let is_fit = |value: &Value| match self.rules.enums {
            Enums::Any => true,
            Enums::Primitives => !value.is_array() && !value.is_object(),
            Enums::StringsAndNumbers => value.is_string() || value.is_number(),
        };
        match (keyword, value) {
            ("enum", Value::Array(values)) => !values.is_empty() && values.iter().all(is_fit),
            ("const", value) => is_fit(value),
            ("format", Value::String(format)) => {
                self.rules.formats.is_none_or(|kept| kept.contains(&format.as_str()))
            }
            _ => true,
        }
    }

    /// What stands behind a keyword that is kept.
    fn value(
        &mut self,
        keyword: &str,
        value: &Value,
        place: &Place<'_>,
        changed: &mut Changed,
    ) -> Result<Value, Box<Unfit>> {
        if let ("enum", Value::Array(values)) = (keyword, value) {
            self.enum_values = self.enum_values.saturating_add(values.len());
            if self.enum_values > self.rules.max_enum_values {
                let most = self.rules.max_enum_values;
                return Err(Unfit::new(&place.at, format!("its enumerations have more than {most} values")));
            }
        }
        match (keyword::holds(keyword), value) {
            (Holds::One, one) => {
                let (schema, shape) = self.schema(one, &place.below(&[keyword]))?;
                match keyword {
                    "items" | "unevaluatedItems" => changed.items = shape,
                    "then" | "else" => changed.beside.push(shape),
                    "unevaluatedProperties" => changed.others = shape,
                    _ => {}
                }
                Ok(schema)
            }
            (Holds::List, Value::Array(list)) => {
                let mut lowered = Vec::with_capacity(list.len());
                for (number, one) in list.iter().enumerate() {
                    let (schema, shape) = self.schema(one, &place.below(&[keyword, &number.to_string()]))?;
                    lowered.push(schema);
                    if keyword == "prefixItems" {
                        changed.first_items.push(shape);
                    } else {
                        changed.beside.push(shape);
                    }
                }
                Ok(Value::Array(lowered))
            }
            (Holds::Named, Value::Object(named)) => {
                let mut lowered = Map::new();
                for (name, one) in named {
                    let (schema, shape) = self.schema(one, &place.below(&[keyword, name]))?;
                    lowered.insert(name.clone(), schema);
                    if keyword == "dependentSchemas" {
                        changed.beside.push(shape);
                    }
                }
                Ok(Value::Object(lowered))
            }
            _ => Ok(value.clone()),
        }
    }
}

/// A schema that any value fits, with what was said about it.
fn anything(members: &Map<String, Value>, why: &str) -> Value {
    let mut wire = Map::new();
    if let Some(description) = members.get("description") {
        wire.insert("description".to_owned(), description.clone());
    }
    describe(&mut wire, why);
    Value::Object(wire)
}

/// Adds words to a schema's description.
fn describe(wire: &mut Map<String, Value>, words: &str) {
    let added = text::shorten(words, MAX_ADDED_CHARS);
    let description = match wire.get("description").and_then(Value::as_str) {
        Some(known) if !known.trim().is_empty() => format!("{known} ({added})"),
        _ => format!("({added})"),
    };
    wire.insert("description".to_owned(), Value::String(description));
}
