//! The bridge from a document's tree to typed values: a node enters, a `T` or a placed problem leaves.
//!
//! It exists because serde's usual errors know neither the place nor the path of the field, and suggest nothing.

use std::fmt;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};

use super::{Member, Node, Position, Problem, Value};
use crate::text;

/// How many allowed words an error lists before it stops.
const MAX_LISTED: usize = 24;

/// Under this name [`RawJson`] asks for its node as JSON text. No other type has it.
const RAW_JSON: &str = "$airlock::RawJson";

/// Any JSON value, read as text so that numbers keep every digit.
#[derive(Debug, Clone, PartialEq)]
pub struct RawJson(pub serde_json::Value);

impl<'de> de::Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Source;
        impl Visitor<'_> for Source {
            type Value = RawJson;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON value")
            }
            fn visit_str<E: de::Error>(self, source: &str) -> Result<RawJson, E> {
                serde_json::from_str(source).map(RawJson).map_err(E::custom)
            }
        }
        deserializer.deserialize_newtype_struct(RAW_JSON, Source)
    }
}

pub(super) fn read<T: DeserializeOwned>(node: &Node) -> Result<T, Problem> {
    T::deserialize(Reader { node }).map_err(|failure| Problem {
        position: failure.position.unwrap_or(node.position),
        path: failure.path_text(),
        message: failure.message,
        hint: failure.hint,
        is_syntax: false,
    })
}

/// A problem on its way out: each level that it passes adds its step to the path, the innermost sets the place.
#[derive(Debug)]
struct Failure {
    message: String,
    hint: Option<String>,
    position: Option<Position>,
    /// Innermost step first.
    path: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Key(String),
    Index(usize),
}

impl Failure {
    fn through(mut self, step: Step, position: Position) -> Self {
        self.position.get_or_insert(position);
        self.path.push(step);
        self
    }

    fn path_text(&self) -> String {
        let mut path = String::new();
        for step in self.path.iter().rev() {
            match step {
                Step::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&text::shorten(key, 64));
                }
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }

    fn unknown(what: &str, written: &str, allowed: &'static [&'static str]) -> Self {
        let mut listed =
            allowed.iter().take(MAX_LISTED).map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        if allowed.len() > MAX_LISTED {
            listed.push_str(", …");
        }
        let suggestion = text::suggest(written, allowed.iter().copied());
        Self {
            message: format!("unknown {what} `{}`", text::single_line(&text::shorten(written, 64))),
            hint: Some(match suggestion {
                Some(word) => format!("did you mean `{word}`?"),
                None if allowed.is_empty() => "remove it".to_owned(),
                None => format!("one of {listed}"),
            }),
            position: None,
            path: Vec::new(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), hint: None, position: None, path: Vec::new() }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown("key", field, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown("value", variant, expected)
    }

    fn missing_field(field: &'static str) -> Self {
        Self {
            hint: Some(format!("add `{field}`")),
            ..Self::custom(format_args!("the required key `{field}` is missing"))
        }
    }
}

#[derive(Clone, Copy)]
struct Reader<'node> {
    node: &'node Node,
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let result = match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => visit_number(number, visitor),
            Value::String(value) => visitor.visit_str(value),
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter().enumerate() }),
            Value::Object(members) => visitor.visit_map(Members { members: members.iter(), current: None }),
        };
        result.map_err(|mut failure| {
            failure.position.get_or_insert(self.node.position);
            failure
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if name == RAW_JSON {
            return visitor.visit_str(&self.node.json().to_string());
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::String(variant) => {
                visitor.visit_enum(variant.as_str().into_deserializer()).map_err(|mut failure: Failure| {
                    failure.position.get_or_insert(self.node.position);
                    failure
                })
            }
            _ => self.deserialize_any(visitor),
        }
    }

    /// A struct is written as an object only: serde would also take a list of its fields, which no file format means.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::Object(_) => self.deserialize_any(visitor),
            other => Err(Failure {
                position: Some(self.node.position),
                ..de::Error::custom(format_args!("expected an object, found {}", other.describe()))
            }),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: &str, visitor: V) -> Result<V::Value, Failure> {
    if let Ok(value) = number.parse::<u64>() {
        visitor.visit_u64(value)
    } else if let Ok(value) = number.parse::<i64>() {
        visitor.visit_i64(value)
    } else {
        match number.parse::<f64>() {
            Ok(value) if value.is_finite() => visitor.visit_f64(value),
            _ => Err(de::Error::custom(format_args!(
                "the number `{}` is out of range",
                text::shorten(number, 40)
            ))),
        }
    }
}

struct Items<'node> {
    items: std::iter::Enumerate<std::slice::Iter<'node, Node>>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        let Some((index, node)) = self.items.next() else { return Ok(None) };
        let element = seed.deserialize(Reader { node });
        element.map(Some).map_err(|failure| failure.through(Step::Index(index), node.position))
    }
}

struct Members<'node> {
    members: std::slice::Iter<'node, Member>,
    current: Option<&'node Member>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        self.current = self.members.next();
        let Some(member) = self.current else { return Ok(None) };
        let key = seed.deserialize(member.key.as_str().into_deserializer());
        key.map(Some)
            .map_err(|failure: Failure| failure.through(Step::Key(member.key.clone()), member.position))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Failure> {
        let Some(member) = self.current else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        let value = seed.deserialize(Reader { node: &member.value });
        value.map_err(|failure| failure.through(Step::Key(member.key.clone()), member.value.position))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Document;
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    #[allow(dead_code, reason = "only whether it parses matters")]
    struct Sample {
        name: String,
        #[serde(default)]
        time_limit: Option<u32>,
        #[serde(default)]
        inner: Vec<Inner>,
        #[serde(default)]
        access: Option<Access>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only whether it parses matters")]
    struct Inner {
        value: RawJson,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Access {
        Read,
        ReadWrite,
    }

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let problem = Document::from_json(source.as_bytes()).unwrap().read::<Sample>().unwrap_err();
        let hint = problem.hint.as_deref().unwrap_or("-");
        assert_eq!(
            format!("{}:{} {problem} | {hint}", problem.position.line, problem.position.column),
            expected
        );
    }

    #[test]
    fn problems_have_a_place_a_path_and_a_suggestion() {
        check("{}", "1:1 the required key `name` is missing | add `name`");
        check(
            "{\"name\": \"a\",\n \"timeLimt\": 1}",
            "2:2 `timeLimt`: unknown key `timeLimt` | did you mean `timeLimit`?",
        );
        check("{\"name\": 3}", "1:10 `name`: invalid type: integer `3`, expected a string | -");
        check(
            "{\"name\": \"a\", \"timeLimit\": -1}",
            "1:28 `timeLimit`: invalid value: integer `-1`, expected u32 | -",
        );
        check(
            "{\"name\": \"a\", \"inner\": [{\"value\": 1}, {\"valu\": 1}]}",
            "1:40 `inner[1].valu`: unknown key `valu` | did you mean `value`?",
        );
        check(
            "{\"name\": \"a\", \"access\": \"wread\"}",
            "1:25 `access`: unknown value `wread` | did you mean `read`?",
        );
        check("[]", "1:1 expected an object, found a list | -");
    }

    #[test]
    fn raw_json_keeps_every_digit() {
        let source =
            "{\"name\": \"a\", \"inner\": [{\"value\": {\"n\": 123456789012345678901234567890.10}}]}";
        let sample: Sample = Document::from_json(source.as_bytes()).unwrap().read().unwrap();
        assert_eq!(sample.inner[0].value.0.to_string(), "{\"n\":123456789012345678901234567890.10}");
        assert!(matches!(Access::Read, Access::Read) && !matches!(Access::ReadWrite, Access::Read));
    }
}
