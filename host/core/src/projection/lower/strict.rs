//! The part of lowering that is about strict functions: what they must say besides, and whether a null can stand there.

use serde_json::{Map, Value, json};

use super::{Lowering, Place, Unfit};
use crate::projection::merge;
use crate::projection::report::Change;

/// Longest way through references and combinations to find out whether a null fits.
const MAX_STEPS: usize = 32;

/// Most values of an enumeration of texts whose length is free, and most characters of one with more.
const FREE_VALUES: usize = 250;
const MAX_VALUE_CHARS: usize = 15_000;

impl Lowering<'_> {
    /// Whether a strict function can have this schema. What its values say about their type is written as one.
    pub(super) fn check_strict(
        &mut self,
        wire: &mut Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<(), Box<Unfit>> {
        if let Some(Value::Array(values)) = wire.get("enum") {
            let chars: usize = values.iter().filter_map(Value::as_str).map(|text| text.chars().count()).sum();
            if values.len() > FREE_VALUES && chars > MAX_VALUE_CHARS {
                let reason = format!("its enumeration has more than {MAX_VALUE_CHARS} characters");
                return Err(Unfit::new(&place.at, reason));
            }
        }
        if !["type", "anyOf"].iter().any(|keyword| wire.contains_key(*keyword)) {
            let values: Vec<Value> = match (wire.get("enum"), wire.get("const")) {
                (Some(Value::Array(values)), _) => values.clone(),
                (_, Some(value)) => vec![value.clone()],
                _ if place.is_root() => return Ok(()),
                _ => return Err(Unfit::new(&place.at, "any value would fit there")),
            };
            let mut kinds: Vec<&str> = Vec::new();
            for value in &values {
                let kind = match value {
                    Value::Null => "null",
                    Value::Bool(_) => "boolean",
                    Value::Number(_) => "number",
                    Value::String(_) => "string",
                    _ => return Err(Unfit::new(&place.at, "it has lists or objects as values")),
                };
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            let kind = match kinds.as_slice() {
                [only] => json!(only),
                several => json!(several),
            };
            self.row(&place.at, Change::TypeAdded, kind.to_string());
            wire.insert("type".to_owned(), kind);
        }
        let is_array = wire.get("type").is_some_and(|kind| merge::types(kind).contains(&"array"));
        if is_array && !wire.contains_key("items") {
            return Err(Unfit::new(&place.at, "an array without `items` would fit anything"));
        }
        Ok(())
    }

    /// Whether a null fits a contract schema; `None` if that cannot be told.
    pub(super) fn takes_null(&self, schema: &Value, steps: usize) -> Option<bool> {
        let members = match schema {
            Value::Bool(boolean) => return Some(*boolean),
            Value::Object(members) => members,
            _ => return None,
        };
        if steps >= MAX_STEPS || members.contains_key("$dynamicRef") {
            return None;
        }
        let mut all = Vec::new();
        if let Some(kind) = members.get("type") {
            all.push(Some(merge::types(kind).contains(&"null")));
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            all.push(Some(values.contains(&Value::Null)));
        }
        if let Some(value) = members.get("const") {
            all.push(Some(value.is_null()));
        }
        if let Some(Value::String(reference)) = members.get("$ref") {
            let target = self.targets.resolve(reference);
            all.push(target.and_then(|(target, _)| self.takes_null(target, steps + 1)));
        }
        let each = |list: &[Value]| -> Vec<Option<bool>> {
            list.iter().map(|one| self.takes_null(one, steps + 1)).collect()
        };
        if let Some(Value::Array(list)) = members.get("allOf") {
            all.extend(each(list));
        }
        if let Some(Value::Array(list)) = members.get("anyOf") {
            let found = each(list);
            let is_unknown = found.contains(&None) && !found.contains(&Some(true));
            all.push((!is_unknown).then(|| found.contains(&Some(true))));
        }
        if let Some(Value::Array(list)) = members.get("oneOf") {
            let found = each(list);
            let fitting = found.iter().filter(|one| **one == Some(true)).count();
            all.push((!found.contains(&None)).then_some(fitting == 1));
        }
        if let Some(other) = members.get("not") {
            all.push(self.takes_null(other, steps + 1).map(|takes| !takes));
        }
        if let Some(condition) = members.get("if") {
            let branch = self.takes_null(condition, steps + 1);
            let keyword = branch.map(|takes| if takes { "then" } else { "else" });
            let held =
                |keyword| members.get(keyword).map_or(Some(true), |one| self.takes_null(one, steps + 1));
            all.push(keyword.and_then(held));
        }
        if all.contains(&Some(false)) {
            return Some(false);
        }
        (!all.contains(&None)).then_some(true)
    }
}
