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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn member(name: &str, null_is_absent: bool, shape: Shape) -> Member {
        Member { name: name.to_owned(), null_is_absent, shape }
    }

    fn object(members: Vec<(&str, Member)>) -> Changed {
        let members = members.into_iter().map(|(wire, member)| (wire.to_owned(), member)).collect();
        Changed { members, ..Changed::default() }
    }

    #[test]
    fn names_come_back_and_nulls_that_mean_absent_are_gone() {
        let inner = object(vec![("c_d", member("c d", true, Shape::Same))]).into_shape();
        let root = object(vec![
            ("a_b", member("a b", false, inner)),
            ("gone", member("gone", true, Shape::Same)),
            ("null", member("null", false, Shape::Same)),
        ]);
        let decoder = Decoder { root: root.into_shape(), definitions: BTreeMap::new() };
        let wire = json!({ "a_b": { "c_d": null, "x": null }, "gone": null, "null": null, "other": null });
        assert_eq!(decoder.decode(wire), json!({ "a b": { "x": null }, "null": null, "other": null }));
    }

    #[test]
    fn what_one_alternative_renames_is_undone_whichever_was_meant() {
        let renamed = |wire, name| object(vec![(wire, member(name, false, Shape::Same))]).into_shape();
        let others = Changed { others: renamed("x_y", "x y"), ..Changed::default() }.into_shape();
        let items = Changed { items: renamed("i_j", "i j"), ..Changed::default() }.into_shape();
        let beside = vec![renamed("a_b", "a b"), Shape::Definition("d".to_owned()), others, items];
        let decoder = Decoder {
            root: Changed { beside, ..Changed::default() }.into_shape(),
            definitions: BTreeMap::from([("d".to_owned(), renamed("c_d", "c d"))]),
        };
        let wire = json!({ "a_b": 1, "c_d": 2, "free": { "x_y": 3 } });
        assert_eq!(decoder.decode(wire), json!({ "a b": 1, "c d": 2, "free": { "x y": 3 } }));
        assert_eq!(decoder.decode(json!([{ "i_j": 1 }])), json!([{ "i j": 1 }]));
    }

    #[test]
    fn recursion_ends_with_the_arguments_or_at_a_depth() {
        let again = Shape::Definition("node".to_owned());
        let node = object(vec![("next_one", member("next one", false, again.clone()))]).into_shape();
        let decoder = Decoder { root: again, definitions: BTreeMap::from([("node".to_owned(), node)]) };
        let nested =
            |name: &str, levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ name: inner }));
        assert_eq!(decoder.decode(nested("next_one", 60)), nested("next one", 60));
        // Far deeper than a call may be; nothing overflows.
        assert_ne!(decoder.decode(nested("next_one", 300)), nested("next one", 300));
        let circular = Shape::Definition("circle".to_owned());
        let definitions = BTreeMap::from([("circle".to_owned(), circular.clone())]);
        assert_eq!(Decoder { root: circular, definitions }.decode(json!({ "a": 1 })), json!({ "a": 1 }));
    }
}
