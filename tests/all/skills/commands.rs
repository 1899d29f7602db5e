//! A skill's command calls its tool on the way of every other call: policy, hooks, contract and record.

use std::sync::{Arc, Mutex};

use airlock_core::{
    AuditKind, Beginning, Call, CallKind, Config, MemoryStore, NativeCall, NativeTool, Outcome, RunContext,
    Surface, ToolDescriptor, ToolError, ToolResult, ToolVerdict,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{builder, managed, simple, tools, write};
use crate::judged::before;
use crate::records::body;
use crate::scripted::descriptor;
use crate::support::{end, text};

const DISPATCH: &str =
    "description: x\nmetadata:\n  airlock:\n    command-dispatch: tool\n    command-tool: ";

/// A tool that gives what it was called with.
#[derive(Debug)]
struct Deliver;

impl NativeTool for Deliver {
    fn descriptor(&self) -> ToolDescriptor {
        let parameters = json!({
            "type": "object", "required": ["command"], "additionalProperties": false,
            "properties": { "command": { "type": "string", "minLength": 1 }, "skillName": { "type": "string" } },
        });
        ToolDescriptor { parameters: parameters.to_string(), ..descriptor("deliver") }
    }

    fn execute(&self, call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move { Ok(ToolResult::text(call.arguments.to_string())) })
    }
}

/// Does what a line says, as an agent would.
async fn say(surface: &Surface, line: &str) -> Outcome {
    match surface.begin(line, |call| call).await.unwrap() {
        Beginning::Called(outcome) => *outcome,
        Beginning::Turn(turn) => panic!("{turn:?}"),
    }
}

/// The turn that begins with a prompt: its tools, its skills, and what is left of the prompt.
async fn turn(surface: &Surface, prompt: &str) -> (Vec<String>, Vec<String>, String) {
    match surface.begin(prompt, |call| call).await.unwrap() {
        Beginning::Called(outcome) => panic!("{outcome:?}"),
        Beginning::Turn(turn) => {
            let skills = turn.skills.iter().map(|skill| skill.name().to_string()).collect();
            (tools(&turn.surface), skills, turn.prompt)
        }
    }
}

#[tokio::test]
async fn a_turn_begins_with_the_skills_that_a_person_names() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "reader", "description: x\nallowed-tools: read exec", "");
    write(folder.path(), "runner", "description: x\nallowed-tools: exec write", "");
    let surface = super::surface(builder([managed(folder.path())]), RunContext::new("writer")).await;
    let all = ["exec", "read", "skill_read", "write"].map(str::to_owned).to_vec();
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    for (prompt, tools, skills, left) in [
        ("hello", all.clone(), vec![], "hello"),
        ("use $reader", words(&["exec", "read"]), vec!["reader"], "use $reader"),
        ("$runner, then $reader", words(&["exec"]), vec!["runner", "reader"], "$runner, then $reader"),
        (r"not \$reader", all.clone(), vec![], "not $reader"),
        ("/reader a b", words(&["exec", "read"]), vec!["reader"], "a b"),
        // A command is the only one.
        ("/reader $runner", words(&["exec", "read"]), vec!["reader"], "$runner"),
        ("/nobody $reader", words(&["exec", "read"]), vec!["reader"], "/nobody $reader"),
    ] {
        assert_eq!(turn(&surface, prompt).await, (tools, words(&skills), left.to_owned()), "{prompt}");
    }
    let without = airlock_core::Host::builder().sandbox(crate::scripted::Scripted).build().await.unwrap();
    let without = without.assemble(RunContext::new("writer")).await;
    assert_eq!(turn(&without, "/reader $x").await, (Vec::new(), Vec::new(), "/reader $x".to_owned()));
}

#[tokio::test]
async fn a_command_is_found_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path(), "pdf-tools");
    let long = "a-name-that-no-channel-would-take-as-one";
    simple(folder.path(), long);
    simple(folder.path(), &format!("{long}-too"));
    write(folder.path(), "quiet", "description: x\nuser-invocable: false", "");
    write(folder.path(), "hidden", "description: x\ndisable-model-invocation: true", "");
    let surface = super::surface(builder([managed(folder.path())]), RunContext::new("writer")).await;
    let skills = surface.skills().unwrap();
    let names: Vec<_> = skills.commands().into_iter().map(|command| command.command).collect();
    assert_eq!(
        names,
        ["a_name_that_no_channel_would_tak", "a_name_that_no_channel_would_t_2", "hidden", "pdf_tools"]
    );
    let found = |line: &str| {
        skills
            .command(line)
            .map(|(command, arguments)| (command.skill.name().to_string(), arguments.to_owned()))
    };
    for (line, skill, arguments) in [
        ("/pdf_tools", "pdf-tools", ""),
        ("/pdf-tools  merge  a b ", "pdf-tools", "merge  a b"),
        ("  /PDF_Tools a\nb", "pdf-tools", "a\nb"),
        ("/skill pdf-tools merge", "pdf-tools", "merge"),
        ("/Skill pdf_tools", "pdf-tools", ""),
        ("/hidden", "hidden", ""),
        ("/a_name_that_no_channel_would_t_2", "a-name-that-no-channel-would-take-as-one-too", ""),
    ] {
        assert_eq!(found(line), Some((skill.to_owned(), arguments.to_owned())), "{line}");
    }
    for line in [
        "",
        "/",
        "pdf_tools",
        "use /pdf_tools",
        "/quiet",
        "/skill quiet",
        "/skill",
        "/skillful pdf-tools",
        "//pdf_tools",
    ] {
        assert_eq!(found(line), None, "{line}");
    }
}

#[tokio::test]
async fn its_call_goes_through_every_checkpoint_and_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "ship", &format!("{DISPATCH}deliver\nallowed-tools: deliver"), "");
    write(folder.path(), "shut", &format!("{DISPATCH}exec\nallowed-tools: read"), "");
    let store = MemoryStore::default();
    let seen: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let watch = before("watches", 0, move |attempt| {
        noted.lock().unwrap().push(attempt.via.clone());
        let is_evil = attempt.params["command"] == "the wrong thing";
        if is_evil { ToolVerdict::Block("not that".to_owned()) } else { ToolVerdict::Pass }
    });
    let host = builder([managed(folder.path())]).native_tool(Deliver).store(store.clone()).hook(watch);
    let host = host.build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;

    let outcome = say(&surface, "/ship the parcel, now").await;
    let taken: Value = serde_json::from_str(&text(&outcome)).unwrap();
    assert_eq!(taken, json!({ "command": "the parcel, now", "skillName": "ship" }), "{}", end(&outcome));
    assert_eq!(outcome.record.via.as_deref(), Some("skill:ship"));
    assert!(
        outcome
            .trail
            .iter()
            .any(|entry| { entry.reason.as_deref() == Some("it is the command of the skill `ship`") })
    );
    assert_eq!(*seen.lock().unwrap(), [Some("skill:ship".to_owned())]);
    let rows = store.rows();
    let via: Vec<Value> = rows
        .iter()
        .filter(|row| matches!(row.kind, AuditKind::Started | AuditKind::Finished))
        .map(|row| body(row)["via"].clone())
        .collect();
    assert!(!via.is_empty() && via.iter().all(|via| via == "skill:ship"), "{via:?}");

    let blocked = say(&surface, "/ship the wrong thing").await;
    assert_eq!((blocked.kind, blocked.record.via.as_deref()), (CallKind::Blocked, Some("skill:ship")));
    // The tool's own contract holds.
    assert_eq!(say(&surface, "/ship").await.kind, CallKind::InvalidParams);
    // What the skill itself does without, its command does without.
    assert_eq!(say(&surface, "/shut ls").await.kind, CallKind::NotExposed);
    // A direct call says nothing of it.
    let direct = surface.call(Call::new("deliver", json!({ "command": "x" }))).await;
    assert_eq!(direct.record.via, None);
    // A call can be adjusted, and a dry one runs nothing.
    let dry = surface.begin("/ship it", Call::dry_run).await.unwrap();
    let Beginning::Called(dry) = dry else { panic!("{dry:?}") };
    assert!(text(&dry).contains("would run"), "{}", end(&dry));
    // Policy has the last word.
    let deny = Config::from_toml(b"[tools]\ndeny = [\"deliver\"]", "airlock.toml".as_ref()).unwrap();
    host.reload(deny).unwrap();
    assert_eq!(say(&surface, "/ship it").await.kind, CallKind::StaleSurface);
    let later = host.assemble(RunContext::new("writer")).await;
    assert_eq!(say(&later, "/ship it").await.kind, CallKind::NotExposed);
}

#[tokio::test]
async fn a_skill_whose_tools_nobody_knows_leaves_none_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "lost", "description: x\nallowed-tools: Deploy, Ship", "");
    write(folder.path(), "none", "description: x\nallowed-tools: []", "");
    write(folder.path(), "some", "description: x\nallowed-tools: Deploy, read", "");
    let surface = super::surface(builder([managed(folder.path())]), RunContext::new("writer")).await;
    let codes = |name: &str| {
        let active = surface.activate(surface.skills().unwrap().skill(name).unwrap());
        let codes = active.diagnostics().iter().map(|finding| finding.code.as_str());
        (active.tools().count(), codes.filter(|code| *code == "skill-tools-unknown").count())
    };
    assert_eq!(codes("lost"), (0, 1));
    assert_eq!(codes("none"), (0, 0));
    assert_eq!(codes("some"), (1, 0));
}
