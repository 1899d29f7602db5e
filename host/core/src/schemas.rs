//! JSON Schemas of the documents that people write, generated from the types that read them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// A document with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// `airlock.plugin.json`.
    Manifest,
    /// `airlock.toml`.
    Config,
    /// The file of `--run`.
    Run,
}

/// The JSON Schema 2020-12 of a kind of document.
pub fn document_schema(kind: DocumentKind) -> serde_json::Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema: Schema = match kind {
        DocumentKind::Manifest => generator.into_root_schema_for::<crate::manifest::File>(),
        DocumentKind::Config => generator.into_root_schema_for::<crate::config::File>(),
        DocumentKind::Run => generator.into_root_schema_for::<crate::run::RunContext>(),
    };
    schema.to_value()
}

/// The schema of a newtype that is written as text, whose parser is stricter than a schema can say.
macro_rules! text_schema {
    ($name:ty, $description:literal) => {
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "description": $description })
            }
        }
    };
}
pub(crate) use text_schema;

text_schema!(crate::id::ToolName, "A tool's canonical name: `^[a-z][a-z0-9_-]{0,63}$`");
text_schema!(crate::id::PluginId, "A plugin's id: `^[a-z][a-z0-9-]{0,63}$`");
text_schema!(
    crate::manifest::Endpoint,
    "`[SCHEME://]HOST[:PORT]`: a host name or address, or `*.` and a name for everything below it; `https` and its port if nothing else is said"
);
text_schema!(
    crate::manifest::HostPattern,
    "A host name or address, or `*.` and a name for everything below it"
);
text_schema!(
    crate::manifest::PackagePath,
    "A relative path inside the package, with forward slashes and without `..`"
);
text_schema!(crate::manifest::World, "The contract's version, such as `airlock:plugin@0.1.0`");
text_schema!(crate::manifest::JsonPointer, "An RFC 6901 pointer, such as `/target/id`");

impl<const MINIMUM: u64, const MAXIMUM: u64> JsonSchema for crate::limits::AtLeast<MINIMUM, MAXIMUM> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("From{MINIMUM}To{MAXIMUM}").into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> Schema {
        let mut schema = schemars::json_schema!({ "type": "integer", "minimum": MINIMUM });
        if MAXIMUM < u64::MAX {
            schema.insert("maximum".to_owned(), MAXIMUM.into());
        }
        schema
    }
}

impl JsonSchema for crate::document::RawJson {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> Schema {
        schemars::json_schema!(true)
    }
}

impl JsonSchema for crate::manifest::HookContract {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HookContract".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> Schema {
        let hook = generator.subschema_for::<crate::hooks::HookName>();
        let tool = generator.subschema_for::<crate::id::ToolName>();
        let limited = schemars::json_schema!({
            "type": "object",
            "properties": { "hook": hook, "tools": { "type": "array", "items": tool, "uniqueItems": true } },
            "required": ["hook"],
            "additionalProperties": false,
        });
        schemars::json_schema!({ "anyOf": [hook, limited] })
    }
}

impl JsonSchema for crate::manifest::Concurrency {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Concurrency".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> Schema {
        let pointer = generator.subschema_for::<crate::manifest::JsonPointer>();
        schemars::json_schema!({ "anyOf": [
            { "enum": ["parallel", "exclusive"] },
            { "type": "object", "properties": { "key": pointer }, "required": ["key"], "additionalProperties": false },
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemas_accept_the_whole_documents_and_refuse_a_slip() {
        let check = |kind, document: &serde_json::Value, slip: &str| {
            let schema =
                crate::schema::ContractSchema::for_details(&document_schema(kind).to_string()).unwrap();
            assert_eq!(schema.violations(document), [], "{kind:?}");
            let mut wrong = document.clone();
            wrong[slip] = true.into();
            assert!(!schema.violations(&wrong).is_empty(), "{kind:?}");
        };
        let manifest = serde_json::from_str(include_str!("manifest/whole.json")).unwrap();
        check(DocumentKind::Manifest, &manifest, "colour");
        let run = serde_json::to_value(crate::RunContext::new("writer").provider("openai", "gpt-5")).unwrap();
        check(DocumentKind::Run, &run, "colour");
        let config = crate::document::Document::from_toml(include_bytes!("config/whole.toml")).unwrap();
        let config = config.read::<crate::document::RawJson>().unwrap().0;
        check(DocumentKind::Config, &config, "colour");
    }
}
