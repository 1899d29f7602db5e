//! Handlers and calls: who is asked, in which order, what each can do, and what its failure does.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use airlock_core::{
    ApprovalDecision, Call, CallKind, Config, GrantScope, HookEvent, HookName, HookOptions, HookOutcome,
    HostBuilder, NativeHook, PersistChange, PromptChanges, RunContext, ToolAttempt, ToolEnd, ToolResult,
    ToolVerdict, TrustedPolicy,
};
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::judged::{Answers, Does, Note, ask, before, call, host, surface, trail};
use crate::support::{builder, end, text};

#[tokio::test]
async fn handlers_run_by_priority_and_each_sees_what_the_ones_before_made() {
    let note = Note::default();
    let append = |word: &'static str| {
        move |attempt: ToolAttempt| {
            let text = attempt.params["text"].as_str().unwrap().to_owned();
            ToolVerdict::Rewrite(json!({ "text": format!("{text}{word}") }))
        }
    };
    let builder = host(&note)
        .hook(before("late", -5, append("c")))
        .hook(before("early", 7, append("a")))
        .hook(before("tied", -5, append("d")))
        .hook(before("middle", 0, append("b")));
    let surface = surface(builder).await;
    let outcome = call(&surface, json!({ "text": "-", "n": 1 })).await;
    assert_eq!(*note.calls.lock().unwrap(), [json!({ "text": "-abcd", "n": 1 })]);
    assert_eq!(
        trail(&outcome),
        [
            "core accepted",
            "early rewrite",
            "middle rewrite",
            "late rewrite",
            "tied rewrite",
            "core completed",
            "core recorded"
        ]
    );
    assert_eq!(outcome.record.arguments, json!({ "text": "-abcd", "n": 1 }));
}

#[tokio::test]
async fn a_block_is_final_and_keeps_its_reason() {
    let note = Note::default();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let builder = host(&note)
        .hook(before("guard", 900, |_| ToolVerdict::Block(format!("no \u{202e}{}", "x".repeat(5_000)))))
        .hook(before("later", 5, move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
            ToolVerdict::Pass
        }));
    let outcome = call(&surface(builder).await, json!({})).await;
    assert_eq!((outcome.kind, asked.load(Ordering::Relaxed)), (CallKind::Blocked, 0));
    let told = text(&outcome);
    assert!(told.starts_with("the tool `note` is blocked by `guard`: no \\u{202e}xxx"), "{told}");
    assert!(told.chars().count() < 1_100);
    assert!(note.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_rewrite_that_does_not_fit_or_a_judge_that_fails_blocks_and_is_named() {
    let lies = Does {
        name: "lies",
        hook: HookName::BeforeToolCall,
        options: HookOptions::default(),
        act: |_| Ok(HookOutcome::Prompt(PromptChanges::default())),
    };
    let fails = Does {
        name: "fails",
        hook: HookName::BeforeToolCall,
        options: HookOptions::default(),
        act: |_| Err("no disk".to_owned()),
    };
    let panics = Does {
        name: "panics",
        hook: HookName::BeforeToolCall,
        options: HookOptions::default(),
        act: |_| panic!("it broke"),
    };
    let long = || {
        let ToolVerdict::RequireApproval(mut ask) = ask(&[], GrantScope::Tool, None) else { unreachable!() };
        ask.request.title = "x".repeat(81);
        ToolVerdict::RequireApproval(ask)
    };
    let cases: Vec<(HostBuilder, &str)> = vec![
        (
            host(&Note::default()).hook(before("bad", 0, |_| ToolVerdict::Rewrite(json!({ "n": "one" })))),
            "`bad` rewrote the arguments, which then do not fit: /n: \"one\" is not of type \"integer\"",
        ),
        (
            host(&Note::default()).hook(before("bad", 0, |_| ToolVerdict::Rewrite(json!([1])))),
            "`bad` rewrote the arguments into something that is no object",
        ),
        (
            host(&Note::default()).hook(before("bad", 0, move |_| long())),
            "`bad` asked for an approval whose title has 81 characters, the most is 80",
        ),
        (host(&Note::default()).hook(lies), "`lies` answered with another hook's outcome"),
        (host(&Note::default()).hook(fails), "`fails` failed: no disk"),
        (host(&Note::default()).hook(panics), "`panics` panicked"),
    ];
    for (builder, detail) in cases {
        let outcome = call(&surface(builder).await, json!({ "n": 1 })).await;
        assert_eq!(outcome.kind, CallKind::Blocked);
        assert!(end(&outcome).ends_with(detail), "{}", end(&outcome));
        assert!(text(&outcome).ends_with("could not judge the call"), "{}", text(&outcome));
    }
}

#[tokio::test]
async fn a_judge_that_never_answers_is_stopped_at_its_time() {
    #[derive(Debug)]
    struct Endless;
    impl NativeHook for Endless {
        fn name(&self) -> &str {
            "endless"
        }
        fn hook(&self) -> HookName {
            HookName::BeforeToolCall
        }
        fn options(&self) -> HookOptions {
            HookOptions { timeout_ms: Some(50), ..HookOptions::default() }
        }
        fn handle(
            &self,
            _: HookEvent,
            _: Option<Arc<RunContext>>,
        ) -> BoxFuture<'_, Result<HookOutcome, String>> {
            Box::pin(std::future::pending())
        }
    }
    let outcome = call(&surface(host(&Note::default()).hook(Endless)).await, json!({})).await;
    assert!(end(&outcome).ends_with("`endless` did not answer within 50 ms"), "{}", end(&outcome));
}

#[derive(Debug)]
struct Policy<F>(&'static str, F);

impl<F: Fn(ToolAttempt) -> Result<ToolVerdict, String> + Send + Sync + std::fmt::Debug> TrustedPolicy
    for Policy<F>
{
    fn name(&self) -> &str {
        self.0
    }

    fn judge(&self, attempt: ToolAttempt, _: Arc<RunContext>) -> BoxFuture<'_, Result<ToolVerdict, String>> {
        Box::pin(async { (self.1)(attempt) })
    }
}

#[tokio::test]
async fn trusted_policies_come_first_and_passing_never_ends_their_chain() {
    fn pass(_: ToolAttempt) -> Result<ToolVerdict, String> {
        Ok(ToolVerdict::Pass)
    }
    fn adjust(_: ToolAttempt) -> Result<ToolVerdict, String> {
        Ok(ToolVerdict::Rewrite(json!({ "n": 2 })))
    }
    fn judge(attempt: ToolAttempt) -> Result<ToolVerdict, String> {
        let ToolAttempt { params, .. } = attempt;
        if params["n"] == 2 {
            Ok(ToolVerdict::Block("two is too many".to_owned()))
        } else {
            Err("?".to_owned())
        }
    }
    fn fail(_: ToolAttempt) -> Result<ToolVerdict, String> {
        Err("no budget file".to_owned())
    }
    let note = Note::default();
    let builder = host(&note)
        .trusted_policy(Policy("pass", pass as fn(_) -> _))
        .trusted_policy(Policy("adjust", adjust as fn(_) -> _))
        .trusted_policy(Policy("judge", judge as fn(_) -> _))
        .hook(before("never", 0, |_| panic!("a blocked call reaches no hook")));
    let outcome = call(&surface(builder).await, json!({ "n": 1 })).await;
    assert_eq!(text(&outcome), "the tool `note` is blocked by `judge`: two is too many");
    assert_eq!(trail(&outcome)[1..4], ["pass pass", "adjust rewrite", "judge block"]);
    let outcome =
        call(&surface(host(&note).trusted_policy(Policy("fail", fail as fn(_) -> _))).await, json!({})).await;
    assert_eq!((outcome.kind, note.calls.lock().unwrap().len()), (CallKind::Blocked, 0));
}

#[derive(Debug)]
struct Hangs;

impl TrustedPolicy for Hangs {
    fn name(&self) -> &str {
        "hangs"
    }

    fn judge(&self, _: ToolAttempt, _: Arc<RunContext>) -> BoxFuture<'_, Result<ToolVerdict, String>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_trusted_policy_that_gives_no_answer_blocks() {
    let note = Note::default();
    let outcome = call(&surface(host(&note).trusted_policy(Hangs)).await, json!({})).await;
    let detail = outcome.error.as_ref().and_then(|error| error.detail.as_deref());
    assert_eq!((outcome.kind, detail), (CallKind::Blocked, Some("`hangs` did not answer within 15000 ms")));
    assert!(note.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn how_a_handler_failed_last_can_be_seen_whatever_its_hook() {
    let fail = |hook| Does {
        name: "broken",
        hook,
        options: HookOptions::default(),
        act: |_: HookEvent| Err("no disk".to_owned()),
    };
    let builder = host(&Note::default());
    let builder = builder.hook(fail(HookName::AfterToolCall)).hook(fail(HookName::ToolResultPersist));
    let gated = host(&Note::default()).hook(fail(HookName::BeforeToolCall)).build().await.unwrap();
    for host in [builder.build().await.unwrap(), gated] {
        call(&host.assemble(RunContext::new("writer")).await, json!({})).await;
        host.shutdown(Duration::from_secs(5)).await.unwrap();
        let hooks = host.hooks().await;
        assert!(!hooks.is_empty());
        for hook in hooks {
            assert_eq!(hook.last_failure.as_deref(), Some("failed: no disk"), "{}", hook.hook);
        }
    }
}

#[tokio::test]
async fn what_is_kept_is_what_redactors_leave_and_nothing_if_one_fails() {
    fn redact(event: HookEvent) -> Result<HookOutcome, String> {
        let HookEvent::ToolResultPersist(record) = event else { return Err("?".to_owned()) };
        let clean =
            |value: &Value| serde_json::from_str(&value.to_string().replace("ZZ-0001", "[…]")).unwrap();
        let content = ToolResult::text("cleaned").content;
        let result = ToolResult { content, details: record.result.details.as_ref().map(clean) };
        Ok(HookOutcome::Persist(PersistChange { params: clean(&record.params), result }))
    }
    let on_record = |name, act: fn(HookEvent) -> Result<HookOutcome, String>| Does {
        name,
        hook: HookName::ToolResultPersist,
        options: HookOptions::default(),
        act,
    };
    let note = Note::default();
    let secret = json!({ "text": "token=ZZ-0001" });
    let outcome = call(&surface(host(&note).hook(on_record("redact", redact))).await, secret.clone()).await;
    assert_eq!(
        note.calls.lock().unwrap().as_slice(),
        std::slice::from_ref(&secret),
        "the tool got the original"
    );
    assert!(text(&outcome).contains("ZZ-0001"), "the model got what the tool said");
    assert_eq!(outcome.record.arguments, json!({ "text": "token=[…]" }));
    assert!(!serde_json::to_string(&outcome.record).unwrap().contains("ZZ-0001"));
    let broken: [fn(HookEvent) -> Result<HookOutcome, String>; 3] = [
        |_| Err("no patterns".to_owned()),
        |_| panic!("it broke"),
        |_| Ok(HookOutcome::Prompt(PromptChanges::default())),
    ];
    for act in broken {
        let builder = host(&note).hook(on_record("redact", redact)).hook(on_record("broken", act));
        let surface = surface(builder).await;
        for arguments in
            [secret.clone(), json!({ "n": "ZZ-0001" }), json!({ "text": "ZZ-0001", "end": "fail" })]
        {
            let outcome = call(&surface, arguments).await;
            let record = serde_json::to_string(&outcome.record).unwrap();
            assert!(!record.contains("ZZ-0001") && record.contains("withheld"), "{record}");
        }
    }
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped_where_the_operator_wants_that() {
    let config = |text: &str| Config::from_toml(text.as_bytes(), "airlock.toml".as_ref()).unwrap();
    for (text, last) in [("", CallKind::Completed), ("[loop-protection]\nenabled = true", CallKind::Blocked)]
    {
        let note = Note::default();
        let surface = surface(host(&note).config(config(text))).await;
        for _ in 0..20 {
            assert_eq!(call(&surface, json!({ "n": 1, "text": "a" })).await.kind, CallKind::Completed);
        }
        let again = call(&surface, json!({ "text": "a", "n": 1 })).await;
        assert_eq!(again.kind, last, "{text}: {}", end(&again));
        assert_eq!(call(&surface, json!({ "text": "a", "n": 1 })).await.kind, last, "and stays so");
        assert_eq!(
            call(&surface, json!({ "n": 2 })).await.kind,
            CallKind::Completed,
            "another call is another call"
        );
        let builder = host(&note).config(config(text));
        let mut run = RunContext::new("writer");
        run.run = "another".to_owned();
        let other = builder.build().await.unwrap().assemble(run).await;
        assert_eq!(call(&other, json!({ "n": 1, "text": "a" })).await.kind, CallKind::Completed);
    }
}

#[tokio::test]
async fn a_reload_changes_the_guards_of_older_surfaces() {
    let config = |text: &str| Config::from_toml(text.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let host = builder(&["echo", "guard"]).build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    let arguments = r#"{"text": "rm -rf"}"#;
    assert_eq!(surface.call(Call::from_json("echo", arguments)).await.kind, CallKind::Completed);
    let guarded = "[plugins.entries.guard.config]\nrules = [{ tool = \"*\", contains = \"rm -rf\", reason = \"no\" }]\n\
        [plugins.entries.guard.grants]\nhooks = [\"before-tool-call\"]";
    host.reload(config(guarded)).unwrap();
    let blocked = surface.call(Call::from_json("echo", arguments)).await;
    assert_eq!(text(&blocked), "the tool `echo` is blocked by `guard`: no");
    host.reload(config("[plugins]\ndeny = [\"guard\"]")).unwrap();
    assert_eq!(surface.call(Call::from_json("echo", arguments)).await.kind, CallKind::Completed);
}

/// Counts what it is told, by call.
#[derive(Debug, Clone, Default)]
struct Counts(Arc<Mutex<BTreeMap<String, (usize, usize)>>>);

#[tokio::test]
async fn every_accepted_call_has_one_chain_before_and_one_word_after() {
    let counts = Counts::default();
    let (one, two) = (counts.clone(), counts.clone());
    let observe = Does {
        name: "observe",
        hook: HookName::AfterToolCall,
        options: HookOptions::default(),
        act: move |event| {
            let HookEvent::AfterToolCall(completion) = event else { return Err("?".to_owned()) };
            if let ToolEnd::Blocked { kind, .. } = &completion.outcome {
                assert!(["blocked", "approval-unavailable"].contains(&kind.as_str()), "{kind}");
            }
            two.0.lock().unwrap().entry(completion.call_id.to_string()).or_default().1 += 1;
            Ok(HookOutcome::None)
        },
    };
    let builder = host(&Note::default()).hook(observe).hook(before("count", 10, move |attempt| {
        one.0.lock().unwrap().entry(attempt.call_id.to_string()).or_default().0 += 1;
        match attempt.params["text"].as_str() {
            Some("block") => ToolVerdict::Block("no".to_owned()),
            Some("ask") => ask(&[], GrantScope::Tool, None),
            Some("rewrite") => ToolVerdict::Rewrite(json!({ "n": 7 })),
            Some("misfit") => ToolVerdict::Rewrite(json!({ "n": "7" })),
            _ => ToolVerdict::Pass,
        }
    }));
    let host = builder.build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    let mut accepted = 0;
    // A small generator of its own: every run has the same calls.
    let mut seed = 42_u64;
    for _ in 0..10_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let pick = |from: &[&str]| Value::from(from[(seed >> 33) as usize % from.len()]);
        let text = pick(&["a", "block", "ask", "rewrite", "misfit", "b", "c"]);
        let end = pick(&["ok", "fail", "ok", "panic", "ok", "fail", "ok", "ok", "ok", "ok", "ok"]);
        let arguments = match (seed >> 40) % 10 {
            0 => json!({ "n": "not a number" }),
            1 => json!({ "unknown": 1 }),
            _ => json!({ "text": text, "end": end }),
        };
        let name = if (seed >> 50).is_multiple_of(20) { "nobody" } else { "note" };
        let outcome = surface.call(Call::new(name, arguments)).await;
        if !matches!(outcome.kind, CallKind::NotExposed) && outcome.trail[0].decision == "accepted" {
            accepted += 1;
        }
    }
    host.shutdown(Duration::from_secs(20)).await.unwrap();
    let counts = counts.0.lock().unwrap();
    assert!(accepted > 6_000, "{accepted}");
    assert_eq!(counts.len(), accepted);
    assert!(counts.values().all(|counts| *counts == (1, 1)));
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Pass,
    Rewrite(i64),
    Block,
    Ask,
    Fail,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_sequence_of_handlers_turns_a_block_into_a_run(
        handlers in proptest::collection::vec(
            (
                prop_oneof![
                    3 => Just(Act::Pass), 3 => (0..9_i64).prop_map(Act::Rewrite), 1 => Just(Act::Block),
                    1 => Just(Act::Ask), 1 => Just(Act::Fail)
                ],
                -3..3_i32,
            ),
            0..7,
        ),
        approved in any::<bool>(),
    ) {
        const NAMES: [&str; 7] = ["h0", "h1", "h2", "h3", "h4", "h5", "h6"];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let decision = if approved { ApprovalDecision::AllowOnce } else { ApprovalDecision::Deny };
        let (note, answers) = (Note::default(), Answers::with(Some(decision)));
        let mut builder = host(&note).approver(answers.clone());
        for (place, (does, priority)) in handlers.iter().copied().enumerate() {
            let act = move |_| Ok(HookOutcome::Tool(match does {
                Act::Pass => ToolVerdict::Pass,
                Act::Rewrite(n) => ToolVerdict::Rewrite(json!({ "n": n })),
                Act::Block => ToolVerdict::Block("no".to_owned()),
                Act::Ask => ask(&[], GrantScope::Arguments, None),
                Act::Fail => return Err("broken".to_owned()),
            }));
            let options = HookOptions { priority, ..HookOptions::default() };
            builder = builder.hook(Does { name: NAMES[place], hook: HookName::BeforeToolCall, options, act });
        }
        let outcome = runtime.block_on(async { call(&surface(builder).await, json!({ "n": -1 })).await });
        // A second reading: by priority, ties in order; the first question freezes what is approved.
        let mut ordered: Vec<_> = handlers.iter().enumerate().collect();
        ordered.sort_by_key(|(place, (_, priority))| (-priority, *place));
        let (mut n, mut asked, mut blocked) = (-1, false, false);
        for (_, (does, _)) in ordered {
            match does {
                Act::Pass => {}
                Act::Rewrite(to) if !asked => n = *to,
                Act::Rewrite(_) => {}
                Act::Ask => asked = true,
                Act::Block | Act::Fail => { blocked = true; break; }
            }
        }
        let runs = !blocked && (!asked || approved);
        let ran = note.calls.lock().unwrap().clone();
        prop_assert_eq!(ran.clone(), if runs { vec![json!({ "n": n })] } else { vec![] });
        prop_assert_eq!(outcome.kind == CallKind::Completed, runs);
        let questions = answers.questions.lock().unwrap();
        prop_assert_eq!(questions.len(), usize::from(asked && !blocked));
        if let (Some(question), true) = (questions.first(), runs) {
            prop_assert_eq!(question.arguments.to_string(), ran[0].to_string());
        }
    }
}
