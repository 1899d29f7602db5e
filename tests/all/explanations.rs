//! `airlock explain`: nine reasons why a tool is not there, and nine different answers.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::command_line::program;
use crate::support::{component, install, package, repository};

fn explain(folder: &Path, name: &str) -> Value {
    let output = Command::new(program())
        .arg("--config")
        .arg(folder.join("airlock.toml"))
        .args(["--format", "json", "explain", name])
        .env("XDG_DATA_HOME", repository().join("target/test-data"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Changes the manifest of an installed package.
fn edit(folder: &Path, change: impl FnOnce(&mut Value)) {
    let path = folder.join("airlock.plugin.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(path, manifest.to_string()).unwrap();
}

/// A plugin of the `echo` component under another id, with `echo` as its only tool unless the manifest is changed.
fn echo_as(plugins: &Path, id: &str) -> std::path::PathBuf {
    package(plugins, id, &["echo"], Some(&component("echo")))
}

#[test]
fn nine_reasons_have_nine_answers() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = folder.path().join("plugins");
    install(&plugins, "workflow");
    package(&plugins, "switched-off", &["off_tool"], Some(b"never read"));
    package(&plugins, "denied", &["denied_tool"], Some(b"never read"));
    fs::create_dir_all(plugins.join("broken")).unwrap();
    fs::write(
        plugins.join("broken/airlock.plugin.json"),
        b"{\"id\": \"broken\",\n \"version\": \"1.0.0\", \"contract\": {\"tools\": [\"broken_tool\"]}}",
    )
    .unwrap();
    package(&plugins, "garbage", &["garbage_tool"], Some(b"no WebAssembly"));
    install(&plugins, "undeclared");
    edit(&echo_as(&plugins, "needy"), |manifest| {
        manifest["toolMetadata"] = json!({ "echo": { "authProviders": ["acme"] } });
    });
    for twin in ["twin-a", "twin-b"] {
        package(&plugins, twin, &["keep"], Some(&component("keeper")));
    }
    fs::write(
        folder.path().join("airlock.toml"),
        "[plugins]\nroots = [\"plugins\"]\ndeny = [\"denied\"]\n\n[plugins.entries.switched-off]\nenabled = false\n",
    )
    .unwrap();

    let cases = [
        (
            "workflow_tol",
            "installed",
            "no installed plugin declares this name",
            "did you mean `workflow_tool`?",
        ),
        ("off_tool", "registered", "the entry of `switched-off` switches it off", "set `enabled = true`"),
        ("denied_tool", "registered", "`denied` is in `plugins.deny`", "take it out of `plugins.deny`"),
        ("broken_tool", "discovered", "unknown key `contract`", "did you mean `contracts`?"),
        ("garbage_tool", "registered", "the file is not WebAssembly", "build it for wasm32-wasip2"),
        ("smuggled", "registered", "which its manifest does not declare", "declare it in `contracts.tools`"),
        ("never_registered", "registered", "its code did not register it", "register the tool, or remove it"),
        ("echo", "exposed", "needs the provider `acme`", "authenticate the provider"),
        ("keep", "exposed", "neither gets it", "name the owner in `[tools.owners]`"),
    ];
    let mut reasons = std::collections::BTreeSet::new();
    for (name, state, reason, fix) in cases {
        let answer = explain(folder.path(), name);
        assert_eq!(answer["stopped_at"], state, "{answer:#}");
        assert!(answer["reason"].as_str().unwrap().contains(reason), "{answer:#}");
        assert!(answer["fix"].as_str().unwrap().contains(fix), "{answer:#}");
        let states: Vec<_> =
            answer["states"].as_array().unwrap().iter().map(|state| &state["reached"]).collect();
        assert_eq!(states.len(), 6);
        let first =
            answer["states"].as_array().unwrap().iter().position(|state| state["reached"] == false).unwrap();
        assert_eq!(answer["states"][first]["state"], state, "{answer:#}");
        reasons.insert(answer["reason"].as_str().unwrap().to_owned());
    }
    assert_eq!(reasons.len(), 9);

    let denied = explain(folder.path(), "denied_tool");
    let location = &denied["rules"][0]["location"];
    assert!(location["path"].as_str().unwrap().ends_with("airlock.toml"));
    assert_eq!((&location["line"], &location["column"]), (&json!(3), &json!(9)));
    let there = explain(folder.path(), "workflow_tool");
    assert_eq!(there["stopped_at"], Value::Null);
    assert_eq!(explain(folder.path(), "switched-off")["kind"], "plugin");
}

#[test]
fn an_author_s_check_exits_1_on_findings() {
    let check = |id: &str| {
        let output = Command::new(program())
            .args(["--format", "json", "check", crate::support::sample(id).to_str().unwrap()])
            .env("XDG_DATA_HOME", repository().join("target/test-data"))
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code().unwrap(), document)
    };
    let (code, document) = check("workflow");
    assert_eq!((code, &document["ok"]), (0, &json!(true)));
    let (code, document) = check("undeclared");
    assert_eq!((code, &document["ok"]), (1, &json!(false)));
    let codes: Vec<_> =
        document["diagnostics"].as_array().unwrap().iter().map(|found| found["code"].clone()).collect();
    assert_eq!(codes, ["tool-undeclared", "contract-unfulfilled"]);
}
