//! How a call can end: each ending is its own kind, in its own words, and a good call works right after.

use airlock_core::{CallKind, LogLevel};

use crate::support::{call, end, surface, text};

/// Calls a tool of a hostile plugin, checks its end, then makes sure that the sandbox is as good as before.
async fn check(plugin: &str, tool: &str, arguments: &str, expected: &str) {
    let surface = surface(&[plugin, "echo"]).await;
    let outcome = call(&surface, tool, arguments).await;
    assert_eq!(end(&outcome), expected);
    assert_eq!(outcome.record.kind, outcome.kind);
    assert!(outcome.record.is_error);
    assert!(outcome.receipt.guest.is_some());
    for _ in 0..2 {
        let good = call(&surface, "echo", r#"{"text": "fine"}"#).await;
        assert_eq!(end(&good), "completed | fine | -");
    }
}

#[tokio::test]
async fn an_endless_loop_times_out() {
    check(
        "endless-loop",
        "spin_forever",
        "{}",
        "timed-out | the tool `spin_forever` did not finish within 100 ms | the guest ran into its deadline",
    )
    .await;
}

#[tokio::test]
async fn a_sleeper_times_out_in_the_middle_of_a_host_call() {
    check(
        "sleeper",
        "sleep",
        r#"{"milliseconds": 30000}"#,
        "timed-out | the tool `sleep` did not finish within 300 ms | the guest ran into its deadline",
    )
    .await;
}

#[tokio::test]
async fn computing_too_much_runs_out_of_fuel() {
    check(
        "fuel-burner",
        "burn_fuel",
        r#"{"rounds": 100000000}"#,
        "out-of-fuel | the tool `burn_fuel` used up its computing budget of 20000000 fuel units | the guest ran out of fuel",
    )
    .await;
}

#[tokio::test]
async fn a_memory_hog_runs_out_of_memory() {
    check(
        "memory-hog",
        "hog_memory",
        "{}",
        "out-of-memory | the tool `hog_memory` asked for more than its 67108864 bytes of memory | the guest ran out of memory",
    )
    .await;
}

#[tokio::test]
async fn a_flood_is_too_large() {
    let surface = surface(&["output-flood"]).await;
    let outcome = call(&surface, "flood_output", r#"{"mebibytes": 3}"#).await;
    assert_eq!(
        end(&outcome),
        "output-too-large | the results of `flood_output` have 3145792 bytes, the limit is 1048576; ask for less at a time | -"
    );
    check(
        "output-flood",
        "flood_output",
        r#"{"mebibytes": 5}"#,
        "output-too-large | the tool `flood_output` produced more output than is allowed; ask for less at a time | the guest passed too much to the host: more than 4 MiB in one call of the host or in one result",
    )
    .await;
    check(
        "hold-out",
        "huge_log",
        "{}",
        "output-too-large | the tool `huge_log` produced more output than is allowed; ask for less at a time | the guest passed too much to the host: more than 4 MiB in one call of the host or in one result",
    )
    .await;
}

#[tokio::test]
async fn a_trap_is_told_to_the_author_and_not_to_the_model() {
    check(
        "trap",
        "trap_now",
        "{}",
        "trapped | the tool `trap_now` failed | the guest trapped: wasm trap: wasm `unreachable` instruction executed",
    )
    .await;
}

#[tokio::test]
async fn a_panic_keeps_its_text_for_the_author() {
    let surface = surface(&["panic"]).await;
    let outcome = call(&surface, "panic_now", r#"{"reason": "the cable is loose"}"#).await;
    let error = outcome.error.unwrap();
    assert_eq!((error.kind, error.message.as_str()), (CallKind::Trapped, "the tool `panic_now` failed"));
    let detail = error.detail.unwrap();
    assert!(detail.contains("the cable is loose") && detail.contains("lib.rs:"), "{detail}");
    assert!(outcome.receipt.guest.unwrap().usage.stdio_bytes > 0);
}

#[tokio::test]
async fn unbounded_recursion_traps() {
    let surface = surface(&["recursion", "echo"]).await;
    let outcome = call(&surface, "recurse", "{}").await;
    assert_eq!(outcome.kind, CallKind::Trapped);
    assert_eq!(text(&call(&surface, "echo", r#"{"text": "fine"}"#).await), "fine");
}

#[tokio::test]
async fn a_tools_own_errors_are_results_and_not_failures_of_the_host() {
    let surface = surface(&["endings"]).await;
    let ends = [
        ("fail", "failed"),
        ("unavailable", "unavailable"),
        ("refuse", "invalid-params"),
        ("leave", "trapped"),
    ];
    for (tool, kind) in ends {
        let outcome = call(&surface, tool, "{}").await;
        assert_eq!(outcome.kind.as_str(), kind, "{tool}");
        assert!(!text(&outcome).is_empty());
    }
    let failed = call(&surface, "fail", "{}").await;
    assert!(failed.details.is_some(), "a failure may have details for people");
    let left = call(&surface, "leave", "{}").await;
    assert!(left.error.unwrap().detail.unwrap().contains("ended its process"));
}

#[tokio::test]
async fn details_that_break_the_tools_own_schema_are_named() {
    let surface = surface(&["endings"]).await;
    let error = call(&surface, "lie", "{}").await.error.unwrap();
    assert_eq!(error.kind, CallKind::InvalidOutput);
    assert!(error.path.is_some());
    assert!(error.message.contains("may have taken effect"), "{}", error.message);
}

#[tokio::test]
async fn details_without_content_are_pointed_out() {
    let surface = surface(&["endings"]).await;
    let outcome = call(&surface, "mute", "{}").await;
    assert_eq!((outcome.kind, outcome.content.len()), (CallKind::Completed, 0));
    let reason = outcome.trail.last().unwrap().reason.as_deref().unwrap();
    assert!(reason.contains("the model saw nothing"), "{reason}");
}

#[tokio::test]
async fn chatter_is_counted_and_costs_no_result() {
    let surface = surface(&["chatter"]).await;
    let outcome = call(&surface, "chatter", r#"{"mebibytes": 2}"#).await;
    assert_eq!(end(&outcome), "completed | done | -");
    let usage = outcome.receipt.guest.unwrap().usage;
    assert!(usage.stdio_bytes >= 4 << 20, "{usage:?}");
    assert!(usage.stdio_bytes - usage.stdio_bytes_dropped <= 128 << 10, "{usage:?}");
    assert_eq!(outcome.log.len(), 1_000);
    assert_eq!(usage.log_lines - usage.log_lines_dropped, 1_000);
    assert!(outcome.log.iter().all(|line| line.message.len() < 5 << 10 && line.level >= LogLevel::Trace));
    assert!(outcome.log.iter().any(|line| line.message.contains("[… shortened from 65536 bytes]")));
}

#[tokio::test]
async fn every_call_has_an_instance_of_its_own() {
    let surface = surface(&["keeper"]).await;
    for _ in 0..3 {
        assert_eq!(text(&call(&surface, "keep", "{}").await), "calls: 1");
    }
}
