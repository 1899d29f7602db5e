//! Shapes that arguments cannot have.
use airlock_plugin::prelude::*;

#[arguments]
struct Pair(String, String);

#[arguments]
struct Borrowed<'a> {
    text: &'a str,
}

#[arguments]
struct Open {
    #[serde(flatten)]
    rest: airlock_plugin::serde_json::Map<String, airlock_plugin::serde_json::Value>,
}

fn main() {}
