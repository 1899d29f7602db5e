//! Every schema of the official test suite as a tool's, for every provider: what is sent keeps the provider's rules, or the
//! tool is left out with a finding. What the contract takes can still be said, and what it refuses never runs.

mod cases;
mod report;
mod strict;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use airlock_core::{
    Call, CallKind, Change, ContractSchema, Host, NativeCall, NativeTool, Projection, Provider, RunContext,
    Surface, ToolDescriptor, ToolError, ToolResult,
};
use airlock_provider_rules as rules;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::scripted::{Scripted, descriptor};
pub(crate) use report::unreported;

/// Lowering one schema for one provider takes microseconds; an unoptimised build on a busy machine takes longer.
const MOST_TIME: Duration = Duration::from_millis(50);

/// Inlining repeats what is referred to, and texts stand for what cannot be said.
fn most_bytes(contract: &Value) -> usize {
    16 * contract.to_string().len() + 4_096
}

/// A tool that remembers whether it ran.
#[derive(Debug, Clone)]
pub(crate) struct Remembering {
    parameters: String,
    ran: Arc<AtomicBool>,
}

impl NativeTool for Remembering {
    fn descriptor(&self) -> ToolDescriptor {
        ToolDescriptor { parameters: self.parameters.clone(), ..descriptor("the_tool") }
    }

    fn execute(&self, _: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        self.ran.store(true, Ordering::SeqCst);
        Box::pin(async { Ok(ToolResult::text("ran")) })
    }
}

/// A surface with one tool, `the_tool`, that takes such arguments.
pub(crate) async fn surface(parameters: &Value) -> (Surface, Arc<AtomicBool>) {
    let tool = Remembering { parameters: parameters.to_string(), ran: Arc::default() };
    let ran = Arc::clone(&tool.ran);
    let host = Host::builder().sandbox(Scripted).native_tool(tool).build().await.unwrap();
    (host.assemble(RunContext::new("tester")).await, ran)
}

/// What became of the suite.
#[derive(Debug, Default)]
struct Counts {
    schemas: usize,
    refused: usize,
    projected: BTreeMap<&'static str, usize>,
    left_out: BTreeMap<&'static str, usize>,
    not_strict: usize,
    said: usize,
    not_said: usize,
    flattened_away: usize,
    /// A strict function cannot leave a member out that may be null, and the contract takes it absent only.
    null_for_absent: usize,
    stopped: usize,
}

fn compiled(schema: &Value) -> jsonschema::Validator {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .offline()
        .should_validate_formats(false)
        .build(schema)
        .unwrap()
}

#[tokio::test]
async fn the_official_suite_is_sent_by_the_rules_or_left_out_with_a_finding() {
    let mut counts = Counts::default();
    let mut problems = Vec::new();
    let cases = cases::all();
    for case in &cases {
        let wrapped: Vec<Value> = case.instances.iter().map(|data| json!({ "value": data })).collect();
        one(&case.name, &cases::as_parameter(&case.schema), &wrapped, &mut counts, &mut problems).await;
        if let Some(root) = cases::as_root(&case.schema) {
            let name = format!("{} (root)", case.name);
            one(&name, &root, &objects(&case.instances), &mut counts, &mut problems).await;
        }
    }
    eprintln!("{} cases: {counts:#?}", cases.len());
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    assert!(cases.len() > 400 && counts.schemas > 600 && counts.said > 5_000, "{counts:?}");
}

/// Schemas of the suite with another one in the keywords that bring schemas together or turn them around.
#[tokio::test]
async fn schemas_of_the_suite_in_one_another_are_too() {
    let mut counts = Counts::default();
    let mut problems = Vec::new();
    let cases = cases::all();
    for (number, first) in cases.iter().enumerate().step_by(3) {
        // A step that shares no factor with the number of cases comes to each of them.
        let second = &cases[(number * 101 + 211) % cases.len()];
        let both = |one: &str, other: &str| (cases::at(&first.schema, one), cases::at(&second.schema, other));
        let list = |place: &str, keyword: &str| {
            let (one, other) = both(&format!("{place}/{keyword}/0"), &format!("{place}/{keyword}/1"));
            json!({ keyword: [one, other] })
        };
        let conditional = |place: &str| {
            let (one, other) = both(&format!("{place}/if"), &format!("{place}/then"));
            json!({ "if": one, "then": other, "else": { "not": cases::at(&second.schema, &format!("{place}/else/not")) } })
        };
        let instances: Vec<Value> = first.instances.iter().chain(second.instances.iter()).cloned().collect();
        let wrapped: Vec<Value> = instances.iter().map(|data| json!({ "value": data })).collect();
        let root = objects(&instances);
        let name = |how: &str| format!("{how} of {} and {}", first.name, second.name);
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let parameter = json!({ "properties": { "value": list("/properties/value", keyword) } });
            one(&name(keyword), &parameter, &wrapped, &mut counts, &mut problems).await;
            one(&name(&format!("{keyword} (root)")), &list("", keyword), &root, &mut counts, &mut problems)
                .await;
        }
        let parameter = json!({ "properties": { "value": conditional("/properties/value") } });
        one(&name("if"), &parameter, &wrapped, &mut counts, &mut problems).await;
        one(&name("if (root)"), &conditional(""), &root, &mut counts, &mut problems).await;
    }
    eprintln!("{} cases, every third with another: {counts:#?}", cases.len());
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    assert!(counts.said > 50_000, "{counts:?}");
}

fn objects(instances: &[Value]) -> Vec<Value> {
    instances.iter().filter(|data| data.is_object()).cloned().collect()
}

async fn one(
    name: &str,
    schema: &Value,
    instances: &[Value],
    counts: &mut Counts,
    problems: &mut Vec<String>,
) {
    counts.schemas += 1;
    let Ok(contract) = ContractSchema::for_arguments(&schema.to_string()) else {
        counts.refused += 1;
        return;
    };
    let (surface, ran) = surface(schema).await;
    assert_eq!(surface.tools().count(), 1, "{name}");
    let mut refused = BTreeSet::new();
    for provider in Provider::ALL {
        let word = provider.as_str();
        let mut wrong = |what: String| problems.push(format!("{word}, {name}: {what}"));
        let projection = surface.project(provider);
        // Another process may have had the processor: only what is slow each time is slow.
        let is_slow = (0..5).all(|_| {
            let start = Instant::now();
            drop(surface.project(provider));
            start.elapsed() > MOST_TIME
        });
        if is_slow {
            wrong(format!("took more than {MOST_TIME:?}"));
        }
        for violation in rules::check(word, &projection.to_json()) {
            wrong(format!("{violation} in {}", projection.to_json()));
        }
        let Some(tool) = projection.tools().first() else {
            *counts.left_out.entry(word).or_default() += 1;
            if projection.left_out().len() != 1 {
                wrong("is gone without a finding".to_owned());
            }
            continue;
        };
        *counts.projected.entry(word).or_default() += 1;
        counts.not_strict += usize::from(provider == Provider::OpenAiStrict && !tool.is_strict);
        let bytes = tool.parameters.to_string().len();
        if bytes > most_bytes(contract.source()) {
            wrong(format!("{bytes} bytes"));
        }
        for gone in unreported(contract.source(), &projection) {
            wrong(format!("no row says what became of {gone}, in {}", tool.parameters));
        }
        let wire = compiled(&tool.parameters);
        for instance in instances {
            let said = said(&projection, instance);
            let is_taken = wire.is_valid(&said);
            let decoded = projection.decode("the_tool", said.clone()).unwrap().1;
            let fits = contract.violations(&decoded).is_empty();
            if contract.violations(instance).is_empty() {
                if is_taken {
                    counts.said += 1;
                    let is_null_apart = without_nulls(&decoded) == without_nulls(instance);
                    if !fits && tool.is_strict && is_flattened(&projection) {
                        counts.flattened_away += 1;
                    } else if !fits && tool.is_strict && is_null_apart {
                        counts.null_for_absent += 1;
                    } else if !fits {
                        wrong(format!("{instance} came back as {decoded}, by {}", tool.parameters));
                    }
                } else if tool.is_strict {
                    counts.not_said += 1;
                    if !is_closed(&projection) {
                        wrong(format!("{said} is refused by {}", tool.parameters));
                    }
                } else if is_flattened(&projection) {
                    counts.flattened_away += 1;
                } else {
                    wrong(format!("{said} is refused by {}", tool.parameters));
                }
            } else if is_taken && !fits {
                refused.insert(decoded.to_string());
            }
        }
    }
    for arguments in refused {
        let outcome = surface.call(Call::from_json("the_tool", arguments.clone())).await;
        let path = outcome.error.as_ref().and_then(|error| error.path.as_ref());
        if outcome.kind != CallKind::InvalidParams || path.is_none() || ran.load(Ordering::SeqCst) {
            problems.push(format!("{name}: {arguments} ended as {}", outcome.kind.as_str()));
        }
        counts.stopped += 1;
    }
}

/// Strict functions take no members that are not described.
fn is_closed(projection: &Projection) -> bool {
    projection.report().iter().any(|row| row.change == Change::Closed)
}

/// A member that one alternative at the root describes is described for all of them, so that another alternative's member of
/// that name that is not described there may not be sayable. Everything else would leave models without a description.
fn is_flattened(projection: &Projection) -> bool {
    projection.report().iter().any(|row| row.change == Change::UnionFlattened)
}

fn without_nulls(arguments: &Value) -> Value {
    let members = arguments.as_object().unwrap().iter();
    members
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<Map<_, _>>()
        .into()
}

/// Arguments as a model would write them for this provider: members by their names on the wire, and what a strict function
/// requires there as null.
pub(crate) fn said(projection: &Projection, arguments: &Value) -> Value {
    let mut names = BTreeMap::new();
    for row in projection.report().iter().filter(|row| row.change == Change::KeyRenamed) {
        let name = row.pointer.rsplit('/').next().unwrap().replace("~1", "/").replace("~0", "~");
        names.insert(name, row.detail.clone());
    }
    // Anthropic looks at names at the top only.
    let everywhere = projection.provider() == Provider::Gemini;
    let renamed = renamed(arguments, &names, everywhere);
    let tool = &projection.tools()[0];
    if tool.is_strict { strict::said(&tool.parameters, &tool.parameters, &renamed) } else { renamed }
}

fn renamed(value: &Value, names: &BTreeMap<String, String>, below: bool) -> Value {
    match value {
        Value::Object(members) => {
            let inner = |value: &Value| if below { renamed(value, names, true) } else { value.clone() };
            let named =
                members.iter().map(|(name, value)| (names.get(name).unwrap_or(name).clone(), inner(value)));
            named.collect::<Map<_, _>>().into()
        }
        Value::Array(items) if below => items.iter().map(|item| renamed(item, names, true)).collect(),
        other => other.clone(),
    }
}
