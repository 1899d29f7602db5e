//! Schemas of the kinds that broke providers, in `tests/golden/schemas`, with what each provider is sent and everything that
//! the report says of it, to be read by people. A changed snapshot is a changed wire.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use airlock_core::{Projection, Provider};
use airlock_provider_rules as rules;
use serde_json::{Map, Value};

use crate::suite::{surface, unreported};
use crate::support::repository;

/// Even what is left out for unfolding without end takes no longer, in an unoptimised build on a busy machine.
const MOST_TIME: Duration = Duration::from_secs(2);

/// By name, in order.
fn schemas() -> Vec<(String, Value)> {
    let folder = repository().join("tests/golden/schemas");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
    };
    paths.iter().map(read).collect()
}

/// What a provider gets of the tool, and the rows.
fn page(projection: &Projection) -> String {
    let mut page = String::new();
    for tool in projection.tools() {
        writeln!(page, "{:#}", tool.parameters).unwrap();
    }
    for finding in projection.left_out() {
        writeln!(page, "left out: {}", finding.message).unwrap();
    }
    for row in projection.report() {
        let detail = if row.detail.is_empty() { String::new() } else { format!(": {}", row.detail) };
        writeln!(page, "- `{}` {}{detail}", row.pointer, row.change.as_str()).unwrap();
    }
    page
}

#[tokio::test]
async fn what_each_provider_gets_of_schemas_that_broke_providers() {
    let schemas = schemas();
    assert!(schemas.len() >= 30);
    for (name, schema) in schemas {
        let (surface, _) = surface(&schema).await;
        // Providers that get the same stand together.
        let mut pages: Vec<(Vec<&str>, String)> = Vec::new();
        for provider in Provider::ALL {
            let start = Instant::now();
            let projection = surface.project(provider);
            assert!(start.elapsed() < MOST_TIME, "{}, {name}: {:?}", provider.as_str(), start.elapsed());
            assert_eq!(rules::check(provider.as_str(), &projection.to_json()), [], "{name}");
            if !projection.tools().is_empty() {
                let missing = unreported(&schema, &projection);
                assert!(missing.is_empty(), "{}, {name}: {missing:?}", provider.as_str());
            }
            let page = page(&projection);
            match pages.iter_mut().find(|(_, known)| *known == page) {
                Some((providers, _)) => providers.push(provider.as_str()),
                None => pages.push((vec![provider.as_str()], page)),
            }
        }
        let whole: Vec<String> = pages
            .into_iter()
            .map(|(providers, page)| format!("## {}\n\n{page}", providers.join(", ")))
            .collect();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(repository().join("tests/golden/snapshots"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, whole.join("\n")));
    }
}

#[tokio::test]
async fn names_that_are_keywords_survive_for_every_provider() {
    let (_, schema) = schemas().into_iter().find(|(name, _)| name == "keyword-names").unwrap();
    let (surface, _) = surface(&schema).await;
    for provider in Provider::ALL {
        let projection = surface.project(provider);
        let wire = projection.tools()[0].parameters["properties"].as_object().unwrap();
        let said: Map<String, Value> = wire.keys().map(|name| (name.clone(), Value::from(1))).collect();
        let (_, decoded) = projection.decode("the_tool", said.into()).unwrap();
        let mut names: Vec<_> = decoded.as_object().unwrap().keys().collect();
        let mut written: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        names.sort();
        written.sort();
        assert_eq!(names, written, "{}", provider.as_str());
    }
}
