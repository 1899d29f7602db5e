//! Requests of plugins: what manifest and grants both have gets out, nothing else does, and every attempt is on record. A
//! server does what it likes, and the call ends within its limits.

use std::time::{Duration, Instant};

use airlock_core::{AuditKind, Call, CallKind, Config, Limits, Outcome, RunContext};
use serde_json::{Value, json};

use crate::support::{call, end, text};
use crate::web::{Server, Web, web};

/// Calls the tool `fetch` and gives its outcome.
async fn fetch(web: &Web, arguments: Value) -> Outcome {
    call(&web.surface, "fetch", &arguments.to_string()).await
}

/// The last thing that the plugin reached for: target, whether it was let through, and what was said.
fn reached(outcome: &Outcome) -> (String, bool, String) {
    let last = outcome.receipt.reached.last().unwrap_or_else(|| panic!("nothing reached: {}", end(outcome)));
    (last.target.clone(), last.allowed, last.reason.clone().unwrap_or_default())
}

/// A plugin that may call the server by the name `api.example.test` and by its address.
async fn granted(server: &Server) -> Web {
    let port = server.port;
    let permissions = json!({ "network": [
        { "host": format!("http://api.example.test:{port}"), "methods": ["GET", "POST"] },
        { "host": format!("http://127.0.0.1:{port}"), "methods": ["GET", "POST"] },
    ] });
    let grants = format!("network = [\"http://api.example.test:{port}\", \"http://127.0.0.1:{port}\"]");
    let web = web("fetch", &permissions, &grants, &[], |builder| builder).await;
    web.names.set("api.example.test", &[&["127.0.0.1"]]);
    web
}

#[tokio::test(flavor = "multi_thread")]
async fn what_both_have_is_let_through_and_on_record() {
    let server = Server::start();
    let (web, port) = (granted(&server).await, server.port);
    let outcome = fetch(&web, json!({ "url": format!("http://api.example.test:{port}/ok?secret=1") })).await;
    assert_eq!(text(&outcome), "200\nhello", "{}", end(&outcome));
    assert_eq!(reached(&outcome), (format!("GET http://api.example.test:{port}"), true, String::new()));
    let seen = server.seen();
    assert_eq!(seen[0].line, "GET /ok?secret=1 HTTP/1.1");
    assert_eq!(seen[0].header("host"), format!("api.example.test:{port}"));

    let outcome = fetch(
        &web,
        json!({ "url": format!("http://127.0.0.1:{port}/echo"), "method": "POST", "body": "wörds" }),
    )
    .await;
    assert_eq!(text(&outcome), "200\nwörds", "{}", end(&outcome));
    let rows: Vec<String> = web.store.rows().into_iter().map(|row| row.body).collect();
    assert!(rows.iter().any(|body| body.contains(&format!("POST http://127.0.0.1:{port}"))), "{rows:?}");
    assert!(!rows.iter().any(|body| body.contains("\"reached\"") && body.contains("/echo\",\"allowed")));
}

/// Where a request may go, as a URL and what its name stands for, and what is said if it may not.
struct Row {
    url: &'static str,
    addresses: &'static [&'static str],
    refused: Option<&'static str>,
}

const fn refused(url: &'static str, addresses: &'static [&'static str], said: &'static str) -> Row {
    Row { url, addresses, refused: Some(said) }
}

const fn allowed(url: &'static str, addresses: &'static [&'static str]) -> Row {
    Row { url, addresses, refused: None }
}

/// The server listens at `PORT`. Granted are `api.example.test`, `*.wild.test` and `127.0.0.1`, all over http at that port.
const ROWS: &[Row] = &[
    allowed("http://api.example.test:PORT/ok", &["127.0.0.1"]),
    allowed("http://API.Example.TEST:PORT/ok", &["127.0.0.1"]),
    allowed("http://api.example.test.:PORT/ok", &["127.0.0.1"]),
    allowed("http://a.wild.test:PORT/ok", &["127.0.0.1"]),
    allowed("http://a.b.wild.test:PORT/ok", &["127.0.0.1"]),
    allowed("http://127.0.0.1:PORT/ok", &[]),
    // The granted address in IPv6's clothes is the granted address.
    allowed("http://api.example.test:PORT/ok", &["::ffff:127.0.0.1"]),
    // Scheme, port, host and method.
    refused("https://api.example.test:PORT/ok", &["127.0.0.1"], "does not ask for GET requests to"),
    refused("http://api.example.test/ok", &["127.0.0.1"], "does not ask for"),
    refused("http://api.example.test:1/ok", &["127.0.0.1"], "does not ask for"),
    refused("http://api.example.test:0/ok", &["127.0.0.1"], "is not a port"),
    refused("http://wild.test:PORT/ok", &["127.0.0.1"], "does not ask for"),
    refused("http://awild.test:PORT/ok", &["127.0.0.1"], "does not ask for"),
    refused("http://api.example.test.evil.test:PORT/ok", &["127.0.0.1"], "does not ask for"),
    refused("http://evil-api.example.test:PORT/ok", &["127.0.0.1"], "does not ask for"),
    refused("http://ungranted.test:PORT/ok", &["127.0.0.1"], "nobody granted `fetch` requests to"),
    refused("http://localhost:PORT/ok", &["127.0.0.1"], "does not ask for"),
    refused("ftp://api.example.test:PORT/ok", &["127.0.0.1"], "is none of `https` and `http`"),
    refused("http://[0:0::0:1]:PORT/ok", &[], "does not ask for"),
    refused("file://api.example.test/etc/passwd", &[], "is none of `https` and `http`"),
    // Who is the host here?
    refused("http://user@api.example.test:PORT/ok", &["127.0.0.1"], "a user or a password"),
    refused("http://user:word@api.example.test:PORT/ok", &["127.0.0.1"], "a user or a password"),
    refused("http://api.example.test@127.0.0.1:PORT/ok", &[], "a user or a password"),
    refused("http://api.example.test.@127.0.0.1:PORT/ok", &[], "a user or a password"),
    refused("http://*.wild.test:PORT/ok", &["127.0.0.1"], "is no part of a host's name"),
    refused("http://api..example.test:PORT/ok", &["127.0.0.1"], "is not a host"),
    refused("http://api_example.test:PORT/ok", &["127.0.0.1"], "is not a host"),
    // Other spellings of 127.0.0.1.
    refused("http://2130706433:PORT/ok", &["127.0.0.1"], "another spelling"),
    refused("http://0x7f000001:PORT/ok", &["127.0.0.1"], "another spelling"),
    refused("http://0x7f.1:PORT/ok", &["127.0.0.1"], "another spelling"),
    refused("http://127.1:PORT/ok", &["127.0.0.1"], "another spelling"),
    refused("http://0177.0.0.1:PORT/ok", &["127.0.0.1"], "another spelling"),
    refused("http://017700000001:PORT/ok", &["127.0.0.1"], "another spelling"),
    refused("http://[::1]:PORT/ok", &[], "does not ask for"),
    refused("http://[::ffff:127.0.0.1]:PORT/ok", &[], "does not ask for"),
    refused("http://0.0.0.0:PORT/ok", &[], "does not ask for"),
    refused("http://169.254.169.254:PORT/latest/meta-data/", &[], "does not ask for"),
    // A name that is granted, and what it can stand for.
    refused("http://api.example.test:PORT/ok", &["127.0.0.2"], "127.0.0.2, which is loopback"),
    refused("http://api.example.test:PORT/ok", &["0.0.0.0"], "which is unspecified"),
    refused("http://api.example.test:PORT/ok", &["10.0.0.1"], "which is private"),
    refused("http://api.example.test:PORT/ok", &["172.31.255.255"], "which is private"),
    refused("http://api.example.test:PORT/ok", &["192.168.0.1"], "which is private"),
    refused("http://api.example.test:PORT/ok", &["169.254.169.254"], "which is link-local"),
    refused("http://api.example.test:PORT/ok", &["100.64.0.1"], "which is shared by a provider"),
    refused("http://api.example.test:PORT/ok", &["192.0.2.1"], "which is for documentation"),
    refused("http://api.example.test:PORT/ok", &["224.0.0.1"], "which is multicast"),
    refused("http://api.example.test:PORT/ok", &["255.255.255.255"], "which is broadcast"),
    refused("http://api.example.test:PORT/ok", &["240.0.0.1"], "which is reserved"),
    refused("http://api.example.test:PORT/ok", &["198.18.0.1"], "which is reserved"),
    refused("http://api.example.test:PORT/ok", &["::"], "which is unspecified"),
    refused("http://api.example.test:PORT/ok", &["::1"], "which is loopback"),
    refused("http://api.example.test:PORT/ok", &["::ffff:169.254.169.254"], "which is link-local"),
    refused("http://api.example.test:PORT/ok", &["::ffff:10.0.0.1"], "which is private"),
    refused("http://api.example.test:PORT/ok", &["::127.0.0.1"], "which is loopback"),
    refused("http://api.example.test:PORT/ok", &["64:ff9b::7f00:1"], "which is loopback"),
    refused("http://api.example.test:PORT/ok", &["2002:7f00:1::"], "which is loopback"),
    refused("http://api.example.test:PORT/ok", &["2001:0:a00:1::1"], "which is private"),
    refused("http://api.example.test:PORT/ok", &["fe80::1"], "which is link-local"),
    refused("http://api.example.test:PORT/ok", &["fd00::1"], "which is private"),
    refused("http://api.example.test:PORT/ok", &["ff02::1"], "which is multicast"),
    refused("http://api.example.test:PORT/ok", &["2001:db8::1"], "which is for documentation"),
    // One forbidden address among others spoils them all, whatever stands first.
    refused("http://api.example.test:PORT/ok", &["127.0.0.1", "10.0.0.1"], "which is private"),
    refused("http://api.example.test:PORT/ok", &["10.0.0.1", "127.0.0.1"], "which is private"),
];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_forbidden_is_reached_and_everything_allowed_is() {
    let server = Server::start();
    let port = server.port;
    let get = |host: &str| json!({ "host": format!("http://{host}:{port}"), "methods": ["GET"] });
    let permissions = json!({ "network": [
        get("api.example.test"), get("*.wild.test"), get("127.0.0.1"), get("ungranted.test"),
    ] });
    let grants = format!(
        "network = [\"http://api.example.test:{port}\", \"http://*.wild.test:{port}\", \"http://127.0.0.1:{port}\"]"
    );
    let web = web("fetch", &permissions, &grants, &[], |builder| builder).await;
    let (mut accepted, mut kept_out) = (0, 0);
    for row in ROWS {
        let url = row.url.replace("PORT", &port.to_string());
        let host = url.split(['/', ':', '@']).rfind(|part| part.contains("test")).unwrap_or("");
        web.names.set(host.to_ascii_lowercase().trim_end_matches('.'), &[row.addresses]);
        let before = server.seen().len();
        let outcome = fetch(&web, json!({ "url": url })).await;
        let (target, is_allowed, said) = reached(&outcome);
        assert_eq!(is_allowed, row.refused.is_none(), "{url} {:?}: {said}", row.addresses);
        assert!(!target.contains("/ok") && !target.contains("user"), "{target}");
        match row.refused {
            None => {
                assert_eq!(text(&outcome), "200\nhello", "{url}: {}", end(&outcome));
                accepted += 1;
            }
            Some(expected) => {
                assert!(said.contains(expected), "{url} {:?}: {said}", row.addresses);
                assert_eq!(outcome.kind, CallKind::Failed, "{url}: {}", end(&outcome));
                assert_eq!(server.seen().len(), before, "{url} {:?} reached the server", row.addresses);
                kept_out += 1;
            }
        }
    }
    let methods =
        fetch(&web, json!({ "url": format!("http://127.0.0.1:{port}/ok"), "method": "DELETE" })).await;
    assert!(reached(&methods).2.contains("does not ask for DELETE requests"), "{:?}", reached(&methods));
    assert_eq!((accepted, kept_out, server.seen().len()), (7, ROWS.len() - 7, 7));
    assert!(ROWS.len() >= 60);
    eprintln!("{accepted} allowed and reached, {kept_out} forbidden and refused, 0 forbidden reached");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_looked_up_once_and_never_again_before_the_connection() {
    let server = Server::start();
    let web = granted(&server).await;
    // First the address that is judged, then another one for whoever asks twice.
    web.names.set("api.example.test", &[&["127.0.0.1"], &["10.0.0.1"]]);
    let url = format!("http://api.example.test:{}/ok", server.port);
    let outcome = fetch(&web, json!({ "url": url })).await;
    assert_eq!(text(&outcome), "200\nhello", "{}", end(&outcome));
    assert_eq!(web.names.asked(), ["api.example.test"]);
    let outcome = fetch(&web, json!({ "url": url })).await;
    assert!(reached(&outcome).2.contains("10.0.0.1, which is private"), "{:?}", reached(&outcome));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_grant_of_the_address_a_granted_name_reaches_no_loopback() {
    let server = Server::start();
    let host = format!("http://api.example.test:{}", server.port);
    let permissions = json!({ "network": [{ "host": host }] });
    let grants = format!("network = [\"{host}\"]");
    let web = web("fetch", &permissions, &grants, &[], |builder| builder).await;
    web.names.set("api.example.test", &[&["127.0.0.1"]]);
    let outcome = fetch(&web, json!({ "url": format!("{host}/ok") })).await;
    assert!(reached(&outcome).2.contains("127.0.0.1, which is loopback"), "{:?}", reached(&outcome));
    assert!(text(&outcome).contains("an address that is not public"), "{}", end(&outcome));
    assert!(server.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_hop_of_a_redirect_is_judged_and_none_is_followed_by_the_host() {
    let server = Server::start();
    let (web, port) = (granted(&server).await, server.port);
    let here = format!("http://api.example.test:{port}");
    let outcome = fetch(&web, json!({ "url": format!("{here}/redirect?/ok") })).await;
    assert_eq!(text(&outcome), "302\n", "{}", end(&outcome));
    let outcome = fetch(&web, json!({ "url": format!("{here}/redirect?/ok"), "redirects": 1 })).await;
    assert_eq!(text(&outcome), "200\nhello", "{}", end(&outcome));
    assert_eq!(outcome.receipt.reached.len(), 2);
    for forbidden in
        ["http://169.254.169.254/latest", "http://other.test/", "https://api.example.test/", "http://[::1]/"]
    {
        let outcome =
            fetch(&web, json!({ "url": format!("{here}/redirect?{forbidden}"), "redirects": 9 })).await;
        let allowed: Vec<_> = outcome.receipt.reached.iter().map(|reached| reached.allowed).collect();
        assert_eq!(allowed, [true, false], "{forbidden}: {}", end(&outcome));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugins_own_credentials_stay_with_the_server_they_were_for() {
    let server = Server::start();
    let (web, port) = (granted(&server).await, server.port);
    let (here, there) = (format!("http://api.example.test:{port}"), format!("http://127.0.0.1:{port}"));
    let headers = json!({ "authorization": "Bearer mine", "x-api-key": "mine", "accept": "text/plain" });
    for (target, is_same) in [("/ok".to_owned(), true), (format!("{there}/ok"), false)] {
        let url = format!("{here}/redirect?{target}");
        let outcome = fetch(&web, json!({ "url": url, "redirects": 1, "headers": headers })).await;
        assert_eq!(text(&outcome), "200\nhello", "{}", end(&outcome));
        let seen = server.seen().pop().unwrap();
        for name in ["authorization", "x-api-key"] {
            assert_eq!(!seen.header(name).is_empty(), is_same, "{target}: {seen:?}");
        }
        assert_eq!(seen.header("accept"), "text/plain");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_route_or_frame_a_message_are_the_hosts() {
    let server = Server::start();
    let (web, port) = (granted(&server).await, server.port);
    for header in
        ["Host", "connection", "Transfer-Encoding", "proxy-authorization", "x-forwarded-for", "upgrade", "TE"]
    {
        let url = format!("http://api.example.test:{port}/ok");
        let outcome = fetch(&web, json!({ "url": url, "headers": { header: "x" } })).await;
        assert!(
            text(&outcome).contains("cannot be set: HeaderError::Forbidden"),
            "{header}: {}",
            end(&outcome)
        );
    }
    assert!(server.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_reached_for_is_on_record_however_the_call_ends() {
    let server = Server::start();
    let (web, port) = (granted(&server).await, server.port);
    let target = format!("GET http://127.0.0.1:{port}");
    let silent = || Call::new("fetch", json!({ "url": format!("http://127.0.0.1:{port}/silent") }));
    let token = tokio_util::sync::CancellationToken::new();
    let cancel = async {
        while server.seen().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(web.surface.call(silent().cancellation(token.clone())), cancel);
    assert_eq!(outcome.kind, CallKind::Cancelled);
    assert_eq!(reached(&outcome), (target, true, String::new()));
    drop(tokio::time::timeout(Duration::from_millis(200), web.surface.call(silent())).await);
    let row = web.store.rows().pop().unwrap();
    assert!(row.body.contains("\"capability\":\"network\"") && !row.body.contains("127.0.0.1"), "{row:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_came_later_makes_a_call_one_with_side_effects() {
    let server = Server::start();
    let here = format!("http://127.0.0.1:{}", server.port);
    let permissions = json!({ "network": [{ "host": here }] });
    let mut web = web("fetch", &permissions, "", &[], |builder| builder).await;
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(web.manifest()).unwrap()).unwrap();
    manifest["toolMetadata"] = json!({ "fetch": { "sideEffecting": false } });
    std::fs::write(web.manifest(), manifest.to_string()).unwrap();
    web.host.reload(Config::default()).unwrap();
    web.surface = web.host.assemble(RunContext::new("tester")).await;
    let url = json!({ "url": format!("{here}/ok") });
    assert_eq!(fetch(&web, url.clone()).await.kind, CallKind::Failed);
    let started = || web.store.rows().iter().filter(|row| row.kind == AuditKind::Started).count();
    assert_eq!(started(), 0);
    let written = format!("[plugins.entries.fetch.grants]\nnetwork = [\"{here}\"]\n");
    web.host.reload(Config::from_toml(written.as_bytes(), "airlock.toml".as_ref()).unwrap()).unwrap();
    let outcome = fetch(&web, url).await;
    assert_eq!((outcome.kind, started()), (CallKind::Completed, 1), "{}", end(&outcome));
}

/// What a server does, and what the record says about it. The call's deadline is far away.
const MISBEHAVIOUR: &[(&str, &str)] = &[
    ("/closed", "closed the connection"),
    ("/garbage", "is no HTTP/1.1"),
    ("/endless-headers", "more than 128 headers, or more than 32768 bytes"),
    ("/many-headers", "more than 128 headers"),
    ("/endless-body", "cut off after 4194304 bytes"),
    ("/body?4194305", "the response has 4194305 bytes, the limit is 4194304"),
    ("/chunked?4194305", "cut off after 4194304 bytes"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_response_without_measure_is_cut_off() {
    let server = Server::start();
    let (web, port) = (granted(&server).await, server.port);
    for (path, said) in MISBEHAVIOUR {
        let outcome = fetch(&web, json!({ "url": format!("http://127.0.0.1:{port}{path}") })).await;
        assert_eq!(outcome.kind, CallKind::Failed, "{path}: {}", end(&outcome));
        let (_, is_allowed, reason) = reached(&outcome);
        assert!(is_allowed && reason.contains(said), "{path}: {reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_obeyed_and_violated() {
    let server = Server::start();
    let (web, port) = (granted(&server).await, server.port);
    let here = format!("http://127.0.0.1:{port}");
    // `fetch` returns what it reads, and a result has 1 MiB: what is over that is the result's limit, not the response's.
    for path in ["/body?4194304", "/chunked?4194304"] {
        let outcome = fetch(&web, json!({ "url": format!("{here}{path}") })).await;
        assert_eq!(outcome.kind, CallKind::OutputTooLarge, "{path}: {}", end(&outcome));
        assert_eq!(reached(&outcome).2, "", "{path}");
    }
    let post =
        |bytes: usize| json!({ "url": format!("{here}/size"), "method": "POST", "body": "x".repeat(bytes) });
    // Arguments of a call have a limit of their own, so that a larger body is tried in the sandbox's own tests.
    let outcome = fetch(&web, post(100_000)).await;
    assert_eq!(text(&outcome), "200\n100000", "{}", end(&outcome));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_a_call_obeyed_and_violated() {
    let server = Server::start();
    let (web, port) = (granted(&server).await, server.port);
    let here = format!("http://127.0.0.1:{port}");
    // A server that redirects to itself: the plugin follows ten times, which is within 16 requests.
    let url = format!("{here}/redirect?/redirect");
    let outcome = fetch(&web, json!({ "url": url, "redirects": 10 })).await;
    assert_eq!(outcome.kind, CallKind::Completed, "{}", end(&outcome));
    let limits = |times: usize| json!({ "url": format!("{here}/ok"), "method": "GET", "times": times });
    let outcome = fetch(&web, limits(1)).await;
    assert_eq!(outcome.kind, CallKind::InvalidParams, "{}", end(&outcome));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_a_call_waiting_is_left_at_the_deadline_and_all_slots_come_back() {
    let server = Server::start();
    let port = server.port;
    let permissions = json!({ "network": [{ "host": format!("http://127.0.0.1:{port}") }] });
    let grants = format!("network = [\"http://127.0.0.1:{port}\"]");
    let limits = Limits { timeout: Duration::from_millis(400), ..Limits::default() };
    let web = web("fetch", &permissions, &grants, &[], |builder| builder.limits(limits)).await;
    // Once, so that the component is compiled.
    fetch(&web, json!({ "url": format!("http://127.0.0.1:{port}/ok") })).await;
    for path in ["/silent", "/slow-headers", "/drip"] {
        let started = Instant::now();
        let outcome = fetch(&web, json!({ "url": format!("http://127.0.0.1:{port}{path}") })).await;
        let took = started.elapsed();
        // Either the request is given up, which leaves a moment to say so, or the whole call.
        assert!(matches!(outcome.kind, CallKind::TimedOut | CallKind::Failed), "{path}: {}", end(&outcome));
        assert!(took < Duration::from_millis(1_500), "{path} took {took:?}");
    }
    // Cancelled in the middle, four times as often as the plugin has slots.
    for _ in 0..4 {
        let url = json!({ "url": format!("http://127.0.0.1:{port}/silent") }).to_string();
        let calls = (0..16).map(|_| web.surface.call(Call::from_json("fetch", &url)));
        let calls = futures_util::future::join_all(calls);
        drop(tokio::time::timeout(Duration::from_millis(50), calls).await);
    }
    let outcome = fetch(&web, json!({ "url": format!("http://127.0.0.1:{port}/ok") })).await;
    assert_eq!(text(&outcome), "200\nhello", "{}", end(&outcome));
    assert!(outcome.receipt.guest.unwrap().usage.queued.0 < Duration::from_millis(200));
}
