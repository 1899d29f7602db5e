//! Reload swaps snapshots: running calls finish, old surfaces can only lose, new bytes run from the next assembly.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use airlock_core::{CallKind, Config, Host, RunContext};

use crate::many_calls::resident_kib;
use crate::support::{call, component, end, install, package, root, sandbox, text};

fn config(source: &str) -> Config {
    Config::from_toml(source.as_bytes(), Path::new("airlock.toml")).unwrap()
}

async fn host(folder: &Path) -> (Host, airlock_sandbox::Sandbox) {
    let sandbox = sandbox();
    let builder = Host::builder().sandbox(sandbox.clone()).load_patience(std::time::Duration::from_secs(100));
    (builder.plugin_root(root(folder)).build().await.unwrap(), sandbox)
}

#[tokio::test]
async fn an_old_surface_cannot_reach_what_was_disabled_or_changed() {
    let folder = tempfile::tempdir().unwrap();
    install(folder.path(), "echo");
    install(folder.path(), "workflow");
    let (host, _) = host(folder.path()).await;
    let old = host.assemble(RunContext::new("tester")).await;
    let echo = async |surface| call(surface, "echo", r#"{"text": "a"}"#).await;

    host.reload(Config::default()).unwrap();
    assert_eq!(echo(&old).await.kind, CallKind::Completed, "nothing changed");

    host.reload(config("[plugins]\ndeny = [\"echo\"]")).unwrap();
    let stale = echo(&old).await;
    assert_eq!(
        end(&stale),
        "stale-surface | the tool `echo` is no longer available | `echo` is in `plugins.deny`"
    );
    let workflow = call(&old, "workflow_tool", r#"{"pipeline": "slug", "text": "a b"}"#).await;
    assert_eq!(workflow.kind, CallKind::Completed, "the others stay");
    let new = host.assemble(RunContext::new("tester")).await;
    assert_eq!(echo(&new).await.kind, CallKind::NotExposed);

    host.reload(Config::default()).unwrap();
    assert_eq!(echo(&old).await.kind, CallKind::Completed, "what is allowed again may be called again");
    assert_eq!(echo(&new).await.kind, CallKind::NotExposed, "a surface never gains");
}

#[tokio::test]
async fn replaced_bytes_run_from_the_next_assembly() {
    let folder = tempfile::tempdir().unwrap();
    let path = package(folder.path(), "changing", &["keep", "echo"], Some(&component("keeper")));
    let (host, _) = host(folder.path()).await;
    let old = host.assemble(RunContext::new("tester")).await;
    assert_eq!(text(&call(&old, "keep", "{}").await), "calls: 1");
    fs::write(path.join("new.wasm"), component("echo")).unwrap();
    fs::rename(path.join("new.wasm"), path.join("plugin.wasm")).unwrap();
    host.reload(Config::default()).unwrap();
    assert_eq!(call(&old, "keep", "{}").await.kind, CallKind::StaleSurface);
    let new = host.assemble(RunContext::new("tester")).await;
    assert_eq!(text(&call(&new, "echo", r#"{"text": "new code"}"#).await), "new code");
    assert!(new.tools().all(|exposed| exposed.tool.name.as_str() != "keep"));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn fifty_reloads_under_sixteen_callers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for id in ["echo", "workflow", "watcher"] {
        install(folder.path(), id);
    }
    let (host, sandbox) = host(folder.path()).await;
    host.assemble(RunContext::new("tester")).await;
    let before = resident_kib();
    let loads = sandbox.statistics();
    let (stop, calls) =
        (std::sync::Arc::new(AtomicBool::new(false)), std::sync::Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = (0..16)
        .map(|_| {
            let (host, stop, calls) = (host.clone(), stop.clone(), calls.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let surface = host.assemble(RunContext::new("tester")).await;
                    let outcome = call(&surface, "echo", r#"{"text": "steady"}"#).await;
                    assert_eq!(end(&outcome), "completed | steady | -");
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for round in 0..50 {
        let source = if round % 2 == 0 { "[plugins]\ndeny = [\"workflow\"]" } else { "" };
        host.reload(config(source)).unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    stop.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(calls.load(Ordering::Relaxed) > 50);
    // `echo` never changed, so it was never loaded again; `workflow` at most once for each time that it came back.
    let loaded =
        sandbox.statistics().from_cache + sandbox.statistics().compiled - loads.from_cache - loads.compiled;
    assert!(loaded <= 25, "{loaded} loads");
    let handlers: Vec<_> = host
        .inspect()
        .await
        .iter()
        .map(|status| match &status.loaded {
            Ok(Some(loaded)) => {
                format!("{} {}", status.entry.manifest.id, loaded.registration.handlers.len())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(handlers, ["echo 0", "watcher 1", "workflow 0"], "no handler is lost or doubled");
    let growth = resident_kib().saturating_sub(before);
    eprintln!(
        "{} calls over 50 reloads, resident memory grew by {growth} KiB",
        calls.load(Ordering::Relaxed)
    );
    assert!(growth <= 16 * 1_024, "resident memory grew by {growth} KiB");
}
