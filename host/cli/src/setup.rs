//! From the command line to a host: where plugins and compiled code lie, and who waits for a compilation.
//!
//! The only module that reads the environment.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use airlock_core::{AtLeast, Config, Host, HostBuilder, LogSink, Origin, PluginRoot, Secrets};
use airlock_sandbox::{Sandbox, SandboxConfig};

use crate::approver::CommandApprover;
use crate::arguments::{Format, Global, NativeTools};
use crate::failure::Failure;
use crate::page;
use crate::skills;
use crate::store;

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

/// Builds the host that the flags describe. One that is to make calls has an approver, and leaves records.
pub(crate) async fn set_up(global: &Global, calls: Option<CommandApprover>) -> Result<Setup, Failure> {
    let config = config(global)?;
    let (data, sandbox) = sandbox(global, &config)?;
    let log = LogSink::new(|_, line| page::log_line(&line));
    let mut builder = Host::builder().sandbox(sandbox.clone()).load_patience(LOAD_PATIENCE).on_log(log);
    // Only a call leaves records: looking at an installation must not need a folder that can be written.
    if let Some(approver) = calls {
        let store = store::open(&store::path(global, &config)?)?;
        builder = builder.approver(approver).store(store.clone()).key_value(store);
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    builder = builder.skills(skills::roots(&data, home)).surroundings(skills::Machine);
    builder = builder.secrets(Secrets::read(&config, |name| std::env::var(name).ok())).config(config);
    let installed = data.join("plugins");
    if installed.is_dir() {
        builder = builder.plugin_root(PluginRoot { path: installed, origin: Origin::User });
    }
    for path in &global.plugin_roots {
        builder = builder.plugin_root(PluginRoot { path: path.clone(), origin: Origin::Config });
    }
    if global.native.contains(&NativeTools::Files) {
        builder = builder.native_tools(airlock_native_tools::files());
    }
    if global.native.contains(&NativeTools::Commands) {
        builder = with_commands(builder)?;
    }
    Ok(Setup { host: builder.build().await?, format: global.format, sandbox, verbose: global.verbose })
}

#[cfg(unix)]
fn with_commands(builder: HostBuilder) -> Result<HostBuilder, Failure> {
    let commands = airlock_native_tools::Commands::new(airlock_native_tools::CommandPolicy::default());
    Ok(builder.native_tools(commands.tools()))
}

#[cfg(not(unix))]
fn with_commands(_builder: HostBuilder) -> Result<HostBuilder, Failure> {
    Err(Failure::usage("`--native commands` needs process groups, which this system does not have"))
}

/// The operator's configuration.
pub(crate) fn config(global: &Global) -> Result<Config, Failure> {
    Ok(match &global.config {
        Some(path) => Config::from_path(path)?,
        None => Config::default(),
    })
}

/// Builds a host over one plugin's folder, as its author looks at it: without the operator's configuration.
pub(crate) async fn set_up_check(global: &Global, path: &Path) -> Result<Setup, Failure> {
    let manifest = path.join(airlock_core::MANIFEST_FILE);
    if !manifest.exists() {
        let message = format!("{} does not exist: name the folder of one plugin", manifest.display());
        return Err(Failure::usage(message));
    }
    let (_, sandbox) = sandbox(global, &Config::default())?;
    let host = Host::builder()
        .sandbox(sandbox.clone())
        .load_patience(LOAD_PATIENCE)
        .overlook_missing_configuration()
        // Those that it carries, and no other.
        .skills([])
        .plugin_root(PluginRoot { path: path.to_owned(), origin: Origin::Config })
        .build()
        .await?;
    Ok(Setup { host, format: global.format, sandbox, verbose: global.verbose })
}

/// The data folder, and a sandbox that keeps its compiled code there.
fn sandbox(global: &Global, config: &Config) -> Result<(PathBuf, Sandbox), Failure> {
    let data = data_folder(global)?;
    let (limits, default) = (&config.file().limits, SandboxConfig::default());
    let guests = |limit: Option<AtLeast<1>>, default| {
        limit.map_or(default, |limit| u32::try_from(limit.get()).unwrap_or(u32::MAX))
    };
    let config = SandboxConfig {
        cache: Some(data.join("cache")),
        concurrent_guests: guests(limits.concurrent_guests, default.concurrent_guests),
        concurrent_guests_per_plugin: guests(
            limits.concurrent_guests_per_plugin,
            default.concurrent_guests_per_plugin,
        ),
        ..default
    };
    let sandbox = Sandbox::new(config).map_err(|error| Failure::usage(error.to_string()))?;
    Ok((data, sandbox))
}

/// Where compiled code, installed plugins and the store lie.
pub(crate) fn data_folder(global: &Global) -> Result<PathBuf, Failure> {
    global.data.clone().or_else(default_data_folder).ok_or_else(|| {
        Failure::usage("no data folder: neither XDG_DATA_HOME nor HOME is set; name one with `--data DIR`")
    })
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
                page::note(format_args!(
                    "compiling plugins; this happens once for each version of a plugin …"
                ));
                loading.await
            }
        }
    }

    /// Waits for observers and for records, as long as a person would.
    ///
    /// # Errors
    /// If some were not done by then: what is not on record by now never will be.
    pub(crate) async fn close(&self) -> Result<(), Failure> {
        self.host.shutdown(store::CLOSE_PATIENCE).await.map_err(|error| Failure::host(error.to_string()))
    }

    /// Says what loading cost, if asked; a damaged cache entry is always worth a line.
    pub(crate) fn report_statistics(&self) {
        let statistics = self.sandbox.statistics();
        if statistics.damaged_cache_entries > 0 {
            let entries = statistics.damaged_cache_entries;
            page::note(format_args!(
                "warning: {entries} damaged entries of the compile cache were thrown away and compiled again"
            ));
        }
        if self.verbose {
            page::note(format_args!(
                "{} compiled, {} from the compile cache",
                statistics.compiled, statistics.from_cache
            ));
        }
    }
}
