//! The names that almost every plugin uses, to be imported with `use airlock_plugin::prelude::*;`. It adds nothing of
//! its own.

pub use crate::Blob;
pub use crate::BoundTool;
pub use crate::Call;
pub use crate::Content;
pub use crate::Output;
pub use crate::RunContext;
pub use crate::ToolError;
pub use crate::ToolResult;
pub use crate::arguments;
pub use crate::binding;
pub use crate::config;
pub use crate::details;
pub use crate::factory;
pub use crate::log;
pub use crate::plugin;
pub use crate::tool;
