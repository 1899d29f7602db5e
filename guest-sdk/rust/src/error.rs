//! How a tool fails: texts and details of the tool's author enter, the contract's `tool-error` leaves. It never carries
//! a host's failure.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::bindings::airlock::plugin::types as wit;

/// Why a tool did not do what it was asked. The text goes to the model, bounded by the host.
///
/// A text converts into [`Failed`](ToolError::Failed), so that `?` and `.into()` work on it. For the errors of other
/// crates write `.map_err(ToolError::failed)?`, or let the tool return `Result<T, Box<dyn std::error::Error>>`, where
/// `?` accepts every error and a `ToolError` in the box keeps its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolError {
    /// The arguments fit the schema and still make no sense. Say what would.
    InvalidParams(String),
    /// The tool cannot be used now; trying again later may help.
    Unavailable(String),
    /// The tool tried and failed.
    Failed {
        /// What happened, to what, and what to do next.
        message: String,
        /// Facts for programs; the model does not read them.
        details: Option<Value>,
    },
}

impl ToolError {
    /// The arguments make no sense for the reason that `message` gives.
    pub fn invalid_params(message: impl fmt::Display) -> Self {
        Self::InvalidParams(message.to_string())
    }

    /// The tool cannot be used now for the reason that `message` gives.
    pub fn unavailable(message: impl fmt::Display) -> Self {
        Self::Unavailable(message.to_string())
    }

    /// The tool failed for the reason that `message` gives, which may be an error of any type.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::Failed { message: message.to_string(), details: None }
    }

    /// Like [`failed`](Self::failed), with facts for programs. Details that cannot be written as JSON are left out and
    /// the message says why.
    pub fn failed_with(message: impl fmt::Display, details: impl Serialize) -> Self {
        match serde_json::to_value(details) {
            Ok(details) => Self::Failed { message: message.to_string(), details: Some(details) },
            Err(error) => Self::failed(format_args!("{message} (its details are not JSON: {error})")),
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidParams(message) | Self::Unavailable(message) | Self::Failed { message, .. } => {
                formatter.write_str(message)
            }
        }
    }
}

impl std::error::Error for ToolError {}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::failed(message)
    }
}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::Failed { message, details: None }
    }
}

impl From<Box<dyn std::error::Error>> for ToolError {
    fn from(error: Box<dyn std::error::Error>) -> Self {
        error.downcast::<Self>().map_or_else(Self::failed, |tool_error| *tool_error)
    }
}

impl From<ToolError> for wit::ToolError {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::InvalidParams(message) => Self::InvalidParams(message),
            ToolError::Unavailable(message) => Self::Unavailable(message),
            ToolError::Failed { message, details } => {
                Self::Failed(wit::Failure { message, details: details.map(|details| details.to_string()) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> Result<u8, Box<dyn std::error::Error>> {
        if text.is_empty() {
            Err(ToolError::invalid_params("give a number"))?;
        }
        Ok(text.parse()?)
    }

    #[test]
    fn a_text_means_failed() {
        assert_eq!(ToolError::from("no"), ToolError::Failed { message: "no".to_owned(), details: None });
        assert_eq!(ToolError::from("no".to_owned()), ToolError::failed("no"));
    }

    #[test]
    fn a_boxed_tool_error_keeps_its_kind() {
        assert_eq!(ToolError::from(parse("").unwrap_err()), ToolError::invalid_params("give a number"));
        assert_eq!(
            ToolError::from(parse("x").unwrap_err()),
            ToolError::failed("invalid digit found in string")
        );
    }

    #[test]
    fn details_travel_as_json() {
        let error = ToolError::failed_with("disk full", json!({ "free": 0 }));
        let expected =
            wit::Failure { message: "disk full".to_owned(), details: Some(r#"{"free":0}"#.to_owned()) };
        assert_eq!(wit::ToolError::from(error), wit::ToolError::Failed(expected));
    }
}
