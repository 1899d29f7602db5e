//! What a factory fixes for a tool: the author's own value enters and leaves as the contract's `binding`, and comes back
//! with each call. It never guesses one that is missing.

use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ToolError;
use crate::arguments;

/// The contract's bound: a surface holds every binding, and a host keeps many surfaces.
pub(crate) const MAX_BINDING_BYTES: usize = 4096;

/// What a factory binds to a tool: a type under [`#[binding]`](macro@crate::binding).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a binding",
    label = "what a factory binds is a type of its own",
    note = "write `#[binding]` above the definition of `{Self}`"
)]
pub trait Binding: Serialize + DeserializeOwned {
    #[doc(hidden)]
    const NEEDED: bool = true;
}

/// What is bound to a tool without a `#[bound]` parameter: nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub struct NoBinding;

impl Binding for NoBinding {
    const NEEDED: bool = false;
}

/// The binding as it goes to the host, if there is anything to bind.
///
/// # Errors
///
/// A text for the operator: the value is no JSON, or too large.
pub(crate) fn write<B: Binding>(tool: &str, binding: &B) -> Result<Option<String>, String> {
    if B::NEEDED { bounded(tool, serde_json::to_string(binding)).map(Some) } else { Ok(None) }
}

/// Not generic, so that a plugin holds it once and not once for every binding.
fn bounded(tool: &str, written: serde_json::Result<String>) -> Result<String, String> {
    let json = written.map_err(|error| format!("the binding of `{tool}` is not JSON: {error}"))?;
    let length = json.len();
    if length > MAX_BINDING_BYTES {
        return Err(format!(
            "the binding of `{tool}` has {length} bytes, and at most {MAX_BINDING_BYTES} are allowed: bind what \
             identifies the target, and look up the rest in the call"
        ));
    }
    Ok(json)
}

/// The binding that came back with a call.
///
/// # Errors
///
/// [`ToolError::Failed`] if there is none, or not one that this plugin made.
pub(crate) fn read<B: Binding>(tool: &str, binding: Option<&str>) -> Result<B, ToolError> {
    let json = match binding {
        _ if !B::NEEDED => "null",
        Some(json) => json,
        None => return Err(missing(tool)),
    };
    arguments::parse(json).map_err(|cause| {
        ToolError::failed(format_args!(
            "the binding that came back with the call of `{tool}` does not fit: {cause}"
        ))
    })
}

fn missing(tool: &str) -> ToolError {
    ToolError::failed(format_args!(
        "`{tool}` was called without the binding that its factory gives it; call it through a surface that has it"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[crate::binding]
    #[derive(Debug, PartialEq)]
    struct Target {
        room: String,
    }

    #[crate::binding]
    struct Keyed {
        // JSON has no such keys.
        rooms: BTreeMap<Option<u8>, u8>,
    }

    fn room(length: usize) -> Target {
        Target { room: "x".repeat(length) }
    }

    #[test]
    fn it_comes_back_as_it_went() {
        let written = write("send", &room(3)).unwrap();
        assert_eq!(written.as_deref(), Some(r#"{"room":"xxx"}"#));
        assert_eq!(read::<Target>("send", written.as_deref()), Ok(room(3)));
        assert_eq!(write("send", &NoBinding), Ok(None));
        assert_eq!(read::<NoBinding>("send", None), Ok(NoBinding));
    }

    #[test]
    fn its_size_obeyed() {
        let around = r#"{"room":""}"#.len();
        assert_eq!(
            write("send", &room(MAX_BINDING_BYTES - around)).unwrap().unwrap().len(),
            MAX_BINDING_BYTES
        );
    }

    #[test]
    fn its_size_violated() {
        let problem = write("send", &room(MAX_BINDING_BYTES)).unwrap_err();
        assert!(
            problem.starts_with("the binding of `send` has 4107 bytes, and at most 4096 are"),
            "{problem}"
        );
    }

    #[test]
    fn what_is_not_json_is_told() {
        let problem = write("send", &Keyed { rooms: BTreeMap::from([(None, 1)]) }).unwrap_err();
        assert!(problem.starts_with("the binding of `send` is not JSON: "), "{problem}");
    }

    #[test]
    fn one_that_is_missing_or_foreign_fails_the_call() {
        let missing = read::<Target>("send", None).unwrap_err().to_string();
        assert!(missing.starts_with("`send` was called without the binding"), "{missing}");
        let foreign = read::<Target>("send", Some(r#"{"room":7}"#)).unwrap_err().to_string();
        assert!(foreign.contains("does not fit: at `/room`: invalid type"), "{foreign}");
    }
}
