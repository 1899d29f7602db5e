//! The part of lowering that is about `$ref`: what it names stays a definition, or takes its place.

use serde_json::{Map, Value, json};

use super::{Lowering, Lowers, Place, Unfit, anything};
use crate::projection::decode::{Changed, Shape};
use crate::projection::keyword::{is_annotation, is_for_references};
use crate::projection::provider::References;
use crate::projection::report::Change;

/// Most references that lead from one to the next: nobody describes a value by more.
const MAX_REFERENCES: usize = 32;

impl<'schema> Lowering<'schema> {
    /// A schema with a `$ref`, and perhaps more beside it.
    pub(super) fn reference(
        &mut self,
        reference: &str,
        members: &Map<String, Value>,
        place: &Place<'_>,
    ) -> Lowers {
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
            self.row(&place.at, Change::BooleanReplaced, target.to_string());
            // `true` adds nothing, and beside `false` nothing matters; passing more is the safe mistake.
            let beside = self.merged(&beside, &place);
            return self.members(&beside, &place);
        };
        let whole = self.both(target, &beside, &place, reference);
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
        if self.inverted > 0 {
            self.has_trusted = true;
            self.inexact += usize::from(!self.trusts_definitions);
        }
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
}
