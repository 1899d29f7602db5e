//! Committed files that are made from the code: they are what the code would make now.
//!
//! `UPDATE_GENERATED=1 cargo nextest run -p airlock-tests generated` writes them anew.

use std::fs;
use std::path::PathBuf;

use airlock_core::{Code, DocumentKind, Severity, document_schema};

use crate::support::repository;

#[track_caller]
pub(crate) fn check(path: &str, expected: &str) {
    let path: PathBuf = repository().join(path);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is not what the code makes: see tests/all/generated.rs", path.display());
}

#[test]
fn the_schemas_of_documents_are_committed() {
    for (name, kind) in
        [("manifest", DocumentKind::Manifest), ("config", DocumentKind::Config), ("run", DocumentKind::Run)]
    {
        let schema = serde_json::to_string_pretty(&document_schema(kind)).unwrap() + "\n";
        check(&format!("docs/schemas/{name}.json"), &schema);
    }
}

#[test]
fn every_diagnostic_code_is_documented() {
    let mut page = String::from(
        "# Diagnostics\n\nEvery code that Airlock gives a finding, in the order of the six states. A code never changes its \
         meaning; its severity is always the same. This page is made from `host/core/src/diagnostic.rs`.\n\n\
         | code | severity | meaning |\n|---|---|---|\n",
    );
    for code in Code::ALL {
        let severity = match code.severity() {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        page.push_str(&format!("| `{code}` | {severity} | {} |\n", code.meaning().trim()));
    }
    check("docs/diagnostics.md", &page);
}
