//! Turns and events of an embedder's own loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlock_core::{
    Config, GateVerdict, HookEvent, HookName, HookOptions, HookOutcome, Message, MessageChange,
    MessageVerdict, PromptChanges, Role, RunContext, SessionEvent, Surface, TranscriptMessage,
};

use crate::judged::{Does, Note, host, surface};

#[tokio::test]
async fn a_turn_that_a_handler_prepares_has_context_and_fewer_tools() {
    let prompt = |name, changes: Result<PromptChanges, String>| Does {
        name,
        hook: HookName::BeforePromptBuild,
        options: HookOptions::default(),
        act: move |_| changes.clone().map(HookOutcome::Prompt),
    };
    let allow = |names: &[&str]| PromptChanges {
        prepend_context: Some("first".to_owned()),
        append_context: None,
        tools_allow: Some(names.iter().map(ToString::to_string).collect()),
    };
    let tools =
        |surface: &Surface| surface.tools().map(|exposed| exposed.tool.name.to_string()).collect::<Vec<_>>();
    let two =
        || host(&Note::default()).native_tool(crate::scripted::Native { name: "read", ..Default::default() });
    let turn =
        surface(two().hook(prompt("narrows", Ok(allow(&["no*", "exec"]))))).await.prepare("hello").await;
    assert_eq!(
        (tools(&turn.surface), turn.prepend_context),
        (vec!["note".to_owned()], vec!["first".to_owned()])
    );
    let both = two().hook(prompt("one", Ok(allow(&["note"])))).hook(prompt("two", Ok(allow(&["read"]))));
    assert_eq!(tools(&surface(both).await.prepare("hello").await.surface), [""; 0]);
    for broken in [Err("no".to_owned()), Ok(allow(&["[bad"]))] {
        let turn = surface(two().hook(prompt("broken", broken))).await.prepare("hello").await;
        assert_eq!(tools(&turn.surface), [""; 0], "nobody knows what it would have taken away");
        assert!(turn.prepend_context.is_empty());
        assert!(turn.surface.diagnostics().iter().any(|found| found.code.as_str() == "hook-failed"));
    }
}

#[tokio::test]
async fn an_embedder_s_own_events_have_one_typed_call_each() {
    let does = |name, hook, act: fn(HookEvent) -> Result<HookOutcome, String>| Does {
        name,
        hook,
        options: HookOptions::default(),
        act,
    };
    let message = || Message {
        channel: "slack".to_owned(),
        sender: None,
        recipient: Some("#all".to_owned()),
        body: "hello".to_owned(),
        metadata: None,
    };
    let run = Arc::new(RunContext::new("writer"));
    let change = |event: HookEvent| {
        let HookEvent::MessageSending(message) = event else { return Err("?".to_owned()) };
        let body = format!("{}!", message.body);
        Ok(HookOutcome::Message(MessageVerdict::Replace(MessageChange { body, metadata: None })))
    };
    let fail = |_: HookEvent| Err("broken".to_owned());
    let cancel = |_: HookEvent| Ok(HookOutcome::Message(MessageVerdict::Cancel("not now".to_owned())));
    let sending = HookName::MessageSending;

    // A modifier that fails is passed over; what it got goes on.
    let host = host(&Note::default()).hook(does("a", sending, change)).hook(does("b", sending, fail));
    let host = host.hook(does("c", sending, change)).build().await.unwrap();
    let sent = host.message_sending(message(), &run).await.unwrap();
    assert_eq!((sent.body.as_str(), sent.recipient.as_deref()), ("hello!!", Some("#all")));
    let host = crate::judged::host(&Note::default())
        .hook(does("a", sending, cancel))
        .hook(does("b", sending, change));
    let cancelled = host.build().await.unwrap().message_sending(message(), &run).await.unwrap_err();
    assert_eq!((cancelled.by.as_str(), cancelled.reason.as_str()), ("a", "not now"));

    // Gates fail closed.
    let gate = |act| does("gate", HookName::BeforeAgentRun, act);
    let block = |_: HookEvent| Ok(HookOutcome::Gate(GateVerdict::Block("no".to_owned())));
    let pass = |_: HookEvent| Ok(HookOutcome::None);
    for (act, expected) in [
        (pass as fn(HookEvent) -> Result<HookOutcome, String>, Ok(())),
        (block, Err("no")),
        (fail, Err("failed: broken")),
    ] {
        let host = crate::judged::host(&Note::default()).hook(gate(act)).build().await.unwrap();
        let answer = host.before_agent_run("hello", &run).await;
        assert_eq!(answer.as_ref().copied().map_err(|blocked| blocked.reason.as_str()), expected);
    }
    let guarded = "[plugins.entries.gone.grants]\nhooks = [\"before-agent-run\", \"before-message-write\"]";
    let config = Config::from_toml(guarded.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let host = crate::judged::host(&Note::default()).config(config).build().await.unwrap();
    assert_eq!(host.before_agent_run("hello", &run).await.unwrap_err().by, "gone");
    let written = TranscriptMessage { role: Role::User, call_id: None, body: Vec::new(), details: None };
    assert!(host.before_message_write(written.clone(), &run).await.is_err(), "withheld");

    // Observers are told, and a shutdown waits for them.
    let told = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&told);
    let observe = Does {
        name: "observe",
        hook: HookName::SessionStart,
        options: HookOptions::default(),
        act: move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(HookOutcome::None)
        },
    };
    let host = crate::judged::host(&Note::default()).hook(observe).build().await.unwrap();
    let event = SessionEvent { session: "s".to_owned(), reason: "new".to_owned() };
    host.session_start(event, Some(&run)).await;
    host.shutdown(Duration::from_secs(5)).await.unwrap();
    assert_eq!(told.load(Ordering::Relaxed), 1);
    assert_eq!(host.before_message_write(written.clone(), &run).await.unwrap(), written);
}
