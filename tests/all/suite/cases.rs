//! The official test suite's folder → its cases, and each case's schema as an author would write it into a tool's.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::support::repository;

/// One schema of the suite with the values that it takes and refuses.
pub(super) struct Case {
    /// The file and the case's own words.
    pub(super) name: String,
    pub(super) schema: Value,
    /// All values of its file: what one case is for is near what another is about.
    pub(super) instances: Rc<Vec<Value>>,
}

/// All cases of the draft, the optional ones too.
pub(super) fn all() -> Vec<Case> {
    let folder = repository().join("target/json-schema-test-suite/draft2020-12");
    assert!(folder.is_dir(), "the suite of JSON Schema is missing: `cargo xtask suite` fetches it");
    let mut cases = Vec::new();
    read(&folder, &folder, &mut cases);
    cases
}

fn read(root: &Path, folder: &Path, cases: &mut Vec<Case>) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read(root, &path, cases);
            continue;
        }
        let file = path.strip_prefix(root).unwrap().display().to_string();
        let list: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let mut instances = Vec::new();
        for test in list.iter().flat_map(|case| case["tests"].as_array().unwrap()) {
            if !instances.contains(&test["data"]) {
                instances.push(test["data"].clone());
            }
        }
        let instances = Rc::new(instances);
        cases.extend(list.into_iter().map(|case| Case {
            name: format!("{file}: {}", case["description"].as_str().unwrap()),
            schema: case["schema"].clone(),
            instances: Rc::clone(&instances),
        }));
    }
}

/// The case's schema as that of a parameter called `value`.
pub(super) fn as_parameter(schema: &Value) -> Value {
    let schema = at(schema, "/properties/value");
    json!({ "type": "object", "properties": { "value": schema }, "required": ["value"] })
}

/// A schema as an author would write it at `place` of another.
pub(super) fn at(schema: &Value, place: &str) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(members) = &mut schema {
        // The whole has a dialect, its parts have none.
        members.remove("$schema");
        // With an `$id` it is a document of its own, and its references stay what they are.
        if !members.contains_key("$id") {
            moved(&mut schema, place);
        }
    }
    schema
}

/// The case's schema as that of all arguments, if it may be one.
pub(super) fn as_root(schema: &Value) -> Option<Value> {
    let members = schema.as_object()?;
    members.get("type").is_none_or(|kind| kind == "object").then(|| schema.clone())
}

/// Local references of a schema that now stands at `place`.
fn moved(schema: &mut Value, place: &str) {
    let Value::Object(members) = schema else { return };
    for (keyword, value) in members.iter_mut() {
        match (keyword.as_str(), value) {
            ("$ref" | "$dynamicRef", Value::String(reference)) => {
                if reference == "#" || reference.starts_with("#/") {
                    reference.insert_str(1, place);
                }
            }
            ("enum" | "const" | "default" | "examples", _) => {}
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => {
                moved_all(named, place);
            }
            (_, Value::Array(list)) => list.iter_mut().for_each(|one| moved(one, place)),
            (_, one) => moved(one, place),
        }
    }
}

fn moved_all(named: &mut Map<String, Value>, place: &str) {
    for schema in named.values_mut().filter(|schema| schema.get("$id").is_none()) {
        moved(schema, place);
    }
}
