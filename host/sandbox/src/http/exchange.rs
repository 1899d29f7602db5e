//! One request on the wire: a request that was let through by its target enters; a response under all rules leaves. Each has a
//! connection of its own, so that no plugin writes on another's. It follows no redirect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use airlock_core::{Access, Target};
use http::header::{CONTENT_LENGTH, HOST, HeaderValue};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::p2::body::HyperOutgoingBody as WasiBody;
use wasmtime_wasi_http::{Error, RequestOptions};

use super::Failure;
use super::attempt::Attempt;
use super::body::{Guarded, MAX_RESPONSE_BYTES, Way, leaked};
use super::connect::Outbound;
use super::credentials;
use super::headers::secret_in;
use super::target::{host_header, origin_form};

/// Bytes of a response's headers, all together: servers and proxies send at most 8 to 16 KiB.
const MAX_HEADER_BYTES: usize = 32 << 10;

/// Headers of one response: a page of a large site has about forty.
const MAX_HEADERS: usize = 128;

/// Longest wait for a connection, lookup and TLS included: a lost packet is sent again after one, three and seven seconds.
const MAX_CONNECT: Duration = Duration::from_secs(10);

/// Longest wait for a response to begin: as long as a call has by default.
const MAX_FIRST_BYTE: Duration = Duration::from_secs(30);

/// Longest time that a response may stand still.
const MAX_BETWEEN_BYTES: Duration = Duration::from_secs(10);

/// How long each step may take: what the guest wants, within what we allow, within what the call has left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    connect: Duration,
    first_byte: Duration,
    between_bytes: Duration,
}

impl Times {
    pub(super) fn new(options: Option<RequestOptions>, deadline: Instant) -> Self {
        let left = deadline.saturating_duration_since(Instant::now());
        let options = options.unwrap_or_default();
        let within = |wanted: Option<Duration>, most: Duration| wanted.unwrap_or(most).min(most).min(left);
        Self {
            connect: within(options.connect_timeout, MAX_CONNECT),
            first_byte: within(options.first_byte_timeout, MAX_FIRST_BYTE),
            between_bytes: within(options.between_bytes_timeout, MAX_BETWEEN_BYTES),
        }
    }
}

/// Everything that a request needs once it left the store.
pub(super) struct Exchange {
    pub(super) outbound: Arc<Outbound>,
    pub(super) access: Access,
    pub(super) target: Target,
    pub(super) times: Times,
    pub(super) attempt: Attempt,
}

impl Exchange {
    pub(super) async fn run(self, request: Request<WasiBody>) -> Result<Response<WasiBody>, Error> {
        match self.sent(request).await {
            Ok(response) => Ok(response),
            Err(failure) => Err(failure.recorded(&self.attempt)),
        }
    }

    async fn sent(&self, request: Request<WasiBody>) -> Result<Response<WasiBody>, Failure> {
        let network = &self.access.capabilities.network;
        let connecting = self.outbound.connect(&self.target, network);
        let connection = match tokio::time::timeout(self.times.connect, connecting).await {
            Ok(connected) => connected?,
            Err(_) => {
                let waited = self.times.connect.as_millis();
                let reason = format!("no connection to `{}` within {waited} ms", self.target.host);
                return Err(Failure::happened(Error::ConnectionTimeout, reason));
            }
        };
        let (mut head, body) = request.into_parts();
        head.uri = origin_form(&head.uri);
        let host = HeaderValue::from_str(&host_header(&self.target));
        head.headers.insert(HOST, host.map_err(|_| Failure::internal("the host is no header"))?);
        let is_granted = connection.is_granted_address;
        let has_secret =
            credentials::add(&mut head.headers, &self.access, &self.target, is_granted, &self.attempt);
        let secrets = Arc::clone(&self.access.secrets);
        let body = Guarded::new(body, Way::Out, secrets, self.attempt.clone());

        let exchange = async {
            let mut client = http1::Builder::new();
            client.max_buf_size(MAX_HEADER_BYTES).max_headers(MAX_HEADERS);
            let (mut sender, connection) = client.handshake(TokioIo::new(connection.stream)).await?;
            // Ends when the response's body is dropped, or this future.
            let connection = wasmtime_wasi::runtime::spawn(async move {
                // What goes wrong is told to whoever reads the body.
                let _ = connection.await;
            });
            let response = sender.send_request(Request::from_parts(head, body)).await?;
            Ok((response, Box::new((sender, connection))))
        };
        let (response, source) = match tokio::time::timeout(self.times.first_byte, exchange).await {
            Ok(answered) => answered.map_err(|error| failure(&error))?,
            Err(_) => {
                let waited = self.times.first_byte.as_millis();
                let reason = format!("`{}` did not answer within {waited} ms", self.target.host);
                return Err(Failure::happened(Error::ConnectionReadTimeout, reason));
            }
        };
        let (head, body) = response.into_parts();
        self.judge(&head.headers, has_secret)?;
        let body = body.map_err(Error::Hyper).boxed_unsync();
        let body = Guarded::new(body, Way::In, Arc::clone(&self.access.secrets), self.attempt.clone())
            .fed_by(source, self.times.between_bytes);
        Ok(Response::from_parts(head, body.boxed_unsync()))
    }

    /// Refuses a response before its body, if its headers say enough.
    fn judge(&self, headers: &http::HeaderMap, has_secret: bool) -> Result<(), Failure> {
        if let Some(name) = secret_in(&self.access.secrets, headers) {
            return Err(Failure::told(leaked(&self.attempt, Way::In, &name)));
        }
        if has_secret && credentials::is_opaque(headers) {
            let reason = "the answer is compressed although plain text was asked for; with a secret in the request, only \
                          what can be looked through is let in";
            return Err(Failure::refused(Error::HttpResponseContentCoding(None), reason.to_owned()));
        }
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        match length {
            Some(length) if length > MAX_RESPONSE_BYTES => {
                let reason = format!("the response has {length} bytes, the limit is {MAX_RESPONSE_BYTES}");
                Err(Failure::happened(Error::HttpResponseBodySize(Some(length)), reason))
            }
            _ => Ok(()),
        }
    }
}

/// What hyper says, in the words of the interface.
fn failure(error: &hyper::Error) -> Failure {
    use std::error::Error as _;
    if error.is_parse_too_large() {
        let reason = format!(
            "the response has more than {MAX_HEADERS} headers, or more than {MAX_HEADER_BYTES} bytes of them"
        );
        return Failure::happened(Error::HttpResponseHeaderSectionSize(None), reason);
    }
    // The request's own body failed; what was wrong with it is on record.
    match error.source().and_then(|source| source.downcast_ref::<Error>()) {
        Some(Error::HttpRequestBodySize(size)) => {
            return Failure::told(Error::HttpRequestBodySize(*size));
        }
        Some(Error::InternalError(text)) => return Failure::told(Error::InternalError(text.clone())),
        _ => {}
    }
    if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        return Failure::happened(Error::ConnectionTerminated, "the server closed the connection".to_owned());
    }
    Failure::happened(Error::HttpProtocolError, format!("the response is no HTTP/1.1: {error}"))
}
