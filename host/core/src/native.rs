//! Tools that are the embedder's own code: they are trusted, and still go through the same surface and the same call.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::id::CallId;
use crate::manifest::ToolMetadata;
use crate::plugin::ProgressSink;
use crate::run::RunContext;
use crate::tool::{ToolDescriptor, ToolError, ToolResult};

/// A tool implemented in the host.
pub trait NativeTool: Send + Sync + fmt::Debug {
    /// Its name, texts and schemas; read once, when the host is built, and once for each run that it is bound to.
    fn descriptor(&self) -> ToolDescriptor;

    /// What policy must know about it; read once, when the host is built. By default it has side effects.
    fn metadata(&self) -> ToolMetadata {
        ToolMetadata { side_effecting: true, ..ToolMetadata::default() }
    }

    /// The groups that it is in, such as `fs`, for `group:fs` in policy entries; read once, when the host is built.
    fn groups(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The tool as one run gets it, at most once an assembly. By default every run gets the same.
    ///
    /// # Errors
    /// If it cannot be made: the tool is missing from this surface, with the message as a diagnostic.
    fn bind(&self, _run: &RunContext) -> Result<Binding, String> {
        Ok(Binding::Same)
    }

    /// Runs one call. Dropping the future cancels it.
    fn execute(&self, call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>>;
}

/// What a run gets of a native tool.
#[derive(Debug)]
pub enum Binding {
    /// The tool itself.
    Same,
    /// Another of the same name that was made for this run.
    Made(Arc<dyn NativeTool>),
    /// Nothing; the text says why, as the end of a sentence that begins with the tool's name.
    Unavailable(String),
}

/// One call of a native tool: the arguments are final and fit the tool's schema.
#[derive(Debug, Clone)]
pub struct NativeCall {
    /// The call.
    pub call_id: CallId,
    /// The arguments, always an object.
    pub arguments: serde_json::Value,
    /// The run it belongs to.
    pub run: Arc<RunContext>,
    /// Where progress goes.
    pub progress: ProgressSink,
}

/// The words of a panic, if it has any.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> Option<String> {
    panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned())
}
