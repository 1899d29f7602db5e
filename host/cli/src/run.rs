//! The flags that describe a run: a run context leaves, from a file, from the flags, or from both. It attests what an
//! operator at a terminal says; it looks nothing up.

use std::io::Read as _;
use std::path::PathBuf;

use airlock_core::{ChannelReference, PolicyEntry, Requester, RunContext, Trigger};
use clap::{Args, ValueEnum};

use crate::failure::Failure;

/// What is read of a run context's file.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// Whose run it is when nobody says.
const DEFAULT_AGENT: &str = "cli";

/// The run that a surface is assembled for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct RunFlags {
    /// The whole run context as JSON; flags beside it win.
    #[arg(long = "run", value_name = "FILE")]
    file: Option<PathBuf>,

    /// Whose turn it is [default: cli].
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

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
    #[arg(long, value_name = "TOKENS")]
    context_tokens: Option<u32>,

    /// The channel through which the requester speaks.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,

    /// Which account there; needs a channel, as do the next two.
    #[arg(long, value_name = "ID")]
    account: Option<String>,

    /// Which group.
    #[arg(long, value_name = "ID")]
    group: Option<String>,

    /// Which thread.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,

    /// Who asked, by the channel's id.
    #[arg(long, value_name = "ID")]
    sender: Option<String>,

    /// Whether that is the owner; needs a sender.
    #[arg(long, value_name = "YES|NO")]
    owner: Option<YesNo>,

    /// Why it runs [default: user].
    #[arg(long, value_name = "WHY")]
    trigger: Option<TriggerFlag>,

    /// The run's own commands are confined.
    #[arg(long)]
    sandboxed: bool,

    /// The run's workspace folder.
    #[arg(long, value_name = "DIR")]
    workspace: Option<String>,

    /// What the client can show or do; may be given several times.
    #[arg(long = "client-capability", value_name = "NAME")]
    client_capabilities: Vec<String>,

    /// The special purpose whose closed list caps the run.
    #[arg(long, value_name = "NAME")]
    purpose: Option<String>,

    /// The run's own cap, an entry each; `--tools-allow ""` permits nothing.
    #[arg(long = "tools-allow", value_name = "ENTRY")]
    tools_allow: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TriggerFlag {
    User,
    Schedule,
    Heartbeat,
    Subagent,
    Api,
}

impl RunFlags {
    /// The run context that the flags describe.
    pub(crate) fn context(&self) -> Result<RunContext, Failure> {
        let mut run = match &self.file {
            None => RunContext::new(self.agent.as_deref().unwrap_or(DEFAULT_AGENT)),
            Some(path) => {
                let read = |path: &PathBuf| {
                    let mut bytes = Vec::new();
                    // More than a context may have, so that one that is too large is refused with its size.
                    std::fs::File::open(path)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
                    std::io::Result::Ok(bytes)
                };
                let bytes = read(path)
                    .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))?;
                RunContext::from_json(&bytes, path)?
            }
        };
        if self.agent.as_deref().is_some_and(|agent| agent.trim().is_empty()) {
            return Err(Failure::usage("--agent: a run is some agent's: name it"));
        }
        if let Some(agent) = &self.agent {
            // A session that nobody named has the agent's name, whoever that is.
            for session in [&mut run.session, &mut run.session_key] {
                if *session == run.agent {
                    session.clone_from(agent);
                }
            }
            run.agent.clone_from(agent);
        }
        if let Some(session) = &self.session {
            run.session.clone_from(session);
            run.session_key.clone_from(session);
        }
        if let (Some(provider), Some(model)) = (&self.provider, &self.model) {
            run = run.provider(provider, model);
        }
        match (&mut run.model, self.context_tokens) {
            (_, None) => {}
            (Some(model), Some(tokens)) => model.context_tokens = Some(tokens),
            (None, Some(_)) => return Err(needs("--context-tokens", "a model: name one with `--model`")),
        }
        self.speak(&mut run)?;
        if let Some(trigger) = self.trigger {
            run.trigger = match trigger {
                TriggerFlag::User => Trigger::User,
                TriggerFlag::Schedule => Trigger::Schedule,
                TriggerFlag::Heartbeat => Trigger::Heartbeat,
                TriggerFlag::Subagent => Trigger::Subagent,
                TriggerFlag::Api => Trigger::Api,
            };
        }
        run.sandboxed |= self.sandboxed;
        if let Some(workspace) = &self.workspace {
            let absolute = std::path::absolute(workspace)
                .map_err(|error| Failure::usage(format!("`--workspace {workspace}`: {error}")))?;
            run.workspace = Some(absolute.to_string_lossy().into_owned());
        }
        run.client_capabilities.extend_from_slice(&self.client_capabilities);
        run.purpose = self.purpose.clone().or(run.purpose);
        if let Some(entries) = &self.tools_allow {
            let entries = entries.iter().filter(|entry| !entry.is_empty());
            let entries = entries.map(|entry| PolicyEntry::parse(entry)).collect::<Result<_, _>>();
            run.tools_allow =
                Some(entries.map_err(|problem| Failure::usage(format!("--tools-allow: {problem}")))?);
        }
        Ok(run)
    }

    /// Who speaks, and where.
    fn speak(&self, run: &mut RunContext) -> Result<(), Failure> {
        let is_another = |name: &String| run.channel.as_ref().is_none_or(|channel| channel.name != *name);
        if let Some(name) = self.channel.as_ref().filter(|name| is_another(name)) {
            let (account, kind, group, thread) = (None, None, None, None);
            run.channel = Some(ChannelReference { name: name.clone(), account, kind, group, thread });
        }
        let places = [("--account", &self.account), ("--group", &self.group), ("--thread", &self.thread)];
        match &mut run.channel {
            Some(channel) => {
                channel.account = self.account.clone().or(channel.account.take());
                channel.group = self.group.clone().or(channel.group.take());
                channel.thread = self.thread.clone().or(channel.thread.take());
            }
            None => {
                if let Some((flag, _)) = places.iter().find(|(_, value)| value.is_some()) {
                    return Err(needs(flag, "a channel: name it with `--channel`"));
                }
            }
        }
        if let Some(sender) = &self.sender {
            run.requester = Some(Requester { sender: sender.clone(), is_owner: None });
        }
        match (&mut run.requester, self.owner) {
            (_, None) => {}
            (Some(requester), Some(owner)) => requester.is_owner = Some(owner == YesNo::Yes),
            (None, Some(_)) => return Err(needs("--owner", "a sender: name it with `--sender`")),
        }
        Ok(())
    }
}

fn needs(flag: &str, what: &str) -> Failure {
    Failure::usage(format!("{flag} needs {what}"))
}
