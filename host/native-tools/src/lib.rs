//! Native tools for an agent that edits code, as an embedder registers them.
//!
//! [`files`] gives `read`, `write`, `edit`, `ls` and `apply_patch`. They are made anew for each run and can reach
//! nothing but the folder that the run names as its workspace, whatever links and `..` a path holds.
//!
//! ```
//! # use airlock_core::{Host, HostBuilder};
//! fn with_file_tools(builder: HostBuilder) -> HostBuilder {
//!     builder.native_tools(airlock_native_tools::files())
//! }
//! ```
//!
//! This crate reads no environment and no home folder. The one use of ambient authority is the opening of a workspace,
//! in `workspace.rs`.

// What every tool stands on.
mod blocking;
mod problem;
mod tool;
mod workspace;

// The files of a workspace.
mod apply_patch;
mod edit;
mod lines;
mod ls;
mod open;
mod patch;
mod read;
mod transaction;
mod write;

// Commands, where there are process groups.
#[cfg(unix)]
mod commands;

#[cfg(test)]
mod hostile;

#[cfg(unix)]
pub use commands::{CommandPolicy, Commands, Confinement, Network};
pub use tool::files;
