//! Tools that are the embedder's own code: they are trusted, and still go through the same surface and the same call.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::id::CallId;
use crate::plugin::ProgressSink;
use crate::run::RunContext;
use crate::tool::{ToolDescriptor, ToolError, ToolResult};

/// A tool implemented in the host.
pub trait NativeTool: Send + Sync + fmt::Debug {
    /// Its name, texts and schemas; read once, when the host is built.
    fn descriptor(&self) -> ToolDescriptor;

    /// Runs one call. Dropping the future cancels it.
    fn execute(&self, call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>>;
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
