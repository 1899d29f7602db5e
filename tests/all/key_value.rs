//! A plugin's own key-value store, through a guest: apart from every other, within its bounds, whole after every end, and
//! only where manifest and operator both want it.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use airlock_core::{
    Call, CallKind, Config, HostBuilder, KeyValue as _, MemoryStore, Outcome, PluginId, RunContext, Surface,
};
use airlock_sandbox::{Sandbox, SandboxConfig};
use airlock_store::{Log, Query, SqliteStore};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::command_line::program;
use crate::support::{builder, call, end, install, repository, root, sample, text};

/// Grants these plugins a store.
fn granted(plugins: &[&str]) -> Config {
    let entries = plugins.iter().map(|id| format!("[plugins.entries.{id}.grants]\nkey-value = true\n"));
    Config::from_toml(entries.collect::<String>().as_bytes(), "airlock.toml".as_ref()).unwrap()
}

async fn assembled(builder: HostBuilder) -> Surface {
    let host = builder.build().await.unwrap();
    host.assemble(RunContext::new("tester")).await
}

async fn hoarder() -> Surface {
    assembled(builder(&["hoarder"]).config(granted(&["hoarder"]))).await
}

async fn hoard(surface: &Surface, operations: Value) -> Outcome {
    call(surface, "hoard", &json!({ "operations": operations }).to_string()).await
}

/// What a receipt says was reached for: target, whether it was let through, why.
fn reached(outcome: &Outcome) -> Vec<String> {
    let entries = outcome.receipt.reached.iter().map(|reached| {
        let reason = reached.reason.as_deref().unwrap_or("-");
        format!("{} {} {} {} | {reason}", reached.plugin, reached.capability, reached.target, reached.allowed)
    });
    entries.collect()
}

#[tokio::test]
async fn what_one_call_writes_the_next_one_reads() {
    let surface = hoarder().await;
    let set = json!({ "verb": "set", "bucket": "b", "key": "k", "value": "kept" });
    let get = json!({ "verb": "get", "bucket": "b", "key": "k" });
    let outcome = hoard(&surface, json!([get, set, get])).await;
    assert_eq!(text(&outcome), "none\nset\nkept");
    // A bucket is on the receipt once a call, however often it is opened and used.
    assert_eq!(reached(&outcome), ["hoarder key-value bucket `b` true | -"]);
    let delete = json!({ "verb": "delete", "bucket": "b", "key": "k" });
    assert_eq!(
        text(&hoard(&surface, json!([get, delete, delete, get])).await),
        "kept\ndeleted\ndeleted\nnone"
    );
}

#[tokio::test]
async fn plugins_and_buckets_are_apart() {
    let surface = assembled(builder(&["counter", "hoarder"]).config(granted(&["counter", "hoarder"]))).await;
    assert_eq!(text(&call(&surface, "count_up", r#"{"name": "ships"}"#).await), "ships: 1");
    let operations = json!([
        { "verb": "get", "bucket": "counts", "key": "ships" },
        { "verb": "set", "bucket": "counts", "key": "ships", "value": "none of yours" },
        { "verb": "get", "bucket": "other", "key": "ships" },
        { "verb": "delete", "bucket": "counts", "key": "ships" },
    ]);
    assert_eq!(text(&hoard(&surface, operations).await), "none\nset\nnone\ndeleted");
    assert_eq!(text(&call(&surface, "count_list", "{}").await), "ships: 1");
}

#[tokio::test]
async fn without_a_grant_the_guest_is_denied_and_the_receipt_says_by_whom() {
    let surface = assembled(builder(&["counter", "hoarder"])).await;
    let open = json!({ "verb": "open", "bucket": "b\u{202e}ad" });
    let outcome = hoard(&surface, json!([open, open])).await;
    assert_eq!(text(&outcome), "access-denied\naccess-denied");
    assert_eq!(
        reached(&outcome),
        [
            "hoarder key-value bucket `b\\u{202e}ad` false | nobody granted `hoarder` a key-value store; an operator who wants that adds `key-value = true` to [plugins.entries.hoarder.grants]"
        ]
    );
    let outcome = call(&surface, "count_up", r#"{"name": "ships"}"#).await;
    assert_eq!(
        end(&outcome),
        "unavailable | this plugin was not granted a key-value store; its operator adds `key-value = true` to its grants | -"
    );
}

#[tokio::test]
async fn a_component_that_imports_it_unasked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let package = install(folder.path(), "hoarder");
    let manifest = fs::read_to_string(package.join("airlock.plugin.json")).unwrap();
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    manifest.as_object_mut().unwrap().remove("permissions");
    fs::write(package.join("airlock.plugin.json"), manifest.to_string()).unwrap();
    let surface =
        assembled(builder(&[]).plugin_root(root(folder.path())).config(granted(&["hoarder"]))).await;
    assert_eq!(surface.tools().count(), 0);
    let message = &surface.diagnostics()[0].message;
    assert!(
        message.starts_with("the component imports `wasi:keyvalue/")
            && message.ends_with("@0.2.0-draft`, which its manifest does not ask for"),
        "{message}"
    );
}

#[tokio::test]
async fn a_factory_reaches_nothing() {
    let surface = hoarder().await;
    assert_eq!(text(&call(&surface, "hoard_refused", "{}").await), "the factory was refused a store");
}

#[tokio::test]
async fn key_bucket_value_and_number_lengths_obeyed_and_violated() {
    let surface = hoarder().await;
    let set = |key: usize, value: usize| json!({ "verb": "set", "bucket": "b", "key_bytes": key, "value_bytes": value });
    let outcome = hoard(
        &surface,
        json!([
            set(512, 1),
            set(513, 1),
            set(1, 256 << 10),
            set(1, (256 << 10) + 1),
            { "verb": "open", "bucket": "b".repeat(64) },
            { "verb": "open", "bucket": "b".repeat(65) },
            { "verb": "get", "bucket": "b", "key_bytes": 4_000 },
            { "verb": "set", "bucket": "b", "key": "n", "value": u64::MAX.to_string() },
            { "verb": "increment", "bucket": "b", "key": "n" },
            { "verb": "get", "bucket": "b", "key": "n" },
            { "verb": "set", "bucket": "b", "key": "n", "value": "-3" },
            { "verb": "increment", "bucket": "b", "key": "n" },
            { "verb": "set", "bucket": "", "key": "", "value": "" },
            { "verb": "get", "bucket": "", "key": "" },
        ]),
    )
    .await;
    assert_eq!(
        text(&outcome).lines().collect::<Vec<_>>(),
        [
            "set",
            "error: a key has 513 bytes, the limit is 512",
            "set",
            "error: a value has 262145 bytes, the limit is 262144",
            "opened",
            "error: the name of a bucket has 65 bytes, the limit is 64",
            "error: a key has 4000 bytes, the limit is 512",
            "set",
            "error: the value is no whole number of 64 bits without a sign, or the sum is none",
            "18446744073709551615",
            "set",
            "error: the value is no whole number of 64 bits without a sign, or the sum is none",
            "set",
        ]
    );
    assert_eq!(outcome.kind, CallKind::Completed);
}

#[tokio::test]
async fn quota_obeyed_and_violated() {
    let folder = tempfile::tempdir().unwrap();
    let package = install(folder.path(), "hoarder");
    let manifest = fs::read_to_string(package.join("airlock.plugin.json")).unwrap().replace("1048576", "20");
    fs::write(package.join("airlock.plugin.json"), manifest).unwrap();
    let host = builder(&[]).plugin_root(root(folder.path())).config(granted(&["hoarder"]));
    let surface = assembled(host).await;
    let set = |bucket, key, bytes: usize| json!({ "verb": "set", "bucket": bucket, "key": key, "value_bytes": bytes });
    let outcome = hoard(
        &surface,
        json!([
            set("b", "k", 18),
            set("b", "k", 19),
            { "verb": "get", "bucket": "b", "key": "k" },
            set("c", "l", 1),
            set("b", "k", 10),
            set("c", "l", 6),
            { "verb": "increment", "bucket": "b", "key": "n", },
            { "verb": "delete", "bucket": "c", "key": "l" },
            { "verb": "increment", "bucket": "b", "key": "n", },
        ]),
    )
    .await;
    let full = "error: keys and values would be more than 20 bytes; delete some";
    assert_eq!(
        text(&outcome).lines().collect::<Vec<_>>(),
        ["set", full, "xxxxxxxxxxxxxxxxxx", full, "set", "set", full, "deleted", "1"]
    );
    assert_eq!(
        reached(&outcome),
        [
            "hoarder key-value bucket `b` true | -",
            "hoarder key-value bucket `b` false | keys and values would be more than 20 bytes; delete some",
            "hoarder key-value bucket `c` true | -",
        ]
    );
}

#[tokio::test]
async fn operations_and_buckets_of_one_call_obeyed_and_violated() {
    let surface = hoarder().await;
    let many = |times| json!({ "verb": "many", "bucket": "b", "key": "k", "times": times });
    assert_eq!(text(&hoard(&surface, json!([many(1_000)])).await), "1000 set");
    let outcome = hoard(&surface, json!([many(1_001)])).await;
    let spent = "error: a call may do 1000 things with its key-value store; keep less, or more in one value";
    assert_eq!(text(&outcome), spent);
    // The keys come in pages, of which each costs an operation.
    let keys = json!({ "verb": "keys", "bucket": "b" });
    assert_eq!(text(&hoard(&surface, json!([keys])).await), "1000 from k0000 to k0999");
    let open: Vec<_> =
        (0..17).map(|number| json!({ "verb": "open", "bucket": format!("{number}") })).collect();
    let outcome = hoard(&surface, json!(open)).await;
    assert_eq!(
        text(&outcome).lines().last().unwrap(),
        "error: a call may open 16 buckets; put more into one of them"
    );
    assert_eq!(outcome.receipt.reached.len(), 16);
}

/// A sandbox in which one plugin may have all slots.
fn wide_sandbox() -> Sandbox {
    let cache = repository().join("target/test-cache");
    let config = SandboxConfig {
        cache: Some(cache),
        concurrent_guests: 64,
        concurrent_guests_per_plugin: 64,
        ..SandboxConfig::default()
    };
    Sandbox::new(config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_guests_at_once_lose_no_increment() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("airlock.db")).unwrap();
    let in_memory = builder(&["hoarder"]).sandbox(wide_sandbox()).config(granted(&["hoarder"]));
    let on_disk = builder(&["hoarder"]).sandbox(wide_sandbox()).config(granted(&["hoarder"]));
    for builder in [in_memory, on_disk.store(store.clone()).key_value(store)] {
        let surface = assembled(builder).await;
        let increment = json!([{ "verb": "increment", "bucket": "b", "key": "n", "times": 100 }]);
        let outcomes = join_all((0..64).map(|_| hoard(&surface, increment.clone()))).await;
        assert!(
            outcomes.iter().all(|outcome| outcome.kind == CallKind::Completed),
            "{:?}",
            end(&outcomes[0])
        );
        let last = outcomes.iter().map(|outcome| text(outcome).parse::<u64>().unwrap()).max();
        assert_eq!(last, Some(6_400));
    }
}

#[tokio::test]
async fn values_outlive_the_host_and_what_was_reached_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    for count in 1..=2 {
        let store = SqliteStore::open(&database).unwrap();
        let host = builder(&["counter"]).config(granted(&["counter"])).store(store.clone()).key_value(store);
        let host = host.build().await.unwrap();
        let surface = host.assemble(RunContext::new("tester")).await;
        let outcome = call(&surface, "count_up", r#"{"name": "ships"}"#).await;
        assert_eq!(text(&outcome), format!("ships: {count}"));
        host.shutdown(Duration::from_secs(10)).await.unwrap();
    }
    let log = Log::open(&database).unwrap();
    let rows = log.page(&Query { limit: 100, ..Query::default() }).unwrap();
    let finished: Vec<Value> = rows
        .iter()
        .filter(|row| row.kind == "finished")
        .map(|row| serde_json::from_str(&row.body).unwrap())
        .collect();
    assert_eq!(finished.len(), 2);
    let expected = json!([
        { "plugin": "counter", "capability": "key-value", "target": "bucket `counts`", "allowed": true }
    ]);
    assert_eq!(finished[1]["receipt"]["reached"], expected, "{}", finished[1]);
    assert_eq!(log.verify().unwrap().findings, []);
}

/// A process that calls `hoard` with a data folder of its own or another's.
fn process(folder: &Path, operations: &Value) -> Child {
    let config = folder.join("airlock.toml");
    if !config.exists() {
        fs::write(&config, "[plugins.entries.hoarder.grants]\nkey-value = true\n").unwrap();
    }
    let plugins = sample("hoarder");
    Command::new(program())
        .args(["--config", config.to_str().unwrap(), "--plugins", plugins.to_str().unwrap()])
        .args(["--data", folder.to_str().unwrap(), "call", "hoard", "--params"])
        .arg(json!({ "operations": operations }).to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn printed(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn processes_share_one_store() {
    let folder = tempfile::tempdir().unwrap();
    // Compiled once, so that the processes meet.
    let none = json!([{ "verb": "get", "bucket": "b", "key": "n" }]);
    assert_eq!(printed(process(folder.path(), &none)), "none");
    let increment = json!([{ "verb": "increment", "bucket": "b", "key": "n", "times": 200 }]);
    let processes: Vec<_> = (0..3).map(|_| process(folder.path(), &increment)).collect();
    let sums: Vec<String> = processes.into_iter().map(printed).collect();
    let last = sums.iter().filter_map(|sum| sum.parse::<u64>().ok()).max();
    assert_eq!(last, Some(600), "{sums:?}");
}

#[test]
fn a_killed_process_leaves_a_whole_store() {
    let folder = tempfile::tempdir().unwrap();
    let get = json!([{ "verb": "get", "bucket": "b", "key": "n" }]);
    assert_eq!(printed(process(folder.path(), &get)), "none");
    let increment = json!([{ "verb": "increment", "bucket": "b", "key": "n", "times": 900 }]);
    let database = folder.path().join("airlock.db");
    let plugin = PluginId::parse("hoarder").unwrap();
    let store = SqliteStore::open(&database).unwrap();
    let value = || {
        let value = futures_util::future::FutureExt::now_or_never(store.get(&plugin, "b", "n"));
        value.unwrap().unwrap().map_or(0, |value| String::from_utf8(value).unwrap().parse::<u64>().unwrap())
    };
    let mut child = process(folder.path(), &increment);
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while value() < 20 {
        assert!(std::time::Instant::now() < until, "nothing was written");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = value();
    assert!(left >= 20);
    let next = json!([{ "verb": "increment", "bucket": "b", "key": "n" }]);
    assert_eq!(printed(process(folder.path(), &next)), (left + 1).to_string());
    assert_eq!(Log::open(&database).unwrap().verify().unwrap().findings, []);
}

#[tokio::test]
async fn a_guest_that_is_cut_off_leaves_whole_writes() {
    let store = airlock_core::MemoryKeyValue::default();
    let limits =
        airlock_core::Limits { timeout: Duration::from_millis(200), ..airlock_core::Limits::default() };
    let host = builder(&["hoarder"]).config(granted(&["hoarder"])).limits(limits);
    let surface = assembled(host.store(MemoryStore::default()).key_value(store.clone())).await;
    let many = json!([{ "verb": "many", "bucket": "b", "key": "k", "value_bytes": 1_000, "times": 900 }]);
    let cut = surface.call(Call::from_json("hoard", json!({ "operations": many }).to_string()));
    let _ = tokio::time::timeout(Duration::from_millis(3), cut).await;
    let plugin = PluginId::parse("hoarder").unwrap();
    for key in store.keys(&plugin, "b", None, 1_000).await.unwrap() {
        assert_eq!(store.get(&plugin, "b", &key).await.unwrap().unwrap().len(), 1_000);
    }
}

/// The world for authors who write no Rust is well-formed, and is what the host links.
mod world {
    #![allow(
        missing_docs,
        missing_debug_implementations,
        unreachable_pub,
        clippy::all,
        reason = "generated code"
    )]
    wasmtime::component::bindgen!({
        path: ["../wit/deps/keyvalue", "../wit/0.1.0", "../wit/key-value"],
        world: "airlock:key-value/plugin",
    });
}
