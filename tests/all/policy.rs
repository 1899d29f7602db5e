//! Policy where it meets the rest: plugins as wholes, workspaces, reloads, children, and tools bound to a run.

use std::fs;
use std::sync::Arc;

use airlock_core::{
    Binding, CallKind, Config, Host, LoadReason, NativeCall, NativeTool, Origin, PluginRoot, RunContext,
    State, Surface, ToolDescriptor, ToolError, ToolResult,
};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::scripted::{Native, Scripted, descriptor, install};
use crate::support::{builder, call, end, root, text};

fn config(text: &str) -> Config {
    Config::from_toml(text.as_bytes(), "airlock.toml".as_ref()).unwrap()
}

fn tools(surface: &Surface) -> Vec<&str> {
    surface.tools().map(|exposed| exposed.tool.name.as_str()).collect()
}

fn reason(surface: &Surface, name: &str) -> String {
    let found = surface.removed().iter().find(|removal| removal.name.as_str() == name);
    found.map_or_else(|| "-".to_owned(), |removal| removal.reason.clone())
}

/// How many handlers each loaded plugin has.
async fn handlers(host: &Host) -> Vec<usize> {
    let statuses = host.inspect().await;
    let loaded = statuses.iter().filter_map(|status| status.loaded.as_ref().ok()?.as_ref());
    loaded.map(|loaded| loaded.registration.handlers.len()).collect()
}

#[tokio::test]
async fn an_agent_loses_one_tool_of_a_plugin_and_the_rest_of_it_stays() {
    let grant = "[plugins.entries.tracker.grants]\nhooks = [\"before-tool-call\"]\n";
    let source = format!("{grant}[agents.reader.tools]\ndeny = [\"tracker_create\"]");
    let host = builder(&["tracker", "echo"]).config(config(&source)).build().await.unwrap();

    let writer = host.assemble(RunContext::new("writer")).await;
    assert_eq!(tools(&writer), ["echo", "tracker_create", "tracker_read", "tracker_search"]);
    let reader = host.assemble(RunContext::new("reader")).await;
    assert_eq!(tools(&reader), ["echo", "tracker_read", "tracker_search"]);
    assert_eq!(
        reason(&reader, "tracker_create"),
        "`tracker_create` is denied by `tracker_create` in `agents.reader.tools.deny`"
    );
    let tracker = |surface: &Surface| {
        let planned = surface.plan().iter().find(|(id, _)| id.as_str() == "tracker");
        planned.map(|(_, reasons)| reasons.clone()).unwrap_or_default()
    };
    let is_hook = |reason: &LoadReason| matches!(reason, LoadReason::Hook(_));
    assert!(tracker(&reader).iter().any(is_hook), "{:?}", tracker(&reader));
    assert_eq!(handlers(&host).await, [0, 2]);
    assert_eq!(call(&reader, "tracker_search", r#"{"query": ""}"#).await.kind, CallKind::Completed);
    assert_eq!(call(&reader, "tracker_create", r#"{"title": "x"}"#).await.kind, CallKind::NotExposed);

    host.reload(config(&format!("[plugins.entries.tracker]\nenabled = false\n{grant}"))).unwrap();
    let without = host.assemble(RunContext::new("writer")).await;
    assert_eq!(tools(&without), ["echo"]);
    assert!(tracker(&without).is_empty());
    assert_eq!(handlers(&host).await, [0]);
    let stale = call(&writer, "tracker_read", r#"{"number": 1}"#).await;
    assert_eq!(stale.kind, CallKind::StaleSurface, "{}", end(&stale));
}

#[tokio::test]
async fn a_workspace_s_plugin_gets_nothing_of_an_installed_one_s_grants() {
    let folder = tempfile::tempdir().unwrap();
    let (user, workspace) = (folder.path().join("user"), folder.path().join("workspace"));
    install(&user, "github", &json!({ "github_search": {}, "github_delete": { "optional": true } }), None);
    // The workspace's copy wishes for a profile, a hook and more.
    let impostor = json!({ "github_search": { "profiles": ["coding"] }, "github_delete": {} });
    install(&workspace, "github", &impostor, None);
    let path = workspace.join("github/airlock.plugin.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["contracts"]["hooks"] = json!(["before-tool-call"]);
    manifest["configSchema"] = json!({ "type": "object" });
    fs::write(&path, manifest.to_string()).unwrap();
    let granted = "[plugins]\nallow = [\"github\"]\n\
        [plugins.entries.github]\nenabled = true\njoin-profiles = true\nlimits = { timeout-ms = 1000 }\n\
        [plugins.entries.github.grants]\nhooks = [\"before-tool-call\"]\nnetwork = [\"api.github.com\"]\n\
        [tools]\nalso-allow = [\"github_delete\"]\n";
    let both = || {
        let origins = [(&user, Origin::User), (&workspace, Origin::Workspace)];
        origins.map(|(path, origin)| PluginRoot { path: path.clone(), origin })
    };
    let host = |roots: Vec<PluginRoot>, source: &str| {
        let builder = Host::builder().sandbox(Scripted).config(config(source));
        roots.into_iter().fold(builder, airlock_core::HostBuilder::plugin_root).build()
    };

    // Beside the installed one it is shadowed, whatever it says.
    let installed = host(both().to_vec(), granted).await.unwrap();
    let surface = installed.assemble(RunContext::new("writer")).await;
    assert_eq!(tools(&surface), ["github_delete", "github_search"]);
    assert!(surface.tools().all(|exposed| exposed.origin == Some(Origin::User)));

    // Alone it is off: the entry is the installed one's.
    let alone = vec![PluginRoot { path: workspace.clone(), origin: Origin::Workspace }];
    let surface = host(alone.clone(), granted).await.unwrap().assemble(RunContext::new("writer")).await;
    assert_eq!(tools(&surface), [""; 0]);
    assert_eq!(reason(&surface, "github_search"), "a workspace brings `github`, and no entry accepts it");
    assert!(surface.plan().is_empty(), "{:?}", surface.plan());

    // Accepted by an entry of its own, it has what that entry says: no hook over others, no profile, no limits.
    let accepted = "[plugins.entries.github]\norigin = \"workspace\"\n";
    let surface = host(alone.clone(), accepted).await.unwrap().assemble(RunContext::new("writer")).await;
    assert_eq!(tools(&surface), ["github_delete", "github_search"]);
    let (_, reasons) = &surface.plan()[0];
    assert!(reasons.iter().all(|reason| matches!(reason, LoadReason::Tool(_))), "{reasons:?}");
    let profile = format!("{accepted}[tools]\nprofile = \"coding\"\n");
    let surface = host(alone, &profile).await.unwrap().assemble(RunContext::new("writer")).await;
    assert_eq!(tools(&surface), [""; 0]);
    // And the installed one has nothing of that entry.
    let surface = host(both().to_vec(), &profile).await.unwrap().assemble(RunContext::new("writer")).await;
    assert_eq!(
        reason(&surface, "github_search"),
        "`github_search` is not permitted: the profile `coding` does not contain it"
    );
}

#[tokio::test]
async fn a_required_and_an_optional_tool_stand_side_by_side() {
    let host = builder(&["notebook"]).build().await.unwrap();
    let run = RunContext::new("writer");
    assert_eq!(tools(&host.assemble(run.clone()).await), ["notes_list"]);
    host.reload(config("[agents.writer.tools]\nalso-allow = [\"notes_forget\"]")).unwrap();
    assert_eq!(tools(&host.assemble(run.clone()).await), ["notes_forget", "notes_list"]);
    // Enough for the surface, and no permission: the operator's switch comes first.
    host.reload(config("[plugins]\ndeny = [\"notebook\"]\n[tools]\nallow = [\"*\"]")).unwrap();
    assert_eq!(tools(&host.assemble(run).await), [""; 0]);
}

#[tokio::test]
async fn only_a_surviving_optional_name_loads_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    install(folder.path(), "shy", &json!({ "peek": { "optional": true } }), None);
    let host = Host::builder().sandbox(Scripted).plugin_root(root(folder.path())).build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    assert!(surface.plan().is_empty());
    host.reload(config("[tools]\nalso-allow = [\"pe*\"]")).unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    assert_eq!((tools(&surface), surface.plan().len()), (vec!["peek"], 1));
    assert!(surface.tools().all(|exposed| exposed.optional));
}

#[tokio::test]
async fn a_policy_that_is_narrowed_makes_older_surfaces_stale_and_one_that_is_widened_does_not_widen_them() {
    let native = Native { name: "read", groups: vec!["fs"], ..Native::default() };
    let narrow = "[tools]\ndeny = [\"echo\"]";
    let host = builder(&["echo"]).native_tool(native).config(config(narrow)).build().await.unwrap();
    let before = host.assemble(RunContext::new("writer")).await;
    assert_eq!(tools(&before), ["read"]);
    host.reload(config("")).unwrap();
    assert_eq!(call(&before, "echo", r#"{"text": "x"}"#).await.kind, CallKind::NotExposed);
    assert_eq!(text(&call(&before, "read", "{}").await), "read");
    host.reload(config("[tools]\ndeny = [\"group:fs\"]")).unwrap();
    let stale = call(&before, "read", "{}").await;
    assert_eq!(
        end(&stale),
        "stale-surface | the tool `read` is no longer available | `read` is denied by `group:fs` in `tools.deny`"
    );
    let unknown = host.reload(config("[tools]\ndeny = [\"group:none\"]")).unwrap_err();
    assert!(
        unknown.to_string().starts_with("airlock.toml:2:9: `tools.deny[0]`: there is no group `none`"),
        "{unknown}"
    );
    assert_eq!(
        tools(&host.assemble(RunContext::new("writer")).await),
        ["echo"],
        "a failed reload changes nothing"
    );
}

#[tokio::test]
async fn a_child_s_call_of_what_its_parent_lacks_says_whose_rule_it_was() {
    let source = "[agents.parent.tools]\ndeny = [\"echo\"]";
    let host = builder(&["echo", "workflow"]).config(config(source)).build().await.unwrap();
    let parent = host.assemble(RunContext::new("parent")).await;
    let child = parent.child(RunContext::new("child")).await.unwrap();
    let grandchild = child.child(RunContext::new("grandchild")).await.unwrap();
    for surface in [&child, &grandchild] {
        assert_eq!(tools(surface), ["workflow_tool"]);
        assert_eq!(surface.run().parent_run.as_deref(), Some("run"));
        let refused = call(surface, "echo", r#"{"text": "x"}"#).await;
        assert_eq!(refused.kind, CallKind::NotExposed);
        let why = refused.trail[0].reason.as_deref().unwrap();
        assert!(why.contains("the run that started this one did not have it"), "{why}");
    }
    // A capture survives being written down.
    let written = serde_json::to_string(&parent.capture()).unwrap();
    let scheduled = RunContext::new("child").capped(serde_json::from_str(&written).unwrap());
    assert_eq!(tools(&host.assemble(scheduled).await), ["workflow_tool"]);
}

/// A native tool that is made for each run, or fails in the way that the run's workspace says.
#[derive(Debug, Clone)]
struct Made {
    workspace: Option<String>,
}

impl NativeTool for Made {
    fn descriptor(&self) -> ToolDescriptor {
        let about = self.workspace.as_deref().unwrap_or("a workspace");
        let name = if self.workspace.as_deref() == Some("rename") { "renamed" } else { "made" };
        ToolDescriptor { description: format!("Works in {about}."), ..descriptor(name) }
    }

    fn bind(&self, run: &RunContext) -> Result<Binding, String> {
        match run.workspace.as_deref() {
            None => Ok(Binding::Unavailable("needs a workspace, and the run names none".to_owned())),
            Some("same") => Ok(Binding::Same),
            Some("error") => Err("the disk is full".to_owned()),
            Some("panic") => panic!("the tool broke"),
            Some(workspace) => Ok(Binding::Made(Arc::new(Self { workspace: Some(workspace.to_owned()) }))),
        }
    }

    fn execute(&self, _call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async { Ok(ToolResult::text(self.workspace.clone().unwrap_or_default())) })
    }
}

#[tokio::test]
async fn a_native_tool_is_bound_to_its_run() {
    let host = Host::builder().sandbox(Scripted).native_tool(Made { workspace: None }).build().await.unwrap();
    let explanation = host.explain("made", RunContext::new("writer")).await;
    let reason_of = explanation.reason.as_deref().unwrap();
    assert_eq!(
        (explanation.stopped_at, reason_of),
        (Some(State::Exposed), "`made` needs a workspace, and the run names none")
    );
    let assemble = async |workspace: Option<&str>| {
        let mut run = RunContext::new("writer");
        run.workspace = workspace.map(str::to_owned);
        host.assemble(run).await
    };
    let one = assemble(Some("one")).await;
    let two = assemble(Some("two")).await;
    assert_eq!(one.tools().next().unwrap().tool.description, "Works in one.");
    assert_eq!(text(&call(&one, "made", "{}").await), "one");
    assert_eq!(text(&call(&two, "made", "{}").await), "two");
    assert_eq!(tools(&assemble(Some("same")).await), ["made"]);
    assert_eq!(reason(&assemble(None).await, "made"), "`made` needs a workspace, and the run names none");
    for (workspace, message) in [
        ("error", "the native tool `made` could not be made for the run: the disk is full"),
        ("panic", "the native tool `made` panicked while it was made for the run: the tool broke"),
        ("rename", "the native tool `made` gave a tool of another name: `renamed`"),
    ] {
        let surface = assemble(Some(workspace)).await;
        assert_eq!(tools(&surface), [""; 0]);
        let found = &surface.diagnostics()[0];
        assert_eq!((found.code.as_str(), found.message.as_str()), ("factory-failed", message));
        assert_eq!(surface.removed()[0].stage.as_str(), "factory");
    }
}

#[tokio::test]
async fn an_exposed_tool_s_explanation_names_the_layers_that_it_passed() {
    let source = "[tools]\nprofile = \"full\"\n[tools.by-sender.U1]\n[tools.by-sender.'*']\nallow = []\n";
    let host = builder(&["echo"]).config(config(source)).build().await.unwrap();
    let mut run = RunContext::new("writer");
    run.requester = Some(airlock_core::Requester { sender: "U1".to_owned(), is_owner: None });
    let explanation = host.explain("echo", run).await;
    assert_eq!(explanation.stopped_at, None);
    let exposed = &explanation.states[3].evidence;
    assert_eq!(
        exposed,
        "it is on the surface of this run of `writer`; every layer permits it: profile (`tools`), global (`tools`), sender \
         (`tools.by-sender.U1`); sender keys passed over for a more specific one: `*`"
    );
    host.reload(config("[tools]\nallow = [\"workflow\"]\ndeny = [\"ec*\"]")).unwrap();
    let explanation = host.explain("echo", RunContext::new("writer")).await;
    assert_eq!(explanation.rules.len(), 2);
    assert_eq!(
        explanation.fix.unwrap(),
        "take `ec*` out of `tools.deny`; name `echo` in `tools.also-allow`, or widen the list"
    );
}

#[tokio::test]
async fn the_operator_s_mistakes_are_placed_and_bounded() {
    let many = (0..5_000).map(|number| format!("\"stray_{number}\"")).collect::<Vec<_>>().join(", ");
    let host = builder(&["echo"]).config(config(&format!("[tools]\ndeny = [{many}]"))).build().await.unwrap();
    let found = host.diagnostics();
    assert_eq!(found.len(), 65);
    assert!(found.iter().any(|found| found.message.starts_with("4936 more policy entries")), "{found:#?}");
    assert_eq!(found[0].location.as_ref().unwrap().line, Some(2));

    // Groups in groups cannot multiply without end.
    let names = (0..2_000).map(|number| format!("\"n{number}\"")).collect::<Vec<_>>().join(", ");
    let mut source = format!("[tools.groups]\nbig = [{names}]\n");
    for number in 0..100 {
        source.push_str(&format!("g{number} = [\"group:big\"]\n"));
    }
    let refused = builder(&[]).config(config(&source)).build().await.unwrap_err();
    assert!(refused.to_string().contains("stand for over 100000 entries"), "{refused}");
    let mut source = "[tools.groups]\n".to_owned();
    for number in 0..100 {
        source.push_str(&format!("g{number} = [\"group:g{}\"]\n", number + 1));
    }
    let refused = builder(&[]).config(config(&source)).build().await.unwrap_err();
    assert!(refused.to_string().contains("over 16 deep"), "{refused}");
}
