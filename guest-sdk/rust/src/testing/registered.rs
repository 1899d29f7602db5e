//! A plugin enters, what its `register` asked the host for leaves. It never refuses anything, as a host would.

use crate::Exposure;
use crate::HookName;
use crate::Plugin;
use crate::bindings::airlock::plugin::types as wit;
use crate::bindings::exports::airlock::plugin::guest::Guest;
use crate::host;

/// What a plugin registered, in order.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Registered {
    /// The tools for every run.
    pub tools: Vec<(wit::Tool, Exposure)>,
    /// The factories.
    pub factories: Vec<RegisteredFactory>,
    /// The hook handlers.
    pub handlers: Vec<RegisteredHandler>,
}

/// A factory as the host knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RegisteredFactory {
    /// Its place in `plugin!`, from 0.
    pub id: wit::FactoryId,
    /// The names of the tools that it may return.
    pub names: Vec<String>,
    /// Whether an operator must name the tools before a run can have them.
    pub exposure: Exposure,
}

/// A hook handler as the host knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RegisteredHandler {
    /// Its place in `plugin!`, from 0.
    pub id: wit::HandlerId,
    /// Which hook it handles.
    pub hook: HookName,
    /// Higher runs earlier.
    pub priority: i32,
    /// What it asks for, if it is less than the hook's default.
    pub timeout_ms: Option<u32>,
    /// The tools that it is limited to; none means every tool that it may see.
    pub tools: Vec<String>,
}

pub(super) fn of<P: Plugin>() -> Result<Registered, String> {
    // A test may have registered through the bindings before.
    drop(host::take_registered());
    <P as Guest>::register()?;
    Ok(host::take_registered())
}
