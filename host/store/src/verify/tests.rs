//! Every way to change the files behind the store's back, and what verification says to it.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use airlock_core::{AuditRow, Decided, GrantKey, Party, Store as _, ToolName};
use futures_util::FutureExt as _;
use rusqlite::Connection;

use super::*;
use crate::log::Log;
use crate::store::SqliteStore;

/// A store with `rows` rows, closed.
fn written(rows: u64) -> (tempfile::TempDir, Files) {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::beside(&folder.path().join("airlock.db"));
    let store = SqliteStore::open(&files.database).unwrap();
    for number in 0..rows {
        let row = AuditRow {
            kind: AuditKind::Finished,
            unix_ms: number,
            call_id: None,
            tool: Some("echo".into()),
            body: format!("{{\"number\":{number}}}"),
        };
        store.write(store.reserve().now_or_never().unwrap().unwrap(), row);
    }
    drop(store);
    (folder, files)
}

fn found(files: &Files) -> Vec<Finding> {
    Log::open(&files.database).unwrap().verify().unwrap().findings
}

/// Runs SQL on a log of ten rows and compares what verification says.
#[track_caller]
fn check(sql: &str, expected: &[Finding]) {
    let (_folder, files) = written(10);
    assert_eq!(found(&files), []);
    Connection::open(&files.database).unwrap().execute_batch(sql).unwrap();
    assert_eq!(found(&files), expected, "{sql}");
    // Opening and writing does not wash it away.
    let store = SqliteStore::open(&files.database).unwrap();
    store.write(
        store.reserve().now_or_never().unwrap().unwrap(),
        AuditRow { kind: AuditKind::Finished, unix_ms: 0, call_id: None, tool: None, body: "{}".into() },
    );
    drop(store);
    assert!(!found(&files).is_empty(), "{sql}");
}

const UP: &str =
    "UPDATE log SET number = -number WHERE number > 4; UPDATE log SET number = 1 - number WHERE number < 0;";
const DOWN: &str =
    "UPDATE log SET number = -number WHERE number > 4; UPDATE log SET number = -1 - number WHERE number < 0;";

#[test]
fn an_altered_row_is_named() {
    check("UPDATE log SET body = '{}' WHERE number = 4", &[Finding::Altered { row: 4 }]);
    check("UPDATE log SET unix_ms = unix_ms - 1 WHERE number = 1", &[Finding::Altered { row: 1 }]);
    check("UPDATE log SET tool = NULL WHERE number = 10", &[Finding::Altered { row: 10 }]);
    check("UPDATE log SET hash = zeroblob(32) WHERE number = 3", &[Finding::Altered { row: 3 }]);
    let (_folder, files) = written(3);
    Connection::open(&files.database).unwrap().execute_batch("UPDATE log SET hash = x'00'").unwrap();
    assert!(matches!(&found(&files)[..], [Finding::Unreadable { row: 1, .. }]), "{:?}", found(&files));
    assert!(SqliteStore::open(&files.database).unwrap_err().to_string().contains("is damaged: keep a copy"));
}

#[test]
fn a_row_that_cannot_be_read_is_named_and_so_is_a_log_that_is_gone() {
    for (sql, row) in [("UPDATE log SET hash = x'00' WHERE number = 4", 4), ("DROP TABLE log", 1)] {
        let (_folder, files) = written(10);
        Connection::open(&files.database).unwrap().execute_batch(sql).unwrap();
        let verified = Log::open(&files.database).unwrap().verify().unwrap();
        assert_eq!(verified.rows, row - 1, "{sql}");
        assert!(
            matches!(&verified.findings[..], [Finding::Unreadable { row: found, .. }] if *found == row),
            "{verified:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn whatever_lies_in_place_of_the_head_is_no_head() {
    let (_folder, files) = written(3);
    std::fs::remove_file(&files.head).unwrap();
    for make in [&["mkfifo"][..], &["ln", "-s", "/dev/zero"], &["mkdir"]] {
        let [program, arguments @ ..] = make else { unreachable!() };
        let made = std::process::Command::new(program).args(arguments).arg(&files.head).status().unwrap();
        assert!(made.success());
        assert_eq!(found(&files), [Finding::HeadUnreadable], "{make:?}");
        let _ = std::fs::remove_file(&files.head).or_else(|_| std::fs::remove_dir(&files.head));
    }
}

#[test]
fn removed_rows_are_named_whether_or_not_the_rest_moved_up() {
    check("DELETE FROM log WHERE number = 4", &[Finding::Removed { row: 4, count: 1 }]);
    check("DELETE FROM log WHERE number <= 3", &[Finding::Removed { row: 1, count: 3 }]);
    check(&format!("DELETE FROM log WHERE number = 4; {DOWN}"), &[Finding::Removed { row: 4, count: 1 }]);
}

#[test]
fn an_inserted_row_is_named() {
    let insert = "INSERT INTO log SELECT 5, instance, serial, kind, unix_ms, call_id, tool, body, hash FROM log WHERE number = 2;";
    check(&format!("{UP}{insert}"), &[Finding::Inserted { row: 5 }]);
    check(
        "INSERT INTO log SELECT -7, instance, serial, kind, unix_ms, call_id, tool, body, hash FROM log WHERE number = 2",
        &[Finding::Inserted { row: -7 }],
    );
}

#[test]
fn reordered_rows_are_named() {
    let swap = |one: u32, other: u32| {
        format!(
            "UPDATE log SET number = -1 WHERE number = {one}; UPDATE log SET number = {one} WHERE number = {other};
             UPDATE log SET number = {other} WHERE number = -1"
        )
    };
    check(&swap(3, 4), &[Finding::Reordered { row: 3, found_at: 4 }]);
    check(&swap(2, 8), &[Finding::Reordered { row: 2, found_at: 8 }]);
    check(&swap(9, 10), &[Finding::Reordered { row: 9, found_at: 10 }]);
}

#[test]
fn a_cut_tail_and_a_head_that_leads_are_found() {
    check("DELETE FROM log WHERE number > 7", &[Finding::CutTail { row: 8, head: 10 }]);
    check("DELETE FROM log", &[Finding::CutTail { row: 1, head: 10 }]);
    let (_folder, files) = written(10);
    let head = fs::read_to_string(&files.head).unwrap();
    fs::write(&files.head, head.replace(" 10 ", " 11 ")).unwrap();
    assert_eq!(found(&files), [Finding::CutTail { row: 11, head: 11 }]);
    fs::remove_file(&files.head).unwrap();
    assert_eq!(found(&files), [Finding::HeadMissing]);
    assert!(SqliteStore::open(&files.database).unwrap().is_contradicted());
    assert_eq!(found(&files), [Finding::HeadMissing]);
    fs::write(&files.head, "10").unwrap();
    assert_eq!(found(&files), [Finding::HeadUnreadable]);
}

#[test]
fn a_chain_that_was_made_anew_does_not_fit_the_head() {
    let (_folder, files) = written(10);
    let connection = Connection::open(&files.database).unwrap();
    let mut position = Position::start();
    for mut row in rows(&connection, 0, 10, 10).unwrap() {
        row.body = row.body.replace('7', "8");
        let hash = row.hash_at(row.number, &position.hash);
        let values = (row.body, hash.as_bytes().as_slice(), row.number.cast_signed());
        connection.execute("UPDATE log SET body = ?1, hash = ?2 WHERE number = ?3", values).unwrap();
        position = Position { number: row.number, hash };
    }
    assert_eq!(found(&files), [Finding::Rewritten { row: 10 }]);
}

#[test]
fn a_head_that_lags_is_no_finding_and_catches_up() {
    let (_folder, files) = written(5);
    let old = fs::read(&files.head).unwrap();
    let store = SqliteStore::open(&files.database).unwrap();
    store.write(
        store.reserve().now_or_never().unwrap().unwrap(),
        AuditRow { kind: AuditKind::Reload, unix_ms: 0, call_id: None, tool: None, body: "{}".into() },
    );
    drop(store);
    fs::write(&files.head, old).unwrap();
    let verification = Log::open(&files.database).unwrap().verify().unwrap();
    assert_eq!(verification, Verification { rows: 6, head_rows: Some(5), findings: Vec::new() });
    drop(SqliteStore::open(&files.database).unwrap());
    assert_eq!(Log::open(&files.database).unwrap().verify().unwrap().head_rows, Some(6));
}

/// Beside a head that lags, and what SQLite recovers by itself, this is all that a crash can leave.
#[test]
fn what_a_crash_leaves_is_no_finding_and_is_mended() {
    type Crash = fn(&Files);
    let crashes: [(u64, Crash); 4] = [
        // Between the tables and the head.
        (0, |files| fs::remove_file(&files.head).unwrap()),
        // Between the first half and the second half of a new head; then before the new name.
        (3, |files| fs::write(beside(files, ".head.new"), "airlock-audit-he").unwrap()),
        (3, |files| fs::copy(&files.head, beside(files, ".head.new")).map(drop).unwrap()),
        // At any time after opening.
        (3, |files| fs::write(files.instances.join("00112233aabbccdd"), "").unwrap()),
    ];
    for (count, crash) in crashes {
        let (_folder, files) = written(count);
        crash(&files);
        assert_eq!(found(&files), []);
        let store = SqliteStore::open(&files.database).unwrap();
        assert!(!store.is_contradicted());
        assert_eq!(fs::read_dir(&files.instances).unwrap().count(), 1);
        drop(store);
        let verification = Log::open(&files.database).unwrap().verify().unwrap();
        assert_eq!(verification, Verification { rows: count, head_rows: Some(count), findings: Vec::new() });
    }
}

fn beside(files: &Files, suffix: &str) -> std::path::PathBuf {
    let mut name = files.database.clone().into_os_string();
    name.push(suffix);
    name.into()
}

#[test]
fn a_forged_grant_and_a_hidden_call_are_found() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (_folder, files) = written(2);
    let key = GrantKey {
        agent: "writer".into(),
        session_owner: "ada".into(),
        askers: BTreeSet::new(),
        owner: Party { id: "mail".into(), digest: Digest::of(b"") },
        tool: ToolName::parse("send").unwrap(),
        arguments: None,
    };
    let store = SqliteStore::open(&files.database).unwrap();
    let decided = Decided { by: "ada".into(), unix_ms: 1 };
    runtime.block_on(async {
        store.insert_grant(key.clone(), decided).await.unwrap();
        let reservation = store.reserve().await.unwrap();
        let row =
            AuditRow { kind: AuditKind::Started, unix_ms: 1, call_id: None, tool: None, body: "{}".into() };
        store.start(&reservation, row).await.unwrap();
        store.flush(Duration::from_secs(5)).await.unwrap();
    });
    assert_eq!(found(&files), []);
    let connection = Connection::open(&files.database).unwrap();
    connection.execute_batch("UPDATE grants SET tool = 'pay'; DELETE FROM open_calls").unwrap();
    let [Finding::HiddenCall { row: 4 }, Finding::ForgedGrant { .. }] = &found(&files)[..] else {
        panic!("{:?}", found(&files))
    };
    // Changed by hand, it covers nothing any more.
    assert_eq!(runtime.block_on(store.find_grant(&key)).unwrap(), None);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    /// Whatever single value is changed, the finding is at that row.
    #[test]
    fn any_change_of_any_field_is_found(
        row in 1_u64..=10,
        column in proptest::sample::select(vec!["instance", "serial", "kind", "unix_ms", "call_id", "tool", "body"]),
        value in 100_u32..1_000,
    ) {
        let (_folder, files) = written(10);
        let connection = Connection::open(&files.database).unwrap();
        connection.execute(&format!("UPDATE log SET {column} = '{value}' WHERE number = {row}"), []).unwrap();
        proptest::prop_assert_eq!(found(&files), [Finding::Altered { row }]);
    }
}
