//! From the command line to a host: where plugins and compiled code lie, and who waits for a compilation.
//!
//! The only module that reads the environment.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use airlock_core::{Host, Origin, PluginRoot};
use airlock_sandbox::{Sandbox, SandboxConfig};
use anstream::eprintln;

use crate::arguments::{Format, Global};
use crate::failure::Failure;

/// A person who typed a command waits for a compilation; a program that embeds the host would not.
const LOAD_PATIENCE: Duration = Duration::from_secs(120);

/// After this much silence a person wants to know what is going on.
const SILENCE: Duration = Duration::from_millis(700);

/// What commands work with.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) host: Host,
    pub(crate) format: Format,
    sandbox: Sandbox,
    verbose: bool,
}

/// Builds the host that the flags describe.
pub(crate) async fn set_up(global: &Global) -> Result<Setup, Failure> {
    let data = global.data.clone().or_else(default_data_folder).ok_or_else(|| {
        Failure::usage("no data folder: neither XDG_DATA_HOME nor HOME is set; name one with `--data DIR`")
    })?;
    let cache = Some(data.join("cache"));
    let sandbox = Sandbox::new(SandboxConfig { cache, ..SandboxConfig::default() })
        .map_err(|error| Failure::usage(error.to_string()))?;
    let mut builder = Host::builder().sandbox(sandbox.clone()).load_patience(LOAD_PATIENCE);
    let installed = data.join("plugins");
    if installed.is_dir() {
        builder = builder.plugin_root(PluginRoot { path: installed, origin: Origin::User });
    }
    for path in &global.plugin_roots {
        builder = builder.plugin_root(PluginRoot { path: path.clone(), origin: Origin::Config });
    }
    Ok(Setup { host: builder.build().await?, format: global.format, sandbox, verbose: global.verbose })
}

fn default_data_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base =
        absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")))?;
    Some(base.join("airlock"))
}

impl Setup {
    /// Awaits something that may compile plugins, and says so if that takes a while.
    pub(crate) async fn with_progress<T>(&self, loading: impl Future<Output = T>) -> T {
        tokio::pin!(loading);
        match tokio::time::timeout(SILENCE, &mut loading).await {
            Ok(value) => value,
            Err(_) => {
                eprintln!("compiling plugins; this happens once for each version of a plugin …");
                loading.await
            }
        }
    }

    /// Says what loading cost, if asked; a damaged cache entry is always worth a line.
    pub(crate) fn report_statistics(&self) {
        let statistics = self.sandbox.statistics();
        if statistics.damaged_cache_entries > 0 {
            let entries = statistics.damaged_cache_entries;
            eprintln!(
                "warning: {entries} damaged entries of the compile cache were thrown away and compiled again"
            );
        }
        if self.verbose {
            eprintln!("{} compiled, {} from the compile cache", statistics.compiled, statistics.from_cache);
        }
    }
}
