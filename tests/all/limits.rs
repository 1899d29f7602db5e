//! Limits hold: what stays below one is untouched, what goes over it ends in time and disturbs nobody.

use std::time::{Duration, Instant};

use airlock_core::{Call, CallKind, Code, Config, Limits, Outcome, RunContext, Surface};
use futures_util::future::join_all;

use crate::support::{builder, call, end, text};

async fn limited(samples: &[&str], limits: Limits) -> Surface {
    let host = builder(samples).limits(limits).build().await.unwrap();
    host.assemble(RunContext::new("tester")).await
}

#[tokio::test]
async fn deadline_obeyed() {
    let surface = limited(&["sleeper"], Limits::default()).await;
    let outcome = call(&surface, "sleep", r#"{"milliseconds": 50}"#).await;
    assert_eq!(outcome.kind, CallKind::Completed);
    assert!(outcome.receipt.guest.unwrap().usage.wall.0 >= Duration::from_millis(50));
}

#[tokio::test(flavor = "multi_thread")]
async fn deadline_violated_by_busy_and_by_waiting_guests_ends_in_time() {
    let deadline = Duration::from_millis(100);
    let surface =
        limited(&["endless-loop", "sleeper"], Limits { timeout: deadline, ..Limits::default() }).await;
    for (tool, arguments) in [("spin_forever", "{}"), ("sleep", r#"{"milliseconds": 30000}"#)] {
        let start = Instant::now();
        let outcome = call(&surface, tool, arguments).await;
        let took = start.elapsed();
        assert_eq!(outcome.kind, CallKind::TimedOut);
        assert!(took >= deadline, "{tool} was ended early: {took:?}");
        // The bar is 20 ms; a machine that also compiles gets some more before this counts as broken.
        assert!(took < deadline + Duration::from_millis(200), "{tool} took {took:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_guests_keep_nobody_from_a_short_call() {
    let limits = Limits { timeout: Duration::from_millis(1_500), fuel: u64::MAX, ..Limits::default() };
    let surface = limited(&["endless-loop", "echo"], limits).await;
    let hogs = join_all((0..16).map(|_| call(&surface, "spin_forever", "{}")));
    let short = async {
        let mut longest = Duration::ZERO;
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let start = Instant::now();
            assert_eq!(text(&call(&surface, "echo", r#"{"text": "quick"}"#).await), "quick");
            longest = longest.max(start.elapsed());
        }
        longest
    };
    let (hogs, longest) = tokio::join!(hogs, short);
    // The manifest of `endless-loop` asks for 100 ms, which is lower than the operator's limit.
    assert!(hogs.iter().all(|outcome| outcome.kind == CallKind::TimedOut));
    assert!(longest < Duration::from_millis(250), "a short call waited {longest:?} behind busy guests");
}

#[tokio::test]
async fn fuel_obeyed_and_violated() {
    let surface = limited(&["fuel-burner"], Limits::default()).await;
    let below = call(&surface, "burn_fuel", r#"{"rounds": 1000}"#).await;
    assert_eq!(below.kind, CallKind::Completed);
    let used = below.receipt.guest.unwrap().usage.fuel;
    let again = call(&surface, "burn_fuel", r#"{"rounds": 1000}"#).await;
    assert_eq!(again.receipt.guest.unwrap().usage.fuel, used, "fuel is the same for the same work");
    let above = call(&surface, "burn_fuel", r#"{"rounds": 100000000}"#).await;
    assert_eq!(above.kind, CallKind::OutOfFuel);
    let guest = above.receipt.guest.unwrap();
    assert_eq!((guest.usage.fuel, guest.nearest_limit.limit), (guest.fuel_limit, "fuel"));
}

#[tokio::test]
async fn memory_obeyed_and_violated() {
    let surface = limited(&["echo"], Limits { memory_bytes: 2 << 20, ..Limits::default() }).await;
    let below = call(&surface, "echo", r#"{"text": "small"}"#).await;
    assert_eq!(below.kind, CallKind::Completed);
    let large = serde_json::json!({ "text": "x".repeat(900_000) }).to_string();
    let above = call(&surface, "echo", &large).await;
    assert_eq!(above.kind, CallKind::OutOfMemory);
    assert!(above.receipt.guest.unwrap().usage.peak_memory_bytes <= 2 << 20);
}

#[tokio::test]
async fn a_plugin_that_cannot_even_start_within_its_memory_is_reported_when_it_registers() {
    let surface = limited(&["echo"], Limits { memory_bytes: 65_536, ..Limits::default() }).await;
    assert_eq!(surface.tools().count(), 0);
    assert_eq!(surface.diagnostics()[0].message, "`register` ran out of memory");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_really_stops_the_guest_and_frees_its_slot() {
    let limits = Limits { timeout: Duration::from_secs(20), fuel: u64::MAX, ..Limits::default() };
    let surface = limited(&["sleeper", "echo"], limits).await;
    // Four times as many as the plugin has slots: if a dropped call kept its slot, the later ones could not run.
    for _ in 0..64 {
        let call = surface.call(Call::from_json("sleep", r#"{"milliseconds": 250}"#));
        assert!(tokio::time::timeout(Duration::from_millis(5), call).await.is_err());
    }
    let start = Instant::now();
    let outcome = call(&surface, "sleep", r#"{"milliseconds": 1}"#).await;
    assert_eq!(outcome.kind, CallKind::Completed);
    assert!(start.elapsed() < Duration::from_millis(240), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_guest_is_stopped() {
    let surface = limited(&["sleeper"], Limits::default()).await;
    let token = tokio_util::sync::CancellationToken::new();
    let call =
        surface.call(Call::from_json("sleep", r#"{"milliseconds": 30000}"#).cancellation(token.clone()));
    let start = Instant::now();
    let (outcome, ()) = tokio::join!(call, async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        token.cancel();
    });
    assert_eq!(outcome.kind, CallKind::Cancelled);
    assert!(start.elapsed() < Duration::from_millis(250));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_is_busy_and_the_waiting_calls_still_run() {
    let surface =
        limited(&["sleeper"], Limits { timeout: Duration::from_secs(20), ..Limits::default() }).await;
    // 16 run, 1,024 wait, and whatever comes beyond is told so at once; on a slow machine some of the first are over
    // before the last ask.
    let sleep = r#"{"milliseconds": 20}"#;
    let outcomes = join_all((0..1_100).map(|_| call(&surface, "sleep", sleep))).await;
    let busy = outcomes.iter().filter(|outcome| outcome.kind == CallKind::Busy).count();
    let completed = outcomes.iter().filter(|outcome| outcome.kind == CallKind::Completed).count();
    assert!((1..=1_100 - 16 - 1_024).contains(&busy), "{busy} were busy");
    assert_eq!(busy + completed, 1_100);
}

#[tokio::test]
async fn an_operator_lowers_the_limits_of_one_tool_and_learns_what_lowers_nothing() {
    let written = r#"
        [limits]
        fuel = 1000000
        [plugins.entries.markdown]
        limits = { timeout-ms = 60000 }
        [plugins.entries.markdown.tool-limits]
        markdown_toc = { fuel = 1000 }
        markdown_links = { memory-bytes = 67108865 }
        markdown_tok = { fuel = 1000 }
        [plugins.entries.markdown.grants]
        network = ["api.example.org"]
        secrets = ["token"]
        key-value = true
        filesystem = [{ path = "workspace", access = "read" }]
    "#;
    let config = Config::from_toml(written.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let host = builder(&["markdown"]).config(config).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    let arguments = r##"{"text": "# a\n"}"##;
    let (low, plain) = (
        call(&surface, "markdown_toc", arguments).await,
        call(&surface, "markdown_outline", arguments).await,
    );
    assert_eq!((low.kind, plain.kind), (CallKind::OutOfFuel, CallKind::Completed), "{}", end(&plain));
    let limit = |outcome: &Outcome| outcome.receipt.guest.as_ref().unwrap().fuel_limit;
    assert_eq!((limit(&low), limit(&plain)), (1_000, 1_000_000));
    let unused = host.diagnostics().into_iter().filter(|finding| finding.code == Code::EntryUnused);
    let found: Vec<_> = unused
        .map(|finding| {
            let line = finding.location.and_then(|location| location.line).unwrap_or_default();
            format!("{line} {}", finding.message)
        })
        .collect();
    assert_eq!(
        found,
        [
            "8 `memory-bytes` = 67108865 of `markdown_links` lowers nothing: its plugin has 67108864",
            "5 `timeout-ms` = 60000 lowers nothing: [limits] has 30000",
            "9 `tool-limits` names `markdown_tok`, which the plugin does not declare",
            "13 a key-value store is granted, and nothing asks for it",
            "11 requests to `api.example.org` are granted, and nothing asks for them",
            "14 the folder `workspace` is granted, and nothing asks for it",
            "12 the secret `token` is granted, and nothing asks for it",
        ]
    );
}
