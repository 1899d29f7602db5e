//! What a surface costs: a thousand tools of a hundred plugins through all thirteen layers, from a run context to the
//! surface, with every plugin loaded already. No plugin's code runs in it, so scripts stand for components.

use std::path::Path;
use std::time::{Duration, Instant};

use airlock_core::{ChannelReference, Config, Host, Origin, PluginRoot, Requester, RunContext, Trigger};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::scripted::{Scripted, install};

const PLUGINS: usize = 100;
const TOOLS_OF_EACH: usize = 10;
const ROUNDS: usize = 101;

pub(crate) struct Assembly {
    /// Nothing is removed.
    pub(crate) whole: Duration,
    /// Half of the tools are removed, by several rules each.
    pub(crate) half: Duration,
    /// Why one of a thousand is not there.
    pub(crate) explained: Duration,
    /// Discovering as many plugins as there are tools here, without running any.
    pub(crate) discovered: Duration,
}

impl Assembly {
    pub(crate) fn measure(runtime: &Runtime) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for plugin in 0..PLUGINS {
            let names = (0..TOOLS_OF_EACH).map(|tool| (format!("p{plugin}_{tool}"), json!({})));
            install(
                folder.path(),
                &format!("plugin-{plugin}"),
                &serde_json::Value::Object(names.collect()),
                None,
            );
        }
        let host = |config: &str| {
            let config = Config::from_toml(config.as_bytes(), Path::new("airlock.toml")).unwrap();
            let root = PluginRoot { path: folder.path().to_owned(), origin: Origin::Config };
            runtime
                .block_on(Host::builder().sandbox(Scripted).plugin_root(root).config(config).build())
                .unwrap()
        };
        let (keep, halve) = (host(&config("p9_*")), host(&config("p?*_*")));
        let cap = runtime.block_on(keep.assemble(RunContext::new("writer"))).capture();
        let assemble = |host: &Host, expected: usize| {
            let one = || {
                let mut run = run();
                run.captured = Some(cap.clone());
                run.inherited = Some(cap.clone());
                let start = Instant::now();
                let surface = runtime.block_on(host.assemble(run));
                let took = start.elapsed();
                assert_eq!(surface.tools().count(), expected);
                took
            };
            median((0..ROUNDS).map(|_| one()).collect())
        };
        let all = PLUGINS * TOOLS_OF_EACH;
        let (whole, half) = (assemble(&keep, all), assemble(&halve, all / 2));
        let explain = || {
            let start = Instant::now();
            let explanation = runtime.block_on(halve.explain("p7_2", run()));
            let took = start.elapsed();
            assert!(explanation.rules.len() > 1, "{explanation:?}");
            took
        };
        let explained = median((0..ROUNDS).map(|_| explain()).collect());
        Self { whole, half, explained, discovered: discovered(runtime, all) }
    }
}

/// Every layer with lists of some length; `denied` is a glob of tools that several of them deny.
fn config(denied: &str) -> String {
    let denied = if denied.contains('?') {
        (0..5).map(|digit| format!("\"*_{digit}\"")).collect::<Vec<_>>().join(", ")
    } else {
        "\"none_*\"".to_owned()
    };
    let lists = format!(
        "allow = [\"plugin-1\", \"plugin-2\", \"p3_1\", \"p3_2\", \"p4_*\", \"group:mine\", \"p*\"]\ndeny = [\"one\", \"two\", \"three\", {denied}]\n"
    );
    let table = |name: &str| format!("[{name}]\n{lists}");
    let with_profile = |name: &str| format!("[{name}]\nprofile = \"own\"\n{lists}");
    [
        with_profile("tools"),
        "[tools.groups]\nmine = [\"p5_*\", \"p6_1\"]\n[tools.profiles]\nown = [\"group:plugins\"]\n"
            .to_owned(),
        with_profile("tools.by-provider.acme"),
        table("agents.writer.tools"),
        table("agents.writer.tools.by-provider.\"acme/one\""),
        table("channels.slack.groups.C1.tools"),
        table("tools.by-sender.\"slack:U1\""),
        table("tools.sandbox"),
        table("tools.subagents"),
        "[tools.purposes]\nbench = [\"group:plugins\"]\n".to_owned(),
    ]
    .concat()
}

fn run() -> RunContext {
    let mut run = RunContext::new("writer").provider("acme", "one");
    let (account, kind, group, thread) = (None, None, Some("C1".to_owned()), None);
    run.channel = Some(ChannelReference { name: "slack".to_owned(), account, kind, group, thread });
    run.requester = Some(Requester { sender: "U1".to_owned(), is_owner: Some(false) });
    run.trigger = Trigger::Subagent;
    run.sandboxed = true;
    run.purpose = Some("bench".to_owned());
    run
}

fn discovered(runtime: &Runtime, plugins: usize) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    for plugin in 0..plugins {
        // In groups, as a root holds at most 256 of one.
        let group = folder.path().join(format!("group-{}", plugin / 200));
        install(&group, &format!("plugin-{plugin}"), &json!({ format!("tool_{plugin}"): {} }), None);
    }
    let build = || {
        let root = PluginRoot { path: folder.path().to_owned(), origin: Origin::Config };
        let start = Instant::now();
        let host = runtime.block_on(Host::builder().sandbox(Scripted).plugin_root(root).build()).unwrap();
        let took = start.elapsed();
        assert_eq!(host.diagnostics(), []);
        took
    };
    median((0..5).map(|_| build()).collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
