//! What a governed call costs beside the same component in plain Wasmtime: one run, ratios, a Markdown page on standard
//! output. `cargo xtask bench` runs it on a release build and keeps the page.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement"
)]

mod assembly;
mod plain;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../all/scripted.rs"]
mod scripted;
mod skills;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use airlock_core::{
    Call, CallKind, HookEvent, HookName, HookOutcome, Host, HostBuilder, NativeHook, Origin, PluginRoot,
    RunContext, Surface,
};
use airlock_sandbox::{Sandbox, SandboxConfig};
use airlock_store::SqliteStore;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt as _};
use tokio::runtime::Runtime;

use assembly::Assembly;
use plain::Plain;
use skills::Skills;

/// Rounds of which the median counts; the subjects take turns, so that a busy moment hits all of them.
const ROUNDS: usize = 15;

/// How long one subject runs in one round.
const WINDOW: Duration = Duration::from_millis(80);

const ARGUMENTS: &str = r#"{"text":"the same text for everybody"}"#;

fn main() {
    let package = root().join("target/plugins/echo");
    let component = fs::read(package.join("echo.wasm")).expect("run `cargo xtask guests` first");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

    let best = Plain::new(&component, &plain::best_settings());
    let default = Plain::new(&component, &plain::default_settings());
    let data = tempfile::tempdir().unwrap();
    let start_up = StartUp::measure(&runtime, &package, data.path());
    let surface = runtime.block_on(async {
        host(sandbox(data.path()), &package).await.assemble(RunContext::new("bench")).await
    });

    let watched = |hooks: usize| {
        let store = SqliteStore::open(&data.path().join(format!("{hooks}.db"))).unwrap();
        let mut builder = builder(sandbox(data.path()), &package).store(store);
        for _ in 0..hooks {
            builder = builder.hook(Passes);
        }
        runtime.block_on(async { builder.build().await.unwrap().assemble(RunContext::new("bench")).await })
    };
    let (on_record, ten_hooks) = (watched(0), watched(10));

    let [floor, plain_default, governed, recorded, judged, refused] = medians([
        &mut || runtime.block_on(best.call(ARGUMENTS)),
        &mut || runtime.block_on(default.call(ARGUMENTS)),
        &mut || runtime.block_on(governed_call(&surface)),
        &mut || runtime.block_on(governed_call(&on_record)),
        &mut || runtime.block_on(governed_call(&ten_hooks)),
        &mut || runtime.block_on(refused_call(&surface)),
    ]);
    let many = throughput(&runtime, &surface);
    let assembly = Assembly::measure(&runtime);

    let skills = Skills::measure(&runtime);

    println!("# Performance\n");
    println!("Written by `cargo xtask bench`; measured in one run on {}.", machine());
    println!("Times on a shared machine are noise, ratios within one run are not: read the ratios.\n");
    println!(
        "The guest is the sample plugin `echo` ({} KiB), fresh for every call. Medians of {ROUNDS} rounds.\n",
        component.len() / 1024
    );
    println!("| one call at a time | time | against the floor |\n|---|---|---|");
    for (name, time) in [
        ("plain Wasmtime, best safe settings (the floor)", floor),
        ("plain Wasmtime, default settings", plain_default),
        ("governed call: schema, checkpoints, limits, receipt, record in memory", governed),
        ("the same, on record in SQLite", recorded),
        ("the same, with ten native handlers of `before-tool-call`", judged),
        ("governed call that is refused for its arguments", refused),
    ] {
        println!("| {name} | {} | {:.2} |", show(time), time.as_secs_f64() / floor.as_secs_f64());
    }
    println!("\n| 64 calls at once | time a call | against the floor |\n|---|---|---|");
    println!("| governed call | {} | {:.2} |", show(many), many.as_secs_f64() / floor.as_secs_f64());
    println!("\n| loading the plugin | time | against compiling |\n|---|---|---|");
    for (name, time) in [
        ("compile, as at the first start", start_up.compile),
        ("load from the compile cache, digest checked", start_up.cached),
        ("load again in one process, digest known", start_up.again),
        ("warm start: discover, load from the cache, register, assemble", start_up.warm),
    ] {
        println!("| {name} | {} | {:.4} |", show(time), time.as_secs_f64() / start_up.compile.as_secs_f64());
    }
    println!(
        "\n| a surface of 1,000 tools of 100 loaded plugins, through 13 layers | time | bar |\n|---|---|---|"
    );
    for (name, time, bar) in [
        ("assemble, all survive", assembly.whole, "2 ms"),
        ("assemble, 500 are removed by eight layers each", assembly.half, "2 ms"),
        ("explain one that was removed", assembly.explained, "5 ms"),
        ("discover 1,000 plugins, running none", assembly.discovered, "250 ms"),
    ] {
        println!("| {name} | {} | {bar} |", show(time));
    }
    println!("\n| the skills of a turn, 150 of them | time |\n|---|---|");
    for (name, time) in [
        ("known from less than 250 ms ago", skills.known),
        ("looked at again, nothing changed", skills.looked),
        ("looked at again, one changed", skills.changed),
    ] {
        println!("| {name} | {} |", show(time));
    }
}

async fn governed_call(surface: &Surface) {
    let outcome = surface.call(Call::from_json("echo", ARGUMENTS)).await;
    assert_eq!(outcome.kind, CallKind::Completed);
}

async fn refused_call(surface: &Surface) {
    let outcome = surface.call(Call::from_json("echo", r#"{"text":7}"#)).await;
    assert_eq!(outcome.kind, CallKind::InvalidParams);
}

/// The median time of one call of each subject.
fn medians<const SUBJECTS: usize>(mut subjects: [&mut dyn FnMut(); SUBJECTS]) -> [Duration; SUBJECTS] {
    let mut rounds: [Vec<Duration>; SUBJECTS] = std::array::from_fn(|_| Vec::new());
    for round in 0..=ROUNDS {
        for (subject, times) in subjects.iter_mut().zip(&mut rounds) {
            let (start, mut calls) = (Instant::now(), 0);
            while start.elapsed() < WINDOW {
                subject();
                calls += 1;
            }
            // The first round only warms up.
            if round > 0 {
                times.push(start.elapsed() / calls);
            }
        }
    }
    rounds.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    })
}

/// The time that one of many calls takes away from the others, with 64 at once.
fn throughput(runtime: &Runtime, surface: &Surface) -> Duration {
    const CALLS: u32 = 20_000;
    let start = Instant::now();
    runtime.block_on(
        stream::iter(0..CALLS)
            .map(|_| governed_call(surface))
            .buffer_unordered(64)
            .for_each(std::future::ready),
    );
    start.elapsed() / CALLS
}

struct StartUp {
    compile: Duration,
    cached: Duration,
    again: Duration,
    warm: Duration,
}

impl StartUp {
    fn measure(runtime: &Runtime, package: &Path, data: &Path) -> Self {
        let load = |sandbox: &Sandbox| {
            let sandbox = sandbox.clone();
            let start = Instant::now();
            runtime.block_on(async {
                let host = host(sandbox, package).await;
                assert_eq!(host.inspect().await.iter().filter(|status| status.loaded.is_ok()).count(), 1);
            });
            start.elapsed()
        };
        let median = |mut times: Vec<Duration>| {
            times.sort();
            times[times.len() / 2]
        };
        let compile = load(&sandbox(data));
        let cached = median((0..ROUNDS).map(|_| load(&sandbox(data))).collect());
        let same = sandbox(data);
        load(&same);
        let again = median((0..ROUNDS).map(|_| load(&same)).collect());
        let warm = median(
            (0..ROUNDS)
                .map(|_| {
                    let sandbox = sandbox(data);
                    let start = Instant::now();
                    runtime.block_on(async {
                        host(sandbox, package).await.assemble(RunContext::new("bench")).await
                    });
                    start.elapsed()
                })
                .collect(),
        );
        Self { compile, cached, again, warm }
    }
}

fn sandbox(data: &Path) -> Sandbox {
    Sandbox::new(SandboxConfig { cache: Some(data.join("cache")), ..SandboxConfig::default() }).unwrap()
}

/// A handler without an opinion.
#[derive(Debug)]
struct Passes;

impl NativeHook for Passes {
    fn name(&self) -> &str {
        "passes"
    }

    fn hook(&self) -> HookName {
        HookName::BeforeToolCall
    }

    fn handle(&self, _: HookEvent, _: Option<Arc<RunContext>>) -> BoxFuture<'_, Result<HookOutcome, String>> {
        Box::pin(async { Ok(HookOutcome::None) })
    }
}

fn builder(sandbox: Sandbox, package: &Path) -> HostBuilder {
    let root = PluginRoot { path: package.to_owned(), origin: Origin::Config };
    Host::builder().sandbox(sandbox).plugin_root(root).load_patience(Duration::from_secs(120))
}

async fn host(sandbox: Sandbox, package: &Path) -> Host {
    builder(sandbox, package).build().await.unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn show(time: Duration) -> String {
    match time.as_micros() {
        0..10_000 => format!("{:.1} µs", time.as_secs_f64() * 1e6),
        _ => format!("{:.1} ms", time.as_secs_f64() * 1e3),
    }
}

/// The processor and the number of cores, as far as the system tells.
fn machine() -> String {
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim()));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{} with {cores} cores, {}", model.unwrap_or("an unknown processor"), std::env::consts::OS)
}
