//! One rule of the operator and a call enter, whether the rule is about it leaves. It never changes the call.

use airlock_plugin::prelude::*;
use airlock_plugin::serde_json::Map;
use airlock_plugin::serde_json::Value;

/// A call that is blocked.
#[config]
pub(crate) struct Rule {
    tool: String,
    /// The empty pointer is all of the arguments.
    #[serde(default)]
    pointer: String,
    contains: String,
    pub(crate) reason: String,
}

/// Arguments that are set.
#[config]
pub(crate) struct Force {
    tool: String,
    pub(crate) set: Map<String, Value>,
}

impl Rule {
    pub(crate) fn matches(&self, tool: &str, params: &Value) -> bool {
        is_about(&self.tool, tool)
            && params.pointer(&self.pointer).is_some_and(|value| holds(value, &self.contains))
    }
}

impl Force {
    pub(crate) fn is_about(&self, tool: &str) -> bool {
        is_about(&self.tool, tool)
    }
}

fn is_about(named: &str, tool: &str) -> bool {
    named == "*" || named == tool
}

/// Whether a text, a number or a name in the value, at any depth, contains `text`.
fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.contains(text),
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(members) => {
            members.iter().any(|(name, member)| name.contains(text) || holds(member, text))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string().contains(text),
    }
}

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pointer: &str, contains: &str, params: &Value, expected: bool) {
        let (tool, reason) = ("*".to_owned(), String::new());
        let rule = Rule { tool, pointer: pointer.to_owned(), contains: contains.to_owned(), reason };
        assert_eq!(rule.matches("exec", params), expected);
    }

    #[test]
    fn a_text_is_looked_for_where_the_pointer_leads() {
        check("/command", "rm", &json!({ "command": "rm x", "other": 1 }), true);
        check("/command", "rm", &json!({ "command": "ls", "other": "rm" }), false);
        check("/command", "rm", &json!({ "command": ["env", "rm"] }), true);
        check("/command/1", "rm", &json!({ "command": ["rm", "env"] }), false);
        check("/a~1b", "x", &json!({ "a/b": "x" }), true);
        check("/absent", "", &json!({ "command": "rm" }), false);
    }

    #[test]
    fn without_a_pointer_it_is_looked_for_everywhere() {
        check("", "rm", &json!({ "a": [{ "b": "rm" }] }), true);
        check("", "rm", &json!({ "a": [{ "rm": 1 }] }), true);
        check("", "4711", &json!({ "a": 47_110 }), true);
        check("", "rm", &json!({ "a": "RM" }), false);
    }

    #[test]
    fn a_rule_is_about_one_tool_or_all() {
        assert!(is_about("exec", "exec") && is_about("*", "exec"));
        assert!(!is_about("exec", "exec2") && !is_about("ex*", "exec"));
    }
}
