//! Many plugins, in any order: nothing that is not needed is touched, and order never matters.

use std::fs;

use airlock_core::{Config, Host, RunContext};
use airlock_sandbox::Statistics;
use serde_json::json;

use crate::support::{component, package, root, sample, sandbox};

#[tokio::test]
async fn a_thousand_plugins_that_no_run_needs_cost_no_compilation() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..1_000 {
        let id = format!("plugin-{number}");
        let path = package(folder.path(), &id, &[&format!("tool_{number}")], Some(b"would not even load"));
        let path = path.join("airlock.plugin.json");
        let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        manifest["toolMetadata"] = json!({ format!("tool_{number}"): { "optional": true } });
        fs::write(path, manifest.to_string()).unwrap();
    }
    let sandbox = sandbox();
    let host =
        Host::builder().sandbox(sandbox.clone()).plugin_root(root(folder.path())).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    assert_eq!((surface.tools().count(), surface.removed().len(), surface.plan().len()), (0, 1_000, 0));
    assert_eq!(surface.diagnostics(), []);
    assert_eq!(sandbox.statistics(), Statistics::default(), "nothing was compiled or loaded");
}

#[tokio::test]
async fn whatever_the_order_the_surface_and_the_findings_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut roots: Vec<_> = ["echo", "workflow", "undeclared", "bad-register", "keeper"].map(sample).into();
    for twin in ["twin-a", "twin-b", "twin-c"] {
        roots.push(package(folder.path(), twin, &["keep", "echo"], Some(&component("echo"))));
    }
    let sandbox = sandbox();
    let mut seed: u64 = 7;
    let mut first: Option<String> = None;
    for _ in 0..100 {
        // A small generator is enough to shuffle; the test is the same each time.
        for last in (1..roots.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            roots.swap(last, usize::try_from(seed >> 33).unwrap() % (last + 1));
        }
        let builder =
            Host::builder().sandbox(sandbox.clone()).load_patience(std::time::Duration::from_secs(100));
        let host = roots
            .iter()
            .fold(builder, |builder, path| builder.plugin_root(root(path)))
            .build()
            .await
            .unwrap();
        let surface = host.assemble(RunContext::new("tester")).await;
        let tools: Vec<_> =
            surface.tools().map(|exposed| format!("{} {}", exposed.tool.name, exposed.owner)).collect();
        let all =
            json!({ "tools": tools, "removed": surface.removed(), "diagnostics": surface.diagnostics() })
                .to_string();
        assert_eq!(*first.get_or_insert_with(|| all.clone()), all);
    }
}

#[tokio::test]
async fn the_operator_says_who_owns_a_contested_name() {
    let folder = tempfile::tempdir().unwrap();
    for twin in ["twin-a", "twin-b"] {
        package(folder.path(), twin, &["echo"], Some(&component("echo")));
    }
    let config = Config::from_toml(
        b"[tools.owners]\necho = \"twin-b\"\nother = \"twin-a\"",
        folder.path().join("airlock.toml").as_path(),
    )
    .unwrap();
    let host = Host::builder()
        .sandbox(sandbox())
        .load_patience(std::time::Duration::from_secs(100))
        .config(config)
        .plugin_root(root(folder.path()))
        .build()
        .await
        .unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    let owners: Vec<_> = surface.tools().map(|exposed| exposed.owner.to_string()).collect();
    assert_eq!(owners, ["twin-b"]);
    let findings: Vec<_> = surface.diagnostics().iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(findings, ["the operator gives the tool `other` to `twin-a`, which does not declare it"]);
    let rule = &surface.removed()[0].rules[0].rule;
    assert_eq!(rule, "the operator gives the tool `echo` to `twin-b` and not to `twin-a`");
}

#[tokio::test]
async fn a_shadowed_copy_lends_its_limits_to_nobody() {
    let (config, user) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (folder, fuel) in [(&config, 900_000_000), (&user, 1_000)] {
        let path =
            package(folder.path(), "twice", &["echo"], Some(&component("echo"))).join("airlock.plugin.json");
        let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        manifest["limits"] = json!({ "fuel": fuel });
        fs::write(path, manifest.to_string()).unwrap();
    }
    // Either folder may sort last, so both ways round.
    for (strong, weak, fuel) in [(&config, &user, 900_000_000), (&user, &config, 1_000)] {
        let weak =
            airlock_core::PluginRoot { path: weak.path().to_owned(), origin: airlock_core::Origin::User };
        let builder = crate::support::builder(&[]).plugin_root(root(strong.path())).plugin_root(weak);
        let surface = builder.build().await.unwrap().assemble(RunContext::new("tester")).await;
        let outcome = crate::support::call(&surface, "echo", r#"{"text": "a"}"#).await;
        match fuel {
            1_000 => assert_eq!(surface.tools().count(), 0, "it cannot even register on so little"),
            _ => assert_eq!(outcome.receipt.guest.unwrap().fuel_limit, fuel),
        }
    }
}

#[tokio::test]
async fn a_guard_that_cannot_be_loaded_blocks_what_it_guards() {
    let folder = tempfile::tempdir().unwrap();
    let path = package(folder.path(), "watchdog", &[], Some(b"")).join("airlock.plugin.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["contracts"] = json!({ "hooks": ["before-tool-call", "tool-result-persist"] });
    fs::write(path, manifest.to_string()).unwrap();
    let surface = async |config: &str| {
        let config =
            Config::from_toml(config.as_bytes(), folder.path().join("airlock.toml").as_path()).unwrap();
        let builder = crate::support::builder(&["echo"]).config(config).plugin_root(root(folder.path()));
        builder.build().await.unwrap().assemble(RunContext::new("tester")).await
    };
    let call = async |surface: &airlock_core::Surface| {
        crate::support::call(surface, "echo", r#"{"text": "secret"}"#).await
    };

    let ungranted = surface("").await;
    assert_eq!(call(&ungranted).await.kind.as_str(), "completed", "without a grant it guards nothing");
    let hooks = |hooks: &str, more: &str| {
        format!("[plugins.entries.watchdog]\n{more}\ngrants = {{ hooks = [{hooks}] }}")
    };
    let guarded = surface(&hooks("\"before-tool-call\"", "")).await;
    let blocked = call(&guarded).await;
    assert_eq!(blocked.kind.as_str(), "blocked");
    assert!(
        crate::support::text(&blocked).contains("its guard `watchdog` could not be loaded"),
        "{blocked:?}"
    );
    assert!(guarded.diagnostics().iter().any(|found| found.code.as_str() == "guard-missing"));
    let absent = surface("[plugins.entries.nobody]\ngrants = { hooks = [\"before-tool-call\"] }").await;
    let unguarded = call(&absent).await;
    assert_eq!(unguarded.kind.as_str(), "blocked", "a guard that was removed is missing too");
    assert!(crate::support::text(&unguarded).contains("`nobody` is not installed"), "{unguarded:?}");
    let off =
        surface(&format!("[plugins]\ndeny = [\"watchdog\"]\n{}", hooks("\"before-tool-call\"", ""))).await;
    assert_eq!(call(&off).await.kind.as_str(), "completed", "the operator switched the guard off");
    let elsewhere = surface(&hooks("{ hook = \"before-tool-call\", tools = [\"exec\"] }", "")).await;
    assert_eq!(call(&elsewhere).await.kind.as_str(), "completed");
    let ignored = surface(&hooks("\"before-tool-call\"", "on-load-failure = \"ignore\"")).await;
    assert_eq!(call(&ignored).await.kind.as_str(), "completed");
    let persisting = call(&surface(&hooks("\"tool-result-persist\"", "")).await).await;
    assert_eq!(crate::support::text(&persisting), "secret", "what the model got does not change");
    assert!(
        !serde_json::to_string(&persisting.record).unwrap().contains("secret"),
        "{:?}",
        persisting.record
    );
}
