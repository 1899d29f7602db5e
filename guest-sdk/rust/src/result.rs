//! What a tool's function returns enters, the contract's `tool-result` leaves. It never bounds anything: the host does.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::ToolError;
use crate::bindings::airlock::plugin::types::Blob;
use crate::bindings::airlock::plugin::types::Content;
use crate::bindings::airlock::plugin::types::ToolResult;
use crate::schema;

impl Content {
    /// A text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// An image for the model; `mime_type` is for example `image/png`.
    pub fn image(mime_type: impl Into<String>, data: Vec<u8>) -> Self {
        Self::Image(Blob { mime_type: mime_type.into(), data })
    }

    /// A sound for the model; `mime_type` is for example `audio/wav`.
    pub fn audio(mime_type: impl Into<String>, data: Vec<u8>) -> Self {
        Self::Audio(Blob { mime_type: mime_type.into(), data })
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl ToolResult {
    /// All text content, joined by line ends.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|content| if let Content::Text(text) = content { Some(text.as_str()) } else { None })
            .collect();
        texts.join("\n")
    }

    /// The details as JSON; null if there are none.
    ///
    /// # Errors
    ///
    /// The details are not JSON.
    pub fn json_details(&self) -> Result<Value, serde_json::Error> {
        self.details.as_deref().map_or(Ok(Value::Null), serde_json::from_str)
    }
}

/// Content for the model together with typed details for people and programs.
///
/// The tool's output schema is derived from `D`, a type under [`#[details]`](macro@crate::details). The model does not
/// read details: what it must know belongs in the content too.
#[derive(Debug, Clone, PartialEq)]
pub struct Output<D> {
    /// What the model reads next.
    pub content: Vec<Content>,
    /// What people and programs get.
    pub details: D,
}

impl<D> Output<D> {
    /// One piece of content and its details.
    pub fn new(content: impl Into<Content>, details: D) -> Self {
        Self { content: vec![content.into()], details }
    }
}

/// What a tool's function may return.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not a tool's result",
    note = "return `String`, `&'static str`, `Content`, `Vec<Content>`, `Output<D>` with `#[details] struct D`, or a `Result` of one of these with `ToolError` or `Box<dyn std::error::Error>`"
)]
pub trait IntoToolResult {
    /// JSON Schema 2020-12 of the details, if the type has typed ones.
    fn output_schema() -> Option<Value> {
        None
    }

    /// The result as the contract has it.
    ///
    /// # Errors
    ///
    /// The tool's own error, or [`ToolError::Failed`] if its details cannot be written as JSON.
    fn into_tool_result(self) -> Result<ToolResult, ToolError>;
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Content::Text(self).into_tool_result()
    }
}

impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Content::text(self).into_tool_result()
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        vec![self].into_tool_result()
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult { content: self, details: None })
    }
}

impl<D: Serialize + JsonSchema> IntoToolResult for Output<D> {
    fn output_schema() -> Option<Value> {
        Some(schema::of_details::<D>())
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        let details = serde_json::to_string(&self.details)
            .map_err(|error| ToolError::failed(format_args!("the tool's details are not JSON: {error}")))?;
        Ok(ToolResult { content: self.content, details: Some(details) })
    }
}

impl<T: IntoToolResult> IntoToolResult for Result<T, ToolError> {
    fn output_schema() -> Option<Value> {
        T::output_schema()
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        self?.into_tool_result()
    }
}

impl<T: IntoToolResult> IntoToolResult for Result<T, Box<dyn std::error::Error>> {
    fn output_schema() -> Option<Value> {
        T::output_schema()
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        self?.into_tool_result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details;

    #[details]
    struct Count {
        words: usize,
    }

    #[test]
    fn texts_become_one_piece_of_content() {
        let expected = ToolResult { content: vec![Content::text("hi")], details: None };
        assert_eq!("hi".into_tool_result().unwrap(), expected);
        assert_eq!("hi".to_owned().into_tool_result().unwrap(), expected);
        assert_eq!(Ok::<_, ToolError>("hi").into_tool_result().unwrap(), expected);
    }

    #[test]
    fn output_carries_details_and_their_schema() {
        let result = Output::new("two words", Count { words: 2 }).into_tool_result().unwrap();
        assert_eq!(result.details.as_deref(), Some(r#"{"words":2}"#));
        assert!(<Result<Output<Count>, ToolError>>::output_schema().is_some());
        assert!(<Result<String, ToolError>>::output_schema().is_none());
    }
}
