//! `tool_call`: the call in it is the call, at every checkpoint and on record; only `via` says that it was there.

use std::sync::{Arc, Mutex};

use airlock_core::{
    ApprovalDecision, AuditKind, Call, CallKind, Deferral, GrantScope, HostBuilder, RunContext, Surface,
    ToolAttempt, ToolVerdict, TrustedPolicy,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{config, natives};
use crate::judged::{self, Answers, Note, before, host, trail};
use crate::records::{Watched, body};
use crate::support::{end, text};

/// Everything is deferred.
const ALL: &str = "[tool-search]\nthreshold-tools = 0\n";

async fn surface(builder: HostBuilder) -> Surface {
    judged::surface(builder.config(config(ALL))).await
}

/// The call of `note` in a call of `tool_call`.
async fn through(surface: &Surface, arguments: Value) -> airlock_core::Outcome {
    super::ask(surface, "tool_call", json!({ "name": "note", "arguments": arguments })).await
}

/// What was judged: the tool, the arguments, and through what.
type Seen = Arc<Mutex<Vec<(String, Value, Option<String>)>>>;

fn see(seen: &Seen, attempt: &ToolAttempt) {
    let one = (attempt.tool.to_string(), attempt.params.clone(), attempt.via.clone());
    seen.lock().unwrap().push(one);
}

#[derive(Debug)]
struct Watches(Seen);

impl TrustedPolicy for Watches {
    fn name(&self) -> &'static str {
        "watches"
    }

    fn judge(&self, attempt: ToolAttempt, _: Arc<RunContext>) -> BoxFuture<'_, Result<ToolVerdict, String>> {
        see(&self.0, &attempt);
        Box::pin(async { Ok(ToolVerdict::Pass) })
    }
}

#[tokio::test]
async fn the_target_is_what_everybody_sees_and_the_record_keeps() {
    let (note, store) = (Note::default(), Watched::default());
    let (policy, handler): (Seen, Seen) = Default::default();
    let (seen, also) = (Arc::clone(&handler), Arc::clone(&policy));
    let watches = before("watches-too", 0, move |attempt| {
        see(&seen, &attempt);
        ToolVerdict::Rewrite(json!({ "text": "b" }))
    });
    let builder = host(&note).store(store.clone()).trusted_policy(Watches(also)).hook(watches);
    let surface = surface(builder).await;
    let wrapped = through(&surface, json!({ "n": 1 })).await;
    let direct = judged::call(&surface, json!({ "n": 1 })).await;
    assert_eq!((wrapped.kind, direct.kind), (CallKind::Completed, CallKind::Completed), "{}", end(&wrapped));

    let via = Some("tool_call".to_owned());
    let expected =
        [("note".to_owned(), json!({ "n": 1 }), via), ("note".to_owned(), json!({ "n": 1 }), None)];
    assert_eq!(*policy.lock().unwrap(), expected);
    assert_eq!(*handler.lock().unwrap(), expected);
    assert_eq!(*note.calls.lock().unwrap(), vec![json!({ "n": 1, "text": "b" }); 2]);
    assert_eq!(trail(&wrapped), trail(&direct), "the same checkpoints");
    assert_eq!((wrapped.record.via.as_deref(), direct.record.via.as_deref()), (Some("tool_call"), None));
    assert_eq!((wrapped.record.tool.as_str(), wrapped.record.owner.as_deref()), ("note", Some("core")));
    assert_eq!(wrapped.record.arguments, json!({ "n": 1, "text": "b" }));
    let shown = serde_json::to_value(&wrapped).unwrap();
    assert_eq!(shown["record"]["via"], "tool_call");

    let rows = store.inner.rows();
    let rows: Vec<_> = rows
        .iter()
        .map(|row| (row.kind, row.tool.as_deref().unwrap(), body(row)["via"].clone(), row.call_id.clone()))
        .collect();
    let (one, other) = (Some(wrapped.record.call_id.clone()), Some(direct.record.call_id.clone()));
    assert_eq!(
        rows,
        [
            (AuditKind::Started, "note", json!("tool_call"), one.clone()),
            (AuditKind::Finished, "note", json!("tool_call"), one),
            (AuditKind::Started, "note", Value::Null, other.clone()),
            (AuditKind::Finished, "note", Value::Null, other),
        ]
    );
    let digests: Vec<_> = store.inner.rows().iter().map(|row| body(row)["arguments"].clone()).collect();
    assert_eq!(digests[0], digests[2], "the arguments are those of the target");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_on_record_as_the_target_s() {
    let (note, store) = (Note::default(), Watched::default());
    let surface = surface(host(&note).store(store.clone())).await;
    let waiting = through(&surface, json!({ "end": "wait" }));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(30), waiting).await.is_err());
    let rows = store.inner.rows();
    let last = rows.last().unwrap();
    assert_eq!((last.tool.as_deref(), &body(last)["via"]), (Some("note"), &json!("tool_call")));
    assert_eq!(body(last)["outcome"], "cancelled");
}

#[tokio::test]
async fn a_block_is_the_target_s_and_a_dry_run_runs_nothing() {
    let note = Note::default();
    let blocks = before("blocks", 0, |attempt| match attempt.via.as_deref() {
        Some("tool_call") => ToolVerdict::Block("not this way".to_owned()),
        _ => ToolVerdict::Pass,
    });
    let guarded = surface(host(&note).hook(blocks)).await;
    let blocked = through(&guarded, json!({})).await;
    assert_eq!(end(&blocked), "blocked | the tool `note` is blocked by `blocks`: not this way | -");
    assert_eq!(blocked.record.via.as_deref(), Some("tool_call"));
    assert_eq!(judged::call(&guarded, json!({})).await.kind, CallKind::Completed);

    let dry = Call::new("tool_call", json!({ "name": "note", "arguments": { "n": 1 } })).dry_run();
    let dry = surface(host(&note)).await.call(dry).await;
    assert_eq!(text(&dry), "`note` would run with {\"n\":1}");
    assert_eq!(note.calls.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn what_holds_no_call_is_refused_with_what_is_wrong() {
    let note = Note::default();
    let surface = surface(host(&note)).await;
    let refused = async |arguments: &str| {
        let outcome = surface.call(Call::from_json("tool_call", arguments)).await;
        assert_eq!(outcome.kind, CallKind::InvalidParams, "{arguments}");
        (outcome.record.tool.clone(), text(&outcome))
    };
    for (arguments, tool, message) in [
        ("{}", "tool_call", "\"name\" is a required property"),
        (r#"{"name": 3}"#, "tool_call", "/name: 3 is not of type \"string\""),
        (r#"{"name": "note", "text": "a"}"#, "tool_call", "'text' was unexpected"),
        ("[]", "tool_call", "the arguments for `tool_call` are not an object"),
        ("{", "tool_call", "the arguments for `tool_call` are not JSON"),
        (
            r#""{\"name\": \"note\"}""#,
            "tool_call",
            "the arguments for `tool_call` are a string that holds JSON: send the object itself",
        ),
        // The target's own arguments are judged as a direct call's are.
        (
            r#"{"name": "note", "arguments": "{\"n\": 1}"}"#,
            "note",
            "the arguments for `note` are a string that holds JSON: send the object itself, not a string of it",
        ),
        (r#"{"name": "note", "arguments": [1]}"#, "note", "the arguments for `note` are not an object"),
        (r#"{"name": "note", "arguments": {"n": "1"}}"#, "note", "/n: \"1\" is not of type \"integer\""),
    ] {
        let (named, said) = refused(arguments).await;
        assert_eq!(named, tool, "{arguments}");
        assert!(said.contains(message), "{arguments}: {said}");
    }
    for control in super::CONTROLS {
        let (named, said) = refused(&format!(r#"{{"name": " {} "}}"#, control.to_uppercase())).await;
        assert_eq!(named, "tool_call");
        assert_eq!(said, format!("`{control}` is called by its own name, not with `tool_call`"));
    }
    assert!(note.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_unknown_target_is_told_the_same_as_a_removed_one() {
    let tools = ["alpha", "beta", "gamma"].map(|name| (name, Deferral::Auto));
    let surface = super::assemble(natives(&tools), &format!("{ALL}[tools]\ndeny = [\"beta\"]")).await;
    let answer = async |name: &str| super::ask(&surface, "tool_call", json!({ "name": name })).await;
    for (name, message) in [
        ("beta", "there is no tool `beta` here"),
        ("zeta", "there is no tool `zeta` here"),
        ("alhpa", "there is no tool `alhpa` here; did you mean `alpha`?"),
    ] {
        let refused = answer(name).await;
        assert_eq!((refused.kind, text(&refused).as_str()), (CallKind::NotExposed, message));
        assert_eq!((refused.record.tool.as_str(), refused.record.via.as_deref()), (name, Some("tool_call")));
    }
    let reason = answer("beta").await.trail[0].reason.clone().unwrap();
    assert!(reason.contains("`tools.deny`"), "the trail knows: {reason}");
    // What is shown at once can be called either way.
    let pinned = super::assemble(natives(&tools), &format!("{ALL}pinned = [\"gamma\"]")).await;
    let gamma = super::ask(&pinned, "tool_call", json!({ "name": "Gamma " })).await;
    assert_eq!(text(&gamma), "gamma");
}

#[tokio::test]
async fn arguments_keep_every_digit_and_have_the_limits_of_a_direct_call() {
    let note = Note::default();
    let surface = surface(host(&note)).await;
    let long =
        r#"{"name":"note","arguments":{"n":123456789012345678901234567890,"text":"9007199254740993"}}"#;
    assert_eq!(surface.call(Call::from_json("tool_call", long)).await.kind, CallKind::Completed);
    assert_eq!(
        note.calls.lock().unwrap().last().unwrap().to_string(),
        r#"{"n":123456789012345678901234567890,"text":"9007199254740993"}"#
    );
    for nothing in [json!({ "name": "note" }), json!({ "name": "note", "arguments": null })] {
        super::ask(&surface, "tool_call", nothing).await;
        assert_eq!(*note.calls.lock().unwrap().last().unwrap(), json!({}));
    }
    // Exactly what a direct call may have: one mebibyte of arguments.
    let fitting = "x".repeat((1 << 20) - r#"{"text":""}"#.len());
    for (text, kind) in
        // What `note` says of it is too long to read.
        [
            (fitting.clone(), CallKind::OutputTooLarge),
            (format!("{fitting}x"), CallKind::InvalidParams),
        ]
    {
        let arguments = json!({ "text": text });
        assert_eq!(judged::call(&surface, arguments.clone()).await.kind, kind);
        assert_eq!(through(&surface, arguments.clone()).await.kind, kind);
        let written = json!({ "name": "note", "arguments": arguments }).to_string();
        assert_eq!(surface.call(Call::from_json("tool_call", written)).await.kind, kind);
    }
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    for (levels, message) in [(62, "do not fit"), (64, "are nested deeper than 64 levels")] {
        let written = format!(r#"{{"name":"note","arguments":{{"text":{}}}}}"#, nested(levels));
        let refused = surface.call(Call::from_json("tool_call", written)).await;
        assert!(text(&refused).contains(message), "{levels}: {}", text(&refused));
        let direct = Call::from_json("note", format!(r#"{{"text":{}}}"#, nested(levels)));
        assert!(text(&surface.call(direct).await).contains(message), "{levels}");
    }
}

#[tokio::test]
async fn loop_protection_counts_the_target() {
    let note = Note::default();
    let protected = format!("{ALL}[loop-protection]\nenabled = true");
    let surface = judged::surface(host(&note).config(config(&protected))).await;
    for time in 0..20 {
        let arguments = json!({ "n": 1 });
        let outcome = if time % 2 == 0 {
            through(&surface, arguments).await
        } else {
            judged::call(&surface, arguments).await
        };
        assert_eq!(outcome.kind, CallKind::Completed);
    }
    let again = through(&surface, json!({ "n": 1 })).await;
    assert_eq!(again.kind, CallKind::Blocked, "{}", end(&again));
    assert!(text(&again).starts_with("the tool `note` is blocked by `loop-protection`"), "{}", end(&again));
    assert_eq!(judged::call(&surface, json!({ "n": 1 })).await.kind, CallKind::Blocked);
    assert_eq!(through(&surface, json!({ "n": 2 })).await.kind, CallKind::Completed);
}

#[tokio::test]
async fn approvals_are_the_target_s_whichever_way_it_was_called() {
    for first_is_direct in [true, false] {
        let (note, answers) = (Note::default(), Answers::with(Some(ApprovalDecision::AllowAlways)));
        let asks = before("asks", 0, |_| judged::ask(&[], GrantScope::Arguments, None));
        let surface = surface(host(&note).approver(answers.clone()).hook(asks)).await;
        let call = async |is_direct: bool, n: u32| {
            let arguments = json!({ "n": n });
            if is_direct {
                judged::call(&surface, arguments).await
            } else {
                through(&surface, arguments).await
            }
        };
        assert_eq!(call(first_is_direct, 1).await.kind, CallKind::Completed);
        assert_eq!(answers.questions.lock().unwrap().len(), 1);
        assert_eq!(call(!first_is_direct, 1).await.kind, CallKind::Completed);
        assert_eq!(answers.questions.lock().unwrap().len(), 1, "the standing approval covers it");
        assert_eq!(call(!first_is_direct, 2).await.kind, CallKind::Completed);
        let questions = answers.questions.lock().unwrap();
        assert_eq!(questions.len(), 2, "other arguments are another question");
        for question in questions.iter() {
            assert_eq!((question.tool.as_str(), &question.written), ("note", &None));
        }
        assert_eq!(questions[1].arguments, json!({ "n": 2 }));
    }
    let (note, answers) = (Note::default(), Answers::with(Some(ApprovalDecision::Deny)));
    let asks = before("asks", 0, |_| judged::ask(&[], GrantScope::Arguments, None));
    let surface = surface(host(&note).approver(answers).hook(asks)).await;
    assert_eq!(through(&surface, json!({})).await.kind, CallKind::ApprovalDenied);
    assert!(note.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_other_two_pass_the_checkpoints_too() {
    let (note, seen) = (Note::default(), Seen::default());
    let policy = Watches(Arc::clone(&seen));
    let blocks = before("blocks", 0, |attempt| match attempt.tool.as_str() {
        "tool_describe" => ToolVerdict::Block("not that".to_owned()),
        _ => ToolVerdict::Pass,
    });
    let surface = surface(host(&note).trusted_policy(policy).hook(blocks)).await;
    let found = super::ask(&surface, "tool_search", json!({ "queries": ["note"] })).await;
    assert_eq!(
        trail(&found),
        ["core accepted", "watches pass", "blocks pass", "core completed", "core recorded"]
    );
    assert_eq!((found.record.tool.as_str(), found.record.owner.as_deref()), ("tool_search", Some("core")));
    let described = super::ask(&surface, "tool_describe", json!({ "names": ["note"] })).await;
    assert_eq!(described.kind, CallKind::Blocked);
    let tools: Vec<_> = seen.lock().unwrap().iter().map(|seen| seen.0.clone()).collect();
    assert_eq!(tools, ["tool_search", "tool_describe"]);
}
