//! Factories: tools that differ by run, and factories that do whatever they like and lose only their own tools.

use airlock_core::{CallKind, ChannelReference, Config, Delivery, Requester, RunContext, Surface};
use serde_json::json;

use crate::support::{builder, call, end, text};

fn on(channel: &str) -> RunContext {
    let mut run = RunContext::new("tester");
    let (account, kind, group, thread) = (None, None, None, None);
    run.channel = Some(ChannelReference { name: channel.to_owned(), account, kind, group, thread });
    run
}

fn tools(surface: &Surface) -> Vec<&str> {
    surface.tools().map(|exposed| exposed.tool.name.as_str()).collect()
}

fn removal(surface: &Surface, name: &str) -> String {
    let found = surface.removed().iter().find(|removal| removal.name.as_str() == name);
    found.map_or_else(|| "-".to_owned(), |removal| format!("{}: {}", removal.stage, removal.reason))
}

#[tokio::test]
async fn a_tool_differs_by_channel_and_needs_the_channel_s_credential() {
    let source = "[providers]\nauthenticated = [\"slack\"]";
    let config = Config::from_toml(source.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let host = builder(&["courier"]).config(config).build().await.unwrap();

    let mut slack = on("slack");
    let (account, thread) = (None, None);
    slack.delivery =
        Some(Delivery { channel: "slack".to_owned(), account, recipient: "#releases".to_owned(), thread });
    let slack = host.assemble(slack).await;
    let mut mail = on("mail");
    mail.requester = Some(Requester { sender: "ada@example.org".to_owned(), is_owner: None });
    mail.authenticated_providers = vec!["mail".to_owned()];
    let mail = host.assemble(mail).await;
    for (surface, target) in [(&slack, "#releases"), (&mail, "ada@example.org")] {
        let exposed = surface.tools().next().unwrap();
        assert!(exposed.tool.description.contains(target), "{}", exposed.tool.description);
        let sent = call(surface, "send_message", r#"{"text": "hello"}"#).await;
        assert_eq!(sent.kind, CallKind::Completed, "{}", end(&sent));
        assert_eq!(sent.details.unwrap()["to"], target);
    }

    let unauthenticated = host.assemble(on("mail")).await;
    assert_eq!(tools(&unauthenticated), [""; 0]);
    assert_eq!(
        removal(&unauthenticated, "send_message"),
        "factory: the factory of `courier` made no `send_message` for this run"
    );
    assert!(unauthenticated.diagnostics().is_empty(), "{:?}", unauthenticated.diagnostics());
    let nowhere = host.assemble(RunContext::new("tester")).await;
    let refused = call(&nowhere, "send_message", r#"{"text": "hello"}"#).await;
    assert_eq!(refused.kind, CallKind::NotExposed);
}

#[tokio::test]
async fn each_hostile_factory_loses_only_its_own_tools() {
    let host = builder(&["factories", "echo"]).build().await.unwrap();
    let started = std::time::Instant::now();
    let surface = host.assemble(on("slow")).await;
    let took = started.elapsed();
    assert_eq!(
        tools(&surface),
        ["echo", "flood_tool", "full_tool", "good_tool", "honest_tool", "thief_tool", "well_formed_tool"]
    );
    let good = call(&surface, "good_tool", "{}").await;
    assert_eq!(text(&good), r#"good_tool: {"agent":"tester"}"#);
    let description =
        &surface.tools().find(|exposed| exposed.tool.name.as_str() == "good_tool").unwrap().tool.description;
    assert!(!description.contains("stolen"), "{description}");
    // The sleeping factory has two seconds, and the others did not wait for it one after another.
    assert!((2.0..6.0).contains(&took.as_secs_f64()), "{took:?}");
    for (name, reason) in [
        ("absent_tool", "made no `absent_tool` for this run"),
        ("endless_tool", "ran out of fuel"),
        ("sleeping_tool", "ran into its deadline"),
        ("hungry_tool", "ran out of memory"),
        ("panicking_tool", "panicked: "),
        ("trapping_tool", "trapped: "),
        ("twin_tool", "made `twin_tool` twice for one run; neither counts"),
        ("malformed_tool", "the parameter schema does not compile"),
        ("garbled_tool", "its binding is not JSON"),
        ("heavy_tool", "its binding has 4097 bytes, the limit is 4096"),
        ("failing_tool", "failed: "),
        ("screaming_tool", "failed: "),
    ] {
        let removal = removal(&surface, name);
        assert!(removal.starts_with("factory: ") && removal.contains(reason), "{name}: {removal}");
        assert!(removal.len() < 800 && !removal.contains('\u{1b}'), "{name}: {removal}");
    }
    let undeclared: Vec<_> = surface
        .diagnostics()
        .iter()
        .filter(|found| found.code.as_str() == "tool-undeclared")
        .map(|found| found.subject.as_str())
        .collect();
    assert!(undeclared.contains(&"smuggled_tool") && undeclared.contains(&"good_tool"), "{undeclared:?}");
    assert!(undeclared.len() < 40, "a flood of wrong names leaves a bounded number of findings");
}

#[tokio::test]
async fn a_factory_never_gets_past_a_policy() {
    let source = "[tools]\nallow = [\"thief_tool\", \"honest_tool\", \"smuggled_tool\"]";
    let config = Config::from_toml(source.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let host = builder(&["factories"]).config(config).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    assert_eq!(tools(&surface), ["honest_tool", "thief_tool"]);
    assert_eq!(surface.tools().filter(|exposed| exposed.tool.description.contains("stolen")).count(), 0);
    let removal = removal(&surface, "good_tool");
    assert_eq!(removal, "policy: `good_tool` is not permitted: `tools.allow` does not name it");
    // Factories whose names policy removed were not even asked.
    let failed = surface.diagnostics().iter().filter(|found| found.code.as_str() == "factory-failed").count();
    assert_eq!(failed, 0, "{:?}", surface.diagnostics());
}

#[tokio::test]
async fn a_factory_of_an_optional_name_is_asked_where_an_entry_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let installed = crate::support::install(folder.path(), "courier");
    let path = installed.join("airlock.plugin.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    manifest["toolMetadata"] = json!({ "send_message": { "optional": true } });
    std::fs::write(&path, manifest.to_string()).unwrap();
    let mut run = on("slack");
    run.authenticated_providers = vec!["slack".to_owned()];
    for (source, expected) in [("", false), ("[tools]\nalso-allow = [\"courier\"]", true)] {
        let config = Config::from_toml(source.as_bytes(), "airlock.toml".as_ref()).unwrap();
        let host = builder(&[])
            .config(config)
            .plugin_root(crate::support::root(folder.path()))
            .build()
            .await
            .unwrap();
        let surface = host.assemble(run.clone()).await;
        assert_eq!(surface.tools().count() == 1, expected, "{source}");
        assert_eq!(surface.plan().is_empty(), !expected, "no code runs for a name that nobody opted in to");
        assert!(surface.tools().all(|exposed| exposed.optional));
    }
}
