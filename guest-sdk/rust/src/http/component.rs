//! Requests in a component: each goes through the host's `wasi:http`, and what came back leaves. It never decides what is
//! allowed.

use super::HttpError;
use super::Request;
use super::Response;
use super::parts;
use crate::bindings::http::wasi::http::outgoing_handler;
use crate::bindings::http::wasi::http::types::ErrorCode;
use crate::bindings::http::wasi::http::types::Fields;
use crate::bindings::http::wasi::http::types::IncomingBody;
use crate::bindings::http::wasi::http::types::IncomingResponse;
use crate::bindings::http::wasi::http::types::Method;
use crate::bindings::http::wasi::http::types::OutgoingBody;
use crate::bindings::http::wasi::http::types::OutgoingRequest;
use crate::bindings::http::wasi::http::types::Scheme;
use crate::bindings::http::wasi::io::streams::StreamError;

/// Bytes that are read at once.
const READ_BYTES: u64 = 64 << 10;

/// Bytes that one call of the stream writes: what `blocking-write-and-flush` takes.
const WRITE_BYTES: usize = 4_096;

pub(super) fn send(request: &Request) -> Result<Response, HttpError> {
    let (scheme, authority, path) = parts(&request.url)?;
    let fields = Fields::new();
    for (name, value) in &request.headers {
        fields
            .append(name, value.as_bytes())
            .map_err(|error| HttpError(format!("the header `{name}` cannot be set: {error:?}")))?;
    }
    let outgoing = OutgoingRequest::new(fields);
    let scheme = match scheme {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        other => Scheme::Other(other.to_owned()),
    };
    let wrong = |what: &str| HttpError(format!("`{}` has no {what} that can be sent", request.url));
    outgoing.set_method(&method(&request.method)).map_err(|()| wrong("method"))?;
    outgoing.set_scheme(Some(&scheme)).map_err(|()| wrong("scheme"))?;
    outgoing.set_authority(Some(authority)).map_err(|()| wrong("host"))?;
    outgoing.set_path_with_query(Some(path)).map_err(|()| wrong("path"))?;
    let body = request.body.as_ref().map(|bytes| (outgoing.body(), bytes));
    let answer = outgoing_handler::handle(outgoing, None).map_err(|code| told(&code))?;
    // A server that refuses may close before it has read everything: what it says counts more than that writing failed.
    let written = match body {
        Some((Ok(body), bytes)) => write(body, bytes),
        Some((Err(()), _)) => Err(wrong("body")),
        None => Ok(()),
    };
    answer.subscribe().block();
    match answer.get() {
        Some(Ok(Ok(response))) => read(&response),
        Some(Ok(Err(code))) => Err(told(&code)),
        _ => Err(written.err().unwrap_or_else(|| HttpError("the host gave no response".to_owned()))),
    }
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), HttpError> {
    let broken = |error: StreamError| HttpError(format!("the request's body cannot be sent: {error:?}"));
    let stream = body.write().map_err(|()| HttpError("the request's body cannot be sent".to_owned()))?;
    for chunk in bytes.chunks(WRITE_BYTES) {
        stream.blocking_write_and_flush(chunk).map_err(broken)?;
    }
    drop(stream);
    OutgoingBody::finish(body, None).map_err(|code| told(&code))
}

fn read(response: &IncomingResponse) -> Result<Response, HttpError> {
    let (status, headers) = (response.status(), response.headers().entries());
    let broken = |what: String| HttpError(format!("the response broke off: {what}"));
    let incoming = response.consume().map_err(|()| broken("it has no body".to_owned()))?;
    let stream = incoming.stream().map_err(|()| broken("its body cannot be read".to_owned()))?;
    let mut body = Vec::new();
    loop {
        match stream.blocking_read(READ_BYTES) {
            Ok(bytes) => body.extend_from_slice(&bytes),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => return Err(broken(error.to_debug_string())),
        }
    }
    drop(stream);
    drop(IncomingBody::finish(incoming));
    Ok(Response { status, headers, body, ..Response::default() })
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        other => Method::Other(other.to_owned()),
    }
}

/// What a code of the interface means to a model.
fn told(code: &ErrorCode) -> HttpError {
    let text = match code {
        ErrorCode::HttpRequestDenied => {
            "the host refused the request: this plugin's manifest or its operator's grants do not have this host with this \
             method, or a header is not the plugin's to set; the call's receipt says which"
        }
        ErrorCode::DestinationIpProhibited => {
            "the host refused the request: its host has an address that is not public; the call's receipt says which"
        }
        ErrorCode::HttpRequestUriInvalid => {
            "the host refused the request: its URL can be read in more than one way; the call's receipt says why"
        }
        ErrorCode::ConnectionLimitReached => "the host refused the request: a call may not send so many",
        ErrorCode::HttpRequestBodySize(_) => "the request's body is larger than a call may send",
        ErrorCode::HttpResponseBodySize(_) => {
            "the response is larger than a call may receive; ask for less at a time"
        }
        ErrorCode::InternalError(Some(text)) => text,
        other => return HttpError(format!("the request failed: {other:?}")),
    };
    HttpError(text.to_owned())
}
