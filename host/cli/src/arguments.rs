//! The command line, as `--help` explains it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::run::RunFlags;

/// A plugin host for AI agents: third-party tools run in a sandbox, and every decision can be explained.
#[derive(Debug, Parser)]
#[command(name = "airlock", version, propagate_version = true, max_term_width = 110)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command needs.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The operator's configuration.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,

    /// A folder in which plugins are installed; may be given several times.
    #[arg(long = "plugins", value_name = "DIR", global = true)]
    pub(crate) plugin_roots: Vec<PathBuf>,

    /// Where compiled code and installed plugins live [default: the user's data folder].
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data: Option<PathBuf>,

    /// Adds native tools: those for the files of the run's workspace, or `exec` and `process`; may be given twice.
    #[arg(long = "native", value_name = "TOOLS", global = true)]
    pub(crate) native: Vec<NativeTools>,

    /// Pages for people, or one JSON document.
    #[arg(long, value_name = "FORMAT", global = true, default_value = "human")]
    pub(crate) format: Format,

    /// Say on standard error what was compiled and what came from the cache.
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

/// Native tools that the program can bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NativeTools {
    /// `read`, `write`, `edit`, `ls` and `apply_patch`.
    Files,
    /// `exec` and `process`, confined by Landlock, and optional: an entry must allow them.
    Commands,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned, coloured on a terminal.
    Human,
    /// One document on standard output.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// What is installed, and what each plugin has come to.
    Plugins(PluginsCommand),
    /// The tools of one run, and why others are missing.
    Tools(ToolsCommand),
    /// How far a tool or plugin has come, what stopped it, and what would change that.
    Explain(ExplainCommand),
    /// One governed call of one tool.
    Call(CallCommand),
    /// An author's check of a plugin folder: manifest, imports, registration.
    Check(CheckCommand),
    /// The JSON Schema of a document that people write.
    Schema(SchemaCommand),
}

#[derive(Debug, Args)]
pub(crate) struct ExplainCommand {
    /// A tool's name or a plugin's id.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Debug, Args)]
pub(crate) struct CheckCommand {
    /// The plugin's folder.
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaCommand {
    /// Which document.
    pub(crate) document: Document,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    /// `airlock.plugin.json`.
    Manifest,
    /// `airlock.toml`.
    Config,
    /// A run context.
    Run,
}

#[derive(Debug, Args)]
pub(crate) struct PluginsCommand {
    /// Only this plugin.
    pub(crate) id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsCommand {
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Debug, Args)]
pub(crate) struct CallCommand {
    /// The tool.
    pub(crate) name: String,

    /// Its arguments: JSON, `@FILE`, or `-` for standard input.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) params: String,

    #[command(flatten)]
    pub(crate) run: RunFlags,
}
