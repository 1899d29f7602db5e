//! The part of lowering that is about objects: which members they have, what these are called on the wire, which are
//! required, and whether there may be others.

use serde_json::{Map, Value, json};

use super::{Lowering, Place, Unfit, merge};
use crate::projection::decode::{Changed, Member};
use crate::projection::provider::{Keys, MAX_KEY_CHARS, Objects};
use crate::projection::report::Change;

impl Lowering<'_> {
    /// `properties`, `required` and `additionalProperties` as they stand on the wire, where they do.
    pub(super) fn object(
        &mut self,
        members: &Map<String, Value>,
        place: &Place<'_>,
        changed: &mut Changed,
        words: &mut Vec<String>,
    ) -> Result<Map<String, Value>, Box<Unfit>> {
        let written = members.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = match members.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let is_object = place.is_root()
            || written.is_some()
            || members.get("type").is_some_and(|kind| merge::types(kind).contains(&"object"));
        let mut wire = Map::new();
        if !is_object && required.is_empty() && !members.contains_key("additionalProperties") {
            return Ok(wire);
        }
        let mut properties = Map::new();
        let mut wire_required = Vec::new();
        for (name, schema) in written.into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            if *schema == Value::Bool(false) && !self.rules.takes_booleans {
                if is_required {
                    return Err(Unfit::new(
                        &place.at,
                        format!("it requires `{name}`, which can never be there"),
                    ));
                }
                self.row(&place.at, Change::PropertyRemoved, name);
                continue;
            }
            self.properties += 1;
            if self.properties > self.rules.max_properties {
                let most = self.rules.max_properties;
                return Err(Unfit::new(&place.at, format!("it has more than {most} properties")));
            }
            let key = self.key(name, place);
            let (mut lowered, shape) = self.schema(schema, &place.below(&["properties", name]))?;
            let null_is_absent = self.is_strict() && !is_required;
            if null_is_absent {
                self.row(
                    &crate::projection::keyword::pointer(&place.at, &["properties", name]),
                    Change::MadeRequired,
                    "",
                );
                lowered = nullable(lowered);
            }
            // Where the contract takes a null as such, a null is one.
            let null_is_absent = null_is_absent
                && !self.takes_null(schema, 0).ok_or_else(|| {
                    Unfit::new(
                        &place.at,
                        format!("a null for `{name}` could be one, or mean that it is absent"),
                    )
                })?;
            if is_required || self.is_strict() {
                wire_required.push(json!(key));
            }
            properties.insert(key.clone(), lowered);
            changed.members.insert(key, Member { name: name.clone(), null_is_absent, shape });
        }
        for name in required.iter().filter(|name| written.is_none_or(|all| !all.contains_key(**name))) {
            if self.is_strict() {
                return Err(Unfit::new(&place.at, format!("it requires `{name}`, which is not described")));
            }
            if self.rules.keys != Keys::Identifier && !place.is_root() {
                wire_required.push(json!(name));
                continue;
            }
            self.row(&place.at, Change::PropertyAdded, *name);
            let key = self.key(name, place);
            let any = if self.rules.takes_booleans { json!(true) } else { json!({}) };
            properties.insert(key.clone(), any);
            wire_required.push(json!(key));
            changed.members.insert(
                key,
                Member { name: (*name).to_owned(), null_is_absent: false, shape: Default::default() },
            );
        }
        if written.is_some() || !properties.is_empty() {
            wire.insert("properties".to_owned(), Value::Object(properties));
        }
        if !wire_required.is_empty() || self.is_strict() && is_object {
            wire.insert("required".to_owned(), Value::Array(wire_required));
        }
        self.others(members, place, is_object, &mut wire, changed, words)?;
        Ok(wire)
    }

    /// Whether there may be other members, and of which kind.
    fn others(
        &mut self,
        members: &Map<String, Value>,
        place: &Place<'_>,
        is_object: bool,
        wire: &mut Map<String, Value>,
        changed: &mut Changed,
        words: &mut Vec<String>,
    ) -> Result<(), Box<Unfit>> {
        let written = members.get("additionalProperties");
        if self.is_strict() && is_object {
            let is_open = written.is_some_and(|written| *written != Value::Bool(false))
                || members.contains_key("patternProperties")
                || written.is_none() && !place.is_root() && !members.contains_key("properties");
            if is_open {
                return Err(Unfit::new(&place.at, "it takes members by any name"));
            }
            if written.is_none() {
                self.row(&place.at, Change::Closed, "");
            }
            wire.insert(
                "properties".to_owned(),
                wire.get("properties").cloned().unwrap_or_else(|| json!({})),
            );
            wire.insert("additionalProperties".to_owned(), json!(false));
            return Ok(());
        }
        let is_pattern_kept =
            self.takes("patternProperties", place) && !(place.is_root() && self.has_other_names());
        let patterns =
            members.get("patternProperties").and_then(Value::as_object).filter(|_| !is_pattern_kept);
        let widened = written.zip(patterns).map(|(written, patterns)| with_patterns(written, patterns));
        match widened.as_ref().or(written) {
            // What a closed object says is no schema, whatever else booleans are.
            Some(Value::Bool(boolean)) if self.takes("additionalProperties", place) => {
                wire.insert("additionalProperties".to_owned(), json!(boolean));
            }
            Some(schema) if self.takes("additionalProperties", place) => {
                let (schema, shape) = self.schema(schema, &place.below(&["additionalProperties"]))?;
                wire.insert("additionalProperties".to_owned(), schema);
                changed.others = shape;
            }
            Some(_) => {
                if let Some(written) = written {
                    self.gone("additionalProperties", written, place, words);
                }
            }
            None if is_object && self.rules.objects == Objects::OpenUnlessClosed => {
                self.row(&place.at, Change::Opened, "");
                wire.insert("additionalProperties".to_owned(), json!(true));
            }
            None => {}
        }
        Ok(())
    }

    /// Whether properties at the root are not called there what the contract calls them.
    pub(super) fn has_other_names(&self) -> bool {
        !self.keys.is_empty()
    }

    /// What a property is called on the wire: as it is, or in letters that the provider takes, unlike any other's.
    fn key(&mut self, name: &str, place: &Place<'_>) -> String {
        let is_looked_at = self.rules.keys != Keys::Ascii || place.is_root();
        if self.rules.keys.has(name) || !is_looked_at {
            return name.to_owned();
        }
        let at = crate::projection::keyword::pointer(&place.at, &["properties", name]);
        if let Some(key) = self.keys.get(name).cloned() {
            self.row(&at, Change::KeyRenamed, &key);
            return key;
        }
        let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
        let mut base: String = name.chars().map(plain).collect();
        if base.is_empty() || base.starts_with(|first: char| first.is_ascii_digit()) {
            base.insert(0, '_');
        }
        let is_free =
            |key: &String| !self.kept_names.contains(key) && !self.keys.values().any(|taken| taken == key);
        let shortened = |end: &str| {
            let room = MAX_KEY_CHARS.saturating_sub(end.len());
            format!("{}{end}", base.chars().take(room).collect::<String>())
        };
        let numbered = (2_u32..).map(|number| shortened(&format!("_{number}")));
        let key =
            std::iter::once(shortened("")).chain(numbered).find(is_free).unwrap_or_else(|| base.clone());
        self.keys.insert(name.to_owned(), key.clone());
        self.row(&at, Change::KeyRenamed, &key);
        key
    }
}

/// What other members may be where those that fit a pattern are among them.
fn with_patterns(written: &Value, patterns: &Map<String, Value>) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for schema in [written].into_iter().chain(patterns.values()) {
        match schema {
            Value::Bool(false) => {}
            Value::Bool(true) => return Value::Bool(true),
            schema if all.contains(schema) => {}
            schema => all.push(schema.clone()),
        }
    }
    match all.as_slice() {
        [] => Value::Bool(false),
        [only] => only.clone(),
        _ => json!({ "anyOf": all }),
    }
}

/// The schema, and null.
fn nullable(schema: Value) -> Value {
    let Value::Object(mut members) = schema else { return schema };
    let has_null = |members: &Map<String, Value>| {
        members.get("type").is_some_and(|kind| merge::types(kind).contains(&"null"))
    };
    let lacks_null = |values: &Value| !values.as_array().is_some_and(|values| values.contains(&Value::Null));
    if has_null(&members) && !members.get("enum").is_some_and(lacks_null) && !members.contains_key("const") {
        return Value::Object(members);
    }
    if let Some(Value::Array(alternatives)) = members.get_mut("anyOf") {
        let null = json!({ "type": "null" });
        if !alternatives.contains(&null) {
            alternatives.push(null);
        }
        return Value::Object(members);
    }
    let kinds: Option<Vec<Value>> =
        members.get("type").map(|kind| merge::types(kind).into_iter().map(|kind| json!(kind)).collect());
    match kinds {
        Some(mut kinds)
            if !["enum", "const", "$ref"].iter().any(|keyword| members.contains_key(*keyword)) =>
        {
            kinds.push(json!("null"));
            members.insert("type".to_owned(), Value::Array(kinds));
            Value::Object(members)
        }
        _ => {
            let description = members.shift_remove("description");
            let mut wrapped = Map::new();
            wrapped.insert("anyOf".to_owned(), json!([Value::Object(members), { "type": "null" }]));
            wrapped.extend(description.map(|description| ("description".to_owned(), description)));
            Value::Object(wrapped)
        }
    }
}
