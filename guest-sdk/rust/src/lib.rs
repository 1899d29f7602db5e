//! Functions of a plugin author enter, an Airlock component leaves. It never opens a file or a socket, and it never
//! decides what a plugin may do: that is the host's part.
//!
#![doc = include_str!("../README.md")]

#[cfg(test)]
extern crate self as airlock_plugin;

mod arguments;
pub mod bindings;
mod call;
mod config;
mod error;
mod host;
pub mod log;
mod plugin;
pub mod prelude;
mod result;
mod schema;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod tool;

pub use airlock_plugin_macros::arguments;
pub use airlock_plugin_macros::config;
pub use airlock_plugin_macros::details;
pub use airlock_plugin_macros::tool;
pub use schemars;
pub use serde;
pub use serde_json;

pub use crate::arguments::Arguments;
pub use crate::arguments::NoArguments;
pub use crate::bindings::airlock::plugin::registry::Exposure;
pub use crate::bindings::airlock::plugin::types::Blob;
pub use crate::bindings::airlock::plugin::types::Content;
pub use crate::bindings::airlock::plugin::types::RunContext;
pub use crate::bindings::airlock::plugin::types::ToolResult;
pub use crate::bindings::airlock::plugin::types::Trigger;
pub use crate::call::Call;
pub use crate::config::config;
pub use crate::error::ToolError;
pub use crate::plugin::Plugin;
#[doc(hidden)]
pub use crate::plugin::names_are_unique;
pub use crate::result::IntoToolResult;
pub use crate::result::Output;
pub use crate::tool::Tool;
pub use crate::tool::ToolEntry;
