//! The store as core meets it: order, back-pressure, failures and what a dead process leaves.

use std::collections::BTreeSet;
use std::time::Instant;

use airlock_core::{AuditKind, CallId, Digest, Party, StoreErrorKind, ToolName};
use rusqlite::TransactionBehavior;

use super::*;
use crate::log::{Log, Order, Query};
use crate::verify::Finding;

const PATIENCE: Duration = Duration::from_secs(20);

fn row(kind: AuditKind, body: &(impl ToString + ?Sized)) -> AuditRow {
    AuditRow {
        kind,
        unix_ms: 1,
        call_id: Some(CallId::parse("call-1").unwrap()),
        tool: Some("echo".into()),
        body: body.to_string(),
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn all(database: &Path) -> Vec<(String, String)> {
    let rows = Log::open(database).unwrap().page(&Query { limit: 1_000, ..Query::default() }).unwrap();
    rows.into_iter().map(|row| (row.kind, row.body)).collect()
}

#[test]
fn rows_keep_their_order_and_a_dropped_store_has_written_all() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    let store = SqliteStore::open(&database).unwrap();
    run(async {
        for number in 0..100 {
            let reservation = store.reserve().await.unwrap();
            if number % 10 == 0 {
                store.start(&reservation, row(AuditKind::Started, &number)).await.unwrap();
                assert_eq!(all(&database).last().unwrap(), &("started".to_owned(), number.to_string()));
            }
            store.write(reservation, row(AuditKind::Finished, &number));
        }
    });
    drop(store);
    let expected = (0..100).flat_map(|number| {
        let started = (number % 10 == 0).then(|| ("started".to_owned(), number.to_string()));
        started.into_iter().chain([("finished".to_owned(), number.to_string())])
    });
    assert_eq!(all(&database), expected.collect::<Vec<_>>());
    let verification = Log::open(&database).unwrap().verify().unwrap();
    assert_eq!((verification.rows, verification.head_rows, verification.findings.len()), (110, Some(110), 0));
    assert_eq!(std::fs::read_dir(folder.path().join("airlock.db.instances")).unwrap().count(), 0);
}

#[test]
fn a_full_queue_makes_calls_wait_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    let store = SqliteStore::open_with(&database, &Options { waiting_rows: 3 }).unwrap();
    let mut other = Connection::open(&database).unwrap();
    let blocking = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    run(async {
        let early = [store.reserve().await.unwrap(), store.reserve().await.unwrap()];
        for number in 0..3 {
            let reservation = store.reserve().await.unwrap();
            store.write(reservation, row(AuditKind::Finished, &number));
        }
        let waiting = store.reserve();
        let mut waiting = std::pin::pin!(waiting);
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut waiting).await.is_err());
        // What had begun before ends without waiting.
        for (number, reservation) in early.into_iter().enumerate() {
            store.write(reservation, row(AuditKind::Finished, &(number + 3)));
        }
        drop(blocking);
        let reservation = tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap();
        store.write(reservation, row(AuditKind::Finished, &5));
        store.close(PATIENCE).await.unwrap();
        assert_eq!(store.reserve().await.unwrap_err().kind(), StoreErrorKind::Closed);
    });
    let bodies: Vec<_> = all(&database).into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, ["0", "1", "2", "3", "4", "5"]);
}

#[test]
fn a_full_disk_fails_what_must_be_durable_and_keeps_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    let prepare = |connection: &Connection| connection.execute_batch("PRAGMA max_page_count = 12");
    let store = SqliteStore::open_prepared(&database, &Options { waiting_rows: 2 }, prepare).unwrap();
    let large = "x".repeat(100_000);
    run(async {
        let reservation = store.reserve().await.unwrap();
        let error = store.start(&reservation, row(AuditKind::Started, &large)).await.unwrap_err();
        assert!(error.to_string().contains("no room to grow: free space"), "{error}");
        // A small row still fits; a large one waits for space, and keeps those behind it waiting.
        store.write(reservation, row(AuditKind::Finished, "{}"));
        store.flush(PATIENCE).await.unwrap();
        for _ in 0..2 {
            store.write(store.reserve().await.unwrap(), row(AuditKind::Finished, &large));
        }
        let error = store.flush(Duration::from_millis(100)).await.unwrap_err();
        assert!(error.to_string().starts_with("2 audit rows are not on disk: the store"), "{error}");
        let error = store.reserve().await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    });
    let before = Instant::now();
    drop(store);
    assert!(before.elapsed() < PATIENCE);
    assert_eq!(all(&database), [("finished".to_owned(), "{}".to_owned())]);
    assert_eq!(Log::open(&database).unwrap().verify().unwrap().findings, []);
}

#[test]
fn a_disk_that_cannot_be_written_is_named_and_used_again_when_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    let prepare = |connection: &Connection| connection.execute_batch("PRAGMA query_only = ON");
    let store = SqliteStore::open_prepared(&database, &Options::default(), prepare).unwrap();
    let error = run(store.write_durably(row(AuditKind::Reload, "{}"))).unwrap_err();
    assert!(error.to_string().contains("not mounted read-only"), "{error}");
    drop(store);

    let prepare = |connection: &Connection| connection.busy_timeout(Duration::from_millis(10));
    let store = SqliteStore::open_prepared(&database, &Options::default(), prepare).unwrap();
    let mut other = Connection::open(&database).unwrap();
    let blocking = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    run(async {
        store.write(store.reserve().await.unwrap(), row(AuditKind::Finished, "kept"));
        let error = store.write_durably(row(AuditKind::Reload, "failed")).await.unwrap_err();
        assert!(error.to_string().contains("locked by another process"), "{error}");
        drop(blocking);
        store.write_durably(row(AuditKind::Reload, "again")).await.unwrap();
    });
    let bodies: Vec<_> = all(&database).into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, ["kept", "again"]);
}

#[test]
fn a_call_without_an_end_is_interrupted_once_its_process_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    let first = SqliteStore::open(&database).unwrap();
    let (dead, left) = (first.instance().to_owned(), run(first.reserve()).unwrap());
    run(first.start(&left, row(AuditKind::Started, "{}"))).unwrap();
    let log = Log::open(&database).unwrap();
    let second = SqliteStore::open(&database).unwrap();
    // The first is still there.
    assert_eq!(log.unfinished().unwrap().iter().map(|call| call.is_running).collect::<Vec<_>>(), [true]);
    assert_eq!(log.last().unwrap(), 1);
    drop(first);
    assert_eq!(log.unfinished().unwrap().iter().map(|call| call.is_running).collect::<Vec<_>>(), [false]);
    for _ in 0..2 {
        drop(SqliteStore::open(&database).unwrap());
        let rows = log.page(&Query { limit: 10, order: Order::NewestFirst, ..Query::default() }).unwrap();
        assert_eq!(
            (rows.len(), rows[0].kind.as_str(), rows[0].instance.as_str()),
            (2, "interrupted", dead.as_str())
        );
        assert_eq!((rows[0].serial, rows[0].call_id.as_deref()), (Some(0), Some("call-1")));
    }
    assert_eq!(log.unfinished().unwrap(), []);
    assert_eq!(log.verify().unwrap().findings, []);
    drop(second);
}

#[test]
fn grants_are_found_listed_and_revoked_from_another_process_too() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    let (agent, command) = (SqliteStore::open(&database).unwrap(), SqliteStore::open(&database).unwrap());
    let party = |id: &str| Party { id: id.into(), digest: Digest::of(id.as_bytes()) };
    let key = GrantKey {
        agent: "writer".into(),
        session_owner: "ada".into(),
        askers: BTreeSet::from([party("guard"), party("budget")]),
        owner: party("mail"),
        tool: ToolName::parse("send").unwrap(),
        arguments: Some(Digest::of(b"{}")),
    };
    let decided = Decided { by: "ada".into(), unix_ms: 9 };
    run(async {
        assert_eq!(agent.find_grant(&key).await.unwrap(), None);
        let grant = agent.insert_grant(key.clone(), decided.clone()).await.unwrap();
        assert_eq!(agent.insert_grant(key.clone(), decided.clone()).await.unwrap(), grant);
        assert_eq!(agent.find_grant(&key).await.unwrap().as_ref(), Some(&grant));
        let changed =
            GrantKey { owner: Party { digest: Digest::of(b"2"), ..key.owner.clone() }, ..key.clone() };
        assert_eq!(agent.find_grant(&changed).await.unwrap(), None);
        assert_eq!(command.grants().await.unwrap(), std::slice::from_ref(&grant));
        assert_eq!(
            command.revoke_grant(grant.id.clone(), decided.clone()).await.unwrap(),
            Some(grant.clone())
        );
        assert_eq!(command.revoke_grant(grant.id, decided.clone()).await.unwrap(), None);
        assert_eq!(agent.find_grant(&key).await.unwrap(), None);
        let wide = agent.insert_grant(key.for_all_arguments(), decided).await.unwrap();
        assert_eq!(agent.find_grant(&key).await.unwrap(), Some(wide));
    });
    assert_eq!(all(&database).len(), 3);
    assert_eq!(Log::open(&database).unwrap().verify().unwrap().findings, []);
}

#[test]
fn pages_are_filtered_ordered_and_followed() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    let store = SqliteStore::open(&database).unwrap();
    run(async {
        for number in 1..=6_u32 {
            let mut row = row(AuditKind::Finished, &number);
            row.call_id = Some(CallId::parse(&format!("call-{}", number % 2)).unwrap());
            row.tool = Some(format!("tool-{}", number % 3));
            store.write_durably(row).await.unwrap();
        }
    });
    let log = Log::open(&database).unwrap();
    let numbers =
        |query: Query| -> Vec<u64> { log.page(&query).unwrap().into_iter().map(|row| row.number).collect() };
    let base = Query { limit: 10, ..Query::default() };
    assert_eq!(numbers(Query { after: Some(4), ..base.clone() }), [5, 6]);
    assert_eq!(
        numbers(Query { before: Some(4), limit: 2, order: Order::NewestFirst, ..base.clone() }),
        [3, 2]
    );
    assert_eq!(numbers(Query { call_id: Some("call-1".into()), ..base.clone() }), [1, 3, 5]);
    assert_eq!(
        numbers(Query { call_id: Some("call-1".into()), tool: Some("tool-0".into()), ..base.clone() }),
        [3]
    );
    assert_eq!(numbers(Query { tool: Some("' OR 1".into()), ..base }), [0; 0]);
}

#[test]
fn a_store_that_was_tampered_with_says_so_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    let store = SqliteStore::open(&database).unwrap();
    run(store.write_durably(row(AuditKind::Reload, "{}"))).unwrap();
    assert!(!store.is_contradicted());
    drop(store);
    Connection::open(&database).unwrap().execute_batch("DELETE FROM log").unwrap();
    let store = SqliteStore::open(&database).unwrap();
    assert!(store.is_contradicted());
    run(store.write_durably(row(AuditKind::Reload, "[]"))).unwrap();
    drop(store);
    assert_eq!(Log::open(&database).unwrap().verify().unwrap().findings, [Finding::Rewritten { row: 1 }]);
}

/// Printed, not asserted: what a machine takes is no promise.
#[test]
#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn ten_thousand_rows() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("airlock.db");
    let store = SqliteStore::open(&database).unwrap();
    let body = "x".repeat(1_000);
    let begun = Instant::now();
    run(async {
        for _ in 0..10_000 {
            store.write(store.reserve().await.unwrap(), row(AuditKind::Finished, &body));
        }
        let queued = begun.elapsed();
        store.flush(PATIENCE).await.unwrap();
        println!("10,000 rows of 1 kB: queued in {queued:?}, on disk in {:?}", begun.elapsed());
        let begun = Instant::now();
        for _ in 0..100 {
            store.write_durably(row(AuditKind::Reload, "{}")).await.unwrap();
        }
        println!("a durable row: {:?}", begun.elapsed() / 100);
    });
    let begun = Instant::now();
    assert_eq!(Log::open(&database).unwrap().verify().unwrap().rows, 10_100);
    println!("verified in {:?}", begun.elapsed());
}
