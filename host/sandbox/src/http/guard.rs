//! The one gate for requests of guests: a request enters; it is on its way, or refused with words, and on record either way.
//! Everything that needs no wire is judged here, before anything is looked up.

use std::sync::Arc;
use std::time::Instant;

use airlock_core::{Access, PluginId};
use http::header::CONTENT_LENGTH;
use http::uri::Scheme;
use http::{HeaderName, Request, Response};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody as WasiBody;
use wasmtime_wasi_http::{Error, RequestOptions, WasiHttpHooks};

use super::Failure;
use super::attempt::Attempt;
use super::body::{Way, leaked};
use super::connect::Outbound;
use super::exchange::{Exchange, Times};
use super::headers::{Forbidden, forbidden, secret_in};
use super::target::{shown, target, unreadable};
use crate::state::Meter;

/// Requests of one call, refused ones included: a tool asks a handful of questions, a redirect or two each.
const MAX_REQUESTS: u32 = 16;

/// Bytes of a request's body that a guest hands over at once; the default is the whole of what a body may have.
const BODY_CHUNK_BYTES: usize = 64 << 10;

type Sent = Result<(Response<WasiBody>, Aside), Error>;

/// What goes on beside a request; nothing, since the response's body holds its connection.
type Aside = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// Judges every request of one invocation.
pub(crate) struct Guard {
    outbound: Arc<Outbound>,
    access: Option<Access>,
    meter: Arc<Meter>,
    deadline: Instant,
    forbidden: Forbidden,
    requests: u32,
}

impl Guard {
    pub(super) fn new(
        outbound: Arc<Outbound>,
        access: Option<Access>,
        meter: Arc<Meter>,
        deadline: Instant,
    ) -> Self {
        let forbidden = forbidden(access.as_ref());
        Self { outbound, access, meter, deadline, forbidden, requests: 0 }
    }

    /// Everything that can be said before a name is looked up.
    fn judge(
        &mut self,
        request: &Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Exchange, Error> {
        let Some(access) = self.access.clone() else {
            let text =
                "no request is sent while a plugin registers or makes tools; make it when a tool is called";
            return Err(Error::InternalError(Some(text.to_owned())));
        };
        let (method, uri) = (request.method(), request.uri());
        let read = target(method, uri);
        let words = read.as_ref().map_or_else(|_| unreadable(method, uri), shown);
        let words = access.secrets.masked(&words).into_owned();
        let plugin: &PluginId = access.capabilities.network.plugin();
        let attempt = Attempt::begin(&self.meter, plugin, words);
        self.requests = self.requests.saturating_add(1);
        let judged = self.refusal(&access, request, read, &attempt);
        let target = judged.map_err(|failure| failure.recorded(&attempt))?;
        let times = Times::new(options, self.deadline);
        Ok(Exchange { outbound: Arc::clone(&self.outbound), access, target, times, attempt })
    }

    fn refusal(
        &self,
        access: &Access,
        request: &Request<WasiBody>,
        read: Result<airlock_core::Target, String>,
        attempt: &Attempt,
    ) -> Result<airlock_core::Target, Failure> {
        if self.requests > MAX_REQUESTS {
            let reason = format!("a call may send {MAX_REQUESTS} requests, and this is one more");
            return Err(Failure::refused(Error::ConnectionLimitReached, reason));
        }
        // First of all, since a refusal quotes what it refuses.
        let line = format!("{} {}", request.method(), request.uri());
        let secret = access.secrets.found_in(line.as_bytes()).map(str::to_owned);
        if let Some(name) = secret.or_else(|| secret_in(&access.secrets, request.headers())) {
            return Err(Failure::told(leaked(attempt, Way::Out, &name)));
        }
        let target = read.map_err(|reason| Failure::refused(Error::HttpRequestUriInvalid, reason))?;
        let allowed = access.capabilities.network.allows(&target);
        allowed.map_err(|refusal| Failure::refused(Error::HttpRequestDenied, refusal.to_string()))?;
        if let Some(header) = request.headers().keys().find(|name| (self.forbidden)(name)) {
            let reason = format!("the header `{header}` is the host's to set");
            return Err(Failure::refused(Error::HttpRequestDenied, reason));
        }
        let length = request.headers().get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > Way::Out.limit()) {
            let reason = format!("the request's body is larger than {} bytes, the limit", Way::Out.limit());
            return Err(Failure::refused(Way::Out.too_large(), reason));
        }
        Ok(target)
    }
}

impl WasiHttpHooks for Guard {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        (self.forbidden)(name)
    }

    fn forbidden_header_filter(&mut self) -> wasmtime_wasi_http::ForbiddenHeaderFilter {
        Arc::clone(&self.forbidden)
    }

    fn is_supported_scheme(&mut self, _scheme: &Scheme) -> bool {
        // One that is not is refused with words, and on record.
        true
    }

    fn set_host_header(&mut self) -> bool {
        // It is made from what was judged, not from what was written.
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _received: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let judged = self.judge(&request, options);
        Box::new(async move {
            let response = judged?.run(request).await?;
            Ok((response, Box::new(async { Ok(()) }) as Aside))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_CHUNK_BYTES
    }
}
