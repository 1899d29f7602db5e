//! A list of tools in a provider's wire shape → what the rules look at; a tool of another shape is a violation, and nothing
//! else is said of it. Names and descriptions are judged here too.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::rule::{PROVIDERS, Say, Subject, Violation};
use crate::walk;

const SOURCE: &str = "the provider's API reference of a tool";

/// The tools in a list.
pub(crate) fn read<'a>(
    provider: &'static str,
    tools: &'a Value,
    violations: &mut Vec<Violation>,
) -> Vec<Subject<'a>> {
    let mut wrong = |tool: &str, pointer: String, detail: &str| {
        violations.push(Violation {
            tool: tool.to_owned(),
            pointer,
            rule: "wire-shape",
            source: SOURCE,
            detail: detail.to_owned(),
        });
    };
    let Some(list) = tools.as_array() else {
        wrong("", String::new(), "not a list");
        return Vec::new();
    };
    // OpenAI's Responses API and the others publish no number that would hold for every account.
    let most = match provider {
        "gemini" => 512,
        "xai" => 200,
        _ => usize::MAX,
    };
    if list.len() > most {
        wrong("", String::new(), "more tools than one request may have");
    }
    let mut names = BTreeSet::new();
    let mut subjects = Vec::new();
    for (index, tool) in list.iter().enumerate() {
        match one(provider, tool) {
            Ok(subject) => {
                if !names.insert(subject.name) {
                    wrong(subject.name, format!("/{index}"), "another tool has the same name");
                }
                subjects.push(subject);
            }
            Err(detail) => wrong("", format!("/{index}"), detail),
        }
    }
    subjects
}

fn one<'a>(provider: &'static str, tool: &'a Value) -> Result<Subject<'a>, &'static str> {
    let tool = tool.as_object().ok_or("not an object")?;
    let is_strict = tool.get("strict") == Some(&Value::Bool(true));
    let (holder, schema) = match provider {
        "openai" | "openai-strict" => {
            only(tool, &["type", "name", "description", "parameters", "strict"])?;
            is_function(tool)?;
            if !tool.get("strict").is_some_and(Value::is_boolean) {
                // Left out, the Responses API would try to make it strict.
                return Err("`strict` must be written");
            }
            if is_strict && provider == "openai" {
                return Err("`strict` must be false");
            }
            (tool, "parameters")
        }
        "anthropic" => {
            only(tool, &["name", "description", "input_schema", "strict", "cache_control", "type"])?;
            (tool, "input_schema")
        }
        "gemini" => {
            only(tool, &["name", "description", "parametersJsonSchema", "responseJsonSchema"])?;
            (tool, "parametersJsonSchema")
        }
        "mcp" => {
            only(
                tool,
                &[
                    "name",
                    "title",
                    "description",
                    "inputSchema",
                    "outputSchema",
                    "annotations",
                    "icons",
                    "_meta",
                ],
            )?;
            (tool, "inputSchema")
        }
        "bedrock" => {
            only(tool, &["toolSpec"])?;
            let inner = tool.get("toolSpec").and_then(Value::as_object).ok_or("no `toolSpec`")?;
            only(inner, &["name", "description", "inputSchema", "strict"])?;
            let holder = inner.get("inputSchema").and_then(Value::as_object).ok_or("no `inputSchema`")?;
            only(holder, &["json"])?;
            return subject(provider, inner, holder.get("json"));
        }
        _ => {
            only(tool, &["type", "function"])?;
            is_function(tool)?;
            let inner = tool.get("function").and_then(Value::as_object).ok_or("no `function`")?;
            only(inner, &["name", "description", "parameters", "strict"])?;
            (inner, "parameters")
        }
    };
    let rules = if provider == "openai-strict" && !is_strict { "openai" } else { provider };
    subject(rules, holder, holder.get(schema))
}

fn subject<'a>(
    rules: &'static str,
    holder: &'a Map<String, Value>,
    schema: Option<&'a Value>,
) -> Result<Subject<'a>, &'static str> {
    debug_assert!(PROVIDERS.contains(&rules));
    let name = holder.get("name").and_then(Value::as_str).ok_or("no `name`")?;
    let description = match holder.get("description") {
        None => None,
        Some(Value::String(text)) => Some(text.as_str()),
        Some(_) => return Err("`description` is no text"),
    };
    let schema = schema.filter(|schema| schema.is_object()).ok_or("no schema where it belongs")?;
    Ok(Subject { rules, name, description, schema, nodes: walk::nodes(schema) })
}

fn only(members: &Map<String, Value>, known: &[&str]) -> Result<(), &'static str> {
    let unknown = members.keys().any(|key| !known.contains(&key.as_str()));
    if unknown { Err("a member that the provider does not know") } else { Ok(()) }
}

fn is_function(tool: &Map<String, Value>) -> Result<(), &'static str> {
    let is = tool.get("type").and_then(Value::as_str) == Some("function");
    if is { Ok(()) } else { Err("`type` must be \"function\"") }
}

/// Which names there may be.
pub(crate) fn name(subject: &Subject<'_>, say: Say<'_>) {
    let name = subject.name;
    let (others, longest): (&[char], usize) = match subject.rules {
        "gemini" => (&['_', '.', ':', '-'], 64),
        "mcp" => (&['_', '.', '-'], 128),
        "openai" | "openai-strict" | "anthropic" => (&['_', '-'], 128),
        _ => (&['_', '-'], 64),
    };
    let fits = |letter: char| letter.is_ascii_alphanumeric() || others.contains(&letter);
    let starts = subject.rules != "gemini"
        || name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if name.is_empty() || name.len() > longest || !name.chars().all(fits) || !starts {
        say("", format!("the name `{name}`"));
    }
}

/// Not an empty text.
pub(crate) fn description(subject: &Subject<'_>, say: Say<'_>) {
    if subject.description == Some("") {
        say("", "the description is empty".to_owned());
    }
    for node in &subject.nodes {
        if node.get("description").is_some_and(|text| text == "") && subject.rules != "mcp" {
            say(&node.pointer, "the description is empty".to_owned());
        }
    }
}
