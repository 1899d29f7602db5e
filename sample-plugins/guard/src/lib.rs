//! A call and the operator's rules enter, a verdict leaves: blocked, rewritten or passed. It never loosens anything, and it
//! compares texts only: what a shell or another program makes of an argument it cannot know.
//!
//! By itself it sees no call, since it has no tools: `grants.hooks` of its entry says whose calls it judges. It runs late
//! (priority -50), so that it judges what other handlers made of the arguments, and before a handler that asks a person.

use airlock_plugin::prelude::*;
use airlock_plugin::serde_json::Map;
use airlock_plugin::serde_json::Value;

mod rule;

use crate::rule::Force;
use crate::rule::Rule;

/// What the operator configures.
#[config]
struct Rules {
    rules: Vec<Rule>,
    force: Vec<Force>,
}

/// Judges the arguments as they would be executed: with what is forced on them.
#[hook(before_tool_call, priority = -50)]
fn judge(attempt: &ToolAttempt) -> Result<ToolVerdict, ToolError> {
    let Rules { rules, force } = config()?;
    let mut params: Map<String, Value> = attempt.parse()?;
    let mut changes = Map::new();
    for (name, value) in
        force.into_iter().filter(|force| force.is_about(&attempt.tool)).flat_map(|force| force.set)
    {
        params.insert(name.clone(), value.clone());
        changes.insert(name, value);
    }
    let params = Value::Object(params);
    if let Some(rule) = rules.iter().find(|rule| rule.matches(&attempt.tool, &params)) {
        return Ok(ToolVerdict::block(&rule.reason));
    }
    // What was there already needs no rewrite; the trail shows the others.
    changes.retain(|name, value| attempt.params().get(name.as_str()) != Some(value));
    if changes.is_empty() {
        return Ok(ToolVerdict::pass());
    }
    Ok(ToolVerdict::rewrite(Value::Object(changes)))
}

plugin!(hooks: [judge]);

#[cfg(test)]
mod tests {
    use airlock_plugin::HookOutcome;
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    fn configure() {
        testing::set_config(json!({
            "rules": [
                { "tool": "exec", "pointer": "/command", "contains": "rm -r", "reason": "nothing is removed here" },
                { "tool": "*", "contains": "/etc/shadow", "reason": "that file is not for agents" },
            ],
            "force": [
                { "tool": "exec", "set": { "timeout": 10, "shell": "sh" } },
                { "tool": "exec", "set": { "timeout": 5 } },
            ],
        }));
    }

    #[track_caller]
    fn check(tool: &str, params: Value, expected: ToolVerdict) {
        configure();
        let outcome = testing::emit::<Plugin, judge>(testing::tool_attempt(tool, params));
        assert_eq!(outcome, Ok(HookOutcome::Tool(expected)));
    }

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn a_call_that_a_rule_matches_is_blocked() {
        check("exec", json!({ "command": "rm -rf /" }), ToolVerdict::block("nothing is removed here"));
        check("read", json!({ "path": "/etc/shadow" }), ToolVerdict::block("that file is not for agents"));
        check("read", json!({ "path": "rm -r" }), ToolVerdict::pass());
    }

    #[test]
    fn what_is_forced_takes_the_place_of_what_was_written() {
        let rewrite = ToolVerdict::rewrite(json!({ "shell": "sh", "timeout": 5 }));
        check("exec", json!({ "command": "ls", "timeout": 900 }), rewrite);
        let rest = ToolVerdict::rewrite(json!({ "shell": "sh" }));
        check("exec", json!({ "command": "ls", "timeout": 5 }), rest);
        check("exec", json!({ "command": "ls", "timeout": 5, "shell": "sh" }), ToolVerdict::pass());
    }

    #[test]
    fn what_is_forced_is_judged_too() {
        testing::set_config(json!({
            "rules": [{ "tool": "exec", "contains": "sudo", "reason": "no" }],
            "force": [{ "tool": "exec", "set": { "shell": "sudo sh" } }],
        }));
        let attempt = testing::tool_attempt("exec", json!({ "command": "ls" }));
        assert_eq!(judge(&attempt), Ok(ToolVerdict::block("no")));
    }

    #[test]
    fn without_rules_everything_passes_and_a_broken_configuration_fails() {
        let attempt = testing::tool_attempt("exec", json!({}));
        testing::set_config(json!({ "rules": [], "force": [] }));
        assert_eq!(judge(&attempt), Ok(ToolVerdict::pass()));
        testing::set_config(json!({ "rules": [{ "tool": "exec" }], "force": [] }));
        assert!(testing::emit::<Plugin, judge>(attempt).unwrap_err().contains("missing field `contains`"));
    }
}
