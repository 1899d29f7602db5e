//! Deadlines under load: 64 guests at once, 48 of which never end by themselves; how far past its limit each of those was
//! ended leaves, and whether the 16 honest ones, which need half of the same limit, were left in peace.

use std::time::{Duration, Instant};

use airlock_core::{Call, CallKind, Surface};
use airlock_sandbox::Sandbox;
use airlock_tests::{Corpus, load};
use futures_util::future::join_all;

/// Limits, in milliseconds.
const LIMITS_MS: [u64; 3] = [50, 500, 5_000];

/// Guests of each of the four hostile plugins, and of the honest one: 64 together.
const HOSTILE_EACH: usize = 12;
const HONEST: usize = 16;

/// How often each load is made.
const ROUNDS: usize = 3;

/// How long a guest may be busy before anybody knows: so many that start together have this one after another, on all cores.
/// What is due before that is over comes late, on a machine with few cores.
const UNKNOWN_MS: u64 = 3;

/// The bar: how far past its limit a guest may be ended.
const BAR: Duration = Duration::from_millis(20);

pub(crate) async fn run(sandbox: &Sandbox, good: &Surface) -> Vec<String> {
    let mut problems = Vec::new();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let burst_ms = 4 * HOSTILE_EACH as u64 * UNKNOWN_MS / cores;
    println!("\n64 guests at once, 48 of them hostile, {ROUNDS} times; ended past their limit by");
    println!("limit        median       max   within 20 ms   ended early   honest ones completed");
    for limit_ms in LIMITS_MS {
        let plugins = load::plugins(limit_ms);
        let corpus = Corpus::write(&plugins, std::path::Path::new(""));
        let mut surfaces = Vec::new();
        for plugin in &plugins {
            surfaces.push((plugin, corpus.surface(plugin, sandbox).await));
        }
        let limit = Duration::from_millis(limit_ms);
        let (mut over, mut early, mut honest) = (Vec::new(), 0, 0);
        for _ in 0..ROUNDS {
            let calls = surfaces.iter().flat_map(|(plugin, surface)| {
                let times = if plugin.plugin == load::HONEST { HONEST } else { HOSTILE_EACH };
                (0..times).map(move |_| call(surface.clone(), plugin.plugin.clone()))
            });
            // Each by its own task, as an agent would.
            let ends = join_all(calls.map(tokio::spawn)).await;
            for (is_honest, kind, took) in ends.into_iter().map(Result::unwrap) {
                match (is_honest, kind) {
                    (true, CallKind::Completed) => honest += 1,
                    (true, kind) if limit_ms > burst_ms => {
                        problems.push(format!("an honest guest ended as {} after {took:?}", kind.as_str()));
                    }
                    (true, _) => {}
                    (false, CallKind::TimedOut) if took >= limit => over.push(took - limit),
                    (false, kind) => {
                        early += 1;
                        problems.push(format!("a hostile guest ended as {} after {took:?}", kind.as_str()));
                    }
                }
            }
            problems.extend(all_slots_are_free(good).await);
        }
        over.sort();
        let (Some(median), Some(most)) = (over.get(over.len() / 2), over.last()) else { continue };
        let within = over.iter().filter(|over| **over <= BAR).count();
        println!(
            "{limit_ms:>5} ms {:>8.1} ms {:>6.1} ms   {within:>5} of {:<3} {early:>13} {honest:>14} of {}",
            median.as_secs_f64() * 1e3,
            most.as_secs_f64() * 1e3,
            over.len(),
            HONEST * ROUNDS
        );
        // A machine that does other work can hold any one thread up; not half of them.
        if *median > BAR {
            problems.push(format!("at {limit_ms} ms, half of the guests ended more than 20 ms late"));
        }
    }
    problems
}

/// One call of a plugin, whose tool has its name.
async fn call(surface: Surface, tool: String) -> (bool, CallKind, Duration) {
    let is_honest = tool == load::HONEST;
    let started = Instant::now();
    let outcome = surface.call(Call::from_json(tool, "{}")).await;
    let queued = outcome.receipt.guest.as_ref().map(|guest| guest.usage.queued.0).unwrap_or_default();
    (is_honest, outcome.kind, started.elapsed().saturating_sub(queued))
}

/// Right after the last one was ended: 64 calls at once, none of which may wait long.
async fn all_slots_are_free(good: &Surface) -> Option<String> {
    let started = Instant::now();
    let calls = (0..64).map(|_| good.call(Call::from_json("echo", r#"{"text": "free"}"#)));
    let failed = join_all(calls).await.iter().filter(|outcome| outcome.kind != CallKind::Completed).count();
    let took = started.elapsed();
    (failed > 0 || took > Duration::from_secs(1))
        .then(|| format!("of 64 calls right afterwards, {failed} failed, all took {took:?}"))
}
