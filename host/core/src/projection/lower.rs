//! Lowering: a contract schema and one provider's rules enter; the wire schema leaves, with a row for each change and what
//! it takes to undo it. The work is counted, and a schema that needs more than there is has no wire schema.

mod object;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::decode::{Changed, Decoder, Shape};
use super::keyword::{self, Holds, in_words, is_annotation, is_for_references, pointer};
use super::merge;
use super::provider::{Enums, Objects, References, Rules};
use super::references::Targets;
use super::report::{Change, ReportRow};
use crate::id::ToolName;
use crate::text;

/// Most schemas of one tool that are looked at, references followed: real tools have hundreds, and inlining multiplies.
const MAX_SCHEMAS: usize = 10_000;

/// Most references that lead from one to the next: nobody describes a value by more.
const MAX_REFERENCES: usize = 32;

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
    let mut lowering = Lowering {
        tool,
        rules,
        targets: Targets::new(contract),
        rows: Vec::new(),
        definitions: Map::new(),
        names: BTreeMap::new(),
        waiting: Vec::new(),
        shapes: BTreeMap::new(),
        schemas: 0,
        properties: 0,
        enum_values: 0,
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
    let decoder = Decoder { root, definitions: lowering.shapes };
    Ok(Lowered { schema, decoder, rows: lowering.rows })
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
    schemas: usize,
    properties: usize,
    enum_values: usize,
}

impl<'schema> Lowering<'schema> {
    fn row(&mut self, at: &str, change: Change, detail: impl Into<String>) {
        let detail = text::single_line(&text::shorten(&detail.into(), 200)).into_owned();
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

    /// A schema with a `$ref`, and perhaps more beside it.
    fn reference(&mut self, reference: &str, members: &Map<String, Value>, place: &Place<'_>) -> Lowers {
        let mut beside = members.clone();
        beside.shift_remove("$ref");
        let Some((target, named)) = self.targets.resolve(reference) else {
            self.row(&place.at, Change::ReferenceUnresolved, reference);
            if self.is_strict() {
                return Err(Unfit::new(&place.at, "it has a reference that cannot be followed"));
            }
            let beside = self.merged(&beside, place);
            return self.members(&beside, place);
        };
        let says_more = beside.keys().any(|keyword| !is_annotation(keyword) && !is_for_references(keyword));
        if self.rules.references == References::Kept && !place.is_root() && !(says_more && self.is_strict()) {
            return self.kept(reference, target, named, &beside, place);
        }
        if place.inside.contains(&named) || place.inside.len() >= MAX_REFERENCES {
            if self.is_strict() {
                return Err(Unfit::new(&place.at, "it repeats itself beside other keywords"));
            }
            self.row(&place.at, Change::RecursionCut, reference);
            return Ok((anything(&beside, &format!("the same again as {reference}")), Shape::Same));
        }
        self.row(&place.at, Change::ReferenceInlined, reference);
        let inside: Vec<String> = place.inside.iter().cloned().chain([named]).collect();
        let place = Place { at: place.at.clone(), depth: place.depth, inside: &inside };
        let Value::Object(target) = target else {
            if beside.is_empty() {
                return self.boolean(target, &place);
            }
            // `true` adds nothing, and beside `false` nothing matters; passing more is the safe mistake.
            let beside = self.merged(&beside, &place);
            return self.members(&beside, &place);
        };
        let mut lost = Vec::new();
        let whole = merge::both(target, &beside, &mut lost);
        for keyword in lost {
            self.row(&place.at, Change::Dropped, format!("{keyword} beside {reference}"));
        }
        self.schema(&Value::Object(whole), &place)
    }

    /// A reference that stays one, to a definition at the root.
    fn kept(
        &mut self,
        reference: &str,
        target: &'schema Value,
        named: String,
        beside: &Map<String, Value>,
        place: &Place<'_>,
    ) -> Lowers {
        let name = match self.names.get(&named) {
            Some(name) => name.clone(),
            None => {
                let name = self.definition_name(&named);
                self.names.insert(named.clone(), name.clone());
                self.waiting.push((name.clone(), named, target));
                name
            }
        };
        let moved = format!("#/$defs/{}", name.replace('~', "~0").replace('/', "~1"));
        if moved != reference {
            self.row(&place.at, Change::ReferenceMoved, format!("{reference} → {moved}"));
        }
        let (mut schema, shape) = if self.is_strict() {
            for keyword in beside.keys() {
                self.row(&place.at, Change::Dropped, format!("{keyword} beside a reference"));
            }
            (json!({}), Shape::Same)
        } else {
            let beside = self.merged(beside, place);
            self.members(&beside, place)?
        };
        if let Value::Object(members) = &mut schema {
            members.insert("$ref".to_owned(), json!(moved));
        }
        let beside = vec![shape, Shape::Definition(name)];
        Ok((schema, Changed { beside, ..Changed::default() }.into_shape()))
    }

    /// The name that a definition has where it stands, made unique.
    fn definition_name(&self, named: &str) -> String {
        let last = named.rsplit('/').next().unwrap_or_default().replace("~1", "_").replace("~0", "_");
        let plain: String = last
            .chars()
            .map(
                |character| {
                    if character.is_ascii_alphanumeric() || character == '_' { character } else { '_' }
                },
            )
            .collect();
        let base = if plain.is_empty() { "root".to_owned() } else { plain };
        let is_taken = |name: &String| self.names.values().any(|known| known == name);
        let numbered = (2..).map(|number| format!("{base}_{number}"));
        std::iter::once(base.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(base)
    }

    /// The members with what the provider does not take as such brought together: `allOf`, and alternatives at the root.
    fn merged(&mut self, members: &Map<String, Value>, place: &Place<'_>) -> Map<String, Value> {
        let mut merged = members.clone();
        if !self.takes("allOf", place)
            && let Some(Value::Array(all)) = merged.shift_remove("allOf")
        {
            self.row(&place.at, Change::AllOfMerged, format!("{} schemas", all.len()));
            for one in self.followed(&all, place, 0) {
                let mut lost = Vec::new();
                merged = merge::both(&merged, &one, &mut lost);
                for keyword in lost {
                    self.row(&place.at, Change::Dropped, format!("{keyword} of allOf"));
                }
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            if place.is_root()
                && !self.takes(keyword, place)
                && let Some(Value::Array(alternatives)) = merged.shift_remove(keyword)
            {
                let alternatives = self.followed(&alternatives, place, 0);
                self.row(
                    &place.at,
                    Change::UnionFlattened,
                    format!("{keyword} of {} schemas", alternatives.len()),
                );
                merged = merge::flattened(&merged, &alternatives);
            }
        }
        if !self.takes("oneOf", place)
            && self.takes("anyOf", place)
            && !merged.contains_key("anyOf")
            && let Some(alternatives) = merged.shift_remove("oneOf")
        {
            self.row(&place.at, Change::OneOfAsAnyOf, "");
            merged.insert("anyOf".to_owned(), alternatives);
        }
        if !self.takes("const", place)
            && self.takes("enum", place)
            && !merged.contains_key("enum")
            && let Some(value) = merged.shift_remove("const")
        {
            self.row(&place.at, Change::ConstAsEnum, value.to_string());
            merged.insert("enum".to_owned(), json!([value]));
        }
        merged
    }

    /// Objects of a list of schemas, with references followed; what is no object, or leads to itself, is left out.
    fn followed(&mut self, list: &[Value], place: &Place<'_>, depth: usize) -> Vec<Map<String, Value>> {
        /// `allOf` in `allOf`, and references to references.
        const MAX_FOLLOWED: usize = 16;
        let mut found = Vec::new();
        for schema in list {
            let Value::Object(members) = schema else { continue };
            self.schemas += 1;
            let mut members = members.clone();
            if let Some(Value::String(reference)) = members.shift_remove("$ref") {
                let target = self.targets.resolve(&reference).filter(|_| depth < MAX_FOLLOWED);
                match target {
                    Some((target, named)) if !place.inside.contains(&named) => {
                        self.row(&place.at, Change::ReferenceInlined, reference);
                        let inside: Vec<String> = place.inside.iter().cloned().chain([named]).collect();
                        let place = Place { at: place.at.clone(), depth: place.depth, inside: &inside };
                        for one in self.followed(std::slice::from_ref(target), &place, depth + 1) {
                            members = merge::both(&one, &members, &mut Vec::new());
                        }
                    }
                    _ => self.row(&place.at, Change::RecursionCut, reference),
                }
            }
            if depth < MAX_FOLLOWED
                && self.schemas < MAX_SCHEMAS
                && let Some(Value::Array(inner)) = members.shift_remove("allOf")
            {
                for one in self.followed(&inner, place, depth + 1) {
                    members = merge::both(&members, &one, &mut Vec::new());
                }
            }
            found.push(members);
        }
        found
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
        let object = self.object(members, place, &mut changed)?;
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
            if !self.takes(keyword, place) || !self.takes_value(keyword, value) {
                self.gone(keyword, value, place, &mut words);
                continue;
            }
            let kept = self.value(keyword, value, place, &mut changed)?;
            wire.insert(keyword.clone(), kept);
        }
        for (keyword, kept) in object {
            wire.entry(keyword).or_insert(kept);
        }
        if self.is_strict() {
            self.check_strict(&wire, place)?;
        }
        if !words.is_empty() {
            describe(&mut wire, &words.join("; "));
        }
        Ok((Value::Object(wire), changed.into_shape()))
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

    /// Whether a strict function can have this schema.
    fn check_strict(&self, wire: &Map<String, Value>, place: &Place<'_>) -> Result<(), Box<Unfit>> {
        let says_what = ["type", "anyOf", "enum", "const"].iter().any(|keyword| wire.contains_key(*keyword));
        if !says_what && !place.is_root() {
            return Err(Unfit::new(&place.at, "any value would fit there"));
        }
        let is_array = wire.get("type").is_some_and(|kind| merge::types(kind).contains(&"array"));
        if is_array && !wire.contains_key("items") {
            return Err(Unfit::new(&place.at, "an array without `items` would fit anything"));
        }
        Ok(())
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
