//! Functions of a plugin author enter, an Airlock component leaves. It never opens a file or a socket, and it never
//! decides what a plugin may do: that is the host's part.
//!
#![doc = include_str!("../README.md")]

#[cfg(test)]
extern crate self as airlock_plugin;

mod arguments;
mod binding;
pub mod bindings;
mod bound_tool;
mod call;
mod config;
mod error;
mod factory;
mod hook;
mod host;
pub mod http;
pub mod key_value;
pub mod log;
#[doc(hidden)]
pub mod placement;
mod plugin;
pub mod prelude;
mod result;
mod run;
mod schema;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod tool;

pub use airlock_plugin_macros::arguments;
pub use airlock_plugin_macros::binding;
pub use airlock_plugin_macros::config;
pub use airlock_plugin_macros::details;
pub use airlock_plugin_macros::factory;
pub use airlock_plugin_macros::hook;
pub use airlock_plugin_macros::tool;
pub use schemars;
pub use serde;
pub use serde_json;

pub use crate::arguments::Arguments;
pub use crate::arguments::NoArguments;
pub use crate::binding::Binding;
pub use crate::binding::NoBinding;
pub use crate::bindings::airlock::plugin::hook_types::AgentRun;
pub use crate::bindings::airlock::plugin::hook_types::AgentSummary;
pub use crate::bindings::airlock::plugin::hook_types::ApprovalDecision;
pub use crate::bindings::airlock::plugin::hook_types::GateVerdict;
pub use crate::bindings::airlock::plugin::hook_types::GrantScope;
pub use crate::bindings::airlock::plugin::hook_types::HookName;
pub use crate::bindings::airlock::plugin::hook_types::HookOutcome;
pub use crate::bindings::airlock::plugin::hook_types::Message;
pub use crate::bindings::airlock::plugin::hook_types::MessageChange;
pub use crate::bindings::airlock::plugin::hook_types::MessageReceipt;
pub use crate::bindings::airlock::plugin::hook_types::MessageVerdict;
pub use crate::bindings::airlock::plugin::hook_types::PersistChange;
pub use crate::bindings::airlock::plugin::hook_types::PromptBuild;
pub use crate::bindings::airlock::plugin::hook_types::PromptChanges;
pub use crate::bindings::airlock::plugin::hook_types::Role;
pub use crate::bindings::airlock::plugin::hook_types::SessionEvent;
pub use crate::bindings::airlock::plugin::hook_types::Severity;
pub use crate::bindings::airlock::plugin::hook_types::SubagentEvent;
pub use crate::bindings::airlock::plugin::hook_types::ToolOutcome;
pub use crate::bindings::airlock::plugin::hook_types::ToolProblem;
pub use crate::bindings::airlock::plugin::hook_types::ToolVerdict;
pub use crate::bindings::airlock::plugin::hook_types::TranscriptMessage;
pub use crate::bindings::airlock::plugin::hook_types::WriteVerdict;
pub use crate::bindings::airlock::plugin::registry::Exposure;
pub use crate::bindings::airlock::plugin::types::Blob;
pub use crate::bindings::airlock::plugin::types::Content;
pub use crate::bindings::airlock::plugin::types::RunContext;
pub use crate::bindings::airlock::plugin::types::ToolResult;
pub use crate::bindings::airlock::plugin::types::Trigger;
pub use crate::bound_tool::BoundTool;
pub use crate::bound_tool::IntoBoundTools;
pub use crate::call::Call;
pub use crate::config::config;
pub use crate::error::ToolError;
pub use crate::factory::Factory;
pub use crate::factory::FactoryEntry;
pub use crate::hook::Handler;
pub use crate::hook::HandlerEntry;
pub use crate::hook::IntoOutcome;
pub use crate::hook::approval::Approval;
pub use crate::hook::event::InstallRequest;
pub use crate::hook::event::PersistRecord;
pub use crate::hook::event::ToolAttempt;
pub use crate::hook::event::ToolCompletion;
pub use crate::hook::kinds as hooks;
pub use crate::plugin::Plugin;
pub use crate::result::IntoToolResult;
pub use crate::result::Output;
pub use crate::tool::Tool;
pub use crate::tool::ToolEntry;
