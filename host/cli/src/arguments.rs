//! The command line, as `--help` explains it.

use std::path::PathBuf;

use airlock_core::Provider;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::approver::DecisionFlag;
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

    /// Where compiled code, installed plugins and the audit log live [default: the user's data folder].
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
    /// The tools of one run that fit a few words.
    Search(SearchCommand),
    /// The tools of one run as a model provider takes them, and what was changed on the way.
    Project(ProjectCommand),
    /// The skills of one run, and why others are missing.
    Skills(SkillsCommand),
    /// How far a tool or plugin has come, what stopped it, and what would change that.
    Explain(ExplainCommand),
    /// Which handlers are called when, in dispatch order.
    Hooks(HooksCommand),
    /// One governed call of one tool.
    Call(CallCommand),
    /// What calls of a tool use, and limits that would fit.
    Calibrate(CalibrateCommand),
    /// An author's check of a plugin folder: manifest, imports, registration.
    Check(CheckCommand),
    /// The JSON Schema of a document that people write.
    Schema(SchemaCommand),
    /// The log of calls and decisions, and whether anybody changed it.
    Audit(AuditCommand),
    /// Standing approvals: calls that a person allowed once and for all.
    Approvals(ApprovalsCommand),
}

#[derive(Debug, Args)]
pub(crate) struct AuditCommand {
    /// Go on with new rows as they are written, until Ctrl-C.
    #[arg(long)]
    pub(crate) follow: bool,

    /// Hold every row against the chain, and the log against its head file.
    #[arg(long, conflicts_with_all = ["follow", "call", "tool", "limit"])]
    pub(crate) verify: bool,

    /// Only rows of calls with this id.
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<String>,

    /// Only rows of this tool.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,

    /// How many rows at most, the newest ones.
    #[arg(long, value_name = "ROWS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalsCommand {
    #[command(subcommand)]
    pub(crate) action: ApprovalsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsAction {
    /// Every standing approval.
    List,
    /// Take one back; the next such call is asked about again.
    Revoke {
        /// Its id, as `list` shows it.
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SearchCommand {
    /// What the tool should do, or its name.
    #[arg(required = true)]
    pub(crate) query: Vec<String>,

    /// How many hits at most.
    #[arg(long, value_name = "HITS", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=20))]
    pub(crate) limit: u8,

    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ProjectCommand {
    /// In whose format.
    #[arg(value_name = "FORMAT", value_parser = provider())]
    pub(crate) wire: Provider,

    /// Only this tool, with its whole schema.
    pub(crate) tool: Option<String>,

    #[command(flatten)]
    pub(crate) run: RunFlags,
}

/// The providers that there are.
fn provider() -> impl TypedValueParser<Value = Provider> {
    let find = |word: String| Provider::ALL.into_iter().find(|provider| provider.as_str() == word);
    PossibleValuesParser::new(Provider::ALL.map(Provider::as_str))
        .try_map(move |word| find(word).ok_or("no such provider"))
}

#[derive(Debug, Args)]
pub(crate) struct SkillsCommand {
    /// `show` and a name: that skill's text, whoever may have it.
    #[arg(value_parser = ["show"], requires = "name")]
    pub(crate) verb: Option<String>,

    /// The skill's name.
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainCommand {
    /// A tool's name, a plugin's id or a skill's name.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Debug, Args)]
pub(crate) struct HooksCommand {
    /// Only handlers that see calls of this tool.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateCommand {
    /// The tool; it is called for real.
    pub(crate) name: String,

    /// The arguments of one call a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: PathBuf,

    /// How often each case is called.
    #[arg(long, value_name = "TIMES", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) rounds: u32,

    /// What to answer if an approval is asked for.
    #[arg(long, value_name = "DECISION")]
    pub(crate) approve: Option<DecisionFlag>,

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

    /// What to answer if an approval is asked for; without it the terminal is asked, if there is one.
    #[arg(long, value_name = "DECISION")]
    pub(crate) approve: Option<DecisionFlag>,

    /// Ask every gate and stop before the tool runs.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Its arguments: JSON, `@FILE`, or `-` for standard input.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) params: String,

    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn no_two_flags_have_one_name() {
        super::Arguments::command().debug_assert();
    }
}
