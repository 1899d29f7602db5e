//! The way back: arguments as a model wrote them for a wire schema enter; arguments of the contract leave. Renamed members
//! get their names back, and a null that stands for "absent" is taken out.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Deepest arguments that are looked into, in levels; acceptance refuses what is deeper than half of it.
const MAX_DEPTH: usize = 128;

/// What lowering did to one schema, as far as values must be changed back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing.
    #[default]
    Same,
    /// What it did to the definition of that name.
    Definition(String),
    /// Something, here or below.
    Changed(Box<Changed>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// By name on the wire.
    pub(super) members: BTreeMap<String, Member>,
    /// Of every other member.
    pub(super) others: Shape,
    /// Of the first items of an array, one by one.
    pub(super) first_items: Vec<Shape>,
    /// Of every other item.
    pub(super) items: Shape,
    /// Of schemas that hold beside this one, or instead of one another.
    pub(super) beside: Vec<Shape>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    /// Whether a null means that the member is not there.
    pub(super) null_is_absent: bool,
    pub(super) shape: Shape,
}

impl Changed {
    /// A shape, which is [`Shape::Same`] if nothing was changed.
    pub(super) fn into_shape(mut self) -> Shape {
        let is_same = |wire: &String, member: &Member| {
            *wire == member.name && !member.null_is_absent && member.shape == Shape::Same
        };
        self.beside.retain(|shape| *shape != Shape::Same);
        if self.first_items.iter().all(|shape| *shape == Shape::Same) {
            self.first_items.clear();
        }
        let all_same = self.members.iter().all(|(wire, member)| is_same(wire, member));
        let is_same = all_same
            && self.others == Shape::Same
            && self.items == Shape::Same
            && self.first_items.is_empty()
            && self.beside.is_empty();
        if is_same { Shape::Same } else { Shape::Changed(Box::new(self)) }
    }
}

/// Everything that is to be changed back in the arguments of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Decoder {
    pub(super) root: Shape,
    pub(super) definitions: BTreeMap<String, Shape>,
}

impl Decoder {
    pub(super) fn decode(&self, arguments: Value) -> Value {
        self.undo(&self.root, arguments, 0)
    }

    fn undo(&self, shape: &Shape, value: Value, depth: usize) -> Value {
        let Some(changed) = self.changed(shape).filter(|_| depth < MAX_DEPTH) else { return value };
        match value {
            Value::Object(members) => {
                let mut decoded = Map::new();
                for (wire, value) in members {
                    let Some(member) = self.member(changed, &wire, 0) else {
                        decoded.insert(wire, self.undo(self.others(changed, 0), value, depth + 1));
                        continue;
                    };
                    if !(member.null_is_absent && value.is_null()) {
                        decoded.insert(member.name.clone(), self.undo(&member.shape, value, depth + 1));
                    }
                }
                Value::Object(decoded)
            }
            Value::Array(items) => {
                let placed = items.into_iter().enumerate();
                Value::Array(
                    placed
                        .map(|(place, item)| self.undo(self.item(changed, place, 0), item, depth + 1))
                        .collect(),
                )
            }
            other => other,
        }
    }

    fn changed<'a>(&'a self, shape: &'a Shape) -> Option<&'a Changed> {
        match shape {
            Shape::Same => None,
            Shape::Changed(changed) => Some(changed),
            // A definition that only names another one changes nothing by itself.
            Shape::Definition(name) => match self.definitions.get(name)? {
                Shape::Changed(changed) => Some(changed),
                _ => None,
            },
        }
    }

    fn member<'a>(&'a self, changed: &'a Changed, wire: &str, depth: usize) -> Option<&'a Member> {
        if let Some(member) = changed.members.get(wire) {
            return Some(member);
        }
        let beside = changed.beside.iter().filter(|_| depth < MAX_DEPTH);
        beside.filter_map(|shape| self.changed(shape)).find_map(|other| self.member(other, wire, depth + 1))
    }

    fn others<'a>(&'a self, changed: &'a Changed, depth: usize) -> &'a Shape {
        if changed.others != Shape::Same || depth >= MAX_DEPTH {
            return &changed.others;
        }
        let beside = changed.beside.iter().filter_map(|shape| self.changed(shape));
        beside
            .map(|other| self.others(other, depth + 1))
            .find(|shape| **shape != Shape::Same)
            .unwrap_or(&changed.others)
    }

    fn item<'a>(&'a self, changed: &'a Changed, place: usize, depth: usize) -> &'a Shape {
        let own = changed.first_items.get(place).unwrap_or(&changed.items);
        if *own != Shape::Same || depth >= MAX_DEPTH {
            return own;
        }
        let beside = changed.beside.iter().filter_map(|shape| self.changed(shape));
        beside
            .map(|other| self.item(other, place, depth + 1))
            .find(|shape| **shape != Shape::Same)
            .unwrap_or(own)
    }
}
