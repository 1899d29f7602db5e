//! A tool as its author describes it, and what a call of it gives back. Descriptions are untrusted until
//! [`Tool::accept`] has checked and bounded them.

use serde::Serialize;
use serde_json::Value;

use crate::id::ToolName;
use crate::schema::{ContractSchema, SchemaProblem};
use crate::text;

/// Longest description in bytes: what a model can use, with room; more is a mistake or an attack on its context.
const MAX_DESCRIPTION_BYTES: usize = 16 * 1024;

/// Longest title in characters: one line of a list.
const MAX_TITLE_CHARS: usize = 120;

/// What an author says about a tool, unchecked.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescriptor {
    /// Must be a canonical [`ToolName`].
    pub name: String,
    /// A short name for people.
    pub title: Option<String>,
    /// What it does, for a model.
    pub description: String,
    /// JSON Schema 2020-12 of its arguments, as text.
    pub parameters: String,
    /// JSON Schema 2020-12 of its results' details, as text.
    pub output_schema: Option<String>,
}

/// A tool whose name, texts and schemas were checked.
#[derive(Debug)]
pub struct Tool {
    /// The canonical name.
    pub name: ToolName,
    /// A short name for people.
    pub title: Option<String>,
    /// What it does, bounded and visible.
    pub description: String,
    /// What a call's arguments must satisfy.
    pub parameters: ContractSchema,
    /// What its results' details must satisfy.
    pub output_schema: Option<ContractSchema>,
    /// How long the parameters' schema is, in bytes of JSON without blanks.
    pub(crate) schema_bytes: usize,
    /// Whether the author's texts held characters that are now shown escaped.
    pub(crate) was_escaped: bool,
}

impl Tool {
    /// Checks a descriptor; the name was parsed before, since a refusal is about a name.
    pub(crate) fn accept(name: ToolName, descriptor: &ToolDescriptor) -> Result<Self, String> {
        if descriptor.description.trim().is_empty() {
            return Err("the description is empty; say what the tool does, for it is all that a model knows"
                .to_owned());
        }
        if descriptor.description.len() > MAX_DESCRIPTION_BYTES {
            return Err(format!(
                "the description has {} bytes, the limit is {MAX_DESCRIPTION_BYTES}; shorten it",
                descriptor.description.len()
            ));
        }
        if descriptor.title.as_ref().is_some_and(|title| title.chars().count() > MAX_TITLE_CHARS) {
            return Err(format!("the title has over {MAX_TITLE_CHARS} characters; shorten it"));
        }
        let schema = |which: &str, problem: SchemaProblem| format!("the {which} schema {problem}");
        let parameters = ContractSchema::for_arguments(&descriptor.parameters)
            .map_err(|problem| schema("parameter", problem))?;
        let output_schema = descriptor.output_schema.as_deref().map(ContractSchema::for_details).transpose();
        let output_schema = output_schema.map_err(|problem| schema("output", problem))?;
        let description = text::escape(&descriptor.description).into_owned();
        let title = descriptor.title.as_deref().map(|title| text::single_line(title).into_owned());
        let was_escaped = description != descriptor.description || title != descriptor.title;
        let schema_bytes = parameters.source().to_string().len();
        Ok(Self { name, title, description, parameters, output_schema, schema_bytes, was_escaped })
    }
}

/// A piece of a result that the model reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image(Blob),
    /// A recording.
    Audio(Blob),
}

impl Content {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// How much it counts against the limit on a result's content.
    pub(crate) fn size_bytes(&self) -> usize {
        // What a piece costs in every list that holds it, so that a million empty ones are not free.
        const PIECE_BYTES: usize = 64;
        let bytes = match self {
            Self::Text { text } => text.len(),
            Self::Image(blob) | Self::Audio(blob) => blob.data.len() + blob.mime_type.len(),
        };
        bytes + PIECE_BYTES
    }

    /// Why it cannot be passed on, if so.
    pub(crate) fn problem(&self) -> Option<String> {
        let (Self::Image(blob) | Self::Audio(blob)) = self else { return None };
        let is_plain = |part: &str| {
            !part.is_empty()
                && part.len() <= 64
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
        };
        let is_media_type =
            blob.mime_type.split_once('/').is_some_and(|(kind, name)| is_plain(kind) && is_plain(name));
        (!is_media_type).then(|| {
            let shown = text::single_line(&text::shorten(&blob.mime_type, 64)).into_owned();
            format!("`{shown}` is not a media type such as image/png")
        })
    }
}

/// Bytes with a media type; base64 in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    /// Such as `image/png`.
    pub mime_type: String,
    /// The bytes.
    #[serde(serialize_with = "as_base64")]
    pub data: Vec<u8>,
}

fn as_base64<S: serde::Serializer>(data: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    use base64::Engine as _;
    serializer.serialize_str(&base64::engine::general_purpose::STANDARD.encode(data))
}

/// What a tool returns.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ToolResult {
    /// What the model reads next.
    pub content: Vec<Content>,
    /// For people and programs; never shown to the model.
    pub details: Option<Value>,
}

impl ToolResult {
    /// A result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], details: None }
    }
}

/// How a tool says that it could not do its work. It is a result with `is_error`, not a failure of the host.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolError {
    /// The arguments fit the schema and still make no sense.
    InvalidParams(String),
    /// Something the tool needs is not there.
    Unavailable(String),
    /// It tried and failed.
    Failed {
        /// For the model.
        message: String,
        /// For people and programs.
        details: Option<Value>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_plain_or_the_piece_is_refused() {
        let piece =
            |mime_type: &str| Content::Image(Blob { mime_type: mime_type.to_owned(), data: Vec::new() });
        for good in ["image/png", "audio/x-wav", "image/svg+xml"] {
            assert_eq!(piece(good).problem(), None, "{good}");
        }
        for bad in ["", "image", "image/", "image/png; a=b", "image/\u{202e}gnp", "a/b/c", &"a/".repeat(99)] {
            assert!(piece(bad).problem().is_some(), "{bad}");
        }
        assert!(Content::text("").size_bytes() > 0);
    }
}
