//! A plugin enters, what its `register` asked the host for leaves. It never refuses anything, as a host would.

use crate::Exposure;
use crate::Plugin;
use crate::bindings::airlock::plugin::hook_types::HookName;
use crate::bindings::airlock::plugin::hook_types::HookOptions;
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
    #[doc(hidden)]
    pub hooks: Vec<(wit::HandlerId, HookName, HookOptions)>,
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

pub(super) fn of<P: Plugin>() -> Result<Registered, String> {
    // A test may have registered through the bindings before.
    drop(host::take_registered());
    <P as Guest>::register()?;
    Ok(host::take_registered())
}
