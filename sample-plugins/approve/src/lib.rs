//! A call enters; if the operator named its tool, a question to a person leaves, else no opinion. It never decides and never
//! shows arguments of its own making: the host shows the final ones.
//!
//! By itself it sees no call, since it has no tools: `grants.hooks` of its entry names those that it asks about. It runs last
//! (priority -100), because what it asks about is frozen.

use airlock_plugin::prelude::*;

mod question;

use crate::question::Question;

/// What the operator configures.
#[config]
struct Questions {
    tools: Vec<Question>,
}

/// Asks about a call, if it is to be asked about.
#[hook(before_tool_call, priority = -100)]
fn ask(attempt: &ToolAttempt) -> Result<ToolVerdict, ToolError> {
    let Questions { tools } = config()?;
    let question = tools.iter().find(|question| question.tool == attempt.tool);
    Ok(question.map_or_else(ToolVerdict::pass, |question| ToolVerdict::ask(question.about(attempt))))
}

plugin!(hooks: [ask]);

#[cfg(test)]
mod tests {
    use airlock_plugin::HookOutcome;
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn only_the_tools_that_were_named_are_asked_about() {
        testing::set_config(json!({ "tools": [{ "tool": "exec", "title": "Run it?" }, { "tool": "exec" }] }));
        let outcome = |tool| testing::emit::<Plugin, ask>(testing::tool_attempt(tool, json!({})));
        assert_eq!(outcome("read"), Ok(HookOutcome::Tool(ToolVerdict::Pass)));
        let Ok(HookOutcome::Tool(ToolVerdict::RequireApproval(asked))) = outcome("exec") else {
            panic!("{:?}", outcome("exec"))
        };
        assert_eq!(asked.request.title, "Run it?");
    }

    #[test]
    fn a_configuration_that_does_not_fit_fails_and_so_blocks() {
        testing::set_config(json!({ "tools": [{ "tool": "exec", "scope": "everything" }] }));
        let problem = testing::emit::<Plugin, ask>(testing::tool_attempt("exec", json!({}))).unwrap_err();
        assert!(problem.contains("at `/tools/0/scope`: unknown variant"), "{problem}");
    }
}
