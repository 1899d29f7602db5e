//! The hooks that a manifest declares and the handlers that a plugin registers enter, a sentence for each disagreement
//! leaves. It never judges a name: the compiler did for the handlers, and the host does for the manifest.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::testing::RegisteredHandler;

/// One entry of `contracts.hooks`.
struct Contract<'m> {
    hook: &'m str,
    /// None means every tool.
    tools: Vec<&'m str>,
}

pub(super) fn problems(manifest: &Value, handlers: &[RegisteredHandler]) -> Vec<String> {
    let declared = manifest.pointer("/contracts/hooks").and_then(Value::as_array);
    let contracts: Vec<Contract<'_>> = declared.into_iter().flatten().map(contract).collect();
    let mut problems = BTreeSet::new();
    for handler in handlers {
        let hook = handler.hook.as_str();
        let own = contracts.iter().filter(|contract| contract.hook == hook);
        if own.clone().next().is_none() {
            problems.insert(format!("the plugin has a handler for `{hook}`; add it to `contracts.hooks`"));
            continue;
        }
        let covers = |tool: &str| {
            own.clone().any(|contract| contract.tools.is_empty() || contract.tools.contains(&tool))
        };
        for tool in handler.tools.iter().filter(|tool| !covers(tool)) {
            problems.insert(format!(
                "a handler for `{hook}` is about `{tool}`; add it to the `tools` of that entry of `contracts.hooks`"
            ));
        }
    }
    for contract in &contracts {
        let hook = contract.hook;
        let own = handlers.iter().filter(|handler| handler.hook.as_str() == hook);
        if own.clone().next().is_none() {
            problems.insert(format!(
                "`contracts.hooks` declares `{hook}`; list a handler for it in `plugin!`, or remove it there"
            ));
            continue;
        }
        let covers = |tool: &str| {
            own.clone().any(|handler| handler.tools.is_empty() || handler.tools.iter().any(|own| own == tool))
        };
        for tool in contract.tools.iter().filter(|tool| !covers(tool)) {
            problems.insert(format!(
                "`contracts.hooks` declares `{hook}` for `{tool}`; add it to the `tools` of a handler, or remove it there"
            ));
        }
    }
    problems.into_iter().collect()
}

fn contract(entry: &Value) -> Contract<'_> {
    let hook = entry.get("hook").unwrap_or(entry).as_str().unwrap_or_default();
    let tools = entry.get("tools").and_then(Value::as_array);
    Contract { hook, tools: tools.into_iter().flatten().filter_map(Value::as_str).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::HookName;

    fn handler(hook: HookName, tools: &[&str]) -> RegisteredHandler {
        let tools = tools.iter().map(|&tool| tool.to_owned()).collect();
        RegisteredHandler { id: 0, hook, priority: 0, timeout_ms: None, tools }
    }

    #[track_caller]
    fn check(hooks: &Value, handlers: &[RegisteredHandler], expected: &[&str]) {
        let found = problems(&json!({ "contracts": { "hooks": hooks } }), handlers);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn both_sides_agree() {
        let before = handler(HookName::BeforeToolCall, &["a"]);
        check(&json!([]), &[], &[]);
        check(&json!(["before-tool-call"]), std::slice::from_ref(&before), &[]);
        check(&json!([{ "hook": "before-tool-call", "tools": ["a"] }]), &[before], &[]);
        let every = handler(HookName::BeforeToolCall, &[]);
        check(&json!([{ "hook": "before-tool-call", "tools": ["a"] }]), &[every], &[]);
    }

    #[test]
    fn each_side_alone_is_named() {
        check(&json!([]), &[handler(HookName::HostStop, &[])], &["the plugin has a handler for `host-stop`"]);
        check(&json!(["host-stop"]), &[], &["`contracts.hooks` declares `host-stop`; list a handler"]);
    }

    #[test]
    fn tools_of_one_side_only_are_named() {
        check(
            &json!([{ "hook": "before-tool-call", "tools": ["a", "b"] }]),
            &[handler(HookName::BeforeToolCall, &["a", "c"])],
            &[
                "`contracts.hooks` declares `before-tool-call` for `b`",
                "a handler for `before-tool-call` is about `c`",
            ],
        );
    }
}
