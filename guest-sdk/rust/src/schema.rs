//! A Rust type enters, its JSON Schema 2020-12 leaves as the host wants it. It never describes more than the type
//! accepts.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

/// What a caller may send for a `T`.
pub(crate) fn of_arguments<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings());
    // Some providers refuse an object without the keyword, which is what an empty struct becomes.
    if let Some(object) = schema.as_object_mut() {
        object.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    schema
}

/// What a `T` looks like once it was written.
pub(crate) fn of_details<T: JsonSchema>() -> Value {
    generate::<T>(settings().for_serialize())
}

fn settings() -> SchemaSettings {
    // Without references a schema survives every provider's dialect; only a recursive type still needs them.
    SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(RecursiveTransform(plain_formats))
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // A Rust type's name tells a model nothing.
    schema.remove("title");
    schema.to_value()
}

/// Replaces the names of Rust's number types, which no schema dialect knows, by the bounds they stand for.
///
/// 64-bit bounds are left out: many readers hold numbers as doubles, which cannot represent them.
fn plain_formats(schema: &mut schemars::Schema) {
    let bounds = match schema.get("format").and_then(Value::as_str) {
        Some("uint32") => Some((0, i64::from(u32::MAX))),
        Some("int32") => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        Some("uint8" | "uint16" | "uint64" | "uint128" | "uint") => None,
        Some("int8" | "int16" | "int64" | "int128" | "int" | "float" | "double") => None,
        _ => return,
    };
    schema.remove("format");
    if let Some((minimum, maximum)) = bounds {
        for (keyword, bound) in [("minimum", minimum), ("maximum", maximum)] {
            if schema.get(keyword).is_none() {
                schema.insert(keyword.to_owned(), bound.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::NoArguments;
    use crate::prelude::*;

    /// A search.
    #[arguments]
    #[serde(rename_all = "camelCase")]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Search {
        /// What to look for.
        query: String,
        /// How many hits to return.
        #[serde(default = "ten")]
        max_hits: u32,
        order: Option<Order>,
        within: Vec<Field>,
        #[schemars(range(min = 1, max = 9))]
        weight: i32,
        ratio: f64,
        level: u8,
    }

    fn ten() -> u32 {
        10
    }

    #[arguments]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code, reason = "only its schema is looked at")]
    enum Order {
        Newest,
        Best,
    }

    #[arguments]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Field {
        name: String,
    }

    #[details]
    struct Hits {
        /// How many there are.
        count: u64,
        next: Option<String>,
    }

    #[test]
    fn an_argument_struct_becomes_a_closed_object() {
        assert_eq!(
            of_arguments::<Search>(),
            json!({
                "description": "A search.",
                "type": "object",
                "additionalProperties": false,
                "required": ["query", "within", "weight", "ratio", "level"],
                "properties": {
                    "query": { "type": "string", "description": "What to look for." },
                    "maxHits": {
                        "type": "integer", "minimum": 0, "maximum": u32::MAX, "default": 10,
                        "description": "How many hits to return.",
                    },
                    "order": { "type": ["string", "null"], "enum": ["newest", "best", null] },
                    "within": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": false,
                            "required": ["name"],
                            "properties": { "name": { "type": "string" } },
                        },
                    },
                    "weight": { "type": "integer", "minimum": 1, "maximum": 9 },
                    "ratio": { "type": "number" },
                    "level": { "type": "integer", "minimum": 0, "maximum": 255 },
                },
            })
        );
    }

    #[test]
    fn details_are_described_as_they_are_written() {
        assert_eq!(
            of_details::<Hits>(),
            json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["count", "next"],
                "properties": {
                    "count": { "type": "integer", "minimum": 0, "description": "How many there are." },
                    "next": { "type": ["string", "null"] },
                },
            })
        );
        let written = serde_json::to_value(Hits { count: 1, next: None }).unwrap();
        assert_eq!(written, json!({ "count": 1, "next": null }));
    }

    #[test]
    fn no_arguments_is_the_empty_object() {
        assert_eq!(
            of_arguments::<NoArguments>(),
            json!({ "type": "object", "properties": {}, "additionalProperties": false })
        );
    }
}
