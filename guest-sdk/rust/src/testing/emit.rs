//! An event enters, what one handler of a plugin answers leaves, through the function that the component exports. It never
//! merges answers and keeps no deadline: the host does.

use crate::Handler;
use crate::HookOutcome;
use crate::Plugin;
use crate::RunContext;
use crate::bindings::exports::airlock::plugin::guest::Guest;
use crate::hooks::Hook;

use super::run_context;

/// Has the handler `H` of the plugin `P` answer an event in [`run_context`], as the host would.
///
/// # Errors
///
/// What the operator would be told: the handler's own error, or that `plugin!` does not list it.
pub fn emit<P: Plugin, H: Handler>(event: <H::Hook as Hook>::Event) -> Result<HookOutcome, String> {
    emit_in::<P, H>(event, Some(run_context()))
}

/// Has the handler `H` of the plugin `P` answer an event in a run of your choice, or in none.
///
/// # Errors
///
/// As [`emit`].
pub fn emit_in<P: Plugin, H: Handler>(
    event: <H::Hook as Hook>::Event,
    run: Option<RunContext>,
) -> Result<HookOutcome, String> {
    let is_it = |entry: &&crate::HandlerEntry| (entry.name(), entry.hook()) == (H::NAME, H::Hook::NAME);
    let place = (0..).zip(P::HOOKS).find(|(_, entry)| is_it(entry));
    let (id, _) = place.ok_or_else(|| {
        format!("the plugin has no handler `{}`: list it in `plugin!(…, hooks: [ … ])`", H::NAME)
    })?;
    <P as Guest>::on_hook(id, H::Hook::write(event), run)
}
