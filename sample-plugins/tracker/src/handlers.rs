//! Events about the plugin's own tools enter, "no opinion" leaves, and a line in the log. It never blocks or changes a call.
//!
//! Written against the contract's own types: the SDK has no surface for hooks yet.

use airlock_plugin::RunContext;
use airlock_plugin::bindings::airlock::plugin::hook_types::HookEvent;
use airlock_plugin::bindings::airlock::plugin::hook_types::HookName;
use airlock_plugin::bindings::airlock::plugin::hook_types::HookOptions;
use airlock_plugin::bindings::airlock::plugin::hook_types::HookOutcome;
use airlock_plugin::bindings::airlock::plugin::hook_types::ToolOutcome;
use airlock_plugin::bindings::airlock::plugin::hook_types::ToolVerdict;
use airlock_plugin::bindings::airlock::plugin::types::HandlerId;
use airlock_plugin::log;
use airlock_plugin::raw;

/// The numbers by which the host names the handlers, the same in every instance.
const BEFORE: HandlerId = 1;
const AFTER: HandlerId = 2;

pub(crate) struct Handlers;

impl raw::Raw for Handlers {
    fn register() -> Result<(), String> {
        let handlers = [
            (BEFORE, HookName::BeforeToolCall, ["tracker_create"].as_slice()),
            (AFTER, HookName::AfterToolCall, &["tracker_search", "tracker_read", "tracker_create"]),
        ];
        for (handler, hook, tools) in handlers {
            let tools = tools.iter().map(|&tool| tool.to_owned()).collect();
            raw::on(handler, hook, HookOptions { priority: 0, timeout_ms: None, tools })
                .map_err(|refusal| format!("the host refused the handler for {hook:?}: {refusal:?}"))?;
        }
        Ok(())
    }

    fn on_hook(
        handler: HandlerId,
        event: HookEvent,
        _run: Option<RunContext>,
    ) -> Result<HookOutcome, String> {
        match (handler, event) {
            (BEFORE, HookEvent::BeforeToolCall(attempt)) => {
                log::info!("{} is about to be called", attempt.tool);
                Ok(HookOutcome::Tool(ToolVerdict::Pass))
            }
            (AFTER, HookEvent::AfterToolCall(completion)) => {
                let end = match completion.outcome {
                    ToolOutcome::Success(_) => "succeeded".to_owned(),
                    ToolOutcome::Error(problem) | ToolOutcome::Blocked(problem) => problem.kind,
                };
                log::info!("{}: {end}", completion.tool);
                Ok(HookOutcome::None)
            }
            (handler, event) => Err(format!("there is no handler {handler} for {event:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use airlock_plugin::bindings::airlock::plugin::hook_types::ToolAttempt;
    use airlock_plugin::bindings::airlock::plugin::hook_types::ToolCompletion;
    use airlock_plugin::bindings::airlock::plugin::hook_types::ToolProblem;
    use airlock_plugin::raw::Raw;
    use airlock_plugin::testing;

    use super::*;

    fn attempt() -> HookEvent {
        HookEvent::BeforeToolCall(ToolAttempt {
            call_id: "call-1".to_owned(),
            tool: "tracker_create".to_owned(),
            owner: "tracker".to_owned(),
            side_effecting: true,
            params: "{}".to_owned(),
            via: None,
        })
    }

    #[test]
    fn both_hooks_are_registered_for_the_tools_of_the_manifest() {
        let registered = testing::register::<crate::Plugin>().unwrap();
        let hooks: Vec<_> = registered
            .hooks
            .iter()
            .map(|(handler, hook, options)| (*handler, *hook, options.tools.len()))
            .collect();
        assert_eq!(hooks, [(BEFORE, HookName::BeforeToolCall, 1), (AFTER, HookName::AfterToolCall, 3)]);
    }

    #[test]
    fn a_call_passes_and_its_end_is_observed() {
        assert_eq!(Handlers::on_hook(BEFORE, attempt(), None), Ok(HookOutcome::Tool(ToolVerdict::Pass)));
        let completion = HookEvent::AfterToolCall(ToolCompletion {
            call_id: "call-1".to_owned(),
            tool: "tracker_create".to_owned(),
            owner: "tracker".to_owned(),
            params: "{}".to_owned(),
            outcome: ToolOutcome::Blocked(ToolProblem {
                kind: "blocked".to_owned(),
                message: "no".to_owned(),
            }),
            duration_us: 0,
        });
        assert_eq!(Handlers::on_hook(AFTER, completion, None), Ok(HookOutcome::None));
    }

    #[test]
    fn an_event_of_another_hook_is_a_failure() {
        assert!(
            Handlers::on_hook(AFTER, attempt(), None).unwrap_err().starts_with("there is no handler 2 for")
        );
        assert!(Handlers::on_hook(3, HookEvent::HostStart, None).is_err());
    }
}
