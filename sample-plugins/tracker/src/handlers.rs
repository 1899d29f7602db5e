//! Events about the plugin's own tools enter, "no opinion" leaves, and a line in the log. It never blocks or changes a call.

use airlock_plugin::prelude::*;

#[hook(before_tool_call, tools = ["tracker_create"])]
pub(crate) fn before(attempt: &ToolAttempt) -> ToolVerdict {
    log::info!("{} is about to be called", attempt.tool);
    ToolVerdict::pass()
}

#[hook(after_tool_call, tools = ["tracker_search", "tracker_read", "tracker_create"])]
pub(crate) fn after(completion: &ToolCompletion) {
    log::info!("{}: {}", completion.tool, completion.outcome.kind());
}

#[cfg(test)]
mod tests {
    use airlock_plugin::HookOutcome;
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;
    use crate::Plugin;

    #[test]
    fn a_call_passes_and_its_end_is_observed() {
        let attempt = testing::tool_attempt("tracker_create", json!({ "title": "Mast leans" }));
        assert_eq!(testing::emit::<Plugin, before>(attempt), Ok(HookOutcome::Tool(ToolVerdict::Pass)));
        let problem = ToolProblem { kind: "blocked".to_owned(), message: "no".to_owned() };
        let completion = testing::tool_completion("tracker_create", json!({}), ToolOutcome::Blocked(problem));
        assert_eq!(testing::emit::<Plugin, after>(completion), Ok(HookOutcome::None));
    }
}
