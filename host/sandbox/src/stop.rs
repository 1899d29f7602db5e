//! Why a guest did not return: the engine's error enters, one of core's stops leaves. By type wherever there is one.

use airlock_core::Stop;
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::limiter::MemoryExceeded;
use crate::stdio::CapturedOutput;

/// Where the error came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// While the instance was made.
    Instantiating,
    /// While an export ran.
    Running,
}

/// Longest cause that is passed on, in characters.
const MAX_CAUSE_CHARS: usize = 300;

/// Wasmtime's message for a private error type: the budget of bytes that a guest may make the host copy ran out.
const HOST_CALL_FUEL: &str = "fuel allocated for hostcalls";

pub(crate) fn stop(error: &wasmtime::Error, phase: Phase, stderr: &CapturedOutput) -> Stop {
    if error.downcast_ref::<MemoryExceeded>().is_some() {
        return Stop::OutOfMemory;
    }
    if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
        return Stop::Busy;
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return Stop::OutOfFuel,
        Some(Trap::Interrupt) => return Stop::TimedOut,
        Some(trap) => return Stop::Trapped { cause: trap.to_string(), panic: stderr.panic_message() },
        None => {}
    }
    if error.downcast_ref::<I32Exit>().is_some() {
        return Stop::Trapped {
            cause: "the plugin ended its process instead of returning".to_owned(),
            panic: stderr.panic_message(),
        };
    }
    let cause = airlock_core::text::single_line(&error.root_cause().to_string()).into_owned();
    let cause = airlock_core::text::shorten(&cause, MAX_CAUSE_CHARS).into_owned();
    if cause.contains(HOST_CALL_FUEL) {
        return Stop::OutputTooLarge("more than 4 MiB in one call of the host or in one result".to_owned());
    }
    match (phase, error.downcast_ref::<WasmBacktrace>()) {
        (_, Some(_)) => Stop::Trapped { cause, panic: stderr.panic_message() },
        (Phase::Instantiating, None) => Stop::Mismatched(cause),
        // Without a trap type and outside guest code: a result that the guest encoded wrongly.
        (Phase::Running, None) => Stop::Trapped { cause, panic: None },
    }
}
