//! A turn's prompt enters; if its run is a heartbeat, context and a narrower list of tools leave, else no opinion. It never
//! reads the prompt, and cannot add a tool: the host intersects.
//!
//! It does nothing until `grants.hooks` of its entry names `before-prompt-build`.

use airlock_plugin::Trigger;
use airlock_plugin::prelude::*;

/// What the operator configures.
#[config]
struct Heartbeat {
    context: String,
    /// In the entry language of policy.
    tools: Vec<String>,
}

/// Tells a heartbeat turn what it is, and leaves it the configured tools.
#[hook(before_prompt_build)]
fn narrow(_turn: &PromptBuild, run: &RunContext) -> Result<Option<PromptChanges>, ToolError> {
    if run.trigger != Trigger::Heartbeat {
        return Ok(None);
    }
    let Heartbeat { context, tools } = config()?;
    Ok(Some(PromptChanges::none().prepending(context).allowing(tools)))
}

plugin!(hooks: [narrow]);

#[cfg(test)]
mod tests {
    use airlock_plugin::HookOutcome;
    use airlock_plugin::serde_json;
    use airlock_plugin::serde_json::Value;
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    const MANIFEST: &str = include_str!("../airlock.plugin.json");

    fn outcome(trigger: Trigger) -> Result<HookOutcome, String> {
        let turn = PromptBuild { prompt: "anything due?".to_owned(), tools: vec!["exec".to_owned()] };
        let run = RunContext { trigger, ..testing::run_context() };
        testing::emit_in::<Plugin, narrow>(turn, Some(run))
    }

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(MANIFEST), Ok(()));
    }

    #[test]
    fn only_a_heartbeat_is_changed() {
        testing::set_config(json!({ "context": "Tick.", "tools": ["notes_*"] }));
        let changes = PromptChanges::none().prepending("Tick.").allowing(["notes_*"]);
        assert_eq!(outcome(Trigger::Heartbeat), Ok(HookOutcome::Prompt(changes)));
        for trigger in [Trigger::User, Trigger::Schedule, Trigger::Subagent, Trigger::Api] {
            assert_eq!(outcome(trigger), Ok(HookOutcome::None));
        }
    }

    #[test]
    fn by_default_a_heartbeat_has_no_tools() {
        let manifest: Value = serde_json::from_str(MANIFEST).unwrap();
        let property = |name: &str| manifest["configSchema"]["properties"][name]["default"].clone();
        testing::set_config(json!({ "context": property("context"), "tools": property("tools") }));
        let Ok(HookOutcome::Prompt(changes)) = outcome(Trigger::Heartbeat) else { panic!() };
        assert_eq!(changes.tools_allow, Some(Vec::new()));
        assert!(changes.prepend_context.unwrap().starts_with("This is a heartbeat"));
    }

    #[test]
    fn a_configuration_that_does_not_fit_fails() {
        testing::set_config(json!({ "context": 7, "tools": [] }));
        assert!(outcome(Trigger::Heartbeat).unwrap_err().contains("at `/context`"));
        assert_eq!(outcome(Trigger::User), Ok(HookOutcome::None));
    }
}
