//! `tool_call`: a call that stands around another one enters, the call in it leaves, so that every checkpoint, hook, approval
//! and record is about the tool that runs. Nothing of the outer call is left but the word that it was there.

use serde_json::{Map, Value};

use super::accept::{MAX_ARGUMENT_BYTES, in_words, parse_within};
use super::{Arguments, CallError, CallKind};
use crate::id::ToolName;
use crate::schema::MAX_DEPTH;
use crate::search::Control;
use crate::surface::{Implementation, Surface};

/// What a call may have around the arguments that it holds, in bytes: a name and the punctuation.
const MAX_WRAPPING_BYTES: usize = 1_024;

/// How deep such a call may be nested: what is in it is held to its own limit, and told so.
const MAX_WRAPPED_DEPTH: usize = 2 * MAX_DEPTH;

/// What is really asked for.
pub(super) struct Asked {
    pub(super) tool: String,
    pub(super) arguments: Arguments,
    /// The host's own tool around it, if there was one.
    pub(super) around: Option<Control>,
}

/// A `tool_call` that holds no call.
pub(super) struct Malformed {
    /// As they were written.
    pub(super) arguments: Value,
    pub(super) error: CallError,
}

/// The call in a call of `tool_call`, if the surface has that; any other call as it is.
pub(super) fn unwrap(surface: &Surface, tool: String, arguments: Arguments) -> Result<Asked, Box<Malformed>> {
    let around = Control::Call;
    let name = ToolName::canonicalise(&tool).ok();
    let exposed = name.as_ref().and_then(|name| surface.tool(name));
    let is_around = |implementation: &Implementation| match implementation {
        Implementation::Control(control) => *control == around,
        _ => false,
    };
    let Some(exposed) = exposed.filter(|exposed| is_around(&exposed.implementation)) else {
        return Ok(Asked { tool, arguments, around: None });
    };
    let refuse = |arguments: Value, message: String| {
        let error = CallError::new(CallKind::InvalidParams, message);
        Box::new(Malformed { arguments, error })
    };
    // What is in it has limits of its own, which are those of a direct call.
    let parsed = parse_within(arguments, MAX_ARGUMENT_BYTES + MAX_WRAPPING_BYTES, MAX_WRAPPED_DEPTH);
    let mut written = match parsed {
        Ok(Value::Object(members)) => members,
        Ok(_) => Map::new(),
        Err(problem) => {
            let message = format!("the arguments for `{}` {problem}", around.as_str());
            return Err(refuse(Value::Null, message));
        }
    };
    // They are held against the schema of the tool that they are for, whose answer says more.
    let inner = written.remove("arguments");
    let around_it = Value::Object(written);
    let whole = |around_it: Value, inner: Option<Value>| match around_it {
        Value::Object(mut members) => {
            members.extend(inner.map(|inner| ("arguments".to_owned(), inner)));
            Value::Object(members)
        }
        other => other,
    };
    let violations = exposed.tool.parameters.violations(&around_it);
    if !violations.is_empty() {
        let message =
            format!("the arguments for `{}` do not fit: {}", around.as_str(), in_words(&violations));
        let mut malformed = refuse(whole(around_it, inner), message);
        malformed.error = malformed.error.with_violations(violations);
        return Err(malformed);
    }
    let target = around_it.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let control = ToolName::canonicalise(&target).ok().and_then(|name| Control::named(name.as_str()));
    if let Some(control) = control {
        let message =
            format!("`{}` is called by its own name, not with `{}`", control.as_str(), around.as_str());
        return Err(refuse(whole(around_it, inner), message));
    }
    let arguments = Arguments::Value(inner.unwrap_or(Value::Null));
    Ok(Asked { tool: target, arguments, around: Some(around) })
}
