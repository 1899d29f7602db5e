//! Acceptance: the name is on this surface and the arguments fit the contract schema, or the guest never runs.

use serde_json::{Map, Value};

use super::execute::Executed;
use super::receipt::{Checkpoint, Trail};
use super::unwrap::{Asked, Malformed, unwrap};
use super::via::Via;
use super::{AcceptedCall, Arguments, Call, CallError, CallKind, Identity};
use crate::id::ToolName;
use crate::schema::{MAX_DEPTH, RESERVED_KEY, Violation, deeper_than};
use crate::search::Control;
use crate::surface::{Owner, Surface};
use crate::text;

/// Largest arguments in bytes of JSON: what a model can write in one answer, many times over.
pub(super) const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// Judges a call. The identity comes back whatever the answer, for the record.
pub(super) fn accept<'surface>(
    surface: &'surface Surface,
    call: Call,
    trail: &mut Trail<'_>,
) -> (Identity, Result<AcceptedCall<'surface>, Executed>) {
    let id = call.id.unwrap_or_else(|| surface.next_call_id());
    let command = call.command_of.map(Via::Command);
    let Asked { tool, arguments, around } = match unwrap(surface, call.tool, call.arguments) {
        Ok(asked) => asked,
        Err(malformed) => {
            let Malformed { arguments, error } = *malformed;
            let (tool, owner) = (Control::Call.as_str().to_owned(), Some(Owner::Core.to_string()));
            return (Identity { id, tool, owner, arguments, via: command }, Err(refuse(error, trail)));
        }
    };
    let via = around.map(Via::Control).or(command);
    let name = ToolName::canonicalise(&tool).ok();
    let shown = name
        .as_ref()
        .map_or_else(|| text::single_line(&text::shorten(&tool, 80)).into_owned(), ToString::to_string);
    let mut identity =
        Identity { id: id.clone(), tool: shown, owner: None, arguments: Value::Null, via: via.clone() };
    let parsed = parse(arguments);
    if let Ok(arguments) = &parsed {
        identity.arguments = arguments.clone();
    }
    let Some(exposed) = name.as_ref().and_then(|name| surface.tool(name)) else {
        let refusal = not_exposed(surface, &identity.tool, trail);
        return (identity, Err(refusal));
    };
    identity.owner = Some(exposed.owner.to_string());
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(problem) => {
            let message = format!("the arguments for `{}` {problem}", identity.tool);
            let refusal = refuse(CallError::new(CallKind::InvalidParams, message), trail);
            return (identity, Err(refusal));
        }
    };
    let violations = exposed.tool.parameters.violations(&arguments);
    if !violations.is_empty() {
        let message = format!("the arguments for `{}` do not fit: {}", identity.tool, in_words(&violations));
        let error = CallError::new(CallKind::InvalidParams, message).with_violations(violations);
        return (identity, Err(refuse(error, trail)));
    }
    let through = via.as_ref().map(|via| match via {
        Via::Control(control) => format!("it stood in a call of `{}`", control.as_str()),
        Via::Command(skill) => format!("it is the command of the skill `{skill}`"),
    });
    trail.note(Checkpoint::Acceptance, "accepted", "core", through);
    let written = arguments.clone();
    let accepted = AcceptedCall { id, exposed, arguments, written, via, progress: call.progress };
    (identity, Ok(accepted))
}

/// The end of a call that asks for something that cannot be.
fn refuse(error: CallError, trail: &mut Trail<'_>) -> Executed {
    let error = error.bounded();
    trail.note(Checkpoint::Acceptance, "refused", "core", Some(error.message.clone()));
    Executed::refused(error)
}

fn parse(arguments: Arguments) -> Result<Value, String> {
    parse_within(arguments, MAX_ARGUMENT_BYTES, MAX_DEPTH)
}

/// Arguments as an object, or the end of a sentence that begins with "the arguments".
pub(super) fn parse_within(
    arguments: Arguments,
    max_bytes: usize,
    max_depth: usize,
) -> Result<Value, String> {
    let value = match arguments {
        Arguments::Text(source) => {
            if source.len() > max_bytes {
                return Err(format!("have {} bytes, the limit is {max_bytes}", source.len()));
            }
            if source.contains(RESERVED_KEY) {
                return Err(format!("contain `{RESERVED_KEY}`, which no tool may be sent"));
            }
            if source.trim().is_empty() {
                return Ok(Value::Object(Map::new()));
            }
            serde_json::from_str(&source).map_err(|error| format!("are not JSON: {error}"))?
        }
        Arguments::Value(value) => {
            let bytes = if is_small(&value) { 0 } else { value.to_string().len() };
            if bytes > max_bytes {
                return Err(format!("have {bytes} bytes, the limit is {max_bytes}"));
            }
            value
        }
    };
    if deeper_than(&value, max_depth) {
        return Err(format!("are nested deeper than {max_depth} levels"));
    }
    match value {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(members) => Ok(Value::Object(members)),
        Value::String(written) if matches!(serde_json::from_str(&written), Ok(Value::Object(_))) => {
            Err("are a string that holds JSON: send the object itself, not a string of it".to_owned())
        }
        _ => Err("are not an object".to_owned()),
    }
}

/// Why rewritten arguments are none, as the end of a sentence about them; the limits are those of a model's own.
pub(super) fn check_rewritten(arguments: &Value) -> Result<(), String> {
    let bytes = if is_small(arguments) { 0 } else { arguments.to_string().len() };
    if bytes > MAX_ARGUMENT_BYTES {
        return Err(format!("have {bytes} bytes, the limit is {MAX_ARGUMENT_BYTES}"));
    }
    if deeper_than(arguments, MAX_DEPTH) {
        return Err(format!("are nested deeper than {MAX_DEPTH} levels"));
    }
    Ok(())
}

/// Whether a value is flat and short, so that its size need not be measured.
fn is_small(value: &Value) -> bool {
    const SHORT: usize = 1_024;
    let is_short = |member: &Value| match member {
        Value::String(text) => text.len() <= SHORT,
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    };
    matches!(value, Value::Object(members) if members.len() <= 64 && members.iter().all(|(key, member)| key.len() <= SHORT && is_short(member)))
}

/// The refusal of a name: the model learns the same whether the tool was removed or never was; the trail learns why.
fn not_exposed(surface: &Surface, shown: &str, trail: &mut Trail<'_>) -> Executed {
    let removal = surface.removed().iter().find(|removal| removal.name.as_str() == shown);
    let finding = surface.diagnostics().iter().find(|finding| finding.subject == shown);
    let reason = match (removal, finding) {
        (Some(removal), _) => format!("removed at `{}`: {}", removal.stage, removal.reason),
        (None, Some(finding)) => finding.message.clone(),
        (None, None) => "no installed plugin and no native tool has this name".to_owned(),
    };
    trail.note(Checkpoint::Acceptance, "refused", "core", Some(reason));
    let message = match surface.meant(shown) {
        Some(exposed) => format!("there is no tool `{shown}` here; did you mean `{}`?", exposed.tool.name),
        None => format!("there is no tool `{shown}` here"),
    };
    Executed::refused(CallError::new(CallKind::NotExposed, message))
}

/// Violations as one line for a model.
pub(super) fn in_words(violations: &[Violation]) -> String {
    let words = violations.iter().map(|violation| match violation.path.as_str() {
        "" => violation.message.clone(),
        path => format!("{path}: {}", violation.message),
    });
    words.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_become_an_object_or_a_reason() {
        for empty in ["", " ", "null", "{}"] {
            assert_eq!(parse(Arguments::Text(empty.to_owned())), Ok(json!({})));
        }
        let refused = |source: &str| parse(Arguments::Text(source.to_owned())).unwrap_err();
        assert!(refused("[1]").contains("not an object"));
        assert!(refused("{\"a\":").contains("not JSON"));
        assert!(refused(r#""{\"a\":1}""#).contains("send the object itself"));
        assert!(
            refused(&format!("{{\"a\":{}1{}}}", "[".repeat(100), "]".repeat(100))).contains("deeper than 64")
        );
        assert!(refused(&"[".repeat(100_000)).contains("not JSON"));
        assert!(refused(&format!("\"{}\"", "x".repeat(MAX_ARGUMENT_BYTES))).contains("the limit is 1048576"));
    }

    #[test]
    fn numbers_keep_every_digit() {
        let source = r#"{"n":123456789012345678901234567890,"x":1.10}"#;
        assert_eq!(parse(Arguments::Text(source.to_owned())).unwrap().to_string(), source);
    }
}
