//! The end of a host: nobody is asked any more, what runs may finish, and what does not is stopped.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use airlock_core::{
    ApprovalDesk, CallKind, GrantScope, HookEvent, HookName, HookOptions, HookOutcome, MemoryStore,
    PersistChange, RunContext, SessionEvent,
};
use serde_json::json;

use crate::judged::{Does, Note, ask, before, call, host};
use crate::support::end;

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_call_that_waits_for_an_answer_ends_at_once_and_no_other_begins() {
    let (note, desk) = (Note::default(), ApprovalDesk::default());
    let asks = before("asks", 0, |_| ask(&[], GrantScope::Arguments, None));
    let host = host(&note).approver(desk.clone()).hook(asks).build().await.unwrap();
    let mut run = RunContext::new("writer");
    run.interactive = true;
    let surface = host.assemble(run).await;
    let began = Instant::now();
    let (waiting, ()) = tokio::join!(call(&surface, json!({})), async {
        desk.next().await;
        host.shutdown(PATIENCE).await.unwrap();
    });
    let late = call(&surface, json!({})).await;
    for outcome in [&waiting, &late] {
        assert_eq!(outcome.kind, CallKind::Cancelled, "{}", end(outcome));
        let detail = outcome.error.as_ref().and_then(|error| error.detail.as_deref());
        assert_eq!(detail, Some("the host is shutting down"));
    }
    assert!(began.elapsed() < PATIENCE / 2 && desk.pending().is_empty());
    assert!(note.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_call_that_runs_may_finish_and_is_on_record() {
    let (note, store) = (Note::default(), MemoryStore::default());
    let slow = Does {
        name: "slow",
        hook: HookName::ToolResultPersist,
        options: HookOptions::default(),
        act: |event: HookEvent| {
            std::thread::sleep(Duration::from_millis(150));
            let HookEvent::ToolResultPersist(record) = event else { return Err("?".to_owned()) };
            let (params, result) = (record.params, record.result);
            Ok(HookOutcome::Persist(PersistChange { params, result }))
        },
    };
    let host = host(&note).store(store.clone()).hook(slow).build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    let calling = tokio::spawn(async move { call(&surface, json!({ "n": 1 })).await });
    while note.calls.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    host.shutdown(PATIENCE).await.unwrap();
    assert_eq!(calling.await.unwrap().kind, CallKind::Completed);
    assert!(store.rows().iter().any(|row| row.body.contains(r#""outcome":"completed""#)));
}

#[tokio::test]
async fn a_call_that_does_not_end_is_stopped_and_on_record() {
    let (note, store) = (Note::default(), MemoryStore::default());
    let host = host(&note).store(store.clone()).build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    let (outcome, ended) = tokio::join!(call(&surface, json!({ "end": "wait" })), async {
        while note.calls.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        host.shutdown(Duration::from_secs(1)).await
    });
    assert_eq!(outcome.kind, CallKind::Cancelled, "{}", end(&outcome));
    ended.unwrap();
    assert!(store.rows().iter().any(|row| row.body.contains(r#""outcome":"cancelled""#)));
}

#[tokio::test]
async fn sessions_that_are_open_end() {
    let ended = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&ended);
    let observe = Does {
        name: "observe",
        hook: HookName::SessionEnd,
        options: HookOptions::default(),
        act: move |event: HookEvent| {
            let HookEvent::SessionEnd(event) = event else { return Err("?".to_owned()) };
            told.lock().unwrap().push(format!("{} {}", event.session, event.reason));
            Ok(HookOutcome::None)
        },
    };
    let host = host(&Note::default()).hook(observe).build().await.unwrap();
    let event =
        |session: &str, reason: &str| SessionEvent { session: session.to_owned(), reason: reason.to_owned() };
    let run = Arc::new(RunContext::new("writer"));
    host.session_start(event("a", "new"), Some(&run)).await;
    host.session_start(event("b", "new"), Some(&run)).await;
    host.session_end(event("a", "left"), Some(&run)).await;
    host.shutdown(PATIENCE).await.unwrap();
    let mut ended = ended.lock().unwrap().clone();
    ended.sort();
    assert_eq!(ended, ["a left", "b shutdown"]);
}
