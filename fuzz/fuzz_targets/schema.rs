//! Arbitrary text enters: a schema, and behind its first empty line a value. Violations or a readable refusal leave.
//! Nothing that the schema refers to is fetched.

#![no_main]

use airlock_core::{ContractSchema, SchemaProblem, Violation};
use airlock_fuzz::{check_message, check_shown};
use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::Value;

/// How many violations one refusal may list: enough to mend a call in one go.
const MAX_VIOLATIONS: usize = 16;

fuzz_target!(|text: &str| -> Corpus {
    let (schema, value) = text.split_once("\n\n").unwrap_or((text, "{}"));
    // Whether the value is JSON is decided before a schema sees it.
    let Ok(value) = serde_json::from_str::<Value>(value) else { return Corpus::Reject };
    let details = check(ContractSchema::for_details(schema), &value);
    let arguments = check(ContractSchema::for_arguments(schema), &value);
    if let Some((schema, violations)) = arguments {
        assert!(details.is_some(), "good for arguments and not for details");
        assert!(value.is_object() || !violations.is_empty(), "arguments that are no object fit");
        // What was compiled is what is shown: the source compiles again, and says the same.
        let shown = schema.source().to_string();
        let again = check(ContractSchema::for_arguments(&shown), &value).map(|(_, violations)| violations);
        assert_eq!(again, Some(violations), "the shown source is another schema: {shown}");
    }
    Corpus::Keep
});

/// Checks a value and what is said about it; `None` if the schema was refused, readably.
fn check(
    schema: Result<ContractSchema, SchemaProblem>,
    value: &Value,
) -> Option<(ContractSchema, Vec<Violation>)> {
    let schema = schema.map_err(|problem| check_message(&problem.to_string())).ok()?;
    let violations = schema.violations(value);
    assert!(violations.len() <= MAX_VIOLATIONS, "{} violations", violations.len());
    for violation in &violations {
        check_shown(&violation.path);
        check_message(&violation.message);
    }
    Some((schema, violations))
}
