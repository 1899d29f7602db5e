//! Airlock's sandbox: WebAssembly components run in Wasmtime, behind the traits of `airlock-core`.
//!
//! A component is *read, audited and compiled* once ([`Sandbox`]); each invocation of it then runs in a *fresh
//! instance* with fuel, deadline, memory and output limits, on worker threads that are not the embedder's.
//! By itself a guest reaches nothing: no environment, no files, no network. What its manifest asks for and its operator
//! grants is handed to each invocation, and lasts as long.
//!
//! No Wasmtime type appears in this crate's public API.

// Discovered → registered: a component file becomes a plugin that can be invoked.
mod audit;
mod cache;
mod compile;
mod engine;
mod sandbox;
mod scan;

// Called → executed: one invocation.
mod invoke;
mod plugin;
mod queue;
mod stop;
mod ticker;
mod workers;

// What a guest can reach.
mod bindings;
mod convert;
mod filesystem;
mod http;
mod key_value;
mod limiter;
mod state;
mod stdio;

pub use http::Resolver;
pub use sandbox::{Sandbox, SandboxConfig, SandboxError, Statistics};
