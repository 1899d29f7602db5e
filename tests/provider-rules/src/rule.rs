//! The rules as a table: which rule holds for which provider, and where it is written. A new rule is a row here, a function
//! beside its kin, and a row in `examples.rs`.

use std::fmt;

use serde_json::Value;

use crate::walk::Node;
use crate::{budgets, keywords, objects, references, roots, values, wire};

/// The words for providers.
pub const PROVIDERS: [&str; 8] =
    ["openai", "openai-strict", "anthropic", "gemini", "mcp", "xai", "mistral", "bedrock"];

/// One breach of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The name of the tool, or nothing for the list as a whole.
    pub tool: String,
    /// Where in its schema; a JSON pointer.
    pub pointer: String,
    /// Which rule.
    pub rule: &'static str,
    /// Where the rule is written.
    pub source: &'static str,
    /// What is there.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, pointer, rule, source, detail } = self;
        write!(formatter, "{tool} at `{pointer}`: {rule}: {detail} ({source})")
    }
}

/// One tool, read from its wire shape.
pub(crate) struct Subject<'a> {
    /// Whose rules hold: a function that OpenAI is not to enforce is under `openai`, whatever its neighbours are.
    pub(crate) rules: &'static str,
    pub(crate) name: &'a str,
    pub(crate) description: Option<&'a str>,
    pub(crate) schema: &'a Value,
    pub(crate) nodes: Vec<Node<'a>>,
}

/// Where a rule says what is wrong: a pointer and a sentence.
pub(crate) type Say<'a> = &'a mut dyn FnMut(&str, String);

pub(crate) struct Rule {
    pub(crate) word: &'static str,
    pub(crate) source: &'static str,
    pub(crate) providers: &'static [&'static str],
    pub(crate) check: fn(&Subject<'_>, Say<'_>),
}

const ALL: &[&str] = &PROVIDERS;
const OPENAI: &[&str] = &["openai", "openai-strict"];
const STRICT: &[&str] = &["openai-strict"];
const GEMINI: &[&str] = &["gemini"];
const XAI: &[&str] = &["xai"];

const STRICT_GUIDE: &str = "OpenAI, Structured Outputs guide, supported schemas";
const GEMINI_FIELDS: &str = "Gemini API, GenerationConfig.responseJsonSchema, list of fields";
const XAI_GUIDE: &str = "xAI, Structured Outputs guide, JSON Schema support";

pub(crate) const RULES: &[Rule] = &[
    Rule {
        word: "name",
        source: "each provider's reference of a function's name",
        providers: ALL,
        check: wire::name,
    },
    Rule {
        word: "description-empty",
        source: "Bedrock API_runtime_ToolSpecification, minimum length 1; an empty one says nothing anywhere",
        providers: ALL,
        check: wire::description,
    },
    Rule {
        word: "valid-2020-12",
        source: "Anthropic's error `must match JSON Schema draft 2020-12`; MCP 2025-11-25 tools; others by their guides",
        providers: ALL,
        check: roots::valid,
    },
    Rule {
        word: "root-object",
        source: "every provider's reference of a function's parameters",
        providers: ALL,
        check: roots::object,
    },
    Rule {
        word: "root-union",
        source: "OpenAI's error for functions (langchainjs#9804), Anthropic's (claude-code#44788), xAI by gateways' rewrites",
        providers: &["openai", "openai-strict", "anthropic", "gemini", "xai"],
        check: roots::union,
    },
    Rule {
        word: "root-value",
        source: "OpenAI's error for functions: no enum, const or not at the top level",
        providers: OPENAI,
        check: roots::value,
    },
    Rule {
        word: "property-name-top",
        source: "Anthropic's error: property keys match `^[a-zA-Z0-9_.-]{1,64}$` (claude-code#79418)",
        providers: &["anthropic"],
        check: objects::anthropic_names,
    },
    Rule {
        word: "property-name",
        source: "Vertex AI FunctionDeclaration: letter or underscore, then letters, digits, underscores, at most 64",
        providers: GEMINI,
        check: objects::gemini_names,
    },
    Rule { word: "keyword-strict", source: STRICT_GUIDE, providers: STRICT, check: keywords::strict },
    Rule { word: "keyword-gemini", source: GEMINI_FIELDS, providers: GEMINI, check: keywords::gemini },
    Rule { word: "keyword-refused", source: XAI_GUIDE, providers: XAI, check: keywords::xai },
    Rule {
        word: "items-list",
        source: "xAI's guide, and no 2020-12 schema: `items` is one schema",
        providers: ALL,
        check: keywords::items_list,
    },
    Rule {
        word: "items-missing",
        source: "OpenAI's error `array schema missing items` (streamnative-mcp-server#26); Gemini's `items: missing field`",
        providers: &["openai", "openai-strict", "gemini"],
        check: keywords::items_missing,
    },
    Rule {
        word: "type-missing",
        source: "OpenAI's error `schema must have a 'type' key`",
        providers: STRICT,
        check: keywords::type_missing,
    },
    Rule {
        word: "boolean-schema",
        source: "xAI's guide: 400 for boolean property schemas; the fields of OpenAI strict and Gemini take schemas",
        providers: &["openai-strict", "gemini", "xai"],
        check: keywords::boolean,
    },
    Rule { word: "closed", source: STRICT_GUIDE, providers: STRICT, check: objects::closed },
    Rule { word: "all-required", source: STRICT_GUIDE, providers: STRICT, check: objects::all_required },
    Rule {
        word: "required-unknown",
        source: "Gemini's error `required[0]: property is not defined`; OpenAI strict's `Extra required key`",
        providers: &["openai-strict", "gemini"],
        check: objects::required_unknown,
    },
    Rule {
        word: "additional-written",
        source: XAI_GUIDE,
        providers: XAI,
        check: objects::additional_written,
    },
    Rule { word: "depth", source: STRICT_GUIDE, providers: STRICT, check: budgets::depth },
    Rule { word: "properties-total", source: STRICT_GUIDE, providers: STRICT, check: budgets::properties },
    Rule { word: "enum-total", source: STRICT_GUIDE, providers: STRICT, check: budgets::enum_values },
    Rule { word: "enum-chars", source: STRICT_GUIDE, providers: STRICT, check: budgets::enum_chars },
    Rule { word: "chars-total", source: STRICT_GUIDE, providers: STRICT, check: budgets::chars },
    Rule {
        word: "reference-outside",
        source: "MCP 2025-11-25: network references are not fetched; every other guide: internal only",
        providers: ALL,
        check: references::outside,
    },
    Rule {
        word: "reference-unresolved",
        source: "JSON Schema 2020-12 core, 8.2.3",
        providers: ALL,
        check: references::unresolved,
    },
    Rule {
        word: "recursion",
        source: "xAI's guide: non-circular only; Bedrock, structured outputs: no recursion",
        providers: &["xai", "bedrock"],
        check: references::recursion,
    },
    Rule {
        word: "recursion-required",
        source: GEMINI_FIELDS,
        providers: GEMINI,
        check: references::required_recursion,
    },
    Rule {
        word: "reference-siblings-gemini",
        source: GEMINI_FIELDS,
        providers: GEMINI,
        check: references::gemini,
    },
    Rule {
        word: "reference-siblings",
        source: "OpenAI's error `$ref cannot have keywords` (hindsight#3944)",
        providers: STRICT,
        check: references::alone,
    },
    Rule {
        word: "enum-empty",
        source: "xAI's guide: 400 for an empty enum; nothing fits one anywhere",
        providers: &["openai", "openai-strict", "anthropic", "gemini", "xai", "bedrock"],
        check: values::enum_empty,
    },
    Rule {
        word: "enum-primitive",
        source: "Anthropic and Bedrock, structured outputs: no complex types in enums",
        providers: &["anthropic", "bedrock"],
        check: values::enum_primitive,
    },
    Rule { word: "enum-kind", source: GEMINI_FIELDS, providers: GEMINI, check: values::enum_gemini },
    Rule {
        word: "union-empty",
        source: "xAI's guide: 400 for an empty anyOf; JSON Schema 2020-12 core, 10.2.1",
        providers: ALL,
        check: values::union_empty,
    },
    Rule { word: "format-strict", source: STRICT_GUIDE, providers: STRICT, check: values::format_strict },
    Rule {
        word: "format-gemini",
        source: "Gemini API, structured output: date-time, date and time for strings",
        providers: GEMINI,
        check: values::format_gemini,
    },
];
