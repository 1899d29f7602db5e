//! A URL enters, what its server says leaves. It follows redirects only as often as it is asked to, each as a request of its
//! own, and it never sees the token that its host adds for the service.

use std::collections::BTreeMap;

use airlock_plugin::http::Request;
use airlock_plugin::prelude::*;

/// Redirects of one call, at most: a call may send 16 requests.
const MAX_REDIRECTS: u8 = 10;

#[arguments]
struct Wanted {
    /// The URL, with `https://` and a host.
    url: String,
    /// `GET` by default.
    method: Option<String>,
    /// Headers to send.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// A text to send.
    body: Option<String>,
    /// How many redirects to follow; none by default.
    #[serde(default)]
    redirects: u8,
}

#[details]
struct Answer {
    /// The status.
    status: u16,
    /// The URL that answered, after redirects.
    url: String,
    /// The size of the body in bytes.
    bytes: usize,
}

/// Requests a URL and returns its status and text.
#[tool(title = "Fetch a URL")]
fn fetch(wanted: Wanted) -> Result<Output<Answer>, ToolError> {
    let method = wanted.method.unwrap_or_else(|| "GET".to_owned());
    let mut request = Request::new(method, wanted.url).redirects(wanted.redirects.min(MAX_REDIRECTS));
    for (name, value) in wanted.headers {
        request = request.header(name, value);
    }
    if let Some(body) = wanted.body {
        request = request.body(body);
    }
    let response = request.send()?;
    let text = format!("{}\n{}", response.status, response.text()?);
    Ok(Output::new(text, Answer { status: response.status, bytes: response.body.len(), url: response.url }))
}

plugin!(tools: [fetch]);

#[cfg(test)]
mod tests {
    use airlock_plugin::http::Response;
    use airlock_plugin::http::answer_next;
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn a_redirect_is_followed_only_when_asked() {
        let redirect = || Response {
            status: 302,
            headers: vec![("location".to_owned(), b"/b".to_vec())],
            ..Response::default()
        };
        answer_next(redirect());
        let result = testing::call::<fetch>(json!({ "url": "https://api.example.org/a" })).unwrap();
        assert_eq!(result.text(), "302\n");
        answer_next(redirect());
        answer_next(Response { status: 200, body: b"here".to_vec(), ..Response::default() });
        let arguments = json!({ "url": "https://api.example.org/a", "redirects": 1 });
        let result = testing::call::<fetch>(arguments).unwrap();
        assert_eq!(result.text(), "200\nhere");
        assert_eq!(result.json_details().unwrap()["url"], "https://api.example.org/b");
    }
}
