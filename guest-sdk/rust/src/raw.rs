//! What a plugin does through the contract's own types, beside the tools and factories of `plugin!`: its hook handlers
//! enter, the registration and the answers leave. It is a seam until the SDK has typed hooks, and not part of its API.

use crate::bindings::airlock::plugin::hook_types::HookEvent;
use crate::bindings::airlock::plugin::hook_types::HookName;
use crate::bindings::airlock::plugin::hook_types::HookOptions;
use crate::bindings::airlock::plugin::hook_types::HookOutcome;
use crate::bindings::airlock::plugin::registry::RegistrationError;
use crate::bindings::airlock::plugin::types::HandlerId;
use crate::bindings::airlock::plugin::types::RunContext;
use crate::host;

/// The type that `plugin!(…, raw: Handlers)` names.
pub trait Raw {
    /// Registers the handlers, after the tools and factories.
    ///
    /// # Errors
    ///
    /// A text for the operator. The plugin as a whole is refused.
    fn register() -> Result<(), String>;

    /// Answers an event.
    ///
    /// # Errors
    ///
    /// A text for the operator: the handler failed.
    fn on_hook(handler: HandlerId, event: HookEvent, run: Option<RunContext>) -> Result<HookOutcome, String>;
}

/// Registers a handler. Natively, [`testing::register`](crate::testing::register) returns it.
///
/// # Errors
///
/// What the host refuses.
pub fn on(handler: HandlerId, hook: HookName, options: HookOptions) -> Result<(), RegistrationError> {
    host::on(handler, hook, options)
}
