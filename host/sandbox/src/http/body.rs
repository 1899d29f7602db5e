//! Bodies, both ways: frames enter, the same bytes leave, as many as the limit lets through. A body that goes on for too
//! long, stands still for too long, or has the value of a secret in it ends with an error, and nothing of the value passes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use airlock_core::Secrets;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::body::HyperOutgoingBody as WasiBody;

use super::attempt::Attempt;
use super::headers::secret_in;

/// Largest body of a request, in bytes: a guest asks for things, and has 64 MiB of memory to do it in.
pub(super) const MAX_REQUEST_BYTES: u64 = 1 << 20;

/// Largest body of a response, in bytes: four times what a result may have, since guests read more than they tell.
pub(super) const MAX_RESPONSE_BYTES: u64 = 4 << 20;

/// Which way a body goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the guest.
    Out,
    /// To the guest.
    In,
}

impl Way {
    pub(super) fn limit(self) -> u64 {
        match self {
            Self::Out => MAX_REQUEST_BYTES,
            Self::In => MAX_RESPONSE_BYTES,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Out => "request",
            Self::In => "response",
        }
    }

    /// What a guest is told about a body that is too large.
    pub(super) fn too_large(self) -> Error {
        match self {
            Self::Out => Error::HttpRequestBodySize(Some(MAX_REQUEST_BYTES)),
            Self::In => Error::HttpResponseBodySize(Some(MAX_RESPONSE_BYTES)),
        }
    }
}

/// A body under all its rules.
pub(super) struct Guarded {
    inner: WasiBody,
    way: Way,
    left: u64,
    scanner: Scanner,
    /// How long it may stand still, and when that is over; a guest's own body may take its time.
    patience: Option<(Duration, Pin<Box<Sleep>>)>,
    attempt: Attempt,
    trailers: Option<HeaderMap>,
    is_over: bool,
    /// Dropped with the body: whatever keeps the bytes coming.
    _source: Option<Box<dyn Send>>,
}

impl Guarded {
    pub(super) fn new(inner: WasiBody, way: Way, secrets: Arc<Secrets>, attempt: Attempt) -> Self {
        Self {
            inner,
            way,
            left: way.limit(),
            scanner: Scanner::new(secrets),
            patience: None,
            attempt,
            trailers: None,
            is_over: false,
            _source: None,
        }
    }

    /// The same body, which may stand still for `patience` and keeps `source` while it lives.
    pub(super) fn fed_by(mut self, source: Box<dyn Send>, patience: Duration) -> Self {
        self.patience = Some((patience, Box::pin(tokio::time::sleep(patience))));
        self._source = Some(source);
        self
    }

    /// What passes of a frame; `None` if nothing does yet.
    fn pass(&mut self, frame: Frame<Bytes>) -> Result<Option<Bytes>, Error> {
        match frame.into_data() {
            Ok(data) => {
                let (size, limit) = (data.len() as u64, self.way.limit());
                let Some(left) = self.left.checked_sub(size) else {
                    let word = self.way.word();
                    self.attempt.note(&format!("the {word} was cut off after {limit} bytes, the limit"));
                    return Err(self.way.too_large());
                };
                self.left = left;
                let passed =
                    self.scanner.pass(&data).map_err(|name| leaked(&self.attempt, self.way, &name))?;
                Ok(Some(passed).filter(|passed| !passed.is_empty()))
            }
            Err(frame) => {
                let trailers = frame.into_trailers().unwrap_or_default();
                if let Some(name) = secret_in(self.scanner.secrets(), &trailers) {
                    return Err(leaked(&self.attempt, self.way, &name));
                }
                self.trailers = Some(trailers);
                Ok(None)
            }
        }
    }

    /// The end with an error: nothing of what was held back passes.
    fn break_off(&mut self, error: Error) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.scanner.forget();
        self.is_over = true;
        Poll::Ready(Some(Err(error)))
    }

    /// The end: what was held back, then the trailers, then nothing.
    fn finish(&mut self) -> Option<Result<Frame<Bytes>, Error>> {
        self.is_over = true;
        match self.scanner.rest() {
            Ok(rest) if rest.is_empty() => self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))),
            Ok(rest) => Some(Ok(Frame::data(rest))),
            Err(name) => {
                self.trailers = None;
                Some(Err(leaked(&self.attempt, self.way, &name)))
            }
        }
    }
}

/// Records that a secret was on its way, and says what the guest is told.
pub(super) fn leaked(attempt: &Attempt, way: Way, name: &str) -> Error {
    let word = way.word();
    attempt.leak(name, &format!("its value was in the {word}, which was cut off there"));
    Error::InternalError(Some(format!(
        "the {word} had the value of the secret `{name}` in it and was cut off"
    )))
}

impl Body for Guarded {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            if self.is_over {
                return Poll::Ready(self.finish());
            }
            match Pin::new(&mut self.inner).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Some((patience, alarm)) = &mut self.patience {
                        alarm.as_mut().reset(Instant::now() + *patience);
                    }
                    match self.pass(frame) {
                        Ok(Some(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                        Ok(None) => {}
                        Err(error) => return self.break_off(error),
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    self.attempt.note(&format!("the {} broke off: {error}", self.way.word()));
                    return self.break_off(error);
                }
                Poll::Ready(None) => return Poll::Ready(self.finish()),
                Poll::Pending => {
                    let Some((patience, alarm)) = &mut self.patience else { return Poll::Pending };
                    if alarm.as_mut().poll(context).is_pending() {
                        return Poll::Pending;
                    }
                    let waited = patience.as_millis();
                    self.attempt.note(&format!("the response stood still for {waited} ms and was cut off"));
                    return self.break_off(Error::ConnectionReadTimeout);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.scanner.is_empty() && self.trailers.is_none() && (self.is_over || self.inner.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        // What is held back comes in addition; only an untouched body has an exact size.
        if self.scanner.is_empty() { self.inner.size_hint() } else { SizeHint::default() }
    }
}

/// Looks for secrets in a stream, whatever its pieces. It holds back what could be the beginning of one.
struct Scanner {
    secrets: Arc<Secrets>,
    held: BytesMut,
    /// Bytes that are held back while more may follow.
    keep: usize,
}

impl Scanner {
    fn new(secrets: Arc<Secrets>) -> Self {
        let keep = secrets.longest_form().saturating_sub(1);
        Self { secrets, held: BytesMut::new(), keep }
    }

    fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// What can pass now; the error is the name of a secret.
    fn pass(&mut self, data: &Bytes) -> Result<Bytes, String> {
        if self.keep == 0 {
            return Ok(data.clone());
        }
        self.held.extend_from_slice(data);
        // Looking only at twice as much as is kept makes the price of one byte the same, however small the pieces are.
        if self.held.len() < self.keep.saturating_mul(2) {
            return Ok(Bytes::new());
        }
        self.look()?;
        let passed = self.held.len().saturating_sub(self.keep);
        Ok(self.held.split_to(passed).freeze())
    }

    /// What was held back, at the end.
    fn rest(&mut self) -> Result<Bytes, String> {
        self.look()?;
        Ok(self.held.split().freeze())
    }

    fn look(&mut self) -> Result<(), String> {
        match self.secrets.found_in(&self.held).map(str::to_owned) {
            Some(name) => {
                self.forget();
                Err(name)
            }
            None => Ok(()),
        }
    }

    fn forget(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_at_every_split_and_nothing_of_it_passes() {
        let value = "token-0123456789";
        let secrets = Arc::new(Secrets::from_values([("token", value)]));
        let text = format!("{}{value}{}", "a".repeat(300), "b".repeat(300));
        for size in 1..text.len() {
            let mut scanner = Scanner::new(Arc::clone(&secrets));
            let mut passed = Vec::new();
            let mut found = None;
            for piece in text.as_bytes().chunks(size) {
                match scanner.pass(&Bytes::copy_from_slice(piece)) {
                    Ok(data) => passed.extend_from_slice(&data),
                    Err(name) => {
                        found = Some(name);
                        break;
                    }
                }
            }
            let found = found.or_else(|| scanner.rest().err());
            assert_eq!(found.as_deref(), Some("token"), "{size}");
            assert!(!passed.contains(&b't'), "{size}: {}", String::from_utf8_lossy(&passed));
        }
    }

    /// What comes out of a body of so many bytes, whose pieces are of another size.
    async fn through(way: Way, bytes: u64) -> Result<u64, Error> {
        use http_body_util::{BodyExt as _, StreamBody};
        let piece = Bytes::from(vec![b'x'; 60_000]);
        let (whole, rest) = (bytes / 60_000, usize::try_from(bytes % 60_000).unwrap());
        let pieces = (0..whole).map(|_| piece.clone()).chain([piece.slice(..rest)]).collect::<Vec<_>>();
        let pieces = pieces.into_iter().map(|piece| Ok(Frame::data(piece)));
        let inner = StreamBody::new(futures_util::stream::iter(pieces)).boxed_unsync();
        let plugin = airlock_core::PluginId::parse("fetch").unwrap();
        let attempt = Attempt::begin(&Arc::default(), &plugin, "GET".to_owned());
        let secrets = Arc::new(Secrets::from_values([("token", "token-0123456789")]));
        let mut body = Guarded::new(inner, way, secrets, attempt);
        let mut passed = 0;
        while let Some(frame) = body.frame().await {
            passed += frame?.into_data().map_or(0, |data| data.len() as u64);
        }
        Ok(passed)
    }

    #[tokio::test]
    async fn sizes_obeyed_and_violated() {
        for way in [Way::Out, Way::In] {
            assert_eq!(through(way, way.limit()).await.unwrap(), way.limit());
            assert!(through(way, way.limit() + 1).await.is_err());
        }
    }

    #[test]
    fn what_has_no_secret_passes_whole() {
        let secrets = Arc::new(Secrets::from_values([("token", "token-0123456789")]));
        for size in [1, 7, 100, 1_000] {
            let text = "token-012345678 ".repeat(100);
            let mut scanner = Scanner::new(Arc::clone(&secrets));
            let mut passed = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                passed.extend_from_slice(&scanner.pass(&Bytes::copy_from_slice(piece)).unwrap());
            }
            passed.extend_from_slice(&scanner.rest().unwrap());
            assert_eq!(String::from_utf8(passed).unwrap(), text);
        }
    }
}
