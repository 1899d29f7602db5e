//! The rules of policy, a row each: what is written, what the run is, which tools it has. The page that comes of it is the
//! snapshot.

mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use airlock_core::{Config, Host, RunContext, Surface, ToolMetadata};
use serde_json::json;

use crate::generated;
use crate::scripted::{Native, Scripted, install};
use crate::support::root;

use rows::{Row, SECTIONS};

/// The pool that every row starts from.
const POOL: &str = "Native: `read`, `ls`, `write`, `apply_patch` (group `fs`), `exec` (group `runtime`, optional), \
`web_search` (group `web`), `message` (group `messaging`). Plugin `github`: `github_search`, `github_create` (owner \
only), `github_delete` (optional). Plugin `notes`: `notes_add`, `notes_list`, `notes_spawn` (not for child runs). Plugin \
`deploy`: `deploy`, `deploy_status` (wishes to be in the profile `coding`).";

fn natives() -> Vec<Native> {
    let native = |name, group| Native { name, groups: vec![group], metadata: ToolMetadata::default() };
    let exec = Native {
        metadata: ToolMetadata { optional: true, ..ToolMetadata::default() },
        ..native("exec", "runtime")
    };
    vec![
        native("read", "fs"),
        native("ls", "fs"),
        native("write", "fs"),
        native("apply_patch", "fs"),
        native("web_search", "web"),
        native("message", "messaging"),
        exec,
    ]
}

fn install_pool(folder: &Path) {
    install(
        folder,
        "github",
        &json!({ "github_search": {}, "github_create": { "ownerOnly": true }, "github_delete": { "optional": true } }),
        None,
    );
    install(
        folder,
        "notes",
        &json!({ "notes_add": {}, "notes_list": {}, "notes_spawn": { "noSubagents": true } }),
        None,
    );
    install(folder, "deploy", &json!({ "deploy": {}, "deploy_status": { "profiles": ["coding"] } }), None);
}

async fn host(folder: &Path, config: Config) -> Result<Host, airlock_core::Error> {
    let mut builder = Host::builder().sandbox(Scripted).plugin_root(root(folder)).config(config);
    for native in natives() {
        builder = builder.native_tool(native);
    }
    builder.build().await
}

/// What a row comes to: the names that the run has, and what else is to be said.
async fn result(folder: &Path, row: &Row) -> Result<Surface, airlock_core::Error> {
    let source = row.config.join("\n");
    let config = Config::from_toml(source.as_bytes(), Path::new("airlock.toml"))?;
    let run = if row.run.is_empty() { r#"{"agent": "writer"}"# } else { row.run };
    let run = RunContext::from_json(run.as_bytes(), Path::new("run.json"))?;
    Ok(host(folder, config).await?.assemble(run).await)
}

fn names(surface: &Surface) -> BTreeSet<String> {
    surface.tools().map(|exposed| format!("`{}`", exposed.tool.name)).collect()
}

/// The names, or what they are more and less than those of a run about which nothing is written.
fn tools_in_words(all: &BTreeSet<String>, names: &BTreeSet<String>) -> String {
    let listed = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>().join(" ");
    let (missing, more): (Vec<_>, Vec<_>) =
        (all.difference(names).collect(), names.difference(all).collect());
    let beyond = if more.is_empty() { String::new() } else { format!(", and {}", listed(more)) };
    match (names.is_empty(), missing.len()) {
        (true, _) => "nothing".to_owned(),
        (_, 0) => format!("all{beyond}"),
        (_, missing_tools) if missing_tools < all.len() / 2 => format!("all but {}{beyond}", listed(missing)),
        _ => listed(names.iter().collect()),
    }
}

/// Which layers and stages took tools away, beyond what is always so, and what was found.
fn removed_in_words(surface: &Surface) -> String {
    // More than a reader compares.
    const NAMED: usize = 5;
    let mut by_layers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for removal in surface.removed() {
        let mut layers: Vec<&str> = removal.rules.iter().map(|rule| rule.layer).collect();
        layers.dedup();
        by_layers.entry(layers.join(" + ")).or_default().push(format!("`{}`", removal.name));
    }
    // What is always so.
    by_layers
        .retain(|layers, names| layers != "optional" || names.as_slice() != ["`exec`", "`github_delete`"]);
    let removed = by_layers.into_iter().map(|(layers, names)| match names.len() {
        0..=NAMED => format!("{layers}: {}", names.join(" ")),
        many => format!("{layers}: {many} tools"),
    });
    let found = surface.diagnostics().iter();
    let found = found.map(|found| format!("*{}: {}; {}*", found.code, found.message, found.hint));
    removed.chain(found).collect::<Vec<_>>().join("<br>")
}

#[tokio::test]
async fn every_rule_has_its_row() {
    let folder = tempfile::tempdir().unwrap();
    install_pool(folder.path());
    let mut page = format!(
        "# Policy by example\n\nWhat is written in `airlock.toml`, what the run is, which tools it has, and which layers and \
         stages took the others away. Every row is run by the tests, which make this page. A run is one of the agent `writer` \
         unless the row says more.\n\n{POOL}\n"
    );
    let all = names(&result(folder.path(), &SECTIONS[0].2[0]).await.unwrap());
    let mut rows = 0;
    for (section, about, section_rows) in SECTIONS {
        page.push_str(&format!(
            "\n## {section}\n\n{about}\n\n| case | configuration and run | tools | removed by |\n|---|---|---|---|\n"
        ));
        for row in *section_rows {
            let (tools, removed) = match result(folder.path(), row).await {
                Ok(surface) => (tools_in_words(&all, &names(&surface)), removed_in_words(&surface)),
                Err(error) => (format!("*refused:* {error}"), String::new()),
            };
            let written = row.config.iter().chain(Some(&row.run).filter(|run| !run.is_empty()));
            let written = written.map(|line| format!("`{line}`")).collect::<Vec<_>>().join("<br>");
            page.push_str(&format!("| {} | {written} | {tools} | {removed} |\n", row.case));
            rows += 1;
        }
    }
    assert!(rows >= 80, "{rows} rows");
    generated::check("docs/policy-by-example.md", &page);
}
