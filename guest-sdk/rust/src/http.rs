//! Requests to others: a method and a URL enter, a whole response leaves. It follows redirects only if asked to, and it never
//! sees a secret: the host adds those to the request on its way.
//!
//! ```
//! # use airlock_plugin::prelude::*;
//! use airlock_plugin::http::Request;
//!
//! /// Says what the service says.
//! #[tool]
//! fn status() -> Result<String, ToolError> {
//!     let response = Request::get("https://api.example.org/status").header("accept", "text/plain").send()?;
//!     Ok(response.text()?.to_owned())
//! }
//! # use airlock_plugin::http::{Response, answer_next};
//! # answer_next(Response { status: 200, body: b"fine".to_vec(), ..Response::default() });
//! # assert_eq!(airlock_plugin::testing::call::<status>(Default::default()).unwrap().text(), "fine");
//! ```
//!
//! The manifest says `"permissions": { "network": [{ "host": "api.example.org", "methods": ["GET"] }] }`, and the plugin's
//! operator `network = ["api.example.org"]` among its grants. A call may send 16 requests of 1 MiB, and gets responses of
//! 4 MiB. Natively, in tests, [`answer_next`] says what comes back.

#[cfg(target_arch = "wasm32")]
mod component;
#[cfg(not(target_arch = "wasm32"))]
mod native;
mod redirect;

use std::fmt;

#[cfg(target_arch = "wasm32")]
use component as host;
#[cfg(not(target_arch = "wasm32"))]
use native as host;

#[cfg(not(target_arch = "wasm32"))]
pub use native::answer_next;

use crate::ToolError;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    redirects: u8,
}

/// What came back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// The status, such as 200. The target of a redirect that was not followed is in the header `location`.
    pub status: u16,
    /// The URL that answered, after redirects.
    pub url: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, all of it.
    pub body: Vec<u8>,
}

impl Request {
    /// A request with any method.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self { method: method.into(), url: url.into(), headers: Vec::new(), body: None, redirects: 0 }
    }

    /// A `GET`.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// A `POST` with a body.
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", url).body(body)
    }

    /// Adds a header. Those that route or frame a message are the host's, and so is one that a secret goes into.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Follows so many redirects at most; by default none. Each is a request of its own, which the host judges anew. To
    /// another server only headers go along that cannot be a credential.
    #[must_use]
    pub fn redirects(mut self, most: u8) -> Self {
        self.redirects = most;
        self
    }

    /// Sends it and reads the whole response. A status that speaks of an error is a response too.
    ///
    /// # Errors
    ///
    /// If the host refuses the request, the server cannot be reached, or the response breaks off.
    pub fn send(mut self) -> Result<Response, HttpError> {
        loop {
            let response = host::send(&self)?;
            match redirect::next(&self, &response) {
                Some(next) if self.redirects > 0 => self = Self { redirects: self.redirects - 1, ..next },
                _ => return Ok(Response { url: self.url, ..response }),
            }
        }
    }
}

impl Response {
    /// The body as text.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn text(&self) -> Result<&str, HttpError> {
        std::str::from_utf8(&self.body).map_err(|_| HttpError("the response is no text".to_owned()))
    }

    /// The first header of that name, as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    }
}

/// Scheme, authority and path with query.
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "natively nothing is sent"))]
fn parts(url: &str) -> Result<(&str, &str, &str), HttpError> {
    let problem = || HttpError(format!("`{url}` is no URL; it begins with `https://` and a host"));
    let (scheme, rest) = url.split_once("://").ok_or_else(problem)?;
    let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
    let path = rest.find(['/', '?']).unwrap_or(rest.len());
    match rest.split_at(path) {
        ("", _) => Err(problem()),
        (authority, "") => Ok((scheme, authority, "/")),
        (authority, path) => Ok((scheme, authority, path)),
    }
}

/// Why there is no response, in words for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpError(pub String);

impl fmt::Display for HttpError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for HttpError {}

impl From<HttpError> for ToolError {
    fn from(error: HttpError) -> Self {
        Self::failed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_three_parts() {
        assert_eq!(parts("https://a.b").unwrap(), ("https", "a.b", "/"));
        assert_eq!(parts("http://a.b:1?x=/#y").unwrap(), ("http", "a.b:1", "?x=/"));
        assert_eq!(parts("https://a.b/c/d?e").unwrap(), ("https", "a.b", "/c/d?e"));
        assert!(parts("a.b/c").is_err());
        assert!(parts("https:///c").is_err());
    }

    #[test]
    fn natively_a_test_says_what_comes_back() {
        assert!(Request::get("https://a.b").send().is_err());
        answer_next(Response {
            status: 404,
            headers: vec![("a".to_owned(), b"b".to_vec())],
            ..Response::default()
        });
        let response = Request::post("https://a.b", "x").header("c", "d").send().unwrap();
        assert_eq!((response.status, response.header("A")), (404, Some("b")));
    }
}
