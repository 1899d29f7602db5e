//! What cargo says about the workspace enters; edges between crates that the design excludes leave. It compiles nothing.

use std::path::Path;

use serde_json::Value;

use super::Finding;
use crate::process;
use crate::process::Result;
use crate::process::cargo;

/// Crates that the rules must do without: an engine, a network, a database.
const NOT_IN_CORE: [&str; 4] = ["wasmtime", "reqwest", "hyper", "rusqlite"];

pub(super) fn check() -> Result<Vec<Finding>> {
    let metadata = process::output(&mut cargo(".", &["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata =
        serde_json::from_str(&metadata).map_err(|error| format!("`cargo metadata` is not JSON: {error}"))?;
    let mut findings = direct(&metadata);
    let tree = [
        "tree",
        "--locked",
        "--package",
        "airlock-core",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p} {f}",
    ];
    findings.extend(core(&process::output(&mut cargo(".", &tree))?));
    Ok(findings)
}

/// Crates with one home each, so that replacing one changes one crate: the family's name, and who may depend on it.
const HOMES: [(&str, &str); 2] = [("wasmtime", "airlock-sandbox"), ("rusqlite", "airlock-store")];

/// Checks what the manifests themselves declare.
fn direct(metadata: &Value) -> Vec<Finding> {
    let root = metadata.get("workspace_root").and_then(Value::as_str).unwrap_or_default();
    let mut findings = Vec::new();
    for package in list(metadata, "packages") {
        let name = text(package, "name");
        let path = Path::new(text(package, "manifest_path"));
        let file = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        for dependency in list(package, "dependencies") {
            let dependency_name = text(dependency, "name");
            let family = dependency_name.split('-').next().unwrap_or_default();
            let home = HOMES.iter().find(|(walled, _)| *walled == family).map(|(_, home)| *home);
            // The benchmark's floor is the same component in plain Wasmtime.
            let is_floor =
                family == "wasmtime" && name == "airlock-tests" && text(dependency, "kind") == "dev";
            if let Some(home) = home
                && name != home
                && !is_floor
            {
                let what =
                    format!("`{name}` depends on `{dependency_name}`: only {home} may; go through its API");
                findings.push(Finding::new(&file, 1, what));
            }
        }
    }
    findings
}

/// Checks everything that the core pulls in, as `cargo tree` lists it: name, version, features.
fn core(tree: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for line in tree.lines() {
        let mut words = line.split([' ', ',']);
        let name = words.next().unwrap_or_default();
        let network = name == "tokio" && words.any(|feature| feature == "net");
        if network || NOT_IN_CORE.contains(&name) {
            let with = if network { "tokio's `net`" } else { name };
            let what =
                format!("airlock-core pulls in {with}: find out by which way with `cargo tree -i {name}`");
            findings.push(Finding::new("host/core/Cargo.toml", 1, what));
        }
    }
    findings.dedup();
    findings
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_engine_and_the_database_have_one_home_each() {
        let package = |name: &str, dependency: &str| {
            json!({
                "name": name,
                "manifest_path": format!("/r/{name}/Cargo.toml"),
                "dependencies": [{ "name": "serde" }, { "name": dependency }],
            })
        };
        let metadata = json!({ "workspace_root": "/r", "packages": [
            package("airlock-sandbox", "wasmtime"),
            package("airlock-core", "wasmtime-wasi"),
            package("airlock-store", "rusqlite"),
            package("airlock-tests", "rusqlite"),
            package("airlock-cli", "clap"),
        ] });
        let found: Vec<_> = direct(&metadata).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("airlock-core/Cargo.toml:1: `airlock-core` depends on `wasmtime-wasi`"));
        assert!(found[1].ends_with("only airlock-store may; go through its API"));
    }

    #[test]
    fn the_core_has_no_network() {
        assert_eq!(core("airlock-core v0.1.0 (/r) \ntokio v1.54.1 default,sync\nsha2 v0.11.1 net\n"), []);
        assert_eq!(core("tokio v1.54.1 net,sync\nreqwest v0.13.0 \nreqwest v0.13.0 (*)\n").len(), 2);
    }
}
