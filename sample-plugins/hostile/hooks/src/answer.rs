//! A mode that one hook has enters, its answer leaves, honest or not. Every answer is of the hook's own kind.

use airlock_plugin::bindings::airlock::plugin::hook_types::{
    ApprovalAsk, ApprovalRequest, GrantScope, HookEvent, HookOutcome, PersistChange, PromptChanges, Severity,
    ToolVerdict,
};
use airlock_plugin::bindings::airlock::plugin::types::{Content, ToolResult};

use crate::ending::long_text;

/// No tool takes this for its `count`.
const INVALID: &str = r#"{"count":"seven"}"#;
const GARBLED: &str = r#"{"count":"#;
const LIST: &str = r#"[{"count":7}]"#;

/// What the handler answers, if the event's hook has the mode.
pub(crate) fn own(mode: &str, event: &HookEvent) -> Option<Result<HookOutcome, String>> {
    let outcome = match event {
        HookEvent::BeforeToolCall(_) => HookOutcome::Tool(verdict(mode)?),
        HookEvent::ToolResultPersist(_) => HookOutcome::Persist(change(mode)?),
        HookEvent::BeforePromptBuild(_) => HookOutcome::Prompt(prompt(mode)?),
        _ => return None,
    };
    Some(Ok(outcome))
}

fn verdict(mode: &str) -> Option<ToolVerdict> {
    let rewrite = |changes: &str| ToolVerdict::Rewrite(changes.to_owned());
    Some(match mode {
        "block" => ToolVerdict::Block("not today".to_owned()),
        "long-block" => ToolVerdict::Block(long_text()),
        "rewrite" => rewrite(r#"{"count":7}"#),
        "invalid-rewrite" => rewrite(INVALID),
        "garbled-rewrite" => rewrite(GARBLED),
        "list-rewrite" => rewrite(LIST),
        // The arguments themselves are the first level.
        "deep-rewrite" => rewrite(&format!(r#"{{"count":{}1{}}}"#, "[".repeat(64), "]".repeat(64))),
        "huge-rewrite" => rewrite(&format!(r#"{{"before":"{}"}}"#, "A".repeat(1 << 20))),
        "ask" => ask("Call it?", "It does what it says.", None),
        "long-title" => ask(&"T".repeat(81), "It does what it says.", None),
        "long-description" => ask("Call it?", &"D".repeat(513), None),
        "hidden-title" => ask("Call \u{202e}ti\u{e0041}\u{200b}?", "It does what it says.", None),
        "invalid-ask" => ask("Call it?", "It does what it says.", Some(INVALID)),
        _ => return None,
    })
}

fn ask(title: &str, description: &str, rewrite: Option<&str>) -> ToolVerdict {
    let request = ApprovalRequest {
        title: title.to_owned(),
        description: description.to_owned(),
        severity: Severity::Info,
        timeout_ms: None,
        offered: Vec::new(),
        scope: GrantScope::Arguments,
    };
    ToolVerdict::RequireApproval(ApprovalAsk { request, rewrite: rewrite.map(str::to_owned) })
}

fn change(mode: &str) -> Option<PersistChange> {
    let (params, text, details) = match mode {
        "replace" => (r#"{"replaced":true}"#, "replaced", Some(r#"{"replaced":true}"#)),
        "garbled-params" => (GARBLED, "replaced", None),
        "list-params" => (LIST, "replaced", None),
        "garbled-details" => ("{}", "replaced", Some(GARBLED)),
        "huge-text" => {
            let content = vec![Content::Text("A".repeat(2 << 20))];
            let result = ToolResult { content, details: None };
            return Some(PersistChange { params: "{}".to_owned(), result });
        }
        _ => return None,
    };
    let content = vec![Content::Text(text.to_owned())];
    let result = ToolResult { content, details: details.map(str::to_owned) };
    Some(PersistChange { params: params.to_owned(), result })
}

fn prompt(mode: &str) -> Option<PromptChanges> {
    let nothing = PromptChanges { prepend_context: None, append_context: None, tools_allow: None };
    let tools = |entries: &[&str]| {
        let entries = entries.iter().map(|&entry| entry.to_owned()).collect();
        PromptChanges { tools_allow: Some(entries), ..nothing.clone() }
    };
    Some(match mode {
        "context" => PromptChanges { append_context: Some("The tide is high.".to_owned()), ..nothing },
        "huge-context" => PromptChanges { prepend_context: Some(long_text()), ..nothing },
        "no-tools" => tools(&[]),
        "widen" => tools(&["*", "tool_of_nobody"]),
        "garbled-tools" => tools(&["", "Not A Tool\u{200b}", "group:nowhere", "plugin:"]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use airlock_plugin::bindings::airlock::plugin::hook_types::{
        PersistRecord, PromptBuild, ToolAttempt, ToolCompletion, ToolOutcome, ToolProblem,
    };
    use airlock_plugin::bindings::exports::airlock::plugin::guest::Guest;
    use airlock_plugin::serde_json::{self, Value, json};
    use airlock_plugin::testing;

    use crate::Hooks;

    use super::*;

    fn attempt(params: &Value) -> HookEvent {
        HookEvent::BeforeToolCall(ToolAttempt {
            call_id: "call-1".to_owned(),
            tool: "hooked".to_owned(),
            owner: "hooks".to_owned(),
            side_effecting: false,
            params: params.to_string(),
            via: None,
        })
    }

    fn record() -> HookEvent {
        HookEvent::ToolResultPersist(PersistRecord {
            call_id: "call-1".to_owned(),
            tool: "read".to_owned(),
            params: "{}".to_owned(),
            result: ToolResult { content: Vec::new(), details: None },
            is_error: false,
            kind: "completed".to_owned(),
        })
    }

    fn completion() -> HookEvent {
        HookEvent::AfterToolCall(ToolCompletion {
            call_id: "call-1".to_owned(),
            tool: "read".to_owned(),
            owner: "core".to_owned(),
            params: "{}".to_owned(),
            outcome: ToolOutcome::Blocked(ToolProblem {
                kind: "blocked".to_owned(),
                message: "no".to_owned(),
            }),
            duration_us: 0,
        })
    }

    fn prompt_build() -> HookEvent {
        HookEvent::BeforePromptBuild(PromptBuild { prompt: "hi".to_owned(), tools: Vec::new() })
    }

    fn ended(hook: &str, mode: &str, handler: u32, event: HookEvent) -> Result<HookOutcome, String> {
        testing::set_config(json!({ hook: mode }));
        Hooks::on_hook(handler, event, None)
    }

    #[test]
    fn every_mode_of_the_manifest_is_one() {
        // These end the test as well as the handler.
        let unending = ["trap", "panic", "endless", "sleep", "hog"];
        let manifest: Value = serde_json::from_str(include_str!("../airlock.plugin.json")).unwrap();
        let events = [
            ("before-tool-call", 1, attempt(&json!({}))),
            ("after-tool-call", 2, completion()),
            ("tool-result-persist", 3, record()),
            ("before-prompt-build", 4, prompt_build()),
        ];
        for (hook, handler, event) in events {
            let modes = manifest["configSchema"]["properties"][hook]["enum"].as_array().unwrap();
            for mode in modes.iter().filter_map(Value::as_str).filter(|mode| !unending.contains(mode)) {
                let outcome = ended(hook, mode, handler, event.clone());
                assert_eq!(outcome.is_err(), mode.ends_with("error"), "{hook} {mode} {outcome:?}");
            }
            assert!(ended(hook, "honest", handler, event).unwrap_err().contains("no mode `honest`"));
        }
    }

    #[test]
    fn a_call_of_its_own_tool_chooses() {
        testing::set_config(json!({ "before-tool-call": "error" }));
        let chosen = Hooks::on_hook(1, attempt(&json!({ "before": "block" })), None);
        assert_eq!(chosen, Ok(HookOutcome::Tool(ToolVerdict::Block("not today".to_owned()))));
        assert!(Hooks::on_hook(1, attempt(&json!({})), None).is_err());
        assert!(Hooks::on_hook(9, attempt(&json!({})), None).unwrap_err().contains("handler 9"));
    }

    #[test]
    fn a_lie_is_of_another_kind() {
        let lie = |hook, handler, event| ended(hook, "lie", handler, event).unwrap();
        assert!(matches!(lie("before-tool-call", 1, attempt(&json!({}))), HookOutcome::Persist(_)));
        assert!(matches!(lie("after-tool-call", 2, completion()), HookOutcome::Tool(_)));
        assert!(matches!(lie("tool-result-persist", 3, record()), HookOutcome::Tool(_)));
        assert!(matches!(lie("before-prompt-build", 4, prompt_build()), HookOutcome::Gate(_)));
    }

    #[test]
    fn sizes_are_over_the_bounds() {
        let Some(ToolVerdict::RequireApproval(asked)) = verdict("long-title") else { panic!() };
        assert_eq!(asked.request.title.chars().count(), 81);
        let Some(ToolVerdict::RequireApproval(asked)) = verdict("long-description") else { panic!() };
        assert_eq!(asked.request.description.chars().count(), 513);
        let Some(ToolVerdict::Rewrite(deep)) = verdict("deep-rewrite") else { panic!() };
        assert!(serde_json::from_str::<Value>(&deep).is_ok());
        assert_eq!(long_text().len(), 1 << 20);
        assert!(serde_json::from_str::<Value>(GARBLED).is_err());
        assert!(serde_json::from_str::<Value>(LIST).unwrap().is_array());
    }
}
