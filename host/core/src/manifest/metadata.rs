//! Facts about a declared tool that the host must know before any plugin code runs.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

use super::value::JsonPointer;

/// `toolMetadata.<tool>`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct ToolMetadata {
    /// Exposed only where an operator's entry names it.
    pub optional: bool,
    /// Changes something outside the sandbox.
    pub side_effecting: bool,
    /// For the owner only.
    pub owner_only: bool,
    /// Not for child runs.
    pub no_subagents: bool,
    /// How many calls may run at once.
    pub concurrency: Concurrency,
    /// Any of these being authenticated makes the tool available.
    pub auth_providers: Vec<String>,
    /// Any of these configuration values being set makes the tool available.
    pub config_signals: Vec<JsonPointer>,
    /// What the client must be able to do.
    pub client_capabilities: Vec<String>,
    /// The tool exists only on these channels; empty means everywhere.
    pub channels: Vec<String>,
    /// Model providers that cannot use it.
    pub exclude_providers: Vec<String>,
    /// Profiles it would like to be in; honoured only where the operator says so.
    pub profiles: Vec<String>,
    /// Whether tool search may withhold its schema.
    pub defer: Deferral,
}

/// How many calls of one tool may run at once, per host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Concurrency {
    /// Any number.
    #[default]
    Parallel,
    /// One.
    Exclusive,
    /// One for each value that the arguments hold there.
    Key(JsonPointer),
}

/// Whether a large catalogue may hold back a tool's schema until it is searched for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Deferral {
    /// If there are too many tools, and still are without those that are always held back.
    #[default]
    Auto,
    /// If there are too many tools, before others.
    Always,
    /// Never.
    Never,
}

impl<'de> Deserialize<'de> for Concurrency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Keyed {
            key: JsonPointer,
        }

        struct WordOrKey;
        impl<'de> Visitor<'de> for WordOrKey {
            type Value = Concurrency;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("`parallel`, `exclusive`, or an object with `key`")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Concurrency, E> {
                match word {
                    "parallel" => Ok(Concurrency::Parallel),
                    "exclusive" => Ok(Concurrency::Exclusive),
                    other => Err(E::unknown_variant(other, &["parallel", "exclusive"])),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Concurrency, A::Error> {
                Keyed::deserialize(MapAccessDeserializer::new(map)).map(|keyed| Concurrency::Key(keyed.key))
            }
        }
        deserializer.deserialize_any(WordOrKey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrency_has_three_forms() {
        let read = |source: &str| {
            crate::document::Document::from_json(source.as_bytes())
                .and_then(|document| document.read::<ToolMetadata>())
                .map(|metadata| metadata.concurrency)
                .map_err(|problem| problem.to_string())
        };
        assert_eq!(read(r#"{"concurrency": "exclusive"}"#), Ok(Concurrency::Exclusive));
        assert!(matches!(read(r#"{"concurrency": {"key": "/target"}}"#), Ok(Concurrency::Key(_))));
        assert_eq!(
            read(r#"{"concurrency": "serial"}"#).unwrap_err(),
            "`concurrency`: unknown value `serial`"
        );
        assert_eq!(
            read(r#"{"concurrency": {"key": "target"}}"#).unwrap_err(),
            "`concurrency.key`: `target` is not a JSON pointer; it reads like `/target/id`"
        );
        assert!(
            read(r#"{"concurrency": 1}"#)
                .unwrap_err()
                .contains("expected `parallel`, `exclusive`, or an object")
        );
    }
}
