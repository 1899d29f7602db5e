//! What tests share: where the built plugins are, a host over some of them, and one call in words.

use std::fs;
use std::path::{Path, PathBuf};

use airlock_core::{Call, Content, Host, HostBuilder, Origin, Outcome, PluginRoot, RunContext, Surface};
use airlock_sandbox::{Sandbox, SandboxConfig};

/// The repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A folder of built sample plugins: `plugins` or `hostile-plugins`.
pub(crate) fn built(folder: &str) -> PathBuf {
    let path = repository().join("target").join(folder);
    assert!(path.is_dir(), "{} is missing: run `cargo xtask guests` first", path.display());
    path
}

/// One built sample plugin.
pub(crate) fn sample(id: &str) -> PathBuf {
    let folder = ["plugins", "hostile-plugins"]
        .into_iter()
        .map(|folder| built(folder).join(id))
        .find(|path| path.is_dir());
    folder.unwrap_or_else(|| panic!("no sample plugin `{id}`: run `cargo xtask guests`"))
}

/// A sandbox whose compile cache all tests share, so that each guest is compiled once.
pub(crate) fn sandbox() -> Sandbox {
    let cache = repository().join("target/test-cache");
    Sandbox::new(SandboxConfig { cache: Some(cache), ..SandboxConfig::default() }).unwrap()
}

/// A root the operator wrote.
pub(crate) fn root(path: impl Into<PathBuf>) -> PluginRoot {
    PluginRoot { path: path.into(), origin: Origin::Config }
}

/// A builder over these sample plugins, patient enough for a cold cache on a busy machine.
pub(crate) fn builder(samples: &[&str]) -> HostBuilder {
    let builder = Host::builder().sandbox(sandbox()).load_patience(std::time::Duration::from_secs(100));
    samples.iter().fold(builder, |builder, id| builder.plugin_root(root(sample(id))))
}

/// The surface of a run over these sample plugins.
pub(crate) async fn surface(samples: &[&str]) -> Surface {
    let host = builder(samples).build().await.unwrap();
    host.assemble(RunContext::new("tester")).await
}

/// Calls a tool with JSON arguments.
pub(crate) async fn call(surface: &Surface, tool: &str, arguments: &str) -> Outcome {
    surface.call(Call::from_json(tool, arguments)).await
}

/// The text that the model got.
pub(crate) fn text(outcome: &Outcome) -> String {
    let pieces = outcome.content.iter().map(|piece| match piece {
        Content::Text { text } => text.as_str(),
        _ => "[not text]",
    });
    pieces.collect::<Vec<_>>().join("\n")
}

/// How a call ended, in one line: kind, what the model reads, what the author reads.
pub(crate) fn end(outcome: &Outcome) -> String {
    let detail = outcome.error.as_ref().and_then(|error| error.detail.as_deref()).unwrap_or("-");
    format!("{} | {} | {detail}", outcome.kind.as_str(), text(outcome))
}

/// A package folder below `root` with a component (if any) and a manifest that declares `tools`.
pub(crate) fn package(root: &Path, id: &str, tools: &[&str], component: Option<&[u8]>) -> PathBuf {
    let folder = root.join(id);
    fs::create_dir_all(&folder).unwrap();
    let manifest = serde_json::json!({
        "id": id, "version": "1.0.0", "component": "plugin.wasm", "world": "airlock:plugin@0.1.0",
        "contracts": { "tools": tools },
    });
    fs::write(folder.join("airlock.plugin.json"), manifest.to_string()).unwrap();
    if let Some(component) = component {
        fs::write(folder.join("plugin.wasm"), component).unwrap();
    }
    folder
}

/// The bytes of a built sample plugin's component.
pub(crate) fn component(id: &str) -> Vec<u8> {
    fs::read(sample(id).join(format!("{id}.wasm"))).unwrap()
}

/// Copies a built sample plugin below `root`.
pub(crate) fn install(root: &Path, id: &str) -> PathBuf {
    let to = root.join(id);
    copy(&sample(id), &to);
    to
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.as_ref().unwrap().file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}
