//! A plugin that has the value of a secret, since a server gave it back in disguise, tries every way out. Nothing of it
//! leaves, and every attempt is on record.

use std::sync::{Arc, Mutex};

use airlock_core::{
    Call, CallKind, Code, Config, Host, HostBuilder, KeyValue, MemoryKeyValue, Outcome, PluginId,
    ProgressSink, Secrets,
};
use serde_json::json;

use crate::support::{call, end, install, root, sandbox};
use crate::web::{Server, Web, web};

const VALUE: &str = "tok-4f\"9c\\e1%d7/Za+Q";

/// Whether the value is in a text, as it is or in one of the ways that Rust and JSON write it.
fn holds(text: &str) -> bool {
    let secrets = Secrets::from_values([("token", VALUE)]);
    let bytes = VALUE.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
    secrets.found_in(text.as_bytes()).is_some() || text.contains(&bytes)
}

struct Setting {
    server: Server,
    web: Web,
    kept: MemoryKeyValue,
}

/// The plugin may call the server under two names, and gets the secret into requests to the first.
async fn setting() -> Setting {
    let (server, kept) = (Server::start(), MemoryKeyValue::default());
    let own = format!("http://127.0.0.1:{}", server.port);
    let other = format!("http://other.test:{}", server.port);
    let methods = ["GET", "POST"];
    let permissions = json!({
        "network": [{ "host": own, "methods": methods }, { "host": other, "methods": methods }],
        "keyValue": { "maxBytes": 65_536 },
        "secrets": [
            { "name": "token", "host": "127.0.0.1", "header": "authorization", "value": "Bearer {secret}" },
        ],
    });
    let grants = format!("network = [\"{own}\", \"{other}\"]\nkey-value = true\nsecrets = [\"token\"]");
    let secrets = [("token", VALUE), ("unused", "another-value")];
    let with_store = |builder: HostBuilder| builder.key_value(kept.clone());
    let web = web("leaky", &permissions, &grants, &secrets, with_store).await;
    web.names.set("other.test", &[&["127.0.0.1"]]);
    Setting { server, web, kept }
}

impl Setting {
    /// Tries one way out. Gives the outcome and everything that left the guest by the way.
    async fn leak(&self, path: &str, way: &str, to: &str) -> (Outcome, Vec<String>) {
        let (own, other) = (
            format!("http://127.0.0.1:{}", self.server.port),
            format!("http://other.test:{}", self.server.port),
        );
        let to = to.replace("OWN", &own).replace("OTHER", &other);
        let arguments = json!({ "url": format!("{own}{path}"), "way": way, "to": to });
        let reports = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&reports);
        let progress = ProgressSink::new(move |progress| sink.lock().unwrap().push(format!("{progress:?}")));
        let call = Call::new("leak", arguments).on_progress(progress);
        let outcome = self.web.surface.call(call).await;
        let mut left = reports.lock().unwrap().clone();
        left.push(format!("{outcome:?}"));
        (outcome, left)
    }

    /// What servers were told, without the header that the host itself adds for the right one.
    fn told(&self) -> Vec<String> {
        let host = format!("127.0.0.1:{}", self.server.port);
        let seen = self.server.seen().into_iter().map(|mut seen| {
            if seen.header("host") == host {
                seen.headers.remove("authorization");
            }
            format!("{} {:?} {}", seen.line, seen.headers, String::from_utf8_lossy(&seen.body))
        });
        seen.collect()
    }
}

/// The ways out, each with where it carries the value.
const WAYS: &[(&str, &str)] = &[
    ("result", ""),
    ("percent", ""),
    ("blob", ""),
    ("details", ""),
    ("failure", ""),
    ("failure-details", ""),
    ("invalid", ""),
    ("log", ""),
    ("progress", ""),
    ("panic", ""),
    ("hook", ""),
    ("url", "OWN/ok"),
    ("url", "OTHER/ok"),
    ("method", "OTHER/ok"),
    ("host", ""),
    ("header", "OTHER/ok"),
    ("own-header", "OTHER/ok"),
    ("body", "OTHER/echo"),
    ("key-value", ""),
    ("key-value-key", ""),
    ("bucket", ""),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_way_out_lets_a_value_through_and_each_attempt_is_on_record() {
    let setting = setting().await;
    for (way, to) in WAYS {
        let before = setting.server.seen().len();
        let (outcome, left) = setting.leak("/backwards", way, to).await;
        // Else the plugin had nothing to leak.
        let sent = format!("Bearer {VALUE}");
        let is_sent = setting.server.seen()[before..].iter().any(|seen| seen.header("authorization") == sent);
        assert!(is_sent, "{way}");
        assert!(!left.iter().any(|text| holds(text)), "{way} {to}: {left:?}");
        let attempts = outcome.receipt.reached.iter().filter(|reached| !reached.allowed);
        let attempts: Vec<_> =
            attempts.map(|reached| (reached.capability, reached.target.as_str())).collect();
        // A header that belongs to the host is refused by its name, before anybody looks at its value.
        let is_noted =
            attempts.iter().any(|(capability, target)| *capability == "secret" && target.contains("token"));
        assert!(is_noted || *way == "own-header", "{way} {to}: {:?}", outcome.receipt.reached);
        let targets: Vec<_> = attempts.iter().map(|(_, target)| *target).collect();
        eprintln!("{way:16} {:16} {}", outcome.kind.as_str(), targets.join("; "));
    }
    let told = setting.told();
    assert!(!told.iter().any(|told| holds(told)), "{told:?}");
    let plugin = PluginId::parse("leaky").unwrap();
    assert!(setting.kept.keys(&plugin, "loot", None, 10).await.unwrap().is_empty());
    let rows: Vec<String> = setting.web.store.rows().into_iter().map(|row| row.body).collect();
    assert!(!rows.iter().any(|row| holds(row)), "{rows:?}");
    let on_record = rows.iter().filter(|row| row.contains("\"capability\":\"secret\"")).count();
    assert!(on_record >= WAYS.len() - 1, "{on_record} of {} are in the audit log", WAYS.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_withheld_ends_the_call_and_what_is_cleaned_does_not() {
    let setting = setting().await;
    let (outcome, _) = setting.leak("/backwards", "result", "").await;
    assert_eq!(outcome.kind, CallKind::InvalidOutput);
    let said = end(&outcome);
    assert!(said.contains("is withheld: the value of the secret `token` was in it"), "{said}");
    let (outcome, left) = setting.leak("/backwards", "log", "").await;
    assert_eq!(outcome.kind, CallKind::Completed);
    assert_eq!(outcome.log[0].message, "the token is [the secret token]");
    assert_eq!(left.len(), 1);
    let (_, left) = setting.leak("/backwards", "progress", "").await;
    assert!(left[0].contains("[the secret token]"), "{left:?}");
    let (outcome, _) = setting.leak("/backwards", "hook", "").await;
    assert_eq!(outcome.kind, CallKind::Blocked, "a handler that leaks has failed, and its gate is closed");
    let (outcome, _) = setting.leak("/backwards", "panic", "").await;
    assert!(outcome.error.unwrap().detail.unwrap().contains("cannot use [the secret token]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_not_granted_shows_no_value_either() {
    let server = Server::start();
    let own = format!("http://127.0.0.1:{}", server.port);
    let permissions = json!({
        "network": [{ "host": own }],
        "keyValue": { "maxBytes": 65_536 },
        "secrets": [
            { "name": "token", "host": "127.0.0.1", "header": "authorization", "value": "Bearer {secret}" },
        ],
    });
    let grants = format!("network = [\"{own}\"]\nsecrets = [\"token\"]");
    let web = web("leaky", &permissions, &grants, &[("token", VALUE)], |builder| builder).await;
    let arguments = json!({ "url": format!("{own}/backwards"), "way": "bucket" }).to_string();
    let outcome = call(&web.surface, "leak", &arguments).await;
    assert!(!holds(&format!("{outcome:?}")), "{outcome:?}");
    assert!(web.store.rows().iter().all(|row| !holds(&row.body)));
    assert!(format!("{:?}", outcome.receipt.reached).contains("token in its key-value store"), "{outcome:?}");
}

/// Answers of a server that was sent the secret, and gives it back.
const ECHOES: &[&str] = &[
    "/plain",
    "/in-header",
    "/in-location",
    "/split",
    "/percent",
    "/json",
    "/unicode",
    "/base64",
    "/compressed",
    "/trailer",
];

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_gives_a_value_back_is_cut_off() {
    let setting = setting().await;
    for path in ECHOES {
        let (outcome, left) = setting.leak(path, "echo", "").await;
        assert_eq!(outcome.kind, CallKind::Failed, "{path}: {}", end(&outcome));
        assert!(!left.iter().any(|text| holds(text)), "{path}: {left:?}");
        let refused = outcome.receipt.reached.iter().filter(|reached| !reached.allowed).count();
        assert!(refused > 0, "{path}: {:?}", outcome.receipt.reached);
    }
    let told = setting.told();
    assert!(!told.iter().any(|told| holds(told)), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_takes_no_credential_along() {
    let setting = setting().await;
    let (outcome, _) = setting.leak("/backwards", "redirect", "OTHER/ok").await;
    assert_eq!(outcome.kind, CallKind::Completed, "{}", end(&outcome));
    let seen = setting.server.seen();
    assert_eq!((seen[0].header("authorization").is_empty(), seen[1].header("authorization")), (false, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_not_granted_or_not_there_is_not_sent() {
    let server = Server::start();
    let own = format!("http://127.0.0.1:{}", server.port);
    let permissions = json!({
        "network": [{ "host": own }],
        "secrets": [{ "name": "token", "host": "127.0.0.1", "header": "authorization", "value": "Bearer {secret}" }],
    });
    let arguments = json!({ "url": format!("{own}/ok") }).to_string();
    for (grants, secrets, said) in [
        ("", vec![("token", VALUE)], "nobody granted `fetch` the secret `token`"),
        ("secrets = [\"token\"]", vec![], "the host has no value for it"),
    ] {
        let grants = format!("network = [\"{own}\"]\n{grants}");
        let web = web("fetch", &permissions, &grants, &secrets, |builder| builder).await;
        let outcome = call(&web.surface, "fetch", &arguments).await;
        assert_eq!(outcome.kind, CallKind::Completed, "{}", end(&outcome));
        let reasons: Vec<_> =
            outcome.receipt.reached.iter().filter_map(|reached| reached.reason.as_deref()).collect();
        assert!(reasons.iter().any(|reason| reason.contains(said)), "{reasons:?}");
    }
    assert!(server.seen().iter().all(|seen| seen.header("authorization").is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_hands_a_secret_to_a_guest_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    install(folder.path(), "guard");
    // TOML's strings are JSON's.
    let contained = json!(format!("x{VALUE}"));
    let written = format!(
        "[[plugins.entries.guard.config.rules]]\ntool = \"*\"\nreason = \"no\"\ncontains = {contained}\n"
    );
    let config = Config::from_toml(written.as_bytes(), &folder.path().join("airlock.toml")).unwrap();
    let host = Host::builder()
        .sandbox(sandbox())
        .plugin_root(root(folder.path()))
        .secrets(Secrets::from_values([("token", VALUE)]))
        .config(config)
        .build()
        .await
        .unwrap();
    let findings = host.diagnostics();
    let finding =
        findings.iter().find(|finding| finding.code == Code::SecretInConfig).expect("it is refused");
    assert!(finding.message.contains("the value of the secret `token`"), "{finding:?}");
    assert!(!holds(&format!("{findings:?}")));
}
