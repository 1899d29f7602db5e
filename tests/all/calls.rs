//! Called: what acceptance lets through, and what a caller gets back.

use std::sync::{Arc, Mutex};

use airlock_core::{
    Call, CallKind, CallStatus, Content, HookEvent, HookName, HookOutcome, NativeHook, Provider, RunContext,
    ToolVerdict,
};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::support::{call, end, surface, text};

#[tokio::test]
async fn the_workflow_gives_content_to_the_model_and_details_to_people() {
    let surface = surface(&["workflow"]).await;
    let outcome = call(&surface, "workflow_tool", r#"{"pipeline": "slug", "text": "Héllo,  Wörld!"}"#).await;
    assert_eq!((outcome.kind, outcome.status()), (CallKind::Completed, CallStatus::Success));
    assert_eq!(text(&outcome), "hello-world");
    let details = outcome.details.unwrap();
    assert_eq!(details["pipeline"], "slug");
    assert!(!details["steps"].as_array().unwrap().is_empty());
    let guest = outcome.receipt.guest.unwrap();
    assert!(guest.usage.fuel > 1_000 && guest.usage.fuel < guest.fuel_limit);
    assert!(
        guest.usage.peak_memory_bytes >= 1 << 20 && guest.usage.peak_memory_bytes < guest.memory_limit_bytes
    );
    assert!(guest.usage.wall.0 > std::time::Duration::ZERO);
    let checkpoints: Vec<_> = outcome
        .trail
        .iter()
        .map(|entry| format!("{:?} {} {}", entry.checkpoint, entry.decision, entry.by))
        .collect();
    assert_eq!(
        checkpoints,
        ["Acceptance accepted core", "Execute completed workflow", "Persist recorded core"]
    );
    assert_eq!(outcome.record.for_model().details, None);
    assert_eq!(outcome.record.for_model().content, [Content::text("hello-world")]);
    assert_eq!(outcome.record.details.unwrap()["pipeline"], "slug");
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_guest() {
    let surface = surface(&["workflow"]).await;
    for (arguments, path, words) in [
        (r#"{"pipeline": 7, "text": ""}"#, Some("/pipeline"), "7 is not of type \"string\""),
        (r#"{"pipeline": 7}"#, Some("/pipeline"), "\"text\" is a required property"),
        (r#"{"pipeline": "slug", "text": "a", "more": 1}"#, Some(""), "'more' was unexpected"),
        (r#"{"pipeline": "slug""#, None, "are not JSON"),
        ("[]", None, "are not an object"),
        (r#""{\"pipeline\": \"slug\"}""#, None, "send the object itself"),
    ] {
        let outcome = call(&surface, "workflow_tool", arguments).await;
        let error = outcome.error.unwrap();
        assert_eq!(error.kind, CallKind::InvalidParams, "{arguments}");
        assert_eq!(error.path.as_deref(), path, "{arguments}");
        assert!(error.message.contains(words), "{arguments}: {}", error.message);
        assert_eq!(outcome.receipt.guest, None, "the guest must not have run");
        assert_eq!(outcome.trail.len(), 2);
        assert!(outcome.record.is_error);
    }
}

#[tokio::test]
async fn an_unknown_name_and_a_removed_one_look_alike_to_the_model() {
    let surface = surface(&["workflow", "bad-register"]).await;
    assert_eq!(
        end(&call(&surface, "workflow_tol", "{}").await),
        "not-exposed | there is no tool `workflow_tol` here; did you mean `workflow_tool`? | -"
    );
    let unknown = call(&surface, "nowhere", "{}").await;
    let removed = call(&surface, "never_there", "{}").await;
    assert_eq!(text(&unknown).replace("nowhere", "X"), text(&removed).replace("never_there", "X"));
    assert_ne!(unknown.trail[0].reason, removed.trail[0].reason, "the trail knows the difference");
    let odd = call(&surface, "\u{202e}evil\u{1b}[2J", "{}").await;
    assert!(!text(&odd).contains(['\u{202e}', '\u{1b}']));
    assert_eq!(odd.record.owner, None);
}

#[tokio::test]
async fn every_digit_reaches_the_guest_and_comes_back() {
    let surface = surface(&["echo"]).await;
    let outcome = call(&surface, "echo", r#"{"text": "123456789012345678901234567890"}"#).await;
    assert_eq!(text(&outcome), "123456789012345678901234567890");
    let record = outcome.record.arguments.to_string();
    assert_eq!(record, r#"{"text":"123456789012345678901234567890"}"#);
}

/// Adds two to the number of a call, and keeps what it saw.
#[derive(Debug, Clone, Default)]
struct AddTwo(Arc<Mutex<Vec<String>>>);

impl NativeHook for AddTwo {
    fn name(&self) -> &str {
        "add-two"
    }
    fn hook(&self) -> HookName {
        HookName::BeforeToolCall
    }
    fn handle(
        &self,
        event: HookEvent,
        _: Option<Arc<RunContext>>,
    ) -> BoxFuture<'_, Result<HookOutcome, String>> {
        let HookEvent::BeforeToolCall(attempt) = event else { unreachable!("it is asked about calls only") };
        self.0.lock().unwrap().push(attempt.params.to_string());
        let number = attempt.params["number"].as_u64().unwrap();
        Box::pin(async move { Ok(HookOutcome::Tool(ToolVerdict::Rewrite(json!({ "number": number + 2 })))) })
    }
}

#[tokio::test]
async fn integers_beyond_2_53_keep_every_digit_from_the_wire_to_the_guest() {
    // A double has neither of these two.
    const WRITTEN: &str = r#"{"number":9007199254740993}"#;
    const READ: &str = "has no issue #9007199254740995";
    let hook = AddTwo::default();
    let host = crate::support::builder(&["tracker"]).hook(hook.clone()).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    let outcome = call(&surface, "tracker_read", WRITTEN).await;
    assert!(text(&outcome).contains(READ), "{}", end(&outcome));
    assert_eq!(hook.0.lock().unwrap().as_slice(), [WRITTEN]);
    assert_eq!(outcome.record.arguments.to_string(), r#"{"number":9007199254740995}"#);
    for provider in Provider::ALL {
        let arguments = serde_json::from_str(WRITTEN).unwrap();
        let (name, arguments) = surface.project(provider).decode("tracker_read", arguments).unwrap();
        let outcome = surface.call(Call::new(name.as_str(), arguments)).await;
        assert!(text(&outcome).contains(READ), "{}: {}", provider.as_str(), end(&outcome));
    }
}

#[tokio::test]
async fn what_is_too_long_for_the_model_is_cut_with_a_marker() {
    let surface = surface(&["echo"]).await;
    let long = "漢".repeat(20_000);
    let outcome = call(&surface, "echo", &json!({ "text": long }).to_string()).await;
    assert_eq!(outcome.kind, CallKind::Completed);
    assert!(text(&outcome).ends_with("[… shortened by Airlock: 16000 of 20000 characters shown]"));
}

#[tokio::test]
async fn the_markdown_plugin_reads_this_repositorys_own_readme() {
    let readme = std::fs::read_to_string(crate::support::repository().join("README.md")).unwrap();
    let surface = surface(&["markdown"]).await;
    let outcome = call(&surface, "markdown_outline", &json!({ "text": readme }).to_string()).await;
    assert_eq!(outcome.kind, CallKind::Completed);
    assert!(text(&outcome).contains("Airlock"), "{}", text(&outcome));
}
