//! Ways around a policy that somebody could try, or fall into: each leaves the policy as tight as it was written.

use std::path::Path;

use airlock_core::{
    Call, CallKind, Config, Host, HostBuilder, Origin, PluginRoot, PolicyEntry, RunContext, Surface,
    ToolMetadata,
};
use serde_json::json;

use crate::scripted::{Native, Scripted, install};

fn config(text: &str) -> Config {
    Config::from_toml(text.as_bytes(), "airlock.toml".as_ref()).unwrap()
}

fn run(text: &str) -> RunContext {
    RunContext::from_json(text.as_bytes(), "run.json".as_ref()).unwrap()
}

fn names(surface: &Surface) -> Vec<&str> {
    surface.tools().map(|exposed| exposed.tool.name.as_str()).collect()
}

fn native(name: &'static str, group: &'static str) -> Native {
    Native { name, groups: vec![group], metadata: ToolMetadata::default() }
}

fn optional(native: Native) -> Native {
    Native { metadata: ToolMetadata { optional: true, ..ToolMetadata::default() }, ..native }
}

fn at(path: &Path, origin: Origin) -> PluginRoot {
    PluginRoot { path: path.to_owned(), origin }
}

fn host(text: &str) -> HostBuilder {
    Host::builder().sandbox(Scripted).config(config(text))
}

fn entries(entries: &[&str]) -> Vec<PolicyEntry> {
    entries.iter().map(|entry| PolicyEntry::parse(entry).unwrap()).collect()
}

fn files(text: &str) -> HostBuilder {
    host(text).native_tool(native("read", "fs")).native_tool(native("ls", "fs"))
}

#[tokio::test]
async fn a_manifest_that_nobody_accepted_changes_no_entry_s_meaning() {
    let (user, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    install(user.path(), "github", &json!({ "github_search": {} }), None);
    install(workspace.path(), "evil", &json!({ "github": {} }), None);
    for text in [
        "[tools]\ndeny = [\"github\"]",
        "[plugins.entries.evil]\norigin = \"workspace\"\n[tools]\ndeny = [\"github\"]",
    ] {
        let roots = [at(user.path(), Origin::User), at(workspace.path(), Origin::Workspace)];
        let builder = roots.into_iter().fold(host(text), HostBuilder::plugin_root);
        let host = builder.build().await.unwrap();
        let surface = host.assemble(RunContext::new("writer")).await;
        assert_eq!(names(&surface), [""; 0], "{text}");
    }
}

#[tokio::test]
async fn one_channel_or_sender_in_two_spellings_has_all_that_is_written() {
    let channels = "[channels.Slack.groups.C1.tools]\ndeny = [\"read\"]\n[channels.slack.groups.C1.tools]\ndeny = [\"ls\"]";
    let senders =
        "[tools.by-sender.'Slack:U1']\ndeny = [\"read\"]\n[tools.by-sender.'slack:U1']\ndeny = [\"ls\"]";
    for text in [channels, senders] {
        let host = files(text).build().await.unwrap();
        let context =
            r#"{"agent": "a", "channel": {"name": "slack", "group": "C1"}, "requester": {"sender": "U1"}}"#;
        assert_eq!(names(&host.assemble(run(context)).await), [""; 0], "{text}");
    }
}

#[tokio::test]
async fn a_sender_cannot_be_called_like_another_channel_s_key() {
    let text = "[tools.by-sender.'*']\nallow = []\n[tools.by-sender.'slack:U42']\nallow = [\"read\"]\n\
        [tools.by-sender.'@ada:example.org']\nallow = [\"ls\"]";
    let host = files(text).build().await.unwrap();
    let on_irc = |sender: &str| {
        run(&json!({"agent": "a", "channel": {"name": "irc"}, "requester": {"sender": sender}}).to_string())
    };
    assert_eq!(names(&host.assemble(on_irc("slack:U42")).await), [""; 0]);
    assert_eq!(names(&host.assemble(on_irc("@ada:example.org")).await), ["ls"]);
}

#[tokio::test]
async fn what_is_delegated_and_captured_only_gets_less() {
    let host = files("").build().await.unwrap();
    let parent = host.assemble(RunContext::new("a")).await;
    let mut child = RunContext::new("b");
    child.inherited = Some(parent.capture().delegating(entries(&["read"])));
    assert_eq!(names(&host.assemble(child.clone()).await), ["read"]);
    assert_eq!(names(&parent.child(child).await.unwrap()), ["read"]);
    let twice = parent.capture().delegating(entries(&["read"])).delegating(entries(&["*"]));
    assert_eq!(names(&host.assemble(RunContext::new("c").capped(twice)).await), ["read"]);
    let narrow = parent.narrow("a hook", &entries(&["ls"])).capture();
    let both = RunContext::new("c").capped(narrow).capped(parent.capture());
    assert_eq!(names(&host.assemble(both).await), ["ls"]);
}

#[tokio::test]
async fn a_parent_hands_on_nothing_that_a_reload_took_from_it() {
    let host = files("").build().await.unwrap();
    let parent = host.assemble(RunContext::new("parent")).await;
    host.reload(config("[agents.parent.tools]\ndeny = [\"read\"]")).unwrap();
    assert_eq!(parent.call(Call::from_json("read", "{}")).await.kind, CallKind::StaleSurface);
    assert_eq!(names(&parent.child(RunContext::new("child")).await.unwrap()), ["ls"]);
    let scheduled = RunContext::new("other").capped(parent.capture());
    assert_eq!(names(&host.assemble(scheduled).await), ["ls"]);
}

#[tokio::test]
async fn a_capture_is_not_inherited_by_another_origin_s_plugin_of_the_same_id() {
    let (user, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    install(user.path(), "github", &json!({ "github_search": {} }), None);
    install(workspace.path(), "github", &json!({ "github_search": {} }), None);
    let installed = host("").plugin_root(at(user.path(), Origin::User)).build().await.unwrap();
    let captured = installed.assemble(RunContext::new("a")).await.capture();
    assert_eq!(captured.len(), 1);
    let text = "[plugins.entries.github]\norigin = \"workspace\"";
    let brought = host(text).plugin_root(at(workspace.path(), Origin::Workspace)).build().await.unwrap();
    assert_eq!(names(&brought.assemble(RunContext::new("a")).await), ["github_search"]);
    assert_eq!(names(&brought.assemble(RunContext::new("a").capped(captured)).await), [""; 0]);
}

#[tokio::test]
async fn who_may_write_may_patch_with_the_host_s_own_tool_only_and_by_nobody_s_word_for_it() {
    let folder = tempfile::tempdir().unwrap();
    install(folder.path(), "patcher", &json!({ "apply_patch": {} }), None);
    for (text, expected) in [
        ("[tools]\nprofile = \"coding\"", vec!["write"]),
        ("[tools]\nallow = [\"write\"]", vec!["write"]),
        ("[tools]\ndeny = [\"write\"]", vec![]),
        ("[tools]\ndeny = [\"wr*\"]", vec![]),
    ] {
        let builder =
            host(text).native_tool(native("write", "fs")).plugin_root(at(folder.path(), Origin::User));
        let host = builder.build().await.unwrap();
        assert_eq!(names(&host.assemble(RunContext::new("a")).await), expected, "{text}");
    }
    let builder = host("[tools]\nallow = [\"write\"]").native_tool(native("write", "fs"));
    let host = builder.native_tool(optional(native("apply_patch", "fs"))).build().await.unwrap();
    assert_eq!(names(&host.assemble(RunContext::new("a")).await), ["write"]);
}

#[tokio::test]
async fn a_group_has_one_spelling() {
    let host =
        host("[tools]\ndeny = [\"group:fs\"]").native_tool(native("read", "FS")).build().await.unwrap();
    assert_eq!(names(&host.assemble(RunContext::new("a")).await), [""; 0]);
    for key in ["Reporting", "'a b'", "'fs*'", "''"] {
        let refused = files(&format!("[tools.groups]\n{key} = [\"read\"]")).build().await.unwrap_err();
        assert!(refused.to_string().contains("no entry can name this group"), "{refused}");
    }
}

#[tokio::test]
async fn the_provider_s_own_tool_wins_whatever_is_known_of_the_model() {
    let host = files("").build().await.unwrap();
    let surface = host.assemble(run(r#"{"agent": "a", "native-model-tools": ["read"]}"#)).await;
    assert_eq!(names(&surface), ["ls"]);
    assert_eq!(surface.removed()[0].reason, "the model's provider brings its own `read`");
}

#[tokio::test]
async fn a_guard_that_a_list_switches_off_is_not_lost_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    install(folder.path(), "other", &json!({ "look": {} }), None);
    install(folder.path(), "guard", &json!({ "watch": {} }), None);
    let grant = "[plugins.entries.guard.grants]\nhooks = [\"before-tool-call\"]";
    let text = format!("[plugins]\nallow = [\"other\"]\n{grant}");
    let off = host(&text).plugin_root(at(folder.path(), Origin::User)).build().await.unwrap();
    let codes: Vec<_> = off.diagnostics().iter().map(|found| found.code.as_str()).collect();
    assert_eq!(codes, ["guard-off"]);
    // Denied and not installed: the same as denied and installed.
    let text = format!("[plugins]\ndeny = [\"guard\"]\n{grant}");
    let gone = files(&text).build().await.unwrap();
    let surface = gone.assemble(RunContext::new("a")).await;
    assert_eq!(surface.call(Call::from_json("read", "{}")).await.kind, CallKind::Completed);
}

#[tokio::test]
async fn entries_of_a_run_are_looked_at_as_long_as_a_person_would_write() {
    let folder = tempfile::tempdir().unwrap();
    let tools: serde_json::Map<_, _> =
        (0..1_000).map(|number| (format!("tool_{number}"), json!({}))).collect();
    install(folder.path(), "many", &serde_json::Value::Object(tools), None);
    let globs: Vec<String> = (0..900).map(|number| format!("\"glob_{number}_*\"")).collect();
    let text = format!("[tools.groups]\nbig = [{}]", globs.join(", "));
    let host = host(&text).plugin_root(at(folder.path(), Origin::User)).build().await.unwrap();
    let strays: Vec<String> = (0..20_000).map(|number| format!("stray_{number}")).collect();
    let mut context = RunContext::new("a");
    context.tools_allow = Some(strays.iter().map(|entry| PolicyEntry::parse(entry).unwrap()).collect());
    let started = std::time::Instant::now();
    let surface = host.assemble(context.clone()).await;
    let found = surface.diagnostics().iter().filter(|found| found.subject.starts_with("stray")).count();
    assert!(found <= 17, "{found}");
    context.tools_allow = Some(vec![PolicyEntry::parse("group:big").unwrap(); 10_000]);
    host.assemble(context).await;
    let narrowed = surface.narrow("a hook", &entries(&["group:big"; 10_000]));
    assert_eq!(names(&narrowed), [""; 0]);
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    let many: Vec<String> = (0..2_000).map(|number| format!("\"g{number}_*\"")).collect();
    let refused = files(&format!("[tools]\nallow = [{}]", many.join(", "))).build().await.unwrap_err();
    assert!(refused.to_string().contains("over 1000 globs"), "{refused}");
}

#[tokio::test]
async fn two_narrowings_of_a_turn_are_two_rules() {
    let host = files("").build().await.unwrap();
    let surface = host.assemble(RunContext::new("a")).await;
    let narrowed = surface.narrow("one", &entries(&["ls"])).narrow("two", &entries(&["ls", "reed"]));
    assert_eq!(names(&narrowed), ["ls"]);
    let rules: Vec<_> = narrowed.removed()[0].rules.iter().map(|rule| rule.rule.as_str()).collect();
    assert_eq!(rules, ["tools-allow of one", "tools-allow of two"]);
    assert!(narrowed.diagnostics()[0].message.starts_with("two: no tool and no plugin is meant by `reed`"));
}
