//! What each model provider takes as a tool's schema, as data: one rule set a provider, with where each rule comes from.
//!
//! The engine in `lower.rs` knows keywords and no provider; this table knows providers and no engine.

use serde::{Deserialize, Serialize};

/// Whose format a surface is projected into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// OpenAI, functions that are not strict.
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI, strict functions, whose arguments are made to fit the schema.
    #[serde(rename = "openai-strict")]
    OpenAiStrict,
    /// Anthropic's `input_schema`.
    Anthropic,
    /// Google's `parametersJsonSchema`.
    Gemini,
    /// A Model Context Protocol client.
    Mcp,
    /// xAI.
    #[serde(rename = "xai")]
    XAi,
    /// Mistral.
    Mistral,
    /// Amazon Bedrock's Converse.
    Bedrock,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 8] = [
        Self::OpenAi,
        Self::OpenAiStrict,
        Self::Anthropic,
        Self::Gemini,
        Self::Mcp,
        Self::XAi,
        Self::Mistral,
        Self::Bedrock,
    ];

    /// The word for it on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiStrict => "openai-strict",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Mcp => "mcp",
            Self::XAi => "xai",
            Self::Mistral => "mistral",
            Self::Bedrock => "bedrock",
        }
    }

    pub(super) fn rules(self) -> &'static Rules {
        match self {
            Self::OpenAi => &OPENAI,
            Self::OpenAiStrict => &OPENAI_STRICT,
            Self::Anthropic => &ANTHROPIC,
            Self::Gemini => &GEMINI,
            Self::Mcp => &MCP,
            Self::XAi => &XAI,
            Self::Mistral => &MISTRAL,
            Self::Bedrock => &BEDROCK,
        }
    }
}

/// Most tools of one request, where a number is known: OpenAI's API description ("max of 128 functions"), errors of Gemini's API,
/// and xAI's guide.
pub(super) fn max_tools(provider: Provider) -> Option<usize> {
    match provider {
        Provider::OpenAi | Provider::OpenAiStrict => Some(128),
        Provider::Gemini => Some(512),
        Provider::XAi => Some(200),
        Provider::Anthropic | Provider::Mcp | Provider::Mistral | Provider::Bedrock => None,
    }
}

/// Longest description of a tool, in characters, where more was refused: OpenAI's API did so in 2024 and 2025.
pub(super) fn max_description_chars(provider: Provider) -> Option<usize> {
    matches!(provider, Provider::OpenAi | Provider::OpenAiStrict).then_some(1_024)
}

/// What a provider takes.
#[derive(Debug)]
pub(super) struct Rules {
    /// Keywords that are kept.
    pub(super) keywords: Keywords,
    /// Keywords that may stand at the root, if not all.
    pub(super) root: Option<&'static [&'static str]>,
    /// Values of `format` that are kept, if not all.
    pub(super) formats: Option<&'static [&'static str]>,
    pub(super) references: References,
    /// Property names that are kept as they are.
    pub(super) keys: Keys,
    pub(super) enums: Enums,
    pub(super) objects: Objects,
    /// Whether `true` and `false` stand for schemas.
    pub(super) takes_booleans: bool,
    /// Whether a list must say what is in it.
    pub(super) needs_items: bool,
    /// Deepest nesting, in levels of schemas.
    pub(super) max_depth: usize,
    /// Most properties of one tool, all objects together.
    pub(super) max_properties: usize,
    /// Most values of all enumerations of one tool.
    pub(super) max_enum_values: usize,
}

impl Rules {
    /// Whether a contract schema is a wire schema as it is.
    pub(super) fn takes_all(&self) -> bool {
        matches!(self.keywords, Keywords::All) && self.root.is_none()
    }
}

/// Which keywords.
#[derive(Debug)]
pub(super) enum Keywords {
    All,
    AllBut(&'static [&'static str]),
    Only(&'static [&'static str]),
}

impl Keywords {
    pub(super) fn has(&self, keyword: &str) -> bool {
        match self {
            Self::All => true,
            Self::AllBut(refused) => !refused.contains(&keyword),
            Self::Only(kept) => kept.contains(&keyword),
        }
    }
}

/// What becomes of `$ref`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum References {
    /// It stays, through `$defs`; recursion is allowed.
    Kept,
    /// It is replaced by what it names; recursion is cut.
    Inlined,
}

/// How property names may look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Keys {
    Any,
    /// `^[a-zA-Z0-9_.-]{1,64}$`
    Ascii,
    /// `^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`
    Identifier,
}

impl Keys {
    pub(super) fn has(&self, key: &str) -> bool {
        let fits = |extra: &[u8]| {
            (1..=MAX_KEY_CHARS).contains(&key.len())
                && key
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || extra.contains(&byte))
        };
        match self {
            Self::Any => true,
            Self::Ascii => fits(b".-"),
            Self::Identifier => fits(b"") && !key.starts_with(|first: char| first.is_ascii_digit()),
        }
    }
}

/// Longest property name where names are limited.
pub(super) const MAX_KEY_CHARS: usize = 64;

/// Which values an `enum` may have.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Enums {
    Any,
    /// No arrays and no objects.
    Primitives,
    /// Texts and numbers.
    StringsAndNumbers,
}

/// What becomes of objects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Objects {
    AsWritten,
    /// `additionalProperties` is written where it is absent, since the provider takes that for `false`.
    OpenUnlessClosed,
    /// Closed, with every property required, and optional ones nullable.
    Strict,
}

/// Contract schemas end at 64 levels, and what unfolds to more than this is not meant to be read.
const ANY_DEPTH: usize = 96;
const ANY_NUMBER: usize = usize::MAX;

/// What objects at the root are made of.
const PLAIN_ROOT: &[&str] =
    &["type", "properties", "required", "additionalProperties", "description", "title", "$defs"];

/// OpenAI names these in its guide to structured outputs; Anthropic and Bedrock add `uri`.
const OPENAI_FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Live since 2026-08: no union, `enum`, `const` or `not` at the root, even where a function is not strict.
static OPENAI: Rules = Rules {
    keywords: Keywords::All,
    root: Some(PLAIN_ROOT),
    formats: None,
    references: References::Kept,
    keys: Keys::Any,
    enums: Enums::Any,
    objects: Objects::AsWritten,
    takes_booleans: true,
    needs_items: true,
    max_depth: ANY_DEPTH,
    max_properties: ANY_NUMBER,
    max_enum_values: ANY_NUMBER,
};

/// Structured Outputs guide, "Supported schemas": internal references, recursion too; objects closed and all required.
static OPENAI_STRICT: Rules = Rules {
    keywords: Keywords::Only(&[
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "description",
        "title",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
    ]),
    root: Some(PLAIN_ROOT),
    formats: Some(OPENAI_FORMATS),
    references: References::Kept,
    keys: Keys::Any,
    enums: Enums::Any,
    objects: Objects::Strict,
    takes_booleans: false,
    needs_items: true,
    // The guide of 2026 says 10 levels, 5,000 properties and 1,000 values.
    max_depth: 10,
    max_properties: 5_000,
    max_enum_values: 1_000,
};

/// Live 2025-03 to 2026-09: property names, and no union at the root. Other keywords are free where a tool is not strict.
static ANTHROPIC: Rules = Rules {
    keywords: Keywords::All,
    root: Some(&[
        "type",
        "properties",
        "required",
        "additionalProperties",
        "description",
        "title",
        "$defs",
        "not",
        "if",
        "then",
        "else",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentRequired",
    ]),
    formats: None,
    references: References::Kept,
    keys: Keys::Ascii,
    enums: Enums::Primitives,
    objects: Objects::AsWritten,
    takes_booleans: true,
    needs_items: false,
    max_depth: ANY_DEPTH,
    max_properties: ANY_NUMBER,
    max_enum_values: ANY_NUMBER,
};

/// `responseJsonSchema`'s list of fields, taken for that of `parametersJsonSchema`; `oneOf` is read as `anyOf`; names as on
/// Vertex. A `$ref` may have no other keyword beside it and may recur in places only, so references are inlined.
static GEMINI: Rules = Rules {
    keywords: Keywords::Only(&[
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "properties",
        "additionalProperties",
        "required",
    ]),
    root: Some(PLAIN_ROOT),
    formats: Some(&["date-time", "date", "time"]),
    references: References::Inlined,
    keys: Keys::Identifier,
    enums: Enums::StringsAndNumbers,
    objects: Objects::AsWritten,
    takes_booleans: false,
    needs_items: true,
    // The numbers are not published; real tools that were refused were deeper than this.
    max_depth: 16,
    max_properties: ANY_NUMBER,
    max_enum_values: ANY_NUMBER,
};

/// The specification takes any keyword of 2020-12 beside a root of type `object`.
static MCP: Rules = Rules {
    keywords: Keywords::All,
    root: None,
    formats: None,
    references: References::Kept,
    keys: Keys::Any,
    enums: Enums::Any,
    objects: Objects::AsWritten,
    takes_booleans: true,
    needs_items: false,
    max_depth: ANY_DEPTH,
    max_properties: ANY_NUMBER,
    max_enum_values: ANY_NUMBER,
};

/// Structured outputs page: absent `additionalProperties` means `false`; boolean schemas, `minContains` and `maxContains` are
/// errors; references must not be circular.
static XAI: Rules = Rules {
    keywords: Keywords::AllBut(&["minContains", "maxContains", "contains"]),
    root: Some(PLAIN_ROOT),
    formats: None,
    references: References::Inlined,
    keys: Keys::Any,
    enums: Enums::Any,
    objects: Objects::OpenUnlessClosed,
    takes_booleans: false,
    needs_items: false,
    max_depth: ANY_DEPTH,
    max_properties: ANY_NUMBER,
    max_enum_values: ANY_NUMBER,
};

/// Little is published: an object at the root, and what works everywhere else.
static MISTRAL: Rules = Rules {
    keywords: Keywords::AllBut(&["$id", "$anchor", "$dynamicRef", "$dynamicAnchor"]),
    root: Some(PLAIN_ROOT),
    formats: None,
    references: References::Inlined,
    keys: Keys::Any,
    enums: Enums::Primitives,
    objects: Objects::AsWritten,
    takes_booleans: false,
    needs_items: false,
    max_depth: ANY_DEPTH,
    max_properties: ANY_NUMBER,
    max_enum_values: ANY_NUMBER,
};

/// Converse takes what its model takes: Nova 1 only `type`, `properties` and `required` at the root, none of them recursion.
static BEDROCK: Rules = Rules {
    keywords: Keywords::AllBut(&["$id", "$anchor", "$dynamicRef", "$dynamicAnchor"]),
    root: Some(&["type", "properties", "required"]),
    formats: None,
    references: References::Inlined,
    keys: Keys::Ascii,
    enums: Enums::Primitives,
    objects: Objects::AsWritten,
    takes_booleans: false,
    needs_items: false,
    max_depth: ANY_DEPTH,
    max_properties: ANY_NUMBER,
    max_enum_values: ANY_NUMBER,
};
