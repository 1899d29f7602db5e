//! Handlers of a hostile plugin, in the real sandbox: whatever one does, the call ends as its hook's failure says, and the
//! next call works.

use std::time::{Duration, Instant};

use airlock_core::{CallKind, Config, RunContext, Surface};
use serde_json::json;

use crate::support::{builder, call, end, text};

fn config(text: &str) -> Config {
    Config::from_toml(text.as_bytes(), "airlock.toml".as_ref()).unwrap()
}

async fn surface(source: &str) -> Surface {
    let host = builder(&["hooks", "echo"]).config(config(source)).build().await.unwrap();
    host.assemble(RunContext::new("tester")).await
}

/// One second for a judge that does not come to an end.
const PATIENCE: &str = "[plugins.entries.hooks]\nhook-timeouts = { before-tool-call = 300, tool-result-persist = 300, after-tool-call = 300 }\n";

#[tokio::test]
async fn a_hostile_judge_blocks_and_no_more() {
    let surface = surface(PATIENCE).await;
    for (mode, expected) in [
        ("error", "failed: "),
        ("long-error", "failed: "),
        ("lie", "answered with another hook's outcome"),
        ("trap", "trapped"),
        ("panic", "panicked"),
        ("endless", "ran "),
        ("sleep", "ran into its deadline"),
        ("hog", "ran out of memory"),
        ("invalid-rewrite", "rewrote the arguments, which then do not fit"),
        ("garbled-rewrite", "the rewrite cannot be read: not JSON"),
        ("list-rewrite", "into something that is no object"),
        ("deep-rewrite", "nested deeper than 64 levels"),
        ("huge-rewrite", "the limit is 1048576"),
        ("long-title", "whose title has 81 characters"),
        ("long-description", "whose description has 513 characters"),
        ("invalid-ask", "rewrote the arguments, which then do not fit"),
    ] {
        let started = Instant::now();
        let outcome = call(&surface, "hooked", &json!({ "before": mode }).to_string()).await;
        assert_eq!(outcome.kind, CallKind::Blocked, "{mode}: {}", end(&outcome));
        assert!(end(&outcome).contains(expected), "{mode}: {}", end(&outcome));
        assert!(end(&outcome).len() < 3_000 && !end(&outcome).contains('\u{1b}'), "{mode}");
        assert!(started.elapsed() < Duration::from_secs(3), "{mode}: {:?}", started.elapsed());
        assert!(outcome.receipt.guest.is_none(), "{mode}: the tool did not run");
        let next = call(&surface, "hooked", "{}").await;
        assert_eq!(next.kind, CallKind::Completed, "after {mode}: {}", end(&next));
    }
    let blocked = call(&surface, "hooked", r#"{"before": "long-block"}"#).await;
    assert_eq!(blocked.kind, CallKind::Blocked);
    assert!(
        text(&blocked).chars().count() < 1_100 && !text(&blocked).contains('\u{1b}'),
        "{}",
        text(&blocked)
    );
    let rewritten = call(&surface, "hooked", r#"{"before": "rewrite", "count": 1}"#).await;
    assert_eq!(rewritten.record.arguments["count"], 7, "{}", end(&rewritten));
    let unavailable = call(&surface, "hooked", r#"{"before": "hidden-title"}"#).await;
    assert_eq!(unavailable.kind, CallKind::ApprovalUnavailable, "{}", end(&unavailable));
}

#[tokio::test]
async fn a_hostile_redactor_has_the_record_withheld_and_the_host_stays_up() {
    let surface = surface(PATIENCE).await;
    for mode in [
        "error",
        "long-error",
        "lie",
        "trap",
        "panic",
        "endless",
        "sleep",
        "hog",
        "garbled-params",
        "garbled-details",
        "huge-text",
    ] {
        let outcome =
            call(&surface, "hooked", &json!({ "persist": mode, "count": 424_242 }).to_string()).await;
        let record = serde_json::to_string(&outcome.record).unwrap();
        assert!(!record.contains("424242"), "{mode}: {record}");
        assert!(record.contains("withheld") || record.contains("shortened by Airlock"), "{mode}: {record}");
        assert!(record.len() < 80_000, "{mode}: {}", record.len());
    }
    let replaced = call(&surface, "hooked", r#"{"persist": "replace"}"#).await;
    assert!(serde_json::to_string(&replaced.record).unwrap().contains("replaced"));
    assert!(!text(&replaced).contains("replaced"), "the model got what the tool said");
}

#[tokio::test]
async fn a_hostile_observer_changes_nothing_and_a_shutdown_waits_for_it() {
    let host = builder(&["hooks"]).config(config(PATIENCE)).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    for mode in ["error", "lie", "trap", "panic", "endless", "sleep", "hog"] {
        let outcome = call(&surface, "hooked", &json!({ "after": mode }).to_string()).await;
        assert_eq!(outcome.kind, CallKind::Completed, "{mode}: {}", end(&outcome));
    }
    host.shutdown(Duration::from_secs(20)).await.unwrap();
    let failed = host.hooks().await.into_iter().filter(|hook| hook.last_failure.is_some()).count();
    assert!(failed >= 1);
}

#[tokio::test]
async fn a_hostile_prompt_handler_leaves_a_turn_without_tools() {
    for (mode, tools) in [
        ("error", 0),
        ("trap", 0),
        ("lie", 0),
        ("endless", 0),
        ("garbled-tools", 0),
        ("huge-context", 0),
        ("no-tools", 0),
        ("pass", 2),
        ("context", 2),
        ("widen", 2),
    ] {
        let source = format!(
            "[plugins.entries.hooks]\nhook-timeouts = {{ before-prompt-build = 300 }}\nconfig = {{ before-prompt-build = \"{mode}\" }}\n\
             [plugins.entries.hooks.grants]\nhooks = [\"before-prompt-build\"]"
        );
        let turn = surface(&source).await.prepare("hello").await;
        assert_eq!(turn.surface.tools().count(), tools, "{mode}");
        assert!(
            turn.prepend_context.iter().chain(&turn.append_context).all(|text| text.len() < 70_000),
            "{mode}"
        );
    }
    let ignored = "[plugins.entries.hooks]\non-hook-failure = \"ignore\"\nconfig = { before-prompt-build = \"trap\" }\n\
        [plugins.entries.hooks.grants]\nhooks = [\"before-prompt-build\"]";
    assert_eq!(surface(ignored).await.prepare("hello").await.surface.tools().count(), 2);
}

#[tokio::test]
async fn a_guard_over_others_takes_their_calls_down_with_it_and_an_ungranted_one_nobody_s() {
    let source = "[plugins.entries.hooks]\nconfig = { before-tool-call = \"trap\" }\n";
    let free = surface(source).await;
    assert_eq!(call(&free, "echo", r#"{"text": "a"}"#).await.kind, CallKind::Completed);
    let granted = format!(
        "{source}[plugins.entries.hooks.grants]\nhooks = [{{ hook = \"before-tool-call\", tools = [\"echo\"] }}]"
    );
    let guarded = surface(&granted).await;
    let blocked = call(&guarded, "echo", r#"{"text": "a"}"#).await;
    assert_eq!(text(&blocked), "the tool `echo` is blocked: its guard `hooks` could not judge the call");
}
