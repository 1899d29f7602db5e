//! The part of lowering that is about keywords that turn meaning around: `not`, `if`, `oneOf` and `contains` with a most.
//! A schema that takes more than its author's would make these take less, so they stay only if it takes exactly the same.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Lowering, Place, Unfit};
use crate::projection::decode::Changed;
use crate::projection::keyword::{is_annotation, is_for_references};
use crate::projection::report::Change;

/// What stands on the wire behind keywords that were looked at before the others.
type Looked = BTreeMap<&'static str, Value>;

impl Lowering<'_> {
    /// What stands behind a keyword, if it takes what the contract's takes, and nothing else.
    pub(super) fn exactly(
        &mut self,
        keyword: &str,
        value: &Value,
        place: &Place<'_>,
        changed: &mut Changed,
    ) -> Result<Option<Value>, Box<Unfit>> {
        let before = (self.rows.len(), self.waiting.len(), self.inexact);
        let (names, known) = (self.names.clone(), changed.clone());
        self.inverted += 1;
        let lowered = self.value(keyword, value, place, changed);
        self.inverted -= 1;
        let lowered = lowered?;
        if self.inexact == before.2 {
            return Ok(Some(lowered));
        }
        // As if it had not been tried.
        self.rows.truncate(before.0);
        self.waiting.truncate(before.1);
        self.inexact = before.2;
        self.names = names;
        *changed = known;
        Ok(None)
    }

    /// Keywords of this schema that can only be dropped, since what they depend on changed its meaning or is gone; and
    /// what stands behind those that were looked at and are kept.
    pub(super) fn undone(
        &mut self,
        members: &Map<String, Value>,
        place: &Place<'_>,
        changed: &mut Changed,
    ) -> Result<(Vec<&'static str>, Looked), Box<Unfit>> {
        let mut done = Looked::new();
        // Which members and items are looked at depends on everything beside and below, which is hardly ever all kept.
        let mut undone = vec!["unevaluatedProperties", "unevaluatedItems"];
        if let Some(condition) = members.get("if").filter(|_| self.takes("if", place)) {
            match self.exactly("if", condition, place, changed)? {
                Some(kept) => drop(done.insert("if", kept)),
                None => undone.extend(["if", "then", "else"]),
            }
        }
        if let (Some(contained), true) = (members.get("contains"), members.contains_key("maxContains"))
            && self.takes("contains", place)
        {
            match self.exactly("contains", contained, place, changed)? {
                Some(kept) => drop(done.insert("contains", kept)),
                None => undone.push("maxContains"),
            }
        }
        // The schema of all items would be held against the first ones.
        if members.contains_key("prefixItems") && !self.takes("prefixItems", place) {
            undone.push("items");
        }
        // These speak of members by their names in the contract.
        if place.is_root() && self.has_other_names() {
            undone.extend([
                "not",
                "if",
                "then",
                "else",
                "patternProperties",
                "propertyNames",
                "dependentRequired",
                "dependentSchemas",
                "enum",
                "const",
            ]);
        }
        Ok((undone, done))
    }
}

/// Whether the same values fit after a change as before it.
pub(super) fn is_exact(change: Change, detail: &str) -> bool {
    match change {
        Change::ReferenceMoved
        | Change::ReferenceInlined
        | Change::ConstAsEnum
        | Change::KeyRenamed
        | Change::PropertyAdded
        | Change::BoundMoved
        | Change::ItemsAdded
        | Change::TypeAdded
        | Change::NullApart
        | Change::Opened => true,
        Change::BooleanReplaced => detail == "true",
        Change::Dropped => is_annotation(detail) || is_for_references(detail) && detail != "$dynamicRef",
        Change::Described => detail.split(':').next().is_some_and(is_annotation),
        _ => false,
    }
}
