//! The part of lowering that brings schemas together where a provider takes no `allOf`, or no alternatives at the root.

use serde_json::{Map, Value, json};

use super::{Lowering, MAX_SCHEMAS, Place};
use crate::projection::merge;
use crate::projection::provider::Enums;
use crate::projection::report::Change;

/// `allOf` in `allOf`, and references to references.
const MAX_FOLLOWED: usize = 16;

impl Lowering<'_> {
    /// The members with what the provider does not take as such brought together: `allOf`, and alternatives at the root.
    pub(super) fn merged(&mut self, members: &Map<String, Value>, place: &Place<'_>) -> Map<String, Value> {
        let mut merged = members.clone();
        if !self.takes("allOf", place)
            && let Some(Value::Array(all)) = merged.shift_remove("allOf")
        {
            self.row(&place.at, Change::AllOfMerged, format!("{} schemas", all.len()));
            for one in self.followed(&all, place, 0) {
                merged = self.both(&merged, &one, place, "allOf");
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
                let mut lost = Vec::new();
                merged = merge::flattened(&merged, &alternatives, &mut lost);
                self.lost(lost, place, keyword);
            }
        }
        if !self.takes("const", place)
            && self.takes("enum", place)
            && !merged.contains_key("enum")
            && let Some(value) = merged.shift_remove("const")
        {
            self.row(&place.at, Change::ConstAsEnum, value.to_string());
            merged.insert("enum".to_owned(), json!([value]));
        }
        self.bounds_moved(&mut merged, place);
        self.null_apart(merged, place)
    }

    /// "More than 0" is "at least 1" of integers, for a provider that takes only the latter.
    fn bounds_moved(&mut self, members: &mut Map<String, Value>, place: &Place<'_>) {
        if members.get("type").is_none_or(|kind| kind != "integer") {
            return;
        }
        for (exclusive, inclusive, step) in
            [("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)]
        {
            if self.takes(exclusive, place)
                || !self.takes(inclusive, place)
                || members.contains_key(inclusive)
            {
                continue;
            }
            let bound =
                members.get(exclusive).and_then(Value::as_i64).and_then(|bound| bound.checked_add(step));
            if let Some(bound) = bound {
                members.shift_remove(exclusive);
                members.insert(inclusive.to_owned(), json!(bound));
                self.row(&place.at, Change::BoundMoved, format!("{exclusive} → {inclusive} {bound}"));
            }
        }
    }

    /// Two schemas that hold together, as one.
    pub(super) fn both(
        &mut self,
        one: &Map<String, Value>,
        other: &Map<String, Value>,
        place: &Place<'_>,
        where_from: &str,
    ) -> Map<String, Value> {
        let mut lost = Vec::new();
        let merged = merge::both(one, other, &mut lost);
        self.lost(lost, place, where_from);
        merged
    }

    fn lost(&mut self, mut keywords: Vec<String>, place: &Place<'_>, where_from: &str) {
        keywords.sort();
        keywords.dedup();
        for keyword in keywords {
            self.row(&place.at, Change::Dropped, format!("{keyword} of {where_from}"));
        }
    }

    /// A null among the values of an `enum` becomes an alternative of its own, where values are texts and numbers only.
    fn null_apart(&mut self, mut members: Map<String, Value>, place: &Place<'_>) -> Map<String, Value> {
        let Some(Value::Array(values)) = members.get("enum") else { return members };
        let others: Vec<Value> = values.iter().filter(|value| !value.is_null()).cloned().collect();
        let is_plain =
            !others.is_empty() && others.iter().all(|value| value.is_string() || value.is_number());
        if self.rules.enums != Enums::StringsAndNumbers
            || others.len() == values.len()
            || !is_plain
            || members.contains_key("anyOf")
            || members.contains_key("oneOf")
            || place.is_root()
        {
            return members;
        }
        let kinds = members.shift_remove("type");
        let kinds: Option<Vec<&str>> = kinds.as_ref().map(merge::types);
        let mut valued = Map::new();
        if let Some(kinds) = &kinds {
            match kinds.iter().filter(|kind| **kind != "null").collect::<Vec<_>>().as_slice() {
                [only] => drop(valued.insert("type".to_owned(), json!(only))),
                several => drop(valued.insert("type".to_owned(), json!(several))),
            }
        }
        valued.insert("enum".to_owned(), Value::Array(others));
        members.shift_remove("enum");
        let mut alternatives = vec![Value::Object(valued)];
        if kinds.is_none_or(|kinds| kinds.contains(&"null")) {
            alternatives.push(json!({ "type": "null" }));
        }
        self.row(&place.at, Change::NullApart, "");
        members.insert("anyOf".to_owned(), Value::Array(alternatives));
        members
    }

    /// A list of schemas as objects, with references followed. `false` is left out, and so is what no object fits where
    /// only objects stand; what leads to itself may be anything.
    fn followed(&mut self, list: &[Value], place: &Place<'_>, depth: usize) -> Vec<Map<String, Value>> {
        let mut found = Vec::new();
        for schema in list {
            self.schemas += 1;
            let mut members = match schema {
                Value::Object(members) => members.clone(),
                Value::Bool(true) => Map::new(),
                _ => continue,
            };
            if let Some(Value::String(reference)) = members.shift_remove("$ref") {
                let target = self.targets.resolve(&reference).filter(|_| depth < MAX_FOLLOWED);
                match target {
                    Some((target, named)) if !place.inside.contains(&named) => {
                        self.row(&place.at, Change::ReferenceInlined, reference);
                        let inside: Vec<String> = place.inside.iter().cloned().chain([named]).collect();
                        let place = Place { at: place.at.clone(), depth: place.depth, inside: &inside };
                        for one in self.followed(std::slice::from_ref(target), &place, depth + 1) {
                            members = self.both(&one, &members, &place, "a reference");
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
                    members = self.both(&members, &one, place, "allOf");
                }
            }
            found.push(members);
        }
        found
    }
}
