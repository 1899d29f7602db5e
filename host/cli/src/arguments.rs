//! The command line, as `--help` explains it.

use std::path::PathBuf;

use airlock_core::RunContext;
use clap::{Args, Parser, Subcommand, ValueEnum};

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

    /// Pages for people, or one JSON document.
    #[arg(long, value_name = "FORMAT", global = true, default_value = "human")]
    pub(crate) format: Format,

    /// Say on standard error what was compiled and what came from the cache.
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
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

/// The run that a surface is assembled for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct RunFlags {
    /// Whose turn it is.
    #[arg(long, value_name = "NAME", default_value = "cli")]
    agent: String,

    /// Which conversation [default: the agent's name].
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// The model's provider; needs `--model`.
    #[arg(long, value_name = "NAME", requires = "model")]
    provider: Option<String>,

    /// The model; needs `--provider`.
    #[arg(long, value_name = "NAME", requires = "provider")]
    model: Option<String>,

    /// Size of the model's context: larger ones read longer results.
    #[arg(long, value_name = "TOKENS", requires = "model")]
    context_tokens: Option<u32>,

    /// The run's workspace folder.
    #[arg(long, value_name = "DIR")]
    workspace: Option<String>,
}

impl RunFlags {
    /// The run context that the flags describe.
    pub(crate) fn context(&self) -> RunContext {
        let mut run = RunContext::new(&self.agent);
        if let Some(session) = &self.session {
            run.session.clone_from(session);
            run.session_key.clone_from(session);
        }
        if let (Some(provider), Some(model)) = (&self.provider, &self.model) {
            run = run.provider(provider, model);
        }
        if let Some(model) = &mut run.model {
            model.context_tokens = self.context_tokens;
        }
        run.workspace.clone_from(&self.workspace);
        run
    }
}
