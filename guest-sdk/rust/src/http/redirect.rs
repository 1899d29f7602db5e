//! Redirects: a request and the response to it enter, the next request leaves. What could be a credential stays behind when
//! the next one goes to another server.

use super::Request;
use super::Response;

/// Headers that go along to another server. Any other could be a credential.
const GO_ALONG: [&str; 5] = ["accept", "accept-language", "content-language", "content-type", "user-agent"];

/// The request that a redirect asks for, if the response is one.
pub(super) fn next(request: &Request, response: &Response) -> Option<Request> {
    let location = match response.status {
        301 | 302 | 303 | 307 | 308 => response.header("location")?,
        _ => return None,
    };
    let mut next = Request { url: resolve(&request.url, location)?, ..request.clone() };
    if origin(&next.url) != origin(&request.url) {
        next.headers.retain(|(name, _)| GO_ALONG.iter().any(|known| name.eq_ignore_ascii_case(known)));
    }
    // As every browser does, whatever the first specification said.
    let becomes_get = match response.status {
        303 => request.method != "HEAD",
        301 | 302 => request.method == "POST",
        _ => false,
    };
    if becomes_get {
        "GET".clone_into(&mut next.method);
        next.body = None;
        next.headers.retain(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
    }
    Some(next)
}

/// Scheme and authority, in one spelling.
fn origin(url: &str) -> Option<String> {
    let start = url.find("://")? + 3;
    let end = url.get(start..)?.find(['/', '?', '#']).map_or(url.len(), |end| start + end);
    Some(url.get(..end)?.to_ascii_lowercase())
}

/// Where a location leads that was read at `base`.
fn resolve(base: &str, location: &str) -> Option<String> {
    let base = base.split('#').next()?;
    let path = base.get(origin(base)?.len()..)?.split('?').next()?;
    let origin = base.get(..origin(base)?.len())?;
    if location.split(['/', '?', '#']).next()?.contains(':') {
        return Some(location.to_owned());
    }
    Some(if let Some(host) = location.strip_prefix("//") {
        format!("{}://{host}", origin.split("://").next()?)
    } else if location.starts_with('/') {
        format!("{origin}{location}")
    } else if location.starts_with('?') {
        format!("{origin}{path}{location}")
    } else {
        format!("{origin}{}/{location}", path.rsplit_once('/').map_or("", |(folder, _)| folder))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_read_where_it_was_found() {
        let base = "https://a.b:8443/c/d?e=/f/g#h";
        for (location, url) in [
            ("http://x.y/z", "http://x.y/z"),
            ("ftp:x", "ftp:x"),
            ("//x.y/z", "https://x.y/z"),
            ("/z", "https://a.b:8443/z"),
            ("z?t=a:b", "https://a.b:8443/c/z?t=a:b"),
            ("?z", "https://a.b:8443/c/d?z"),
        ] {
            assert_eq!(resolve(base, location).as_deref(), Some(url), "{location}");
        }
        assert_eq!(resolve("https://a.b", "z").as_deref(), Some("https://a.b/z"));
        assert_eq!(resolve("a.b", "z"), None);
    }

    fn redirected(status: u16, method: &str, location: &str) -> Request {
        let request = Request::new(method, "https://A.b/c").body("text").header("Authorization", "x");
        let request = request.header("Accept", "y").header("content-type", "z");
        let headers = vec![("location".to_owned(), location.as_bytes().to_vec())];
        next(&request, &Response { status, headers, ..Response::default() }).unwrap()
    }

    #[test]
    fn what_could_be_a_credential_stays_behind() {
        let names = |request: &Request| {
            request.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&redirected(307, "POST", "/d")), "authorization accept content-type");
        assert_eq!(names(&redirected(307, "POST", "https://a.b/d")), "authorization accept content-type");
        for elsewhere in ["https://x.y/", "http://a.b/", "https://a.b:8443/", "//a.b.c/"] {
            assert_eq!(names(&redirected(307, "POST", elsewhere)), "accept content-type", "{elsewhere}");
        }
    }

    #[test]
    fn a_post_that_was_answered_becomes_a_get() {
        for (status, method, expected) in [
            (301, "POST", "GET"),
            (302, "PUT", "PUT"),
            (303, "PUT", "GET"),
            (303, "HEAD", "HEAD"),
            (307, "POST", "POST"),
            (308, "POST", "POST"),
        ] {
            let request = redirected(status, method, "/d");
            assert_eq!(request.method, expected, "{status} {method}");
            assert_eq!(request.body.is_none(), method != expected, "{status} {method}");
        }
        let other = Response { status: 304, ..Response::default() };
        assert_eq!(next(&Request::get("https://a.b"), &other), None);
    }
}
