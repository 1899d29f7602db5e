//! Headers: which ones a guest may not set, and where the value of a secret is among them. Nothing is added here.

use std::sync::Arc;

use airlock_core::{Access, Secrets, is_reserved_header};
use http::{HeaderMap, HeaderName};
use wasmtime_wasi_http::DEFAULT_FORBIDDEN_HEADERS;

/// Which headers the guest may neither set nor see.
pub(super) type Forbidden = Arc<dyn Fn(&HeaderName) -> bool + Send + Sync>;

/// The rule for one plugin: a header into which the host puts a secret is the host's.
pub(super) fn forbidden(access: Option<&Access>) -> Forbidden {
    let asked = access.map(|access| access.capabilities.secrets.asked()).unwrap_or_default();
    let of_secrets: Vec<String> = asked.iter().map(|asked| asked.header.to_ascii_lowercase()).collect();
    Arc::new(move |name| {
        DEFAULT_FORBIDDEN_HEADERS.contains(name)
            || is_reserved_header(name.as_str())
            || of_secrets.iter().any(|secret| secret == name.as_str())
    })
}

/// The name of a secret whose value is among the headers.
pub(super) fn secret_in(secrets: &Secrets, headers: &HeaderMap) -> Option<String> {
    let is_in = |(name, value): (&HeaderName, &http::HeaderValue)| {
        secrets.found_in(name.as_str().as_bytes()).or_else(|| secrets.found_in(value.as_bytes()))
    };
    headers.iter().find_map(is_in).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_frames_or_routes_a_message_is_not_the_guests() {
        let rule = forbidden(None);
        for name in
            ["host", "connection", "transfer-encoding", "proxy-authorization", "x-forwarded-for", "via", "te"]
        {
            assert!(rule(&HeaderName::from_static(name)), "{name}");
        }
        for name in ["accept", "authorization", "content-type", "content-length", "user-agent", "cookie"] {
            assert!(!rule(&HeaderName::from_static(name)), "{name}");
        }
    }
}
