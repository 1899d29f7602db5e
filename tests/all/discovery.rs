//! Installed → discovered: one broken plugin never hides another, and each kind of damage has its own diagnostic.

use std::fs;
use std::path::Path;

use airlock_core::{Host, RunContext, Surface};

use crate::support::{component, install, package, root, sandbox};

/// The surface over a root with two good plugins and whatever `damage` puts between them.
async fn beside_good_ones(damage: impl FnOnce(&Path)) -> Surface {
    let folder = tempfile::tempdir().unwrap();
    install(folder.path(), "echo");
    install(folder.path(), "workflow");
    damage(folder.path());
    let host = Host::builder()
        .sandbox(sandbox())
        .load_patience(std::time::Duration::from_secs(100))
        .plugin_root(root(folder.path()))
        .build()
        .await
        .unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    for tool in ["echo", "workflow_tool"] {
        assert!(surface.tools().any(|exposed| exposed.tool.name.as_str() == tool), "{tool} must stay");
    }
    let outcome = crate::support::call(&surface, "echo", r#"{"text": "still here"}"#).await;
    assert_eq!(crate::support::text(&outcome), "still here");
    surface
}

/// A damaged plugin `middle` leaves exactly this one diagnostic.
async fn check(damage: impl FnOnce(&Path), expected: &str) {
    let surface = beside_good_ones(damage).await;
    let found: Vec<_> = surface
        .diagnostics()
        .iter()
        .map(|diagnostic| {
            let file = diagnostic.location.as_ref().and_then(|location| location.path.file_name());
            let file = file.map_or("-".into(), |name| name.to_string_lossy());
            format!("{} {}: {} ({file})", diagnostic.code, diagnostic.subject, diagnostic.message)
        })
        .collect();
    assert_eq!(found, [expected]);
    for diagnostic in surface.diagnostics() {
        assert!(!diagnostic.hint.is_empty());
    }
}

async fn check_component(bytes: &[u8], expected: &str) {
    check(|root| drop(package(root, "middle", &["middle_tool"], Some(bytes))), expected).await;
}

async fn check_manifest(manifest: &[u8], expected: &str) {
    let write = |root: &Path| {
        fs::create_dir(root.join("middle")).unwrap();
        fs::write(root.join("middle/airlock.plugin.json"), manifest).unwrap();
    };
    check(write, expected).await;
}

#[tokio::test]
async fn broken_manifests_are_named_one_by_one() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "manifest-syntax middle: the file is empty (airlock.plugin.json)"),
        (b"[]", "manifest-invalid middle: expected an object, found a list (airlock.plugin.json)"),
        (
            b"{\"id\": \"middle\", \"version\": \"1.0.0\",}",
            "manifest-syntax middle: a comma stands before the closing brace (airlock.plugin.json)",
        ),
        (
            b"{\"id\": \"middle\", \"id\": \"other\", \"version\": \"1.0.0\"}",
            "manifest-syntax middle: the key `id` occurs twice (airlock.plugin.json)",
        ),
        (
            b"{\"id\": \"middle\", \"version\": \"1.0.0\", \"tools\": []}",
            "manifest-invalid middle: `tools`: unknown key `tools` (airlock.plugin.json)",
        ),
        (
            b"{\"id\": \"middle\", \"version\": \"1.0.0\", \"contracts\": {\"tools\": true}}",
            "manifest-invalid middle: `contracts.tools`: invalid type: boolean `true`, expected a list of canonical tool names (airlock.plugin.json)",
        ),
        (
            b"{\"id\": \"middle\", \"version\": \"one\"}",
            "manifest-invalid middle: `version`: unexpected character 'o' while parsing major version number (airlock.plugin.json)",
        ),
    ];
    for (manifest, expected) in cases {
        check_manifest(manifest, expected).await;
    }
    check_manifest(
        &vec![b' '; 300 * 1024],
        "manifest-too-large middle: the manifest has 307200 bytes, the limit is 262144 (airlock.plugin.json)",
    )
    .await;
}

#[tokio::test]
async fn a_file_that_is_no_component_says_what_it_is() {
    check_component(b"", "component-invalid middle: invalid component: the file is empty (plugin.wasm)")
        .await;
    check_component(
        b"#!/bin/sh\necho hello\n",
        "component-invalid middle: invalid component: the file is not WebAssembly (plugin.wasm)",
    )
    .await;
    let module = wat::parse_str("(module (func (export \"run\")))").unwrap();
    check_component(
        &module,
        "component-is-module middle: the file is a core WebAssembly module, not a component (plugin.wasm)",
    )
    .await;
    check_component(
        &component("echo")[..6],
        "component-invalid middle: invalid component: the file is WebAssembly of an unknown version, or cut (plugin.wasm)",
    )
    .await;
    check(
        |root| drop(package(root, "middle", &["middle_tool"], None)),
        "component-missing middle: the component `plugin.wasm` cannot be used: No such file or directory (os error 2) (plugin.wasm)",
    )
    .await;
}

#[tokio::test]
async fn a_component_cut_anywhere_is_invalid_and_never_a_panic() {
    let whole = component("echo");
    for part in 1..16 {
        let cut = &whole[..whole.len() * part / 16];
        let surface =
            beside_good_ones(|root| drop(package(root, "middle", &["middle_tool"], Some(cut)))).await;
        let codes: Vec<_> = surface.diagnostics().iter().map(|diagnostic| diagnostic.code.as_str()).collect();
        assert_eq!(codes, ["component-invalid"], "cut at {part}/16");
        assert!(surface.diagnostics()[0].message.starts_with("invalid component: "));
    }
    // A custom section that claims more bytes than the file has.
    let mut overrun = whole[..8].to_vec();
    overrun.extend_from_slice(&[0x00, 0xff, 0xff, 0x7f, 0x01, b'x']);
    let surface =
        beside_good_ones(|root| drop(package(root, "middle", &["middle_tool"], Some(&overrun)))).await;
    assert_eq!(surface.diagnostics()[0].code.as_str(), "component-invalid");
}

#[tokio::test]
async fn an_import_beyond_the_contract_is_refused_by_name() {
    let with_import =
        |name: &str| wat::parse_str(format!("(component (import \"{name}\" (instance)))")).unwrap();
    check_component(
        &with_import("evil:host/api@1.0.0"),
        "import-unknown middle: the component imports `evil:host/api@1.0.0`, which this host does not provide (plugin.wasm)",
    )
    .await;
    check_component(
        &with_import("wasi:http/outgoing-handler@0.2.6"),
        "import-unrequested middle: the component imports `wasi:http/outgoing-handler@0.2.6`, which its manifest does not ask for (plugin.wasm)",
    )
    .await;
    check_component(
        &wat::parse_str("(component)").unwrap(),
        "world-mismatch middle: the component does not export `airlock:plugin/guest` (plugin.wasm)",
    )
    .await;
    let other = "(component (instance $guest) (export \"airlock:plugin/guest@0.2.0\" (instance $guest)))";
    check_component(
        &wat::parse_str(other).unwrap(),
        "world-mismatch middle: the component speaks `airlock:plugin@0.2.0`, this host speaks `airlock:plugin@0.1.0` (plugin.wasm)",
    )
    .await;
}

#[tokio::test]
async fn a_component_of_another_shape_is_found_before_any_call() {
    let drifted = "(component (instance $guest) (export \"airlock:plugin/guest@0.1.0\" (instance $guest)))";
    let bytes = wat::parse_str(drifted).unwrap();
    let surface =
        beside_good_ones(|root| drop(package(root, "middle", &["middle_tool"], Some(&bytes)))).await;
    let codes: Vec<_> = surface.diagnostics().iter().map(|diagnostic| diagnostic.code.as_str()).collect();
    assert_eq!(codes, ["world-mismatch"]);
}

#[tokio::test]
async fn a_manifest_with_a_byte_order_mark_and_crlf_is_as_good_as_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = install(folder.path(), "echo").join("airlock.plugin.json");
    let manifest = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("\u{feff}{}", manifest.replace('\n', "\r\n"))).unwrap();
    let host = Host::builder().sandbox(sandbox()).plugin_root(root(folder.path())).build().await.unwrap();
    assert_eq!(host.diagnostics(), []);
    assert_eq!(host.inspect().await[0].entry.manifest.id.as_str(), "echo");
}
