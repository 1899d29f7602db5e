//! Several processes on one store, and processes that are killed: nothing that was acknowledged is lost, and no crash
//! looks like tampering.
//!
//! The test program runs itself again as the writer.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a helper that panics fails its test, and the writer tells its parent what it has done"
)]

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use airlock_core::{AuditKind, AuditRow, CallId, Store as _};
use airlock_store::{Log, Query, SqliteStore, StoredRow};

/// Tells this program that it is the writer: the path of the store, and how many calls it makes.
const PATH: &str = "AIRLOCK_STORE_TEST_PATH";
const CALLS: &str = "AIRLOCK_STORE_TEST_CALLS";

/// How often a writer is killed, two hundred times in all; in several stores, so that each is verified in no time.
const STORES: u64 = 10;
const KILLS: u64 = 20;

fn row(kind: AuditKind, call: &str) -> AuditRow {
    AuditRow {
        kind,
        unix_ms: 1,
        call_id: Some(CallId::parse(call).unwrap()),
        tool: Some("echo".into()),
        body: format!("{{\"padding\":\"{}\"}}", "x".repeat(300)),
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// Not a test when it runs alone: only a process that was started by one writes anything.
#[test]
fn writer() {
    let (Ok(path), Ok(calls)) = (std::env::var(PATH), std::env::var(CALLS)) else { return };
    let store = SqliteStore::open(Path::new(&path)).unwrap();
    let instance = store.instance().to_owned();
    run(async {
        for number in 0..calls.parse::<u64>().unwrap() {
            let call = format!("{instance}-{number}");
            let reservation = store.reserve().await.unwrap();
            // Every third call has no side effects and so no `started` row.
            if number % 3 != 0 {
                store.start(&reservation, row(AuditKind::Started, &call)).await.unwrap();
                println!("started {call}");
            }
            store.write(reservation, row(AuditKind::Finished, &call));
            if number % 50 == 49 {
                store.flush(Duration::from_secs(20)).await.unwrap();
                println!("finished {call}");
            }
        }
        store.close(Duration::from_secs(20)).await.unwrap();
    });
}

fn spawn(database: &Path, calls: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--nocapture"])
        .env(PATH, database)
        .env(CALLS, calls.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// What the writer said that it has on disk.
fn acknowledged(child: &mut Child) -> Vec<(String, String)> {
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    let output = String::from_utf8_lossy(&output).into_owned();
    // The last line may have been cut by the kill.
    let whole = output.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let kinds = ["started", "finished"];
    let said = whole.lines().filter_map(|line| line.split_once(' '));
    said.filter(|(kind, _)| kinds.contains(kind))
        .map(|(kind, call)| (kind.to_owned(), call.to_owned()))
        .collect()
}

/// Every row after `after`.
fn rows_after(log: &Log, mut after: u64) -> Vec<StoredRow> {
    let mut rows = Vec::new();
    loop {
        let page = log.page(&Query { after: Some(after), limit: 1_000, ..Query::default() }).unwrap();
        let Some(last) = page.last() else { return rows };
        after = last.number;
        rows.extend(page);
    }
}

#[test]
fn two_hundred_kills_lose_nothing_and_leave_a_whole_chain() {
    let mut random = 1_u64;
    for _ in 0..STORES {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("airlock.db");
        drop(SqliteStore::open(&database).unwrap());
        let mut seen = 0;
        for kill in 0..KILLS {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let life = Duration::from_micros(1_000 + (random >> 33) % 60_000);
            // Half of the time another process keeps the store open and writes, too; otherwise the next opener must
            // recover.
            let other = (kill % 2 == 0).then(|| SqliteStore::open(&database).unwrap());
            seen = check_kill(&database, life, other.as_ref(), seen);
        }
        drop(SqliteStore::open(&database).unwrap());
        let log = Log::open(&database).unwrap();
        assert_eq!(log.unfinished().unwrap(), []);
        let verification = log.verify().unwrap();
        assert_eq!((verification.head_rows, &verification.findings[..]), (Some(verification.rows), &[][..]));
        check_calls(&rows_after(&log, 0));
    }
}

/// Kills a writer and holds what it acknowledged against the log; gives the number of the last row.
fn check_kill(database: &Path, life: Duration, other: Option<&SqliteStore>, seen: u64) -> u64 {
    let mut child = spawn(database, u64::MAX);
    std::thread::sleep(life);
    if let Some(other) = other {
        run(other.write_durably(row(AuditKind::Reload, "other"))).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let log = Log::open(database).unwrap();
    let verification = log.verify().unwrap();
    assert_eq!(verification.findings, []);
    assert!(verification.head_rows.unwrap() <= verification.rows);
    let rows = rows_after(&log, seen);
    assert_eq!(seen + rows.len() as u64, verification.rows);
    let calls = rows.into_iter().map(|row| (row.kind, row.call_id.unwrap_or_default()));
    let calls: HashSet<(String, String)> = calls.collect();
    for said in acknowledged(&mut child) {
        assert!(calls.contains(&said), "lost: {said:?}");
    }
    verification.rows
}

/// Every started call has exactly one end, and it comes later.
fn check_calls(rows: &[StoredRow]) {
    let mut open = HashMap::new();
    let mut interrupted = 0;
    for row in rows.iter().filter(|row| row.serial.is_some()) {
        let call = (&row.instance, row.serial);
        match row.kind.as_str() {
            "started" => assert!(open.insert(call, row.number).is_none()),
            "interrupted" => {
                assert!(open.remove(&call).is_some(), "row {} ends nothing", row.number);
                interrupted += 1;
            }
            _ => drop(open.remove(&call)),
        }
    }
    assert_eq!(open, HashMap::new());
    println!("{} rows, {interrupted} interrupted calls", rows.len());
}

#[test]
fn processes_that_append_at_once_make_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    let mut children = [spawn(&database, 150), spawn(&database, 150), spawn(&database, 150)];
    for child in &mut children {
        let said = acknowledged(child);
        assert!(child.wait().unwrap().success());
        // Two of three calls have a started row, and every fiftieth was flushed.
        assert_eq!(said.len(), 100 + 3);
    }
    let log = Log::open(&database).unwrap();
    let verification = log.verify().unwrap();
    assert_eq!((verification.rows, verification.head_rows), (3 * 250, Some(3 * 250)));
    assert_eq!(verification.findings, []);
    check_calls(&rows_after(&log, 0));
}
