//! The hostile corpus as a test, isolation between calls, and calls that are given up at any moment: every attack ends as it
//! must, no call finds what another left, and nothing stays behind.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use airlock_core::{Call, CallKind, Content, Host, Limits, Origin, PluginRoot, RunContext, Surface};
use airlock_sandbox::{Sandbox, SandboxConfig};
use airlock_tests::{Attack, Corpus, Guest, Resident, attacks, blemish, open_files};
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};

use crate::support::{built, call, end, root, sample, sandbox, text};

/// Attacks at once: enough for them to meet, few enough for the deadlines of 200 ms in a debug build.
const ATTACKS_AT_ONCE: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn every_attack_ends_as_it_must_and_good_calls_beside_it_are_left_in_peace() {
    let attacks = attacks();
    let corpus = Corpus::write(&attacks, &built("hostile-plugins"));
    let sandbox = sandbox();
    let good = one(&sandbox, &sample("echo")).await;
    let attacking = stream::iter(&attacks)
        .map(async |attack| (attack, corpus.attempt(attack, &sandbox).await))
        .buffer_unordered(ATTACKS_AT_ONCE)
        .filter_map(|(attack, attempt)| {
            let expected = attack.expected.as_str();
            let wrong = attempt.end != expected || attempt.blemish.is_some();
            std::future::ready(
                wrong.then(|| format!("“{}” must end as {expected}: {attempt:?}", attack.title)),
            )
        })
        .collect::<Vec<_>>();
    let beside = async {
        loop {
            for number in 0..100 {
                let sent = number.to_string();
                let outcome = call(&good, "echo", &format!("{{\"text\": \"{sent}\"}}")).await;
                assert_eq!((outcome.kind, text(&outcome)), (CallKind::Completed, sent));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let wrong = tokio::select! {
        wrong = attacking => wrong,
        () = beside => unreachable!("it goes on for ever"),
    };
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A run over the plugin at `path`.
async fn one(sandbox: &Sandbox, path: &Path) -> Surface {
    let host = Host::builder()
        .sandbox(sandbox.clone())
        .load_patience(Duration::from_secs(100))
        .plugin_root(root(path));
    host.build().await.unwrap().assemble(RunContext::new("tester")).await
}

/// Looks for a mark in all memory past its own data, a page that it grows included, in a table past its own entries and in
/// a global; then leaves the mark in all of them. Answers `okay`, or `seen`.
fn scavenger() -> Attack {
    let guest = Guest::new(
        "(local.set $j (i32.add (global.get $mark) (i32.const 0)))
        (drop (memory.grow (i32.const 30)))
        (local.set $i (i32.and (i32.add (global.get $heap) (i32.const 4103)) (i32.const -4096)))
        (loop $next
            (if (i32.load (local.get $i)) (then (local.set $j (i32.const 1))))
            (i32.store (local.get $i) (i32.const 0xa55ac33c))
            (local.set $i (i32.add (local.get $i) (i32.const 4)))
            (br_if $next (i32.lt_u (local.get $i) (i32.shl (memory.size) (i32.const 16)))))
        (drop (table.grow $kept (ref.null func) (i32.const 5000)))
        (local.set $i (i32.const 1))
        (loop $next
            (if (i32.eqz (ref.is_null (table.get $kept (local.get $i)))) (then (local.set $j (i32.const 1))))
            (table.set $kept (local.get $i) (ref.func $rewind))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $i) (table.size $kept))))
        (global.set $mark (i32.const 1))
        (i32.store (i32.const 1280) (select (i32.const 0x6e656573) (i32.const 0x79616b6f) (local.get $j)))",
    )
    .with("(global $mark (mut i32) (i32.const 0)) (table $kept 10 funcref) (elem (table $kept) (i32.const 0) func $rewind)");
    Attack::call("looks for what others left", "scavenger", &guest, CallKind::Completed)
}

/// Calls that alternate in the canaries' test.
const CANARIES: usize = 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn no_call_of_a_thousand_finds_what_another_left() {
    // Two places only, so that each call gets the memory of one before it.
    let cache = crate::support::repository().join("target/test-cache");
    let config = SandboxConfig { cache: Some(cache), concurrent_guests: 2, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(config).unwrap();
    let scavenger = scavenger();
    let corpus = Corpus::write(std::slice::from_ref(&scavenger), Path::new(""));
    let canary = one(&sandbox, &sample("canary")).await;
    let scavenging = corpus.surface(&scavenger, &sandbox).await;
    let calls = stream::iter(0..CANARIES).map(async |number| {
        if number % 2 == 0 {
            let outcome = call(&scavenging, "scavenger", "{}").await;
            return (end(&outcome), "completed | okay | -", None);
        }
        let outcome = call(&canary, "canary", &format!("{{\"mark\": \"the mark of call {number}\"}}")).await;
        (end(&outcome), "completed | clean | -", outcome.details)
    });
    let mut random = BTreeSet::new();
    let mut seen = 0;
    for (end, expected, details) in calls.buffered(4).collect::<Vec<_>>().await {
        assert_eq!(end, expected);
        let Some(details) = details else { continue };
        let values = details["random"].as_array().unwrap();
        seen += values.len();
        random.extend(values.iter().map(ToString::to_string));
        // A steady clock that were carried over would show the hours of a host.
        assert!(details["took"].as_u64().unwrap() < 10_000_000_000, "{details}");
    }
    assert_eq!(random.len(), seen, "no two calls have the same randomness");
    for folder in ["/tmp", "/var/tmp", "/dev/shm", ".", "/"] {
        assert!(!Path::new(folder).join("airlock-canary").exists(), "{folder}");
    }
}

/// Calls that are given up, and how many of them go on at once.
const GIVEN_UP: usize = 10_000;
const AT_ONCE: usize = 48;

/// Growth of resident memory that is still flat: the allocator's own reserves, with room for a busy machine.
const MAX_GROWTH_KIB: u64 = 24 * 1_024;

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_given_up_at_any_moment_leave_nothing_behind() {
    let limits = Limits { timeout: Duration::from_secs(20), fuel: u64::MAX, ..Limits::default() };
    let roots = ["echo", "workflow", "sleeper", "endless-loop", "chatter", "hooks", "canary"].map(sample);
    let builder = roots.into_iter().fold(Host::builder().sandbox(sandbox()), |builder, path| {
        builder.plugin_root(PluginRoot { path, origin: Origin::Config })
    });
    let host = builder.limits(limits).load_patience(Duration::from_secs(100)).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    // Slots, a moment's worth of everything, and the allocator's reserves come first.
    give_up(&surface, GIVEN_UP / 10).await;
    all_at_once(&surface).await;
    let (memory, files) = (Resident::look().now_kib, open_files());
    let ends = give_up(&surface, GIVEN_UP).await;
    eprintln!("of {GIVEN_UP} calls, {ends:?} were dropped, cancelled and over before");
    assert!(ends.iter().all(|number| *number > GIVEN_UP / 50), "{ends:?}");
    // Four times as many as there are places, so that one that is lost shows.
    for _ in 0..4 {
        all_at_once(&surface).await;
    }
    let growth = Resident::look().now_kib.saturating_sub(memory);
    assert!(growth <= MAX_GROWTH_KIB, "resident memory grew by {growth} KiB");
    // Tests that run in the same process open files too; a leak would be in the thousands.
    assert!(open_files() <= files + 16, "{files} open files became {}", open_files());
}

/// Calls of every sort, each dropped or cancelled after a time between nothing and six milliseconds: how many were dropped,
/// cancelled, or over by then.
async fn give_up(surface: &Surface, calls: usize) -> [usize; 3] {
    const CALLS: [(&str, &str); 7] = [
        ("echo", r#"{"text": "again"}"#),
        ("workflow_tool", r#"{"pipeline": "slug", "text": "A Title, With Words"}"#),
        ("sleep", r#"{"milliseconds": 200}"#),
        ("spin_forever", "{}"),
        ("chatter", "{}"),
        ("hooked", r#"{"before": "endless"}"#),
        ("canary", r#"{"mark": "given up"}"#),
    ];
    let ends = stream::iter(0..calls).map(async |number| {
        let (tool, arguments) = CALLS[number % CALLS.len()];
        // Any order will do that no rhythm of the host can follow.
        let after = Duration::from_micros(number as u64 * 7_919 % 6_000);
        let token = tokio_util::sync::CancellationToken::new();
        let running = surface.call(Call::from_json(tool, arguments).cancellation(token.clone()));
        if number % 3 == 0 {
            let (outcome, ()) = tokio::join!(running, async {
                tokio::time::sleep(after).await;
                token.cancel();
            });
            assert_ne!(outcome.kind, CallKind::HostFault, "{}", end(&outcome));
            assert_eq!(blemish(&outcome), None);
            return if outcome.kind == CallKind::Cancelled { 1 } else { 2 };
        }
        match tokio::time::timeout(after, running).await {
            Ok(outcome) => {
                assert_ne!(outcome.kind, CallKind::HostFault, "{}", end(&outcome));
                2
            }
            Err(_) => 0,
        }
    });
    let mut counts = [0; 3];
    for way in ends.buffer_unordered(AT_ONCE).collect::<Vec<usize>>().await {
        counts[way] += 1;
    }
    counts
}

/// 64 calls of several plugins at once, all of which must complete.
async fn all_at_once(surface: &Surface) {
    let calls = (0..64).map(async |number| match number % 4 {
        0 => call(surface, "echo", r#"{"text": "there"}"#).await,
        1 => call(surface, "sleep", r#"{"milliseconds": 5}"#).await,
        2 => call(surface, "canary", r#"{"mark": "there"}"#).await,
        _ => call(surface, "workflow_tool", r#"{"pipeline": "slug", "text": "There"}"#).await,
    });
    for outcome in join_all(calls).await {
        assert_eq!(outcome.kind, CallKind::Completed, "{}", end(&outcome));
        assert!(outcome.content.iter().all(|piece| matches!(piece, Content::Text { .. })));
    }
}
