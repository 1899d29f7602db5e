//! What an embedder allows enters; `exec` and `process` leave, with a table of background commands that they share.
//!
//! Commands are programs of the operating system. No library can hold them to a folder as it can the file tools, so
//! these two exist only where an embedder adds them, and are optional, so that an operator must allow them by name.

mod child;
mod confine;
mod exec;
#[cfg(test)]
mod hostile;
mod output;
mod process;
mod scratch;
mod stragglers;
mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlock_core::{NativeTool, RunContext, ToolMetadata};

use exec::Exec;
use process::Process;
use table::{Owner, Table};

/// Where programs are looked for: where every distribution has them.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What commands may do. Nothing here is read from the host's own environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPolicy {
    /// What happens where the kernel cannot confine commands; [`Confinement::Required`] by default.
    pub confinement: Confinement,
    /// Whether a confined command may use the network; [`Network::Refused`] by default.
    pub network: Network,
    /// What a confined command may read and run beside `/usr`, `/bin`, `/sbin`, `/lib`, `/lib32`, `/lib64`, `/libx32` and
    /// `/etc`. What does not exist is passed over.
    pub readable: Vec<PathBuf>,
    /// What a confined command may also change, beside the workspace and its own temporary folder.
    pub writable: Vec<PathBuf>,
    /// The whole environment of a command, beside what skills of the run have in the configuration (in a run that is not
    /// sandboxed), beside `PATH`, `HOME` and `TMPDIR` (its temporary folder), `LANG` and `TERM`,
    /// which have fixed values unless they are here, and `AIRLOCK_COMMAND`, by which what it started is found.
    pub environment: BTreeMap<String, String>,
    /// What runs a command line after `-c`; `/bin/sh` by default. It must be readable.
    pub shell: PathBuf,
    /// Where temporary folders are made; `/tmp` by default.
    pub temporary: PathBuf,
    /// How long a command may run that does not say; 2 minutes by default, which most builds and tests need.
    pub default_timeout: Duration,
    /// How long a command may run at most; 10 minutes by default, which is how long a person waits for an answer.
    pub max_timeout: Duration,
    /// How long a background command may run at most; an hour by default. It is killed then, like any other.
    pub max_background_time: Duration,
    /// How many background commands one session may have running; 8 by default: a server, a watcher, and some more.
    pub max_background_per_session: usize,
    /// How many background commands may run over all sessions; 64 by default. Each is two threads and some processes.
    pub max_background: usize,
    /// How many commands may be waited for at once over all sessions; 32 by default. More wait for their turn.
    pub max_foreground: usize,
}

impl Default for CommandPolicy {
    fn default() -> Self {
        Self {
            confinement: Confinement::Required,
            network: Network::Refused,
            readable: Vec::new(),
            writable: Vec::new(),
            environment: BTreeMap::new(),
            shell: PathBuf::from("/bin/sh"),
            temporary: PathBuf::from("/tmp"),
            default_timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(600),
            max_background_time: Duration::from_secs(3_600),
            max_background_per_session: 8,
            max_background: 64,
            max_foreground: 32,
        }
    }
}

/// What happens where the kernel has no Landlock, or one before Linux 6.2, which cannot keep files from being truncated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Confinement {
    /// There are no commands, and a diagnostic says why.
    #[default]
    Required,
    /// Commands run with all the host's own rights, and each result says so; a run with `sandboxed` has none.
    WhereAvailable,
}

/// Whether commands may use the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Network {
    /// As far as the kernel can refuse it: TCP from Linux 6.7 on, UDP from 7.2 on.
    #[default]
    Refused,
    /// Like the host itself.
    Allowed,
}

/// The commands of one host: makes the tools, and ends what runs in the background.
///
/// What runs in the background is killed at [`Self::shutdown`], or when this and all its tools are gone, which is when
/// the host that has them is dropped.
#[derive(Debug)]
pub struct Commands {
    table: Arc<Table>,
}

impl Commands {
    /// Commands under a policy.
    pub fn new(policy: CommandPolicy) -> Self {
        Self { table: Arc::new(Table::new(policy)) }
    }

    /// `exec` and `process`, for [`airlock_core::HostBuilder::native_tools`]. They are in the group `runtime`, optional,
    /// and have side effects.
    pub fn tools(&self) -> Vec<Arc<dyn NativeTool>> {
        vec![
            Arc::new(Exec::unbound(Arc::clone(&self.table))),
            Arc::new(Process::unbound(Arc::clone(&self.table))),
        ]
    }

    /// Kills what a run's session has in the background, for when a conversation ends.
    pub fn end_session(&self, run: &RunContext) {
        self.table.end_session(&Owner::of(run));
    }

    /// Kills everything that runs, and refuses every command from now on. Waits up to two seconds until the processes are
    /// gone and their temporary folders removed.
    pub fn shutdown(&self) {
        self.table.shutdown();
    }
}

impl CommandPolicy {
    /// What is wrong with it, as the end of a sentence that begins with a tool's name.
    fn problem(&self) -> Option<String> {
        let name = self.environment.iter().find_map(|(name, value)| {
            let is_wrong = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
            is_wrong.then_some(name)
        });
        if let Some(name) = name {
            return Some(format!("has a variable {name:?} in its environment that no program can have"));
        }
        let paths = self.readable.iter().chain(&self.writable).chain([&self.shell, &self.temporary]);
        if let Some(path) = paths.into_iter().find(|path| !path.is_absolute()) {
            return Some(format!("has the path {} in its policy, which is not absolute", path.display()));
        }
        (self.default_timeout > self.max_timeout || self.default_timeout.is_zero())
            .then(|| "has a default timeout that is zero or over the largest".to_owned())
    }

    /// The environment of a command with a mark, whose temporary folder is `scratch`. What skills want is weaker than what the
    /// policy says.
    fn environment(
        &self,
        skills: &BTreeMap<String, String>,
        scratch: &str,
        mark: &str,
    ) -> BTreeMap<String, String> {
        let fixed = [
            ("PATH", DEFAULT_PATH),
            ("HOME", scratch),
            ("TMPDIR", scratch),
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
        ];
        let mut environment: BTreeMap<String, String> =
            fixed.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        environment.extend(skills.clone());
        environment.extend(self.environment.clone());
        environment.insert(stragglers::VARIABLE.to_owned(), mark.to_owned());
        environment
    }
}

/// What policy must know about both tools.
fn metadata() -> ToolMetadata {
    ToolMetadata { optional: true, side_effecting: true, ..ToolMetadata::default() }
}

#[cfg(test)]
mod tests {
    use airlock_core::{Binding, ContractSchema, ToolError};
    use serde_json::{Value, json};

    use super::*;
    use crate::tool::testing::{block_on, native_call};

    #[test]
    fn both_tools_are_optional_strict_and_need_a_workspace() {
        let run = RunContext::new("coder");
        for tool in Commands::new(CommandPolicy::default()).tools() {
            let descriptor = tool.descriptor();
            let schema: Value = serde_json::from_str(&descriptor.parameters).unwrap();
            assert_eq!(schema["additionalProperties"], json!(false));
            ContractSchema::for_arguments(&descriptor.parameters).unwrap();
            assert!(tool.metadata().optional && tool.metadata().side_effecting);
            assert_eq!(tool.groups(), ["runtime"]);
            let binding = tool.bind(&run).unwrap();
            assert!(matches!(binding, Binding::Unavailable(reason) if reason.contains("names none")));
            let answer = block_on(tool.execute(native_call(&run, json!({ "command": "true" }))));
            assert!(matches!(answer, Err(ToolError::Unavailable(_))));
        }
        let wrong = CommandPolicy { shell: "sh".into(), ..CommandPolicy::default() };
        for tool in Commands::new(wrong).tools() {
            assert!(tool.bind(&run).unwrap_err().contains("not absolute"));
        }
    }

    #[test]
    fn a_policy_that_cannot_work_says_why() {
        let problem = |change: fn(&mut CommandPolicy)| {
            let mut policy = CommandPolicy::default();
            change(&mut policy);
            policy.problem().unwrap_or_default()
        };
        assert_eq!(problem(|_| {}), "");
        assert!(problem(|policy| policy.shell = "sh".into()).contains("path sh in its policy"));
        assert!(problem(|policy| policy.max_timeout = Duration::ZERO).contains("timeout"));
        assert!(
            problem(|policy| {
                policy.environment.insert("A=B".to_owned(), String::new());
            })
            .contains("\"A=B\"")
        );
    }

    #[test]
    fn the_environment_is_what_the_policy_has() {
        let mut policy = CommandPolicy::default();
        policy.environment.insert("PATH".to_owned(), "/opt/bin".to_owned());
        policy.environment.insert("CI".to_owned(), "1".to_owned());
        let skills = [("MODE", "fast"), ("CI", "0"), ("AIRLOCK_COMMAND", "x")];
        let skills = skills.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let environment = policy.environment(&skills, "/tmp/x", "1");
        let expected = [
            ("AIRLOCK_COMMAND", "1"),
            ("CI", "1"),
            ("HOME", "/tmp/x"),
            ("LANG", "C.UTF-8"),
            ("MODE", "fast"),
            ("PATH", "/opt/bin"),
            ("TERM", "dumb"),
            ("TMPDIR", "/tmp/x"),
        ];
        assert!(environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected));
    }
}
