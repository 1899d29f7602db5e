//! The arguments of a call enter, its mode among them; the answer of that mode leaves. The page of `lib.rs` lists them.

use airlock_plugin::bindings::airlock::plugin::runtime::{self, Level};
use airlock_plugin::bindings::airlock::plugin::types::{Blob, Content, Failure, ToolError, ToolResult};

use crate::HIDDEN;

/// Answers as the mode in these arguments says.
pub(crate) fn answer(params: &str) -> Result<ToolResult, ToolError> {
    // The mode is the last text of the arguments: `{"mode": "nothing"}`.
    let mode = params.rsplit('"').nth(1).unwrap_or_default();
    match mode {
        "hidden-text" => Ok(text(HIDDEN.to_owned())),
        "hidden-details" => details("{\"\\u202e\\u200bkey\": \"\\u001b[2K\\u0000\"}".to_owned()),
        "hidden-failure" => failed(HIDDEN.to_owned(), None),
        "hidden-refusal" => Err(ToolError::InvalidParams(HIDDEN.to_owned())),
        "hidden-excuse" => Err(ToolError::Unavailable(HIDDEN.to_owned())),
        "hidden-panic" => hidden_panic(),
        "hidden-log" => {
            for level in [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error] {
                runtime::log(level, HIDDEN);
            }
            runtime::progress(f64::NAN, Some(-1.0), Some(HIDDEN));
            Ok(text("logged".to_owned()))
        }
        "hidden-media-type" => picture("image/\u{202e}gnp", Vec::new()),
        "long-failure" => failed("漢".repeat(700_000), None),
        "garbled-failure" => failed("failed".to_owned(), Some("{\"a\": ".to_owned())),
        "garbled-details" => details("{\"a\": 1} and more".to_owned()),
        "deep-details" => details(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))),
        "huge-details" => details(format!("\"{}\"", "x".repeat(2 << 20))),
        "long-number" => details("9".repeat(100_000)),
        "huge-picture" => picture("image/png", vec![0; 2 << 20]),
        "many-pieces" => {
            Ok(ToolResult { content: vec![Content::Text(String::new()); 50_000], details: None })
        }
        "nothing" => Ok(ToolResult { content: Vec::new(), details: None }),
        _ => Err(ToolError::InvalidParams(format!("there is no mode `{mode}`"))),
    }
}

fn text(text: String) -> ToolResult {
    ToolResult { content: vec![Content::Text(text)], details: None }
}

fn details(details: String) -> Result<ToolResult, ToolError> {
    Ok(ToolResult { details: Some(details), ..text("see the details".to_owned()) })
}

fn failed(message: String, details: Option<String>) -> Result<ToolResult, ToolError> {
    Err(ToolError::Failed(Failure { message, details }))
}

fn picture(media_type: &str, data: Vec<u8>) -> Result<ToolResult, ToolError> {
    let blob = Blob { mime_type: media_type.to_owned(), data };
    Ok(ToolResult { content: vec![Content::Image(blob)], details: None })
}

#[expect(clippy::panic, reason = "this is what the mode is for")]
fn hidden_panic() -> ! {
    panic!("{HIDDEN}{}", "x".repeat(100_000))
}
