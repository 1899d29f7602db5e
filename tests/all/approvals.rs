//! Approvals: everybody who asks becomes one question, and only an offered yes lets a call go on.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use airlock_core::{
    AnswerError, ApprovalDecision, ApprovalDesk, CallKind, GrantScope, RunContext, ToolVerdict,
};
use serde_json::json;

use crate::judged::{Answers, Note, ask, before, call, host, surface, trail};
use crate::support::end;

#[tokio::test]
async fn all_who_ask_become_one_question_on_the_final_arguments() {
    use ApprovalDecision::{AllowAlways, AllowOnce, Deny};
    let (note, answers) = (Note::default(), Answers::with(Some(AllowOnce)));
    let builder = host(&note)
        .approver(answers.clone())
        .hook(before("rewrites", 9, |_| ToolVerdict::Rewrite(json!({ "n": 2 }))))
        .hook(before("asks", 8, |_| {
            ask(&[AllowOnce, AllowAlways], GrantScope::Tool, Some(Duration::from_secs(9)))
        }))
        .hook(before("too-late", 7, |_| ToolVerdict::Rewrite(json!({ "n": 3 }))))
        .hook(before("asks-too", 6, |_| ask(&[AllowOnce], GrantScope::Arguments, None)));
    let outcome = call(&surface(builder).await, json!({ "n": 1 })).await;
    assert_eq!(outcome.kind, CallKind::Completed, "{}", end(&outcome));
    let questions = answers.questions.lock().unwrap();
    let [question] = questions.as_slice() else { panic!("{questions:?}") };
    assert_eq!(question.arguments, json!({ "n": 2 }));
    assert_eq!(question.written, Some(json!({ "n": 1 })));
    assert_eq!(question.offered, [AllowOnce, Deny]);
    assert_eq!((question.scope, question.timeout), (GrantScope::Arguments, Duration::from_secs(9)));
    let askers: Vec<_> = question.reasons.iter().map(|reason| reason.asker.as_str()).collect();
    assert_eq!(askers, ["asks", "asks-too"]);
    assert_eq!(
        note.calls.lock().unwrap().as_slice(),
        std::slice::from_ref(&question.arguments),
        "what was approved is what ran"
    );
    assert!(trail(&outcome).contains(&"too-late rewrite-ignored".to_owned()));
}

#[tokio::test]
async fn only_an_offered_yes_lets_a_call_go_on() {
    use ApprovalDecision::{AllowAlways, AllowOnce, Deny};
    let cases: [(Option<ApprovalDecision>, &[ApprovalDecision], CallKind); 7] = [
        (Some(AllowOnce), &[], CallKind::Completed),
        (Some(AllowAlways), &[], CallKind::Completed),
        (Some(Deny), &[], CallKind::ApprovalDenied),
        (Some(AllowAlways), &[AllowOnce], CallKind::ApprovalDenied),
        (Some(AllowOnce), &[AllowAlways], CallKind::ApprovalDenied),
        (Some(AllowOnce), &[Deny], CallKind::ApprovalDenied),
        (None, &[], CallKind::ApprovalDenied),
    ];
    for (decision, offered, expected) in cases {
        let note = Note::default();
        let offered_here = offered.to_vec();
        let builder = host(&note).approver(Answers::with(decision)).hook(before("asks", 0, move |_| {
            ask(&offered_here, GrantScope::Arguments, Some(Duration::from_millis(60)))
        }));
        let outcome = call(&surface(builder).await, json!({})).await;
        assert_eq!(outcome.kind, expected, "{decision:?} of {offered:?}: {}", end(&outcome));
        assert_eq!(note.calls.lock().unwrap().len(), usize::from(expected == CallKind::Completed));
    }
    let asks = || before("asks", 0, |_| ask(&[], GrantScope::Arguments, None));
    let outcome = call(&surface(host(&Note::default()).hook(asks())).await, json!({})).await;
    assert_eq!(outcome.kind, CallKind::ApprovalUnavailable);
    let builder = host(&Note::default()).hook(asks()).approver(Answers::with(Some(AllowOnce)));
    let alone = builder.build().await.unwrap().assemble(RunContext::new("writer")).await;
    assert_eq!(call(&alone, json!({})).await.kind, CallKind::ApprovalUnavailable);
}

#[tokio::test]
async fn a_standing_approval_covers_what_it_was_given_for() {
    let (note, answers) = (Note::default(), Answers::with(Some(ApprovalDecision::AllowAlways)));
    let scope = Arc::new(Mutex::new(GrantScope::Arguments));
    let scope_here = Arc::clone(&scope);
    let builder = host(&note)
        .approver(answers.clone())
        .hook(before("asks", 0, move |_| ask(&[], *scope_here.lock().unwrap(), None)));
    let surface = surface(builder).await;
    let asked = || answers.questions.lock().unwrap().len();
    call(&surface, json!({ "n": 1, "text": "a" })).await;
    call(&surface, json!({ "text": "a", "n": 1 })).await;
    assert_eq!(asked(), 1, "the same arguments in another order");
    call(&surface, json!({ "n": 2 })).await;
    assert_eq!(asked(), 2);
    *scope.lock().unwrap() = GrantScope::Tool;
    call(&surface, json!({ "n": 3 })).await;
    call(&surface, json!({ "n": 4 })).await;
    assert_eq!((asked(), note.calls.lock().unwrap().len()), (3, 5));
}

#[tokio::test]
async fn a_standing_approval_is_one_person_s_in_one_channel() {
    let (note, answers) = (Note::default(), Answers::with(Some(ApprovalDecision::AllowAlways)));
    let asks = before("asks", 0, |_| ask(&[], GrantScope::Tool, None));
    let host = host(&note).approver(answers.clone()).hook(asks).build().await.unwrap();
    let speakers = [
        ("slack", None, "U42", 1),
        ("slack", None, "U42", 1),
        ("chat", None, "U42", 2),
        ("slack", Some("work"), "U42", 3),
        ("slack", None, "work:U42", 4),
        ("slack", None, "U43", 5),
        ("slack", Some("work"), "U42", 5),
    ];
    for (name, account, sender, asked) in speakers {
        let channel = json!({ "name": name, "account": account });
        let run = json!({
            "agent": "writer", "interactive": true, "channel": channel, "requester": { "sender": sender },
        });
        let run = RunContext::from_json(run.to_string().as_bytes(), "run.json".as_ref()).unwrap();
        let outcome = call(&host.assemble(run).await, json!({})).await;
        assert_eq!(outcome.kind, CallKind::Completed, "{}", end(&outcome));
        assert_eq!(answers.questions.lock().unwrap().len(), asked, "{name} {account:?} {sender}");
    }
}

#[tokio::test]
async fn the_shortest_time_to_answer_counts_and_who_names_none_means_the_default() {
    for (first, second, expected) in [(None, Some(300), 120), (Some(9), None, 9), (Some(700), Some(900), 600)]
    {
        let answers = Answers::with(Some(ApprovalDecision::AllowOnce));
        let asks = |name, seconds: Option<u64>| {
            before(name, 0, move |_| ask(&[], GrantScope::Arguments, seconds.map(Duration::from_secs)))
        };
        let builder = host(&Note::default())
            .approver(answers.clone())
            .hook(asks("one", first))
            .hook(asks("two", second));
        call(&surface(builder).await, json!({})).await;
        let asked = answers.questions.lock().unwrap();
        assert_eq!(asked[0].timeout, Duration::from_secs(expected), "{first:?} {second:?}");
    }
}

#[tokio::test]
async fn a_question_on_the_desk_is_answered_once() {
    let (note, desk) = (Note::default(), ApprovalDesk::default());
    let builder = host(&note)
        .approver(desk.clone())
        .hook(before("asks", 0, |_| ask(&[], GrantScope::Arguments, Some(Duration::from_secs(20)))));
    let surface = surface(builder).await;
    let (outcome, answers) = tokio::join!(call(&surface, json!({ "n": 1 })), async {
        let pending = desk.next().await;
        assert_eq!(desk.pending(), std::slice::from_ref(&pending));
        let first = desk.answer(pending.id, ApprovalDecision::AllowOnce, "ada");
        (
            first,
            desk.answer(pending.id, ApprovalDecision::Deny, "bob"),
            desk.answer(99, ApprovalDecision::AllowOnce, "eve"),
        )
    });
    assert_eq!(outcome.kind, CallKind::Completed);
    assert_eq!(answers, (Ok(()), Err(AnswerError::AlreadyDecided), Err(AnswerError::Unknown)));
    // A call that nobody waits for any more takes its question away.
    let waiting = tokio::time::timeout(Duration::from_millis(50), call(&surface, json!({ "n": 2 }))).await;
    assert!(waiting.is_err() && desk.pending().is_empty());
    assert_eq!(desk.answer(1, ApprovalDecision::AllowOnce, "ada"), Err(AnswerError::AlreadyDecided));
}
