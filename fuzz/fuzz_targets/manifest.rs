//! Arbitrary bytes enter as `airlock.plugin.json`; a manifest that keeps its own rules or a readable error leaves.
//! Nothing is read from disk, and no plugin code runs.

#![no_main]

use std::path::Path;

use airlock_core::{Digest, Manifest, PluginId};
use airlock_fuzz::check_error;
use libfuzzer_sys::fuzz_target;

const PATH: &str = "plugins/github/airlock.plugin.json";

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new(PATH);
    match (Manifest::from_json(bytes, path), Manifest::from_json(bytes, path)) {
        (Ok(manifest), Ok(again)) => {
            assert_eq!(manifest.id, again.id);
            assert_eq!(manifest.digest, Digest::of(bytes));
            check(&manifest);
        }
        (Err(error), Err(again)) => {
            check_error(&error, path);
            assert_eq!(error.to_string(), again.to_string());
        }
        (one, other) => assert_eq!(one.is_ok(), other.is_ok(), "the same bytes were read in two ways"),
    }
});

/// What a reader of an accepted manifest relies on.
fn check(manifest: &Manifest) {
    assert!(PluginId::parse(manifest.id.as_str()).is_ok(), "{} is no plugin id", manifest.id);
    let contracts = &manifest.contracts;
    let needs_code = !contracts.tools.is_empty() || !contracts.hooks.is_empty();
    assert!(manifest.code.is_some() || !needs_code, "tools or hooks without code");
    for tool in manifest.tool_metadata.keys() {
        assert!(contracts.tools.contains(tool), "metadata of `{tool}`, which is not declared");
    }
}
