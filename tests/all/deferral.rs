//! Deferral: beyond a threshold tools are withheld from the wire, and the host's own three find and call them. Nothing else is
//! added, nothing is taken away, and what policy removed is nowhere.

mod answers;
mod calls;

use airlock_core::{
    Call, CallKind, Config, Deferral, Host, HostBuilder, Outcome, PolicyEntry, Provider, RunContext, Surface,
    ToolMetadata, ToolName,
};
use serde_json::{Value, json};

use crate::command_line::airlock;
use crate::scripted::{Native, Scripted, install};
use crate::support::{built, root, text};

/// The host's own tools.
const CONTROLS: [&str; 3] = ["tool_call", "tool_describe", "tool_search"];

fn config(source: &str) -> Config {
    Config::from_toml(source.as_bytes(), "airlock.toml".as_ref()).unwrap()
}

fn natives(tools: &[(&'static str, Deferral)]) -> HostBuilder {
    let native = |(name, defer): &(&'static str, Deferral)| Native {
        name,
        metadata: ToolMetadata { defer: *defer, ..ToolMetadata::default() },
        ..Native::default()
    };
    tools.iter().map(native).fold(Host::builder().sandbox(Scripted), HostBuilder::native_tool)
}

async fn assemble(builder: HostBuilder, source: &str) -> Surface {
    builder.config(config(source)).build().await.unwrap().assemble(RunContext::new("writer")).await
}

/// Four tools of no special kind.
fn four() -> HostBuilder {
    natives(&["alpha", "beta", "gamma", "delta"].map(|name| (name, Deferral::Auto)))
}

fn deferred(surface: &Surface) -> Vec<&str> {
    surface.deferred().map(|exposed| exposed.tool.name.as_str()).collect()
}

fn offered(surface: &Surface) -> Vec<&str> {
    surface.offered().map(|exposed| exposed.tool.name.as_str()).collect()
}

fn name(text: &str) -> ToolName {
    ToolName::parse(text).unwrap()
}

/// A call with a JSON value.
async fn ask(surface: &Surface, tool: &str, arguments: Value) -> Outcome {
    surface.call(Call::new(tool, arguments)).await
}

fn codes(surface: &Surface) -> Vec<String> {
    surface.diagnostics().iter().map(|found| format!("{} {}", found.code, found.subject)).collect()
}

#[tokio::test]
async fn the_threshold_by_count_obeyed_and_violated() {
    let at = assemble(four(), "[tool-search]\nthreshold-tools = 4").await;
    assert_eq!(offered(&at), ["alpha", "beta", "delta", "gamma"]);
    assert_eq!(deferred(&at).len() + at.directory(1_000).len(), 0);
    for control in CONTROLS {
        assert!(at.tool(&name(control)).is_none());
        assert_eq!(ask(&at, control, json!({})).await.kind, CallKind::NotExposed);
    }

    let above = assemble(four(), "[tool-search]\nthreshold-tools = 3").await;
    assert_eq!(offered(&above), CONTROLS);
    assert_eq!(deferred(&above), ["alpha", "beta", "delta", "gamma"]);
    // They are exposed all the same.
    assert_eq!(above.tools().count(), 4);
    assert_eq!(text(&ask(&above, "beta", json!({})).await), "beta");
    assert!(above.removed().is_empty() && above.diagnostics().is_empty());
}

#[tokio::test]
async fn the_threshold_by_bytes_obeyed_and_violated() {
    let surface = assemble(four(), "").await;
    let bytes: usize =
        surface.tools().map(|exposed| exposed.tool.parameters.source().to_string().len()).sum();
    let at = assemble(four(), &format!("[tool-search]\nthreshold-bytes = {bytes}")).await;
    assert_eq!(offered(&at).len(), 4);
    let above = assemble(four(), &format!("[tool-search]\nthreshold-bytes = {}", bytes - 1)).await;
    assert_eq!(offered(&above), CONTROLS);
}

#[tokio::test]
async fn the_defaults_are_64_tools() {
    let names = |count: usize| {
        let tools = (0..count).map(|number| (format!("made_{number}"), json!({})));
        Value::Object(tools.collect())
    };
    for (count, withheld) in [(64, 0), (65, 65)] {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path(), "many", &names(count), None);
        let builder = Host::builder().sandbox(Scripted).plugin_root(root(folder.path()));
        assert_eq!(deferred(&assemble(builder, "").await).len(), withheld);
    }
}

#[tokio::test]
async fn what_is_pinned_stays_and_what_wishes_to_go_goes_first() {
    let four = || {
        let kinds = [("never", Deferral::Never), ("always", Deferral::Always)];
        natives(&[kinds[0], kinds[1], ("auto", Deferral::Auto), ("other", Deferral::Auto)])
    };
    for (thresholds, withheld) in [
        ("threshold-tools = 4", vec![]),
        // Without it the others are few enough.
        ("threshold-tools = 3", vec!["always"]),
        ("threshold-tools = 2", vec!["always", "auto", "other"]),
        ("threshold-tools = 2\npinned = [\"auto\"]", vec!["always", "other"]),
        ("threshold-tools = 3\npinned = [\"always\"]", vec!["auto", "other"]),
        ("threshold-tools = 0\npinned = [\"always\", \"auto\", \"other\"]", vec![]),
    ] {
        let surface = assemble(four(), &format!("[tool-search]\n{thresholds}")).await;
        assert_eq!(deferred(&surface), withheld, "{thresholds}");
        // Who withholds nothing needs nothing to find it.
        assert_eq!(offered(&surface).contains(&"tool_search"), !withheld.is_empty(), "{thresholds}");
    }
    let folder = tempfile::tempdir().unwrap();
    let tools = json!({ "kept": { "defer": "never" }, "found": { "defer": "auto" }, "wished": { "defer": "always" } });
    install(folder.path(), "kinds", &tools, None);
    let builder = Host::builder().sandbox(Scripted).plugin_root(root(folder.path()));
    let surface = assemble(builder, "[tool-search]\nthreshold-tools = 1\npinned = [\"foun\"]").await;
    assert_eq!(deferred(&surface), ["found", "wished"]);
    let [finding] = surface.diagnostics() else { panic!("{:?}", surface.diagnostics()) };
    assert_eq!(
        (finding.message.as_str(), finding.hint.as_str(), finding.location.as_ref().unwrap().line),
        ("`tool-search.pinned` names `foun`, which nothing has", "did you mean `found`?", Some(3))
    );
}

#[tokio::test]
async fn a_deny_of_one_of_the_three_turns_it_off_and_nothing_else_does() {
    let threshold = "[tool-search]\nthreshold-tools = 2\n";
    for off in [
        "[tools]\ndeny = [\"tool_call\"]",
        "[tools]\ndeny = [\"tool_search\"]",
        "[tools]\ndeny = [\"tool_describe\"]",
        "[tools]\ndeny = [\"TOOL_CALL\"]",
        "[tools]\ndeny = [\"tool_*\"]",
        "[agents.writer.tools]\ndeny = [\"tool_call\"]",
        "[tools]\ndeny = [\"group:found\"]\n[tools.groups]\nfound = [\"tool_search\"]",
    ] {
        let surface = assemble(four(), &format!("{threshold}{off}")).await;
        assert_eq!(offered(&surface), ["alpha", "beta", "delta", "gamma"], "{off}");
        assert_eq!(ask(&surface, "tool_search", json!({})).await.kind, CallKind::NotExposed);
        let [finding] = surface.diagnostics() else { panic!("{off}: {:?}", surface.diagnostics()) };
        assert_eq!(finding.code.to_string(), "deferral-off");
        assert!(
            finding.message.starts_with("all 4 tools are sent to the model: `tool_"),
            "{}",
            finding.message
        );
        assert_eq!(finding.location.as_ref().unwrap().line, Some(4));
        // Nothing would be withheld, so that nothing is turned off.
        let small = assemble(four(), off).await;
        assert!(small.diagnostics().is_empty(), "{:?}", small.diagnostics());
    }
    for on in [
        "[tools]\nallow = [\"alpha\", \"beta\", \"gamma\", \"delta\"]",
        "[tools]\nallow = [\"*\"]\ndeny = [\"toolsmith_*\"]",
        "[tools]\nprofile = \"full\"",
        "[agents.reader.tools]\ndeny = [\"tool_call\"]",
    ] {
        let surface = assemble(four(), &format!("{threshold}{on}")).await;
        assert_eq!(offered(&surface), CONTROLS, "{on}");
    }
    let mut run = RunContext::new("writer").provider("openai", "gpt-5");
    run.native_model_tools = vec![name("tool_search")];
    let host = four().config(config(threshold)).build().await.unwrap();
    assert_eq!(offered(&host.assemble(run).await).len(), 4, "the provider has its own");
    assert_eq!(offered(&host.assemble(RunContext::new("writer")).await), CONTROLS);
}

#[tokio::test]
async fn narrowing_settles_it_anew() {
    let entries =
        |names: &[&str]| names.iter().map(|name| PolicyEntry::parse(name).unwrap()).collect::<Vec<_>>();
    let whole = assemble(four(), "[tool-search]\nthreshold-tools = 2").await;
    let fewer = whole.narrow("a turn", &entries(&["alpha", "beta"]));
    assert_eq!((offered(&fewer), deferred(&fewer)), (vec!["alpha", "beta"], vec![]));
    assert_eq!(ask(&fewer, "tool_search", json!({ "queries": ["gamma"] })).await.kind, CallKind::NotExposed);
    let still = whole.narrow("a turn", &entries(&["alpha", "beta", "delta"]));
    assert_eq!((offered(&still), deferred(&still).len()), (CONTROLS.to_vec(), 3));
    // The three need no allow, and an allow of them is not one of anything else.
    let none = whole.narrow("a turn", &entries(&["tool_search", "tool_call"]));
    assert!(offered(&none).is_empty() && none.diagnostics().is_empty(), "{:?}", none.diagnostics());

    let off = assemble(four(), "[tool-search]\nthreshold-tools = 2\n[tools]\ndeny = [\"tool_call\"]").await;
    assert_eq!(codes(&off), ["deferral-off tool_search"]);
    assert!(codes(&off.narrow("a turn", &entries(&["alpha"]))).is_empty());
    assert_eq!(codes(&off.narrow("a turn", &entries(&["*"]))), ["deferral-off tool_search"]);
}

#[tokio::test]
async fn children_and_captures_have_what_is_deferred() {
    let surface = assemble(four(), "[tool-search]\nthreshold-tools = 2").await;
    assert_eq!(surface.capture().len(), 4);
    let child = surface.child(RunContext::new("reader")).await.unwrap();
    assert_eq!((deferred(&child).len(), offered(&child)), (4, CONTROLS.to_vec()));
    let beta = ask(&child, "tool_call", json!({ "name": "beta" })).await;
    assert_eq!(text(&beta), "beta");
}

#[tokio::test]
async fn nobody_else_has_one_of_the_three_names() {
    for control in CONTROLS {
        let error = natives(&[(control, Deferral::Auto)]).build().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("a native tool is named `{control}`, which is the host's own; rename it")
        );
    }
    let folder = tempfile::tempdir().unwrap();
    install(folder.path(), "impostor", &json!({ "tool_call": {}, "tool_search": {}, "honest": {} }), None);
    for (threshold, shown) in [(64, vec!["honest"]), (0, CONTROLS.to_vec())] {
        let builder = Host::builder().sandbox(Scripted).plugin_root(root(folder.path()));
        let surface = assemble(builder, &format!("[tool-search]\nthreshold-tools = {threshold}")).await;
        assert_eq!(offered(&surface), shown);
        assert_eq!(codes(&surface), ["tool-conflict tool_call", "tool-conflict tool_search"]);
        let reasons: Vec<_> = surface.removed().iter().map(|removal| removal.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "`impostor` declares the tool `tool_call`, which is the host's own",
                "`impostor` declares the tool `tool_search`, which is the host's own"
            ]
        );
        let found = ask(&surface, "tool_call", json!({ "name": "honest" })).await;
        let expected = if threshold == 0 { CallKind::Completed } else { CallKind::NotExposed };
        assert_eq!(found.kind, expected);
    }
}

#[tokio::test]
async fn every_provider_is_sent_the_three_and_decodes_what_is_withheld() {
    let surface = assemble(
        natives(&[("kept", Deferral::Never), ("found", Deferral::Auto)]),
        "[tool-search]\nthreshold-tools = 1",
    )
    .await;
    for provider in Provider::ALL {
        let projection = surface.project(provider);
        let sent: Vec<_> = projection.tools().iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(sent, ["kept", "tool_call", "tool_describe", "tool_search"], "{provider:?}");
        assert!(projection.left_out().is_empty(), "{provider:?}: {:?}", projection.left_out());
        // What is inside is the other tool's and not touched; nor is a direct call of what was never lowered.
        let written = json!({ "name": "found", "arguments": { "a": null, "b": [{ "c": null }] } });
        let (tool, arguments) = projection.decode("tool_call", written.clone()).unwrap();
        assert_eq!((tool.as_str(), &arguments), ("tool_call", &written), "{provider:?}");
        let inner = written["arguments"].clone();
        assert_eq!(projection.decode("found", inner.clone()), Some((name("found"), inner)), "{provider:?}");
        assert_eq!(projection.decode("lost", json!({})), None);
    }
}

#[tokio::test]
async fn more_than_a_provider_takes_is_told_and_a_search_is_the_cure() {
    let names: Vec<&'static str> = (0..129).map(|number| &*format!("tool_{number:03}").leak()).collect();
    let tools: Vec<_> = names.iter().map(|name| (*name, Deferral::Auto)).collect();
    let codes = |surface: &Surface, provider| {
        let projection = surface.project(provider);
        let code = |finding: &airlock_core::Diagnostic| format!("{} {}", finding.code, finding.message);
        projection.warnings().iter().map(code).collect::<Vec<_>>()
    };
    let all = assemble(natives(&tools), "[tool-search]\nthreshold-tools = 1000").await;
    assert_eq!(
        codes(&all, Provider::OpenAi),
        ["wire-too-large 129 tools are more than openai takes in one request, 128"]
    );
    let fits = assemble(natives(&tools[..128]), "[tool-search]\nthreshold-tools = 1000").await;
    let few = assemble(natives(&tools), "").await;
    for (surface, provider) in [(&all, Provider::Mcp), (&fits, Provider::OpenAi), (&few, Provider::OpenAi)] {
        assert_eq!(codes(surface, provider), [""; 0], "{provider:?}");
    }
}

#[tokio::test]
async fn an_explanation_says_who_finds_a_tool() {
    let exposed = async |source: &str, subject: &str| {
        let host = four().config(config(source)).build().await.unwrap();
        let explanation = host.explain(subject, RunContext::new("writer")).await;
        let state = &explanation.states[3];
        (state.reached, state.evidence.clone())
    };
    let threshold = "[tool-search]\nthreshold-tools = 2\n";
    let (reached, evidence) = exposed(threshold, "alpha").await;
    assert!(reached && evidence.ends_with("; deferred: found by `tool_search`"), "{evidence}");
    let (reached, evidence) = exposed("", "alpha").await;
    assert!(reached && !evidence.contains("deferred"), "{evidence}");
    let (reached, evidence) = exposed(threshold, "tool_call").await;
    assert!(reached && evidence.contains("4 of its tools are withheld"), "{evidence}");
    let (reached, evidence) = exposed("", "tool_call").await;
    assert!(!reached && evidence.contains("the host's own"), "{evidence}");
    let (reached, evidence) =
        exposed(&format!("{threshold}[tools]\ndeny = [\"tool_call\"]"), "tool_call").await;
    assert!(
        !reached && evidence.contains("`tool_call` is denied by `tool_call` in `tools.deny`"),
        "{evidence}"
    );
}

#[tokio::test]
async fn an_older_surface_can_only_lose() {
    let threshold = "[tool-search]\nthreshold-tools = 2\n";
    let host = four().config(config(threshold)).build().await.unwrap();
    let old = host.assemble(RunContext::new("writer")).await;
    host.reload(config(&format!("{threshold}[tools]\ndeny = [\"beta\"]"))).unwrap();
    assert_eq!(ask(&old, "tool_call", json!({ "name": "beta" })).await.kind, CallKind::StaleSurface);
    assert_eq!(ask(&old, "tool_call", json!({ "name": "alpha" })).await.kind, CallKind::Completed);
    for (tool, arguments) in [
        ("tool_search", json!({ "queries": ["beta", "alpha"] })),
        ("tool_describe", json!({ "names": ["bta", "alpha"] })),
    ] {
        let answer = text(&ask(&old, tool, arguments).await);
        assert!(answer.contains("\"name\":\"alpha\"") && !answer.contains("\"name\":\"beta\""), "{answer}");
        assert!(!answer.contains("\"did_you_mean\":[\"beta\"") && !answer.contains("tool beta"), "{answer}");
    }
    assert_eq!(old.directory(1_000).matches("beta").count(), 0);
    host.reload(config(&format!("{threshold}[tools]\ndeny = [\"tool_call\"]"))).unwrap();
    for (tool, arguments) in
        [("tool_search", json!({ "queries": ["beta"] })), ("tool_call", json!({ "name": "alpha" }))]
    {
        assert_eq!(ask(&old, tool, arguments).await.kind, CallKind::StaleSurface, "{tool}");
    }
    assert_eq!(ask(&old, "alpha", json!({})).await.kind, CallKind::Completed);
    host.reload(config("")).unwrap();
    assert_eq!(ask(&old, "tool_call", json!({ "name": "beta" })).await.kind, CallKind::Completed);
}

#[test]
fn the_program_says_what_is_deferred_and_calls_it() {
    let folder = tempfile::tempdir().unwrap();
    let (file, plugins) = (folder.path().join("airlock.toml"), built("plugins"));
    std::fs::write(&file, "[tool-search]\nthreshold-tools = 2\npinned = [\"echo\"]\n").unwrap();
    let run = |arguments: &[&str]| {
        let global = ["--config", file.to_str().unwrap(), "--plugins", plugins.to_str().unwrap()];
        let output = airlock(&[&global, arguments].concat());
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let json = |arguments: &[&str]| {
        let (code, page) = run(&[&["--format", "json"], arguments].concat());
        (code, serde_json::from_str::<Value>(&page).unwrap())
    };
    let (_, document) = json(&["tools"]);
    let tools: std::collections::BTreeMap<_, _> = document["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap(), &tool["deferred"]))
        .collect();
    for (name, is_deferred) in [("workflow_tool", true), ("echo", false), ("tool_call", false)] {
        assert_eq!(tools[name], is_deferred, "{name}");
    }
    let (_, page) = run(&["tools"]);
    assert!(page.contains("SHOWN") && page.contains(" deferred: found by tool_search, "), "{page}");
    let (_, page) = run(&["explain", "workflow_tool"]);
    assert!(page.contains("; deferred: found by `tool_search`"), "{page}");
    let params = r#"{"name": "workflow_tool", "arguments": {"pipeline": "slug", "text": "a b"}}"#;
    let (code, outcome) = json(&["call", "tool_call", "--params", params]);
    assert_eq!((code, outcome["record"]["via"].as_str()), (Some(0), Some("tool_call")), "{outcome}");
    assert_eq!(outcome["record"]["tool"], "workflow_tool");
    let (code, outcome) = json(&["call", "tool_search", "--params", r#"{"queries": ["make a slug"]}"#]);
    assert!(outcome["content"][0]["text"].as_str().unwrap().contains("workflow_tool"), "{outcome}");
    assert_eq!(code, Some(0));
    let (code, _) = run(&["hooks", "--tool", "tool_search"]);
    assert_eq!(code, Some(0));
}
