//! Where a request goes: what a guest wrote enters, a scheme, one host, a port and a method leave. A host has one spelling
//! afterwards, and what could be read in two ways is refused. It decides nothing about grants.

use airlock_core::{Endpoint, Target, text};
use http::uri::{Parts, PathAndQuery};
use http::{Method, Uri};

/// Longest path with query, in bytes: servers refuse longer ones, most at 8 KiB.
const MAX_PATH_BYTES: usize = 8 << 10;

/// Longest method, in bytes: no registered one has more than 17, and each of a manifest's has fewer.
const MAX_METHOD_BYTES: usize = 20;

/// Longest part of an address that nobody could read as one, in characters of a record.
const MAX_SHOWN_CHARS: usize = 100;

/// Reads where a request goes.
///
/// # Errors
/// What is wrong with it, for people.
pub(super) fn target(method: &Method, uri: &Uri) -> Result<Target, String> {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    if authority.contains('@') {
        return Err(
            "the URL has a user or a password before its host; send credentials in a header".to_owned()
        );
    }
    if authority.contains('*') {
        return Err("a `*` is no part of a host's name".to_owned());
    }
    let scheme = uri.scheme_str().unwrap_or("https");
    let Endpoint { scheme, host, port } = Endpoint::parse(&format!("{scheme}://{authority}"))?;
    if host.address().is_none() && is_number(host.as_str()) {
        return Err(format!(
            "`{host}` is an address in another spelling than four decimal numbers; write it plainly"
        ));
    }
    if method.as_str().len() > MAX_METHOD_BYTES {
        return Err(format!(
            "the method has {} bytes, the limit is {MAX_METHOD_BYTES}",
            method.as_str().len()
        ));
    }
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    if path > MAX_PATH_BYTES {
        return Err(format!("the path has {path} bytes, the limit is {MAX_PATH_BYTES}"));
    }
    Ok(Target { scheme, host, port, method: method.as_str().to_owned() })
}

/// Whether a resolver could take the name for an address, such as `2130706433`, `0x7f.1` or `127.1`: its last label is a
/// number. No top-level domain is.
fn is_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_hexadecimal =
        last.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_hexadecimal || !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
}

/// The target for records: without path, query and user, and with its port.
pub(super) fn shown(target: &Target) -> String {
    let Target { scheme, host, port, method } = target;
    let (scheme, host) = (scheme.as_str(), host.as_str());
    if host.contains(':') {
        format!("{method} {scheme}://[{host}]:{port}")
    } else {
        format!("{method} {scheme}://{host}:{port}")
    }
}

/// What stands for a target that nobody can read.
pub(super) fn unreadable(method: &Method, uri: &Uri) -> String {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let scheme = uri.scheme_str().unwrap_or("https");
    let whole = format!("{method} {scheme}://{host}");
    text::shorten(&text::single_line(&whole), MAX_SHOWN_CHARS).into_owned()
}

/// What the `host` header has to say.
pub(super) fn host_header(target: &Target) -> String {
    let host = target.host.as_str();
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    if target.port == target.scheme.default_port() { host } else { format!("{host}:{}", target.port) }
}

/// What stands in the request's first line: a path, so that no server takes the request for one to another host.
pub(super) fn origin_form(uri: &Uri) -> Uri {
    let mut parts = Parts::default();
    let path = uri.path_and_query().cloned();
    parts.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    Uri::from_parts(parts).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(uri: &str) -> Result<String, String> {
        let uri: Uri = uri.parse().map_err(|error| format!("{error}"))?;
        target(&Method::GET, &uri).map(|target| shown(&target))
    }

    #[test]
    fn a_host_has_one_spelling() {
        for (written, target) in [
            ("https://api.example.org/a?b=c", "GET https://api.example.org:443"),
            ("http://API.Example.ORG.:8080/", "GET http://api.example.org:8080"),
            ("https://127.0.0.1/", "GET https://127.0.0.1:443"),
            ("http://[::1]:81/", "GET http://[::1]:81"),
            ("http://[0:0::0:1]/", "GET http://[::1]:80"),
        ] {
            assert_eq!(read(written).as_deref(), Ok(target), "{written}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        for refused in [
            "https://user@api.example.org/",
            "https://user:password@api.example.org/",
            "http://api.example.org@127.0.0.1/",
            "http://api.example.org.@127.0.0.1/",
            "http://2130706433/",
            "http://017700000001/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://0177.0.0.1/",
            "http://127.0.0.0x1/",
            "http://127.0.0.1./x.1",
            "http://*.example.org/",
            "http://a..b/",
            "http://a.b:0/",
            "http://a.b:99999/",
            "http://a_b/",
            "http://[fe80::1%25eth0]/",
            "http://%61pi.example.org/",
            "ftp://api.example.org/",
            "/relative",
            &format!("https://a.b/{}", "x".repeat(MAX_PATH_BYTES)),
        ] {
            // A trailing dot is dropped from an address as well, and that one is plain.
            let allowed = refused == "http://127.0.0.1./x.1";
            assert_eq!(read(refused).is_ok(), allowed, "{refused}: {:?}", read(refused));
        }
    }

    #[test]
    fn records_have_no_path_and_no_user() {
        let uri: Uri = "https://user:word@a_b.example.org/path?query".parse().unwrap();
        assert_eq!(unreadable(&Method::GET, &uri), "GET https://a_b.example.org");
    }
}
