//! Contract schemas: an author's JSON Schema 2020-12 enters, a compiled validator with bounds leaves.
//!
//! The only module that knows the validation library. Nothing is ever fetched: a `$ref` is local or refused.
//! Patterns run in linear time; one that needs more is refused, never skipped.

mod price;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::text;
use price::{MAX_COLLECTED_EVALUATIONS, MAX_EVALUATIONS, Price};

/// Largest schema text in bytes: the largest schemas of real tools are under 20 KiB.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// Deepest schema and deepest arguments, in levels.
pub(crate) const MAX_DEPTH: usize = 64;

/// How many violations one refusal lists: enough to mend a call in one go.
const MAX_VIOLATIONS: usize = 16;

/// Longest message of one violation, in characters: the library quotes the offending value in it.
const MAX_VIOLATION_CHARS: usize = 300;

/// Longest path of one violation, in characters: it consists of keys that the model wrote.
const MAX_PATH_CHARS: usize = 200;

/// How many patterns a schema may have: real ones have a handful, and each may take a megabyte and ten milliseconds.
const MAX_PATTERNS: usize = 64;

/// How large a compiled pattern may be, in bytes. `a{1000}{1000}` would take gigabytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Why a schema is refused, as the end of a sentence that begins with "the … schema".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaProblem(String);

/// Longest text about a schema, in characters: what an author wrote is quoted in it.
const MAX_PROBLEM_CHARS: usize = 500;

impl SchemaProblem {
    fn new(problem: impl AsRef<str>) -> Self {
        Self(text::single_line(&text::shorten(problem.as_ref(), MAX_PROBLEM_CHARS)).into_owned())
    }
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One way in which a value breaks its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// RFC 6901 pointer into the value; empty for the value itself.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl Violation {
    fn new(error: &jsonschema::ValidationError<'_>) -> Self {
        let path = error.instance_path().to_string();
        Self {
            path: text::single_line(&text::shorten(&path, MAX_PATH_CHARS)).into_owned(),
            message: explain(error),
        }
    }
}

/// A compiled schema, cheap to clone.
#[derive(Clone)]
pub struct ContractSchema {
    source: Arc<Value>,
    validator: Arc<jsonschema::Validator>,
    price: Arc<Price>,
}

impl fmt::Debug for ContractSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ContractSchema({})", self.source)
    }
}

impl ContractSchema {
    /// Compiles the schema of a tool's arguments, which are always an object.
    ///
    /// # Errors
    /// If it is not JSON, too large, too deep, refers outside itself, admits no object, or does not compile.
    pub fn for_arguments(source: &str) -> Result<Self, SchemaProblem> {
        let source = match parse(source)? {
            Value::Bool(true) => object_schema(Map::new()),
            Value::Object(members) => match members.get("type") {
                None => object_schema(members),
                Some(Value::String(kind)) if kind == "object" => Value::Object(members),
                Some(other) => {
                    return Err(SchemaProblem::new(format!(
                        "has the root type {other}; arguments are always an object, so use \"object\""
                    )));
                }
            },
            other => return Err(SchemaProblem::new(format!("is {}; write a JSON object", kind_of(&other)))),
        };
        Self::compile(source)
    }

    /// Compiles the schema of a result's details, which may be any value.
    ///
    /// # Errors
    /// As [`Self::for_arguments`], without the condition on the root.
    pub fn for_details(source: &str) -> Result<Self, SchemaProblem> {
        match parse(source)? {
            source @ (Value::Object(_) | Value::Bool(_)) => Self::compile(source),
            other => Err(SchemaProblem::new(format!("is {}; write a JSON object", kind_of(&other)))),
        }
    }

    fn compile(mut source: Value) -> Result<Self, SchemaProblem> {
        if deeper_than(&source, MAX_DEPTH) {
            return Err(SchemaProblem::new(format!("is nested deeper than {MAX_DEPTH} levels; flatten it")));
        }
        if let Some((pointer, reference)) = external_reference(&source) {
            return Err(SchemaProblem::new(format!(
                "refers to `{}` at `{pointer}`; only references inside the schema (`#…`) are allowed",
                text::single_line(&text::shorten(&reference, 120))
            )));
        }
        // A contract schema is 2020-12 whatever it calls itself; the validator would otherwise switch its dialect.
        if let Value::Object(members) = &mut source {
            members.shift_remove("$schema");
        }
        if names_a_dialect(&source) {
            return Err(SchemaProblem::new(
                "changes its dialect with a `$schema` below its root; remove that",
            ));
        }
        let patterns = patterns(&source);
        if patterns > MAX_PATTERNS {
            return Err(SchemaProblem::new(format!(
                "has {patterns} patterns, the limit is {MAX_PATTERNS}; use fewer"
            )));
        }
        let price = Price::of(&source).map_err(SchemaProblem::new)?;
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .offline()
            .should_validate_formats(false)
            .with_pattern_options(
                jsonschema::PatternOptions::regex()
                    .size_limit(MAX_PATTERN_BYTES)
                    .dfa_size_limit(MAX_PATTERN_BYTES),
            )
            .build(&source)
            .map_err(|error| {
                let at = error.schema_path().to_string();
                let cause = text::single_line(&error.to_string()).into_owned();
                let cause = text::shorten(&cause, MAX_VIOLATION_CHARS);
                let place =
                    if at.is_empty() { String::new() } else { format!(" at `{}`", text::shorten(&at, 120)) };
                SchemaProblem::new(format!("does not compile{place}: {cause}"))
            })?;
        Ok(Self { source: Arc::new(source), validator: Arc::new(validator), price: Arc::new(price) })
    }

    /// The schema as its author wrote it, with an object root made explicit.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Every violation (the first 16), those of a single field before those of the whole; none means that the value fits.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        let evaluations = self.price.of_checking(value);
        if evaluations > MAX_EVALUATIONS {
            let message = format!(
                "checking this takes more than {MAX_EVALUATIONS} evaluations of its schema; send less"
            );
            return vec![Violation { path: String::new(), message }];
        }
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        if evaluations > MAX_COLLECTED_EVALUATIONS {
            return self.validator.validate(value).err().iter().map(Violation::new).collect();
        }
        let errors = self.validator.iter_errors(value).take(MAX_VIOLATIONS);
        let mut violations: Vec<Violation> = errors.map(|error| Violation::new(&error)).collect();
        violations.sort_by_key(|violation| violation.path.is_empty());
        violations
    }
}

/// The library's message, and for a text that holds the JSON of a list or object, the slip that models make.
fn explain(error: &jsonschema::ValidationError<'_>) -> String {
    let message = text::shorten(&text::single_line(&error.to_string()), MAX_VIOLATION_CHARS).into_owned();
    if let (jsonschema::error::ValidationErrorKind::Type { .. }, Value::String(written)) =
        (error.kind(), error.instance().as_ref())
        && matches!(serde_json::from_str(written), Ok(Value::Array(_) | Value::Object(_)))
    {
        return format!("{message}; the text holds JSON: send the value itself, not a string of it");
    }
    message
}

fn parse(source: &str) -> Result<Value, SchemaProblem> {
    if source.len() > MAX_SCHEMA_BYTES {
        return Err(SchemaProblem::new(format!(
            "has {} bytes, the limit is {MAX_SCHEMA_BYTES}; make it smaller",
            source.len()
        )));
    }
    serde_json::from_str(source).map_err(|error| SchemaProblem::new(format!("is not JSON: {error}")))
}

fn object_schema(mut members: Map<String, Value>) -> Value {
    members.insert("type".to_owned(), "object".into());
    Value::Object(members)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Whether a value has more than `levels` levels of lists and objects.
pub(crate) fn deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => true,
        Value::Array(items) => items.iter().any(|item| deeper_than(item, levels - 1)),
        Value::Object(members) => members.values().any(|member| deeper_than(member, levels - 1)),
        _ => false,
    }
}

/// How many patterns a schema has at most; data that only looks like one counts too.
fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => members
            .iter()
            .map(|(keyword, value)| {
                let here = match (keyword.as_str(), value) {
                    ("pattern", Value::String(_)) => 1,
                    ("patternProperties", Value::Object(named)) => named.len(),
                    _ => 0,
                };
                here + patterns(value)
            })
            .sum(),
        Value::Array(items) => items.iter().map(patterns).sum(),
        _ => 0,
    }
}

/// Whether anything in it is called `$schema` and holds a text, which could make the validator change its rules.
fn names_a_dialect(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.get("$schema").is_some_and(Value::is_string) || members.values().any(names_a_dialect)
        }
        Value::Array(items) => items.iter().any(names_a_dialect),
        _ => false,
    }
}

/// The first reference that leaves the schema, and where it stands. Recursion is bounded by the depth check before.
fn external_reference(schema: &Value) -> Option<(String, String)> {
    let Value::Object(members) = schema else { return None };
    for (key, value) in members {
        let below = |pointer: &str, found: (String, String)| {
            (format!("/{}{pointer}{}", key.replace('~', "~0").replace('/', "~1"), found.0), found.1)
        };
        let found = match (key.as_str(), value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                (!reference.starts_with('#')).then(|| (format!("/{key}"), reference.clone()))
            }
            // These hold names or data, not keywords.
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => named.iter().find_map(|(name, schema)| {
                let found = external_reference(schema)?;
                Some(below(&format!("/{}", name.replace('~', "~0").replace('/', "~1")), found))
            }),
            ("const" | "enum" | "default" | "examples", _) => None,
            (_, Value::Array(schemas)) => schemas
                .iter()
                .enumerate()
                .find_map(|(index, schema)| Some(below(&format!("/{index}"), external_reference(schema)?))),
            (_, schema) => external_reference(schema).map(|found| below("", found)),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Longest JSON that is read of a guest, in bytes: the largest details and arguments.
const MAX_JSON_BYTES: usize = 1 << 20;

/// The JSON library's own mark for numbers: in a document it would turn an object into a number.
pub(crate) const RESERVED_KEY: &str = "$serde_json::private";

/// JSON that a guest wrote, as a value; `what` begins the sentence that says what is wrong with it.
///
/// # Errors
/// If it is over 1 MiB, nested deeper than 64 levels, or no JSON.
pub fn untrusted_json(what: &str, source: &str) -> Result<Value, String> {
    if source.len() > MAX_JSON_BYTES {
        return Err(format!("{what} cannot be read: {} bytes, the limit is {MAX_JSON_BYTES}", source.len()));
    }
    if source.contains(RESERVED_KEY) {
        return Err(format!("{what} cannot be read: a reserved key, `{RESERVED_KEY}`"));
    }
    let value: Value =
        serde_json::from_str(source).map_err(|error| format!("{what} cannot be read: not JSON: {error}"))?;
    if deeper_than(&value, MAX_DEPTH) {
        return Err(format!("{what} cannot be read: nested deeper than {MAX_DEPTH} levels"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn refused(source: &str, expected: &str) {
        let problem = ContractSchema::for_arguments(source).expect_err(source).to_string();
        assert!(problem.contains(expected), "{source}: {problem}");
    }

    #[test]
    fn a_tool_without_arguments_has_one_form() {
        for source in ["{}", "true", r#"{"type": "object"}"#] {
            let schema = ContractSchema::for_arguments(source).unwrap();
            assert_eq!(schema.source()["type"], "object");
            assert!(schema.violations(&json!({})).is_empty());
            assert!(!schema.violations(&json!([])).is_empty());
        }
        refused(r#"{"type": "null"}"#, "arguments are always an object");
        refused(r#"{"type": ["object", "null"]}"#, "arguments are always an object");
        refused("[]", "is a list");
        refused("{", "is not JSON");
    }

    #[test]
    fn references_stay_inside() {
        let at = |reference: &str| json!({"properties": {"x": {"items": {"$ref": reference}}}}).to_string();
        refused(
            &at("http://127.0.0.1:9/s.json"),
            "refers to `http://127.0.0.1:9/s.json` at `/properties/x/items/$ref`",
        );
        refused(&at("file:///etc/hostname"), "only references inside the schema");
        refused(&at("other.json"), "only references inside the schema");
        refused(&at("#/$defs/nope"), "which is nothing in it");
        refused(r##"{"$ref": "#"}"##, "without going deeper");
        assert!(
            ContractSchema::for_arguments(
                r##"{"properties": {"$ref": {"type": "string"}}, "$defs": {"a": {}}}"##
            )
            .is_ok()
        );
        assert!(
            ContractSchema::for_arguments(r##"{"properties": {"kids": {"items": {"$ref": "#"}}}}"##).is_ok()
        );
    }

    #[test]
    fn patterns_run_in_linear_time_or_are_refused() {
        let with =
            |pattern: &str| json!({"properties": {"s": {"type": "string", "pattern": pattern}}}).to_string();
        for bad in ["^(?!tmp)", "[", "a{1000}{1000}", "(a)\\1"] {
            refused(&with(bad), "does not compile");
        }
        let many: Map<String, Value> =
            (0..MAX_PATTERNS + 1).map(|number| (format!(".{{9}}{number}"), json!({}))).collect();
        refused(&json!({ "patternProperties": many }).to_string(), "has 65 patterns, the limit is 64");
        let schema = ContractSchema::for_arguments(&with("^(a+)+$")).unwrap();
        assert_eq!(schema.violations(&json!({"s": "a".repeat(40) + "!"})).len(), 1);
    }

    #[test]
    fn a_check_that_would_take_for_ever_is_a_violation_at_once() {
        let levels = 40;
        let mut definitions = Map::new();
        for level in 0..levels {
            let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
            definitions.insert(format!("d{level}"), json!({ "allOf": [next, next] }));
        }
        definitions.insert(format!("d{levels}"), json!({ "type": "string" }));
        let source = json!({ "$ref": "#/$defs/d0", "$defs": definitions }).to_string();
        let schema = ContractSchema::for_details(&source).unwrap();
        assert!(schema.violations(&json!({}))[0].message.contains("more than 1000000 evaluations"));
        let wide = ContractSchema::for_arguments(r#"{"properties": {"a": {"items": {"type": "integer"}}}}"#)
            .unwrap();
        assert!(wide.violations(&json!({ "a": vec![1; 300_000] })).is_empty());
        assert_eq!(
            wide.violations(&json!({ "a": vec!["x"; 300_000] })).len(),
            1,
            "only the first of very many"
        );
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let nested = |levels: usize| "{\"items\":".repeat(levels - 1) + "{}" + &"}".repeat(levels - 1);
        assert!(ContractSchema::for_details(&nested(64)).is_ok());
        assert!(ContractSchema::for_details(&nested(66)).unwrap_err().to_string().contains("deeper than 64"));
        refused(&nested(5_000), "is not JSON: recursion limit");
        refused(&format!("{{\"description\": \"{}\"}}", "x".repeat(MAX_SCHEMA_BYTES)), "the limit is 65536");
    }

    #[test]
    fn what_an_author_wrote_is_quoted_short_and_visible() {
        for source in [
            json!({ "type": "\u{feff}\u{202e}" }),
            json!({ "type": ["x".repeat(9_000)] }),
            json!({ "properties": { "\u{202e}": { "$ref": "http://x" } } }),
            json!({ "properties": { "k".repeat(9_000): { "$ref": "http://x" } } }),
        ] {
            let problem = ContractSchema::for_arguments(&source.to_string()).unwrap_err().to_string();
            assert!(
                problem.chars().count() <= MAX_PROBLEM_CHARS + 200 && !problem.contains(text::is_unsafe),
                "{problem}"
            );
        }
    }

    #[test]
    fn violations_have_paths_and_are_bounded() {
        let schema = ContractSchema::for_arguments(
            r#"{"properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}}}, "required": ["a"]}"#,
        )
        .unwrap();
        let violations = schema.violations(&json!({"b": ["x", 1]}));
        let paths: Vec<_> = violations.iter().map(|violation| violation.path.as_str()).collect();
        assert!(paths.contains(&"/b/1") && paths.contains(&""), "{violations:?}");
        assert!(
            schema.violations(&json!({"a": 1, "b": "[\"x\"]"}))[0].message.contains("send the value itself")
        );
        let many = schema.violations(&json!({"a": 1, "b": vec![1; 1_000]}));
        assert_eq!(many.len(), MAX_VIOLATIONS);
        let long = schema.violations(&json!({"a": "é".repeat(100_000)}));
        assert!(long[0].message.chars().count() <= MAX_VIOLATION_CHARS);
    }
}
