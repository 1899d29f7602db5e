//! Outgoing HTTP: what a guest says through `wasi:http` enters, requests that its manifest and its operator both want leave.
//! [`guard::Guard`] is the only way out. No plugin reaches an address that is not public without a grant of that address, and
//! none sees a secret.

mod address;
mod attempt;
mod body;
mod connect;
mod credentials;
mod exchange;
mod guard;
mod headers;
mod resolve;
mod target;

use std::sync::Arc;
use std::time::Instant;

use airlock_core::Access;
use wasmtime::component::Linker;
use wasmtime_wasi_http::{Error, WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::state::{Meter, State};
use attempt::Attempt;
use guard::Guard;

pub(crate) use connect::Outbound;
pub use resolve::Resolver;
pub(crate) use resolve::{MAX_LOOKUPS, SystemResolver};

/// Interfaces of `wasi:http` that there are: a plugin calls others, and nobody calls it.
pub(crate) const INTERFACES: [&str; 2] = ["types", "outgoing-handler"];

/// Bytes of headers that a guest may hold for one message, with what holding them costs: servers refuse more than 8 to 16 KiB.
const FIELDS_BYTES: usize = 16 << 10;

/// What an instance needs to make requests; made when it first asks for something of HTTP.
pub(crate) struct Http {
    context: WasiHttpCtx,
    guard: Guard,
}

impl Http {
    pub(crate) fn new(
        outbound: Arc<Outbound>,
        access: Option<Access>,
        meter: Arc<Meter>,
        deadline: Instant,
    ) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(FIELDS_BYTES);
        Self { context, guard: Guard::new(outbound, access, meter, deadline) }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.count_host_call();
        let (http, table) = self.http_parts();
        WasiHttpCtxView { hooks: &mut http.guard, table, ctx: &mut http.context }
    }
}

/// Offers the interfaces. Which component may import them is the audit's business, what it may do with them the guard's.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)
}

/// Why a request came to nothing: what the guest is told, and what the record says.
struct Failure {
    error: Error,
    /// `None` if it is on record already.
    reason: Option<String>,
    is_refusal: bool,
}

impl Failure {
    /// We did not let it through.
    fn refused(error: Error, reason: String) -> Self {
        Self { error, reason: Some(reason), is_refusal: true }
    }

    /// It was let through, and something went wrong.
    fn happened(error: Error, reason: String) -> Self {
        Self { error, reason: Some(reason), is_refusal: false }
    }

    /// It is on record already.
    fn told(error: Error) -> Self {
        Self { error, reason: None, is_refusal: true }
    }

    /// The host is at fault.
    fn internal(reason: &str) -> Self {
        Self::happened(Error::InternalError(None), reason.to_owned())
    }

    /// Puts it on record; what the guest is told is left.
    fn recorded(self, attempt: &Attempt) -> Error {
        match &self.reason {
            Some(reason) if self.is_refusal => attempt.refused(reason),
            Some(reason) => attempt.note(reason),
            None => {}
        }
        self.error
    }
}
