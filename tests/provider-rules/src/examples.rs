//! Every rule with a schema that keeps it and one that breaks it: the first must be without any violation at all, the second
//! must break that rule and no other.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::check;
use crate::rule::{PROVIDERS, RULES};

/// A tool in a provider's wire shape.
fn tool(provider: &str, name: &str, description: &str, schema: &Value) -> Value {
    match provider {
        "openai" | "openai-strict" => json!({
            "type": "function", "name": name, "description": description, "parameters": schema,
            "strict": provider == "openai-strict",
        }),
        "anthropic" => json!({ "name": name, "description": description, "input_schema": schema }),
        "gemini" => json!({ "name": name, "description": description, "parametersJsonSchema": schema }),
        "mcp" => json!({ "name": name, "description": description, "inputSchema": schema }),
        "bedrock" => json!({
            "toolSpec": { "name": name, "description": description, "inputSchema": { "json": schema } },
        }),
        _ => json!({
            "type": "function",
            "function": { "name": name, "description": description, "parameters": schema },
        }),
    }
}

fn broken(provider: &str, schema: &Value) -> BTreeSet<&'static str> {
    let list = json!([tool(provider, "good_name", "What it does.", schema)]);
    check(provider, &list).into_iter().map(|violation| violation.rule).collect()
}

/// An object that every provider takes, with these properties, all required.
fn object(properties: &Value) -> Value {
    let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

/// The same with something added or replaced at its top.
fn with(mut schema: Value, keyword: &str, value: Value) -> Value {
    schema.as_object_mut().unwrap().insert(keyword.to_owned(), value);
    schema
}

fn without(mut schema: Value, keyword: &str) -> Value {
    schema.as_object_mut().unwrap().remove(keyword);
    schema
}

fn a(schema: Value) -> Value {
    object(&Value::Object([("a".to_owned(), schema)].into_iter().collect()))
}

/// Objects or lists in each other.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({ "type": "string" }), |inner, _| a(inner))
}

fn wide(count: usize, name: impl Fn(usize) -> String) -> Value {
    object(
        &(0..count)
            .map(|number| (name(number), json!({ "type": "string" })))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    )
}

fn words(count: usize, chars: usize) -> Value {
    (0..count).map(|number| json!(format!("{number:0chars$}"))).collect::<Vec<_>>().into()
}

/// The rule, a provider, a schema that keeps it, one that breaks it.
fn table() -> Vec<(&'static str, &'static str, Value, Value)> {
    let text = || json!({ "type": "string" });
    let recursive = |required: Value| {
        json!({
            "type": "object", "additionalProperties": false,
            "properties": { "next": { "$ref": "#/$defs/n" } },
            "$defs": { "n": {
                "type": "object", "properties": { "next": { "$ref": "#/$defs/n" } }, "required": required,
                "additionalProperties": false,
            } },
        })
    };
    let defined = |used: Value| with(a(used), "$defs", json!({ "d": text() }));
    let strings = |values: Value| a(json!({ "type": "string", "enum": values }));
    vec![
        ("valid-2020-12", "anthropic", a(json!({ "type": "string" })), a(json!({ "type": "text" }))),
        ("valid-2020-12", "mcp", a(json!({ "minimum": 1 })), a(json!({ "minimum": "1" }))),
        ("root-object", "mcp", object(&json!({})), json!({ "properties": {} })),
        ("root-object", "bedrock", object(&json!({})), json!({ "type": ["object", "null"] })),
        ("root-union", "anthropic", a(json!({ "anyOf": [text()] })), with(a(text()), "anyOf", json!([{}]))),
        ("root-union", "openai", with(a(text()), "if", json!({})), with(a(text()), "allOf", json!([{}]))),
        ("root-value", "openai", a(json!({ "not": text() })), with(a(text()), "not", json!({}))),
        (
            "property-name-top",
            "anthropic",
            object(&json!({ "a.b": a(json!({ "c d": true })) })),
            wide(1, |_| "a b".into()),
        ),
        ("property-name", "gemini", object(&json!({ "_a1": text() })), a(object(&json!({ "a.b": text() })))),
        (
            "keyword-strict",
            "openai-strict",
            a(json!({ "type": "string", "pattern": "^a" })),
            a(json!({ "type": "string", "default": "a" })),
        ),
        (
            "keyword-gemini",
            "gemini",
            a(json!({ "type": "number", "minimum": 1 })),
            a(json!({ "type": "number", "multipleOf": 2 })),
        ),
        (
            "keyword-refused",
            "xai",
            a(json!({ "type": "array", "minItems": 1 })),
            a(json!({ "type": "array", "contains": {}, "minContains": 2 })),
        ),
        (
            "items-missing",
            "openai",
            a(json!({ "type": "array", "items": {} })),
            a(json!({ "type": "array" })),
        ),
        (
            "items-missing",
            "gemini",
            a(json!({ "type": "array", "prefixItems": [text()] })),
            a(json!({ "type": ["array", "null"] })),
        ),
        ("type-missing", "openai-strict", a(json!({ "anyOf": [text()] })), a(json!({ "const": "a" }))),
        ("boolean-schema", "xai", a(json!({ "type": "array", "items": true })), a(json!(true))),
        (
            "boolean-schema",
            "gemini",
            object(&json!({ "additionalProperties": text() })),
            a(json!({ "type": "array", "items": true })),
        ),
        (
            "closed",
            "openai-strict",
            a(object(&json!({}))),
            a(with(object(&json!({})), "additionalProperties", json!(true))),
        ),
        ("all-required", "openai-strict", a(text()), with(a(text()), "required", json!([]))),
        ("required-unknown", "gemini", a(text()), with(a(text()), "required", json!(["a", "b"]))),
        (
            "additional-written",
            "xai",
            a(with(object(&json!({})), "additionalProperties", json!(true))),
            a(without(object(&json!({})), "additionalProperties")),
        ),
        ("depth", "openai-strict", nested(10), nested(11)),
        (
            "properties-total",
            "openai-strict",
            wide(5_000, |number| format!("p{number}")),
            wide(5_001, |number| format!("p{number}")),
        ),
        ("enum-total", "openai-strict", strings(words(1_000, 8)), strings(words(1_001, 8))),
        ("enum-chars", "openai-strict", strings(words(250, 100)), strings(words(251, 100))),
        (
            "chars-total",
            "openai-strict",
            wide(119, |number| format!("{number:01000}")),
            wide(121, |number| format!("{number:01000}")),
        ),
        ("reference-unresolved", "anthropic", defined(json!({ "$ref": "#/$defs/d" })), json!(null)),
        ("recursion", "xai", defined(json!({ "$ref": "#/$defs/d" })), recursive(json!([]))),
        ("recursion-required", "gemini", recursive(json!([])), recursive(json!(["next"]))),
        (
            "reference-siblings-gemini",
            "gemini",
            defined(json!({ "$ref": "#/$defs/d", "$anchor": "x" })),
            defined(json!({ "$ref": "#/$defs/d", "title": "x" })),
        ),
        (
            "reference-siblings",
            "openai-strict",
            defined(json!({ "$ref": "#/$defs/d" })),
            defined(json!({ "$ref": "#/$defs/d", "description": "x" })),
        ),
        ("enum-empty", "xai", strings(json!(["a"])), strings(json!([]))),
        (
            "enum-primitive",
            "bedrock",
            a(json!({ "enum": ["a", 1, null, true] })),
            a(json!({ "enum": [[1]] })),
        ),
        ("enum-kind", "gemini", a(json!({ "enum": ["a", 1.5] })), a(json!({ "enum": ["a", null] }))),
        (
            "format-strict",
            "openai-strict",
            a(json!({ "type": "string", "format": "uuid" })),
            a(json!({ "type": "string", "format": "uri" })),
        ),
        (
            "format-gemini",
            "gemini",
            a(json!({ "type": "string", "format": "date" })),
            a(json!({ "type": "string", "format": "email" })),
        ),
    ]
}

#[test]
fn every_rule_takes_the_good_and_refuses_the_bad() {
    for (rule, provider, good, bad) in table() {
        assert_eq!(broken(provider, &good), BTreeSet::new(), "{rule} for {provider}: {good}");
        // A reference to nothing breaks more than one rule; it is below.
        if !bad.is_null() {
            assert_eq!(broken(provider, &bad), BTreeSet::from([rule]), "{provider}: {bad}");
        }
    }
}

#[test]
fn what_is_no_schema_at_all_breaks_the_rule_about_that_too() {
    let cases = [
        ("reference-unresolved", "mcp", a(json!({ "$ref": "#/$defs/nope" }))),
        ("reference-outside", "mcp", a(json!({ "$ref": "https://example.com/s.json" }))),
        ("items-list", "xai", a(json!({ "type": "array", "items": [{}] }))),
        ("union-empty", "xai", a(json!({ "anyOf": [] }))),
    ];
    for (rule, provider, bad) in cases {
        assert_eq!(broken(provider, &bad), BTreeSet::from([rule, "valid-2020-12"]), "{bad}");
    }
    let good = with(
        a(json!({ "$ref": "#/properties/b" })),
        "properties",
        json!({ "a": { "$ref": "#/properties/b" }, "b": {} }),
    );
    assert_eq!(broken("mcp", &good), BTreeSet::new());
    assert_eq!(broken("mcp", &a(json!({ "type": "array", "items": {}, "anyOf": [{}] }))), BTreeSet::new());
}

#[test]
fn every_rule_has_an_example() {
    let mut shown: BTreeSet<&str> = table().into_iter().map(|(rule, ..)| rule).collect();
    shown.extend(["name", "description-empty", "reference-outside", "items-list", "union-empty"]);
    let rules: BTreeSet<&str> = RULES.iter().map(|rule| rule.word).collect();
    assert_eq!(rules, shown);
    assert_eq!(rules.len(), RULES.len(), "no two rules have the same word");
}

#[test]
fn names_and_descriptions() {
    let schema = object(&json!({}));
    let broken = |provider: &str, name: &str, description: &str| -> Vec<&'static str> {
        let list = json!([tool(provider, name, description, &schema)]);
        check(provider, &list).into_iter().map(|violation| violation.rule).collect()
    };
    for provider in PROVIDERS {
        assert_eq!(broken(provider, &"n".repeat(64), "x"), Vec::<&str>::new(), "{provider}");
        for bad in ["", "naïve", "a/b", &"n".repeat(129)] {
            assert_eq!(broken(provider, bad, "x"), ["name"], "{provider} {bad}");
        }
        assert_eq!(broken(provider, "n", ""), ["description-empty"]);
    }
    assert_eq!(broken("openai", "mail.send", "x"), ["name"]);
    assert_eq!(broken("mcp", "mail.send", "x"), Vec::<&str>::new());
    assert_eq!(broken("gemini", "1st", "x"), ["name"]);
    assert_eq!(broken("mistral", &"n".repeat(65), "x"), ["name"]);
}

#[test]
fn shapes_of_other_providers_are_refused() {
    let schema = object(&json!({}));
    for provider in PROVIDERS {
        let own = tool(provider, "n", "x", &schema);
        assert_eq!(check(provider, &json!([own])), []);
        for other in PROVIDERS {
            let foreign = tool(other, "n", "x", &schema);
            let is_same = own == foreign || (provider == "openai-strict" && other == "openai");
            let found = check(provider, &json!([foreign]));
            assert_eq!(found.is_empty(), is_same, "{provider} {other}");
        }
        assert_eq!(check(provider, &json!([own, own]))[0].detail, "another tool has the same name");
        assert_eq!(check(provider, &json!({})).len(), 1);
    }
    assert_eq!(check("nobody", &json!([]))[0].rule, "provider");
}

#[test]
fn a_strict_list_may_hold_functions_that_are_not() {
    let lax = json!([tool(
        "openai",
        "n",
        "x",
        &json!({ "type": "object", "properties": { "a": { "oneOf": [{}] } } })
    )]);
    assert_eq!(check("openai-strict", &lax), []);
}

#[test]
fn names_of_properties_are_no_keywords() {
    let names =
        ["$ref", "enum", "items", "properties", "not", "anyOf", "additionalProperties", "default", "format"];
    let named = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "type": "string" })))
        .collect::<serde_json::Map<_, _>>();
    for provider in PROVIDERS {
        // Gemini's names have no `$`.
        let mut named = named.clone();
        if provider == "gemini" || provider == "anthropic" {
            named.remove("$ref");
        }
        assert_eq!(broken(provider, &object(&named.into())), BTreeSet::new(), "{provider}");
    }
}
