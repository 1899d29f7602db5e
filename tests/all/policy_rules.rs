//! A removal names its rules: all of them, so that the tool is back when they are gone, and none in vain, so that it stays
//! away while one is left.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::command_line::program;
use crate::support::{install, repository};

const PLUGINS: [&str; 6] = ["echo", "markdown", "workflow", "courier", "tracker", "notebook"];

/// A copy of the sample configuration whose plugins are copies too, one of them marked in every way that a manifest can.
fn lay_out(folder: &Path) {
    let sample = repository().join("examples/every-layer");
    for file in ["airlock.toml", "run.json"] {
        let text = fs::read_to_string(sample.join(file)).unwrap();
        fs::write(folder.join(file), text.replace("../../target/plugins", "plugins")).unwrap();
    }
    for id in PLUGINS {
        install(&folder.join("plugins"), id);
    }
    // One mark a line, as a person would write them.
    let marks = r#""toolMetadata": { "echo": {
        "optional": true,
        "ownerOnly": true,
        "noSubagents": true,
        "authProviders": ["acme"],
        "configSignals": ["/token"],
        "clientCapabilities": ["pictures"],
        "channels": ["mail"],
        "excludeProviders": ["openai"],
        "defer": "never"
    } },
  "contracts""#;
    let manifest = folder.join("plugins/echo/airlock.plugin.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("\"contracts\"", marks, 1)).unwrap();
}

fn tools(folder: &Path) -> Value {
    let output = Command::new(program())
        .arg("--config")
        .arg(folder.join("airlock.toml"))
        .args(["--format", "json", "tools", "--agent", "writer", "--run"])
        .arg(folder.join("run.json"))
        .env("XDG_DATA_HOME", repository().join("target/test-data"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn has(document: &Value, tool: &str) -> bool {
    document["tools"].as_array().unwrap().iter().any(|exposed| exposed["name"] == tool)
}

/// Where a rule is written: it begins on that line.
type Place = (PathBuf, usize);

/// Blanks what begins on these lines, does something, and puts it all back.
fn without<T>(places: &BTreeSet<Place>, act: impl FnOnce() -> T) -> T {
    let files: BTreeSet<&PathBuf> = places.iter().map(|(file, _)| file).collect();
    let before: Vec<(&PathBuf, String)> =
        files.into_iter().map(|file| (file, fs::read_to_string(file).unwrap())).collect();
    for (file, text) in &before {
        let mut lines: Vec<&str> = text.lines().collect();
        for (_, line) in places.iter().filter(|(of, _)| of == *file) {
            // A JSON value may go over several lines: up to the one that closes it.
            let mut open = 0_i32;
            for line in lines.iter_mut().skip(line - 1) {
                let braces = |one, other| line.matches([one, other]).count() as i32;
                open += braces('{', '[') - braces('}', ']');
                *line = "";
                if open <= 0 {
                    break;
                }
            }
        }
        // In JSON the member before a last one that is gone must lose its comma.
        let mut text = lines.join("\n");
        while let Some(comma) = stray_comma(&text) {
            text.remove(comma);
        }
        fs::write(file, text).unwrap();
    }
    let result = act();
    for (file, text) in before {
        fs::write(file, text).unwrap();
    }
    result
}

/// A comma that only blanks keep from a closing brace; TOML has none, for its lists end in a bracket.
fn stray_comma(text: &str) -> Option<usize> {
    text.match_indices('}').find_map(|(brace, _)| {
        let before = text[..brace].trim_end();
        before.ends_with(',').then(|| before.len() - 1)
    })
}

#[test]
fn every_rule_is_named_and_none_in_vain() {
    let folder = tempfile::tempdir().unwrap();
    lay_out(folder.path());
    let document = tools(folder.path());
    let removed = document["removed"].as_array().unwrap();
    assert_eq!((document["tools"].as_array().unwrap().len(), removed.len()), (1, 11), "{document:#}");
    let (mut layers, mut checked) = (BTreeSet::new(), 0);
    for removal in removed {
        let name = removal["name"].as_str().unwrap();
        let rules = removal["rules"].as_array().unwrap();
        layers.extend(rules.iter().map(|rule| rule["layer"].as_str().unwrap().to_owned()));
        let places: BTreeSet<Place> = rules
            .iter()
            .map(|rule| {
                let location = &rule["location"];
                let line = location["line"].as_u64().unwrap_or_else(|| panic!("no place: {rule:#}"));
                (PathBuf::from(location["path"].as_str().unwrap()), line as usize)
            })
            .collect();
        assert_eq!(places.len(), rules.len(), "each rule has a place of its own: {removal:#}");
        assert!(
            without(&places, || has(&tools(folder.path()), name)),
            "not all rules are named: {removal:#}"
        );
        for kept in &places {
            let others = places.iter().filter(|place| *place != kept).cloned().collect();
            assert!(
                !without(&others, || has(&tools(folder.path()), name)),
                "{kept:?} is in vain: {removal:#}"
            );
            checked += 1;
        }
    }
    assert!(checked >= 20, "{checked} rules");
    let expected = [
        "agent",
        "agent-provider",
        "availability",
        "channel",
        "client",
        "enablement",
        "global",
        "group",
        "inherited",
        "model",
        "optional",
        "owner-only",
        "profile",
        "provider",
        "provider-profile",
        "runtime",
        "sandbox",
        "sender",
        "subagent",
    ];
    assert_eq!(layers.into_iter().collect::<Vec<_>>(), expected);
}
