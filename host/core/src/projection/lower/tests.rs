//! Lowering by example: what becomes of the places where a wire schema could say less, more or something else.

use serde_json::{Value, json};

use super::{Lowered, Unfit, lower};
use crate::id::ToolName;
use crate::projection::provider::Provider;
use crate::projection::report::Change;

fn lowered(provider: Provider, contract: &Value) -> Result<Lowered, Box<Unfit>> {
    lower(&ToolName::canonicalise("a_tool").unwrap(), contract, provider.rules())
}

/// The wire schema of the one property `a`, and the changes.
#[track_caller]
fn a(provider: Provider, schema: &Value) -> (Value, Vec<Change>) {
    let contract = json!({ "type": "object", "properties": { "a": schema }, "required": ["a"] });
    let lowered = lowered(provider, &contract).unwrap();
    (lowered.schema["properties"]["a"].clone(), changes(&lowered))
}

fn changes(lowered: &Lowered) -> Vec<Change> {
    lowered.rows.iter().map(|row| row.change).collect()
}

#[test]
fn a_client_of_mcp_gets_what_the_author_wrote() {
    let contract = json!({
        "type": "object", "$id": "x", "$defs": { "b": { "$anchor": "here", "enum": [] } },
        "properties": { "a": { "$ref": "#here", "unevaluatedItems": false }, "n": { "const": 9007199254740993u64 } },
        "oneOf": [true],
    });
    let lowered = lowered(Provider::Mcp, &contract).unwrap();
    assert_eq!(lowered.schema, contract);
    assert!(lowered.rows.is_empty());
}

#[test]
fn a_closed_object_opens_for_the_patterns_that_cannot_be_said() {
    let contract = json!({ "patternProperties": { "^x": { "type": "string" }, "^y": { "type": "integer" } }, "additionalProperties": false });
    let (wire, _) = a(Provider::Gemini, &contract);
    assert_eq!(
        wire["additionalProperties"],
        json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] })
    );
    let contract =
        json!({ "type": "object", "patternProperties": { "^x": {} }, "additionalProperties": false });
    assert_eq!(lowered(Provider::OpenAi, &contract).unwrap().schema["additionalProperties"], json!({}));
}

#[test]
fn what_takes_more_is_never_negated() {
    // Anthropic's enumerations have no lists, so that `not` would refuse everything.
    let (wire, changes) = a(Provider::Anthropic, &json!({ "not": { "enum": [[1]] } }));
    assert_eq!(wire.get("not"), None);
    assert_eq!(changes, [Change::Described]);
    let (wire, changes) = a(Provider::Anthropic, &json!({ "not": { "enum": [1] } }));
    assert_eq!(wire, json!({ "not": { "enum": [1] } }));
    assert_eq!(changes, []);
    let (wire, changes) =
        a(Provider::Anthropic, &json!({ "oneOf": [{ "const": [1] }, { "type": "array" }] }));
    assert_eq!(wire["anyOf"][1], json!({ "type": "array" }));
    assert_eq!(changes, [Change::OneOfAsAnyOf, Change::Described]);
    let (wire, _) =
        a(Provider::Anthropic, &json!({ "if": { "const": [1] }, "then": { "minItems": 2 }, "else": false }));
    assert!(["if", "then", "else"].iter().all(|keyword| wire.get(keyword).is_none()), "{wire}");
    let (wire, _) =
        a(Provider::Anthropic, &json!({ "contains": { "const": [1] }, "minContains": 1, "maxContains": 1 }));
    assert_eq!(wire["minContains"], 1);
    assert_eq!(wire.get("maxContains"), None);
}

#[test]
fn a_definition_that_takes_more_is_not_referred_to_by_a_negation() {
    let with = |values: Value| {
        json!({
            "type": "object", "properties": { "a": { "not": { "$ref": "#/$defs/d" } } },
            "$defs": { "d": { "enum": values } },
        })
    };
    let exact = lowered(Provider::Anthropic, &with(json!([1]))).unwrap();
    assert_eq!(exact.schema["properties"]["a"]["not"]["$ref"], "#/$defs/d");
    let wider = lowered(Provider::Anthropic, &with(json!([[1]]))).unwrap();
    assert_eq!(wider.schema["properties"]["a"].get("not"), None);
}

#[test]
fn names_are_the_same_wherever_they_are_required() {
    let contract = json!({
        "type": "object",
        "properties": {
            "o": {
                "properties": { "a b": {}, "a_b": {} },
                "anyOf": [{ "required": ["a b"] }, { "required": ["a_b"] }],
            },
        },
    });
    let wire = lowered(Provider::Gemini, &contract).unwrap().schema;
    let o = &wire["properties"]["o"];
    assert_eq!(o["properties"], json!({ "a_b_2": {}, "a_b": {} }));
    assert_eq!(o["anyOf"][0]["required"], json!(["a_b_2"]));
    assert_eq!(o["anyOf"][1]["required"], json!(["a_b"]));
    // Anthropic looks at the top only.
    let wire = lowered(Provider::Anthropic, &contract).unwrap().schema;
    assert_eq!(wire["properties"]["o"]["anyOf"][0]["required"], json!(["a b"]));
    let top = json!({ "type": "object", "properties": { "a b": {} }, "dependentRequired": { "a b": ["c"] } });
    assert_eq!(lowered(Provider::Anthropic, &top).unwrap().schema.get("dependentRequired"), None);
}

#[test]
fn names_are_cut_and_numbered_within_their_length() {
    let long = |end: &str| format!("{}{end}", "é".repeat(70));
    let contract =
        json!({ "type": "object", "properties": { long("1"): {}, long("2"): {}, "": {}, "9": {} } });
    let wire = lowered(Provider::Gemini, &contract).unwrap().schema;
    let names: Vec<&String> = wire["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, [&"_".repeat(64), &format!("{}_2", "_".repeat(62)), "_", "_9"]);
}

#[test]
fn recursion_is_cut_where_references_are_inlined() {
    let contract =
        json!({ "type": "object", "properties": { "kids": { "type": "array", "items": { "$ref": "#" } } } });
    let cut = lowered(Provider::XAi, &contract).unwrap();
    assert!(changes(&cut).contains(&Change::RecursionCut));
    assert!(!cut.schema.to_string().contains("$ref"));
    let kept = lowered(Provider::OpenAi, &contract).unwrap();
    assert_eq!(kept.schema["properties"]["kids"]["items"]["$ref"], "#/$defs/root");
}

/// Each of so many definitions refers to the next one twice.
fn doubling(levels: usize) -> Value {
    let mut definitions: serde_json::Map<String, Value> = (0..levels)
        .map(|level| {
            let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
            (format!("d{level}"), json!({ "properties": { "left": next, "right": next } }))
        })
        .collect();
    definitions.insert(format!("d{levels}"), json!({ "type": "string" }));
    json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": definitions })
}

#[test]
fn references_that_unfold_without_end_are_refused() {
    let reason = |levels| lowered(Provider::XAi, &doubling(levels)).unwrap_err().reason;
    assert_eq!(reason(30), "its references unfold to more than 10000 schemas");
    assert_eq!(reason(11), "its references unfold to more than 131072 bytes");
    assert!(lowered(Provider::XAi, &doubling(8)).is_ok());
    assert!(lowered(Provider::OpenAi, &doubling(30)).is_ok());
}

#[test]
fn strict_functions_say_what_they_must_or_are_none() {
    let (wire, _) = a(Provider::OpenAiStrict, &json!({ "enum": ["x", 1, null] }));
    assert_eq!(wire["type"], json!(["string", "number", "null"]));
    let unfit = |schema: Value| {
        let contract = json!({ "type": "object", "properties": { "a": schema } });
        lowered(Provider::OpenAiStrict, &contract).unwrap_err().reason
    };
    assert_eq!(unfit(json!({ "type": "object" })), "it takes members by any name");
    assert_eq!(unfit(json!({ "const": [1] })), "it has lists or objects as values");
    assert_eq!(unfit(json!({ "type": "array" })), "an array without `items` would fit anything");
    assert_eq!(
        unfit(json!({ "type": "string", "enum": vec!["x".repeat(100); 251] })),
        "its enumeration has more than 15000 characters"
    );
    assert!(
        unfit(json!({ "anyOf": [{ "type": "string", "$dynamicRef": "#x" }] }))
            .contains("could be one, or mean")
    );
}

#[test]
fn a_null_means_absent_unless_the_contract_takes_one() {
    let decoded = |schema: Value| {
        let contract = json!({
            "type": "object", "properties": { "a": schema },
            "$defs": { "text": { "type": "string" }, "maybe": { "anyOf": [{ "$ref": "#/$defs/text" }, { "type": "null" }] } },
        });
        lowered(Provider::OpenAiStrict, &contract).unwrap().decoder.decode(json!({ "a": null }))
    };
    assert_eq!(decoded(json!({ "$ref": "#/$defs/text" })), json!({}));
    assert_eq!(decoded(json!({ "$ref": "#/$defs/maybe" })), json!({ "a": null }));
    assert_eq!(decoded(json!({ "type": ["string", "null"], "not": { "type": "null" } })), json!({}));
    assert_eq!(decoded(json!({ "type": "string" })), json!({}));
    assert_eq!(decoded(json!({ "enum": ["x", null] })), json!({ "a": null }));
}

#[test]
fn more_than_is_at_least_of_integers() {
    let schema =
        json!({ "type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": i64::MIN, "multipleOf": 5 });
    let (wire, changes) = a(Provider::Gemini, &schema);
    assert_eq!(wire["minimum"], 1);
    assert_eq!(wire.get("maximum"), None, "there is no integer below the least");
    assert_eq!(changes, [Change::BoundMoved, Change::Described, Change::Described]);
    let (wire, _) = a(Provider::Gemini, &json!({ "type": "number", "exclusiveMinimum": 0 }));
    assert_eq!(wire, json!({ "type": "number", "description": "(more than 0)" }));
}

#[test]
fn a_null_among_values_stands_apart_where_values_are_texts_and_numbers() {
    let (wire, changes) = a(Provider::Gemini, &json!({ "type": ["string", "null"], "enum": ["x", null] }));
    assert_eq!(wire, json!({ "anyOf": [{ "type": "string", "enum": ["x"] }, { "type": "null" }] }));
    assert_eq!(changes, [Change::NullApart]);
}
