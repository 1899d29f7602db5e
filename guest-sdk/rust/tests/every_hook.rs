//! Every hook of the contract enters with a handler of the simplest form; its registration and its answer leave.

use airlock_plugin::HookName;
use airlock_plugin::HookOutcome;
use airlock_plugin::prelude::*;
use airlock_plugin::serde_json::json;
use airlock_plugin::testing;

#[hook(before_prompt_build)]
fn before_prompt_build(_: &PromptBuild, run: &RunContext) -> PromptChanges {
    PromptChanges::none().prepending(&run.agent_id)
}

#[hook(before_agent_run)]
fn before_agent_run(_: &AgentRun, _: &RunContext) -> GateVerdict {
    GateVerdict::pass()
}

#[hook(before_tool_call)]
fn before_tool_call(_: &ToolAttempt, _: &RunContext) -> ToolVerdict {
    ToolVerdict::pass()
}

#[hook(after_tool_call)]
fn after_tool_call(_: &ToolCompletion, _: &RunContext) {}

#[hook(tool_result_persist)]
fn tool_result_persist(record: &PersistRecord, _: &RunContext) -> PersistChange {
    record.to_change()
}

#[hook(before_message_write)]
fn before_message_write(_: &TranscriptMessage, _: Option<&RunContext>) -> WriteVerdict {
    WriteVerdict::pass()
}

#[hook(message_received)]
fn message_received(_: &Message, _: Option<&RunContext>) {}

#[hook(message_sending)]
fn message_sending(message: &Message, _: Option<&RunContext>) -> MessageVerdict {
    MessageVerdict::replace(message.to_change())
}

#[hook(message_sent)]
fn message_sent(_: &MessageReceipt, _: Option<&RunContext>) {}

#[hook(session_start)]
fn session_start(_: &SessionEvent, _: Option<&RunContext>) {}

#[hook(session_end)]
fn session_end(_: &SessionEvent, _: Option<&RunContext>) {}

#[hook(agent_end)]
fn agent_end(_: &AgentSummary, _: &RunContext) {}

#[hook(before_install)]
fn before_install(request: &InstallRequest, _: Option<&RunContext>) -> GateVerdict {
    GateVerdict::block(&request.id)
}

#[hook(subagent_spawned)]
fn subagent_spawned(_: &SubagentEvent, _: Option<&RunContext>) {}

#[hook(subagent_ended)]
fn subagent_ended(_: &SubagentEvent, _: Option<&RunContext>) {}

#[hook(host_start)]
fn host_start() {}

#[hook(host_stop)]
fn host_stop() {}

plugin!(hooks: [
    before_prompt_build,
    before_agent_run,
    before_tool_call,
    after_tool_call,
    tool_result_persist,
    before_message_write,
    message_received,
    message_sending,
    message_sent,
    session_start,
    session_end,
    agent_end,
    before_install,
    subagent_spawned,
    subagent_ended,
    host_start,
    host_stop,
]);

#[test]
fn each_is_registered_under_its_own_name() {
    let registered = testing::register::<Plugin>().unwrap();
    let hooks: Vec<&str> = registered.handlers.iter().map(|handler| handler.hook.as_str()).collect();
    let names: Vec<String> = <Plugin as airlock_plugin::Plugin>::HOOKS
        .iter()
        .map(|handler| handler.name().replace('_', "-"))
        .collect();
    assert_eq!(hooks, names);
    assert_eq!(hooks.len(), 17);
    let manifest = json!({ "contracts": { "hooks": hooks } }).to_string();
    assert_eq!(testing::check_manifest::<Plugin>(&manifest), Ok(()));
    assert_eq!(HookName::BeforeToolCall.to_string(), "before-tool-call");
}

#[test]
fn what_decides_answers_with_its_own_case() {
    let prompt = PromptBuild { prompt: "hi".to_owned(), tools: vec!["read".to_owned()] };
    let changes = PromptChanges::none().prepending("main");
    assert_eq!(testing::emit::<Plugin, before_prompt_build>(prompt), Ok(HookOutcome::Prompt(changes)));

    let pass = Ok(HookOutcome::Gate(GateVerdict::Pass));
    let start = AgentRun { prompt: "hi".to_owned() };
    assert_eq!(testing::emit::<Plugin, before_agent_run>(start), pass);

    let attempt = testing::tool_attempt("read", json!({}));
    let pass = Ok(HookOutcome::Tool(ToolVerdict::Pass));
    assert_eq!(testing::emit::<Plugin, before_tool_call>(attempt), pass);

    let record = testing::persist_record("read", json!({ "path": "a" }), "text");
    let same = Ok(HookOutcome::Persist(record.to_change()));
    assert_eq!(testing::emit::<Plugin, tool_result_persist>(record), same);

    let written = TranscriptMessage { role: Role::User, call_id: None, body: Vec::new(), details: None };
    let pass = Ok(HookOutcome::Write(WriteVerdict::Pass));
    assert_eq!(testing::emit_in::<Plugin, before_message_write>(written, None), pass);

    let message = message();
    let same = Ok(HookOutcome::Message(MessageVerdict::Replace(message.to_change())));
    assert_eq!(testing::emit_in::<Plugin, message_sending>(message, None), same);

    let request = testing::install_request("github", json!({}), json!({}));
    let block = Ok(HookOutcome::Gate(GateVerdict::block("github")));
    assert_eq!(testing::emit_in::<Plugin, before_install>(request, None), block);
}

#[test]
fn what_observes_answers_nothing() {
    let result = ToolResult { content: Vec::new(), details: None };
    let completion = testing::tool_completion("read", json!({}), ToolOutcome::Success(result));
    let session = || SessionEvent { session_id: "session-1".to_owned(), reason: "new".to_owned() };
    let summary = AgentSummary { run_id: "run-1".to_owned(), success: true, error: None, duration_ms: 1 };
    let child = || SubagentEvent {
        child_session: "session-2".to_owned(),
        agent_id: "helper".to_owned(),
        outcome: None,
    };
    let outcomes = [
        testing::emit::<Plugin, after_tool_call>(completion),
        testing::emit_in::<Plugin, message_received>(message(), None),
        testing::emit_in::<Plugin, message_sent>(MessageReceipt { message: message(), error: None }, None),
        testing::emit_in::<Plugin, session_start>(session(), None),
        testing::emit_in::<Plugin, session_end>(session(), None),
        testing::emit::<Plugin, agent_end>(summary),
        testing::emit::<Plugin, subagent_spawned>(child()),
        testing::emit::<Plugin, subagent_ended>(child()),
        testing::emit_in::<Plugin, host_start>((), None),
        testing::emit_in::<Plugin, host_stop>((), None),
    ];
    assert_eq!(outcomes, [const { Ok(HookOutcome::None) }; 10]);
}

fn message() -> Message {
    Message {
        channel: "mail".to_owned(),
        sender: Some("ann@example.org".to_owned()),
        recipient: None,
        body: "hi".to_owned(),
        metadata: None,
    }
}
