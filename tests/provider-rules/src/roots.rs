//! What the top of a schema must be, and that all of it is a schema.

use jsonschema::Draft;
use serde_json::Value;

use crate::rule::{Say, Subject};

/// Valid by the meta-schema, and it compiles, so that its patterns and references make sense too.
pub(crate) fn valid(subject: &Subject<'_>, say: Say<'_>) {
    if let Err(error) = jsonschema::draft202012::meta::validate(subject.schema) {
        say(&error.instance_path().to_string(), error.to_string());
        return;
    }
    let compiled = jsonschema::options().with_draft(Draft::Draft202012).offline().build(subject.schema);
    if let Err(error) = compiled {
        say(&error.instance_path().to_string(), error.to_string());
    }
}

/// `type` is `object`, and nothing else.
pub(crate) fn object(subject: &Subject<'_>, say: Say<'_>) {
    let kind = subject.schema.get("type");
    if kind.and_then(Value::as_str) != Some("object") {
        say("", format!("the type {}", kind.unwrap_or(&Value::Null)));
    }
}

/// No alternatives at the top.
pub(crate) fn union(subject: &Subject<'_>, say: Say<'_>) {
    refused(subject, &["oneOf", "anyOf", "allOf"], say);
}

/// No values at the top.
pub(crate) fn value(subject: &Subject<'_>, say: Say<'_>) {
    refused(subject, &["enum", "const", "not"], say);
}

fn refused(subject: &Subject<'_>, keywords: &[&str], say: Say<'_>) {
    for keyword in keywords {
        if subject.schema.get(keyword).is_some() {
            say(&format!("/{keyword}"), format!("`{keyword}` at the top"));
        }
    }
}
