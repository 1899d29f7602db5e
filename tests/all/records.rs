//! Records: one for every call, whatever its end; none lost when a process is killed; a side effect only with its record.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlock_core::{
    AuditKind, AuditRow, Call, CallKind, Decided, Grant, GrantId, GrantKey, Host, MemoryStore, NativeCall,
    NativeTool, Reservation, RunContext, Store, StoreError, ToolDescriptor, ToolError, ToolMetadata,
    ToolResult,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::command_line::program;
use crate::scripted::{Native, Scripted, descriptor};
use crate::support::{end, sample};

/// A store in memory that can be made to fail, and that a test can look into.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched {
    pub(crate) inner: Arc<MemoryStore>,
    is_broken: Arc<AtomicBool>,
}

impl Watched {
    fn check(&self) -> Result<(), StoreError> {
        if self.is_broken.load(Ordering::Relaxed) {
            Err(StoreError::unavailable("the disk is full"))
        } else {
            Ok(())
        }
    }
}

impl Store for Watched {
    fn reserve(&self) -> BoxFuture<'_, Result<Reservation, StoreError>> {
        Box::pin(async {
            self.check()?;
            self.inner.reserve().await
        })
    }
    fn write(&self, reservation: Reservation, row: AuditRow) {
        self.inner.write(reservation, row);
    }
    fn start(&self, reservation: &Reservation, row: AuditRow) -> BoxFuture<'_, Result<(), StoreError>> {
        let started = self.check().map(|()| self.inner.start(reservation, row));
        Box::pin(async { started?.await })
    }
    fn write_durably(&self, row: AuditRow) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.write_durably(row)
    }
    fn find_grant(&self, key: &GrantKey) -> BoxFuture<'_, Result<Option<Grant>, StoreError>> {
        self.inner.find_grant(key)
    }
    fn insert_grant(&self, key: GrantKey, decided: Decided) -> BoxFuture<'_, Result<Grant, StoreError>> {
        self.inner.insert_grant(key, decided)
    }
    fn grants(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>> {
        self.inner.grants()
    }
    fn revoke_grant(
        &self,
        id: GrantId,
        decided: Decided,
    ) -> BoxFuture<'_, Result<Option<Grant>, StoreError>> {
        self.inner.revoke_grant(id, decided)
    }
    fn flush(&self, patience: Duration) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.flush(patience)
    }
    fn close(&self, patience: Duration) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.close(patience)
    }
}

/// Has a side effect, or waits for ever.
#[derive(Debug)]
struct Effect;

impl NativeTool for Effect {
    fn descriptor(&self) -> ToolDescriptor {
        descriptor("effect")
    }
    fn metadata(&self) -> ToolMetadata {
        ToolMetadata { side_effecting: true, ..ToolMetadata::default() }
    }
    fn execute(&self, call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            if call.arguments["wait"] == true {
                std::future::pending::<()>().await;
            }
            Ok(ToolResult::text("done"))
        })
    }
}

async fn host(store: &Watched) -> Host {
    let quiet = Native { name: "quiet", ..Native::default() };
    let builder =
        Host::builder().sandbox(Scripted).native_tool(Effect).native_tool(quiet).store(store.clone());
    builder.build().await.unwrap()
}

pub(crate) fn body(row: &AuditRow) -> Value {
    serde_json::from_str(&row.body).unwrap()
}

#[tokio::test]
async fn every_call_leaves_one_row_and_a_side_effect_one_before_it() {
    let store = Watched::default();
    let surface = host(&store).await.assemble(RunContext::new("writer")).await;
    surface.call(Call::new("effect", json!({ "secret": "ZZ-0001" }))).await;
    surface.call(Call::new("quiet", json!({}))).await;
    surface.call(Call::new("nobody", json!({}))).await;
    surface.call(Call::from_json("effect", "{")).await;
    let waiting = surface.call(Call::new("effect", json!({ "wait": true })));
    assert!(tokio::time::timeout(Duration::from_millis(30), waiting).await.is_err());
    let rows = store.inner.rows();
    let words: Vec<_> = rows
        .iter()
        .map(|row| {
            format!(
                "{} {} {}",
                row.kind,
                row.tool.as_deref().unwrap(),
                body(row)["outcome"].as_str().unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(
        words,
        [
            "started effect -",
            "finished effect completed",
            "finished quiet completed",
            "finished nobody not-exposed",
            "finished effect invalid-params",
            "started effect -",
            "finished effect cancelled",
        ]
    );
    assert!(rows.iter().all(|row| !row.body.contains("ZZ-0001")), "digests, not contents");
    let finished = body(&rows[1]);
    assert_eq!((&finished["agent"], &finished["owner"]), (&json!("writer"), &json!("core")));
    assert_eq!(finished["trail"].as_array().unwrap().len(), 3);
    assert_eq!(finished["arguments"], body(&rows[0])["arguments"]);
    assert_eq!(rows.iter().filter(|row| row.kind == AuditKind::Finished).count(), 5);
}

#[tokio::test]
async fn without_a_record_there_is_no_side_effect_and_nothing_else_is_held_up() {
    let store = Watched::default();
    let host = host(&store).await;
    let surface = host.assemble(RunContext::new("writer")).await;
    store.is_broken.store(true, Ordering::Relaxed);
    let refused = surface.call(Call::new("effect", json!({}))).await;
    assert_eq!(refused.kind, CallKind::AuditUnavailable);
    assert!(end(&refused).contains("the disk is full"), "{}", end(&refused));
    assert_eq!(surface.call(Call::new("quiet", json!({}))).await.kind, CallKind::Completed);
    store.is_broken.store(false, Ordering::Relaxed);
    assert_eq!(surface.call(Call::new("effect", json!({}))).await.kind, CallKind::Completed);
    host.shutdown(Duration::from_secs(5)).await.unwrap();
    assert_eq!(surface.call(Call::new("effect", json!({}))).await.kind, CallKind::Cancelled);
}

fn airlock(data: &Path) -> Command {
    let mut command = Command::new(program());
    command.arg("--data").arg(data).args(["--format", "json"]).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

fn document(command: &mut Command) -> (i32, Value) {
    let output = command.output().unwrap();
    let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), document)
}

#[cfg(unix)]
#[test]
fn a_killed_process_loses_nothing_that_was_committed_and_runs_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (data, workspace) = (folder.path().join("data"), folder.path().join("workspace"));
    std::fs::create_dir_all(&workspace).unwrap();
    let mut pause = 1_u64;
    for round in 0..200_u64 {
        let params = json!({ "path": format!("{round}.txt"), "content": "x" }).to_string();
        let mut child = airlock(&data)
            .args(["--native", "files", "call", "write", "--params", &params, "--workspace"])
            .arg(&workspace)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Anywhere from the start of the process to well after its end.
        pause = (pause * 48_271) % 2_147_483_647;
        std::thread::sleep(Duration::from_micros(pause % 60_000));
        let _ = child.kill();
        child.wait().unwrap();
        if round % 10 == 9 {
            let (code, verified) = document(airlock(&data).args(["audit", "--verify"]));
            assert_eq!((code, &verified["ok"]), (0, &json!(true)), "round {round}: {verified}");
        }
    }
    // The next opener says which calls were cut off.
    document(airlock(&data).args(["--native", "files", "call", "ls", "--workspace"]).arg(&workspace));
    let (code, log) = document(airlock(&data).args(["audit", "--limit", "1000"]));
    assert_eq!(code, 0);
    let rows = log["rows"].as_array().unwrap();
    let count = |kind: &str| rows.iter().filter(|row| row["kind"] == kind && row["tool"] == "write").count();
    let (started, finished, interrupted) = (count("started"), count("finished"), count("interrupted"));
    assert!(
        started > 5 && interrupted > 0,
        "started {started}, finished {finished}, interrupted {interrupted}"
    );
    assert_eq!(started, finished + interrupted, "every started call has exactly one end");
    let written = std::fs::read_dir(&workspace).unwrap().filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "txt")
    });
    assert!(written.count() <= started, "nothing was written without a started row");
}

#[test]
fn every_end_of_a_gate_has_its_exit_code_and_its_trail() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = sample("hooks");
    let timeouts = folder.path().join("airlock.toml");
    std::fs::write(&timeouts, "[plugins.entries.hooks]\nhook-timeouts = { before-tool-call = 300 }\n")
        .unwrap();
    let run = |mode: &str, flags: &[&str]| {
        let params = json!({ "before": mode }).to_string();
        let mut command = airlock(folder.path());
        command.arg("--config").arg(&timeouts).arg("--plugins").arg(&hooks);
        document(command.args(["call", "hooked", "--params", &params]).args(flags))
    };
    for (mode, flags, code, kind, decision) in [
        ("pass", &[][..], 0, Value::Null, "pass"),
        ("block", &[], 3, json!("blocked"), "block"),
        ("rewrite", &[], 0, Value::Null, "rewrite"),
        ("invalid-rewrite", &[], 3, json!("blocked"), "failed"),
        ("trap", &[], 3, json!("blocked"), "failed"),
        ("endless", &[], 3, json!("blocked"), "failed"),
        ("ask", &[], 3, json!("approval-unavailable"), "approval-required"),
        ("ask", &["--approve", "deny"], 3, json!("approval-denied"), "approval-required"),
        ("ask", &["--approve", "allow-once"], 0, Value::Null, "approval-required"),
        ("ask", &["--approve", "allow-always"], 0, Value::Null, "approval-required"),
        ("ask", &[], 0, Value::Null, "approval-required"),
        ("block", &["--dry-run"], 3, json!("blocked"), "block"),
        ("pass", &["--dry-run"], 0, Value::Null, "pass"),
        ("ask", &["--dry-run"], 0, Value::Null, "approval-required"),
    ] {
        let (found, outcome) = run(mode, flags);
        assert_eq!((found, &outcome["error"]["kind"]), (code, &kind), "{mode} {flags:?}: {outcome:#}");
        let trail = outcome["trail"].as_array().unwrap();
        assert!(trail.iter().all(|entry| entry["us"].is_u64() && entry["by"].is_string()), "{outcome:#}");
        assert_eq!(trail[0]["checkpoint"], "acceptance");
        assert_eq!((&trail[1]["checkpoint"], &trail[1]["by"]), (&json!("before-tool-call"), &json!("hooks")));
        assert_eq!(trail[1]["decision"], decision, "{mode}: {outcome:#}");
        if flags.contains(&"--dry-run") {
            assert!(trail.iter().all(|entry| entry["decision"] != "completed"), "{outcome:#}");
        }
    }
    let (_, approvals) = document(airlock(folder.path()).args(["approvals", "list"]));
    let id = approvals["approvals"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(document(airlock(folder.path()).args(["approvals", "revoke", &id])).0, 0);
    assert_eq!(run("ask", &[]).0, 3, "a revoked approval covers nothing");
}

/// Whether any file below the folder holds the bytes.
fn holds(folder: &Path, secret: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, secret);
        }
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(secret.len()).any(|window| window == secret)
    })
}

#[test]
fn no_file_holds_the_secret_after_any_failure_of_its_redactor() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // Even where whole records are kept.
    let config = folder.path().join("airlock.toml");
    let text = "[audit]\ncontents = \"full\"\n[plugins.entries.hooks]\nhook-timeouts = { tool-result-persist = 300 }\n";
    std::fs::write(&config, text).unwrap();
    let secret = 7_391_824_655_u64;
    let call = |persist: &str, count: Value| {
        let params = json!({ "persist": persist, "count": count }).to_string();
        let mut command = airlock(&data);
        command.arg("--config").arg(&config).arg("--plugins").arg(sample("hooks"));
        document(command.args(["call", "hooked", "--params", &params])).1
    };
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
        "replace",
    ] {
        let outcome = call(mode, json!(secret));
        assert_eq!(outcome["status"], "success", "{mode}: {outcome:#}");
        assert!(!holds(&data, secret.to_string().as_bytes()), "{mode}");
    }
    // Refused before any redactor could see it.
    call("error", json!(secret.to_string()));
    assert!(!holds(&data, secret.to_string().as_bytes()));
    // The test can fail: without a failing redactor the whole record is kept.
    call("pass", json!(secret));
    assert!(holds(&data, secret.to_string().as_bytes()));
}
