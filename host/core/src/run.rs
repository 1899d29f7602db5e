//! Where and for whom a run happens: every field is attested by the host, none comes from a model or a plugin.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::PolicyEntry;
use crate::diagnostic::Location;
use crate::document::{Document, Source};
use crate::error::Error;
use crate::id::ToolName;
use crate::policy::Capture;
use crate::skills::SkillSnapshot;

/// Largest run context in bytes: a capture of ten thousand tools fits.
const MAX_RUN_BYTES: usize = 1 << 20;

/// One turn of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct RunContext {
    /// The agent whose turn it is.
    pub agent: String,
    /// Stable name of the conversation; the agent's name by default.
    #[serde(default)]
    pub session_key: String,
    /// This incarnation of the conversation; the agent's name by default.
    #[serde(default)]
    pub session: String,
    /// This turn; `run` by default.
    #[serde(default)]
    pub run: String,
    /// The run that started this one.
    #[serde(default)]
    pub parent_run: Option<String>,
    /// Why it runs.
    #[serde(default)]
    pub trigger: Trigger,
    /// Whether a person is there to answer.
    #[serde(default)]
    pub interactive: bool,
    /// The folder that native tools and filesystem grants are about.
    #[serde(default)]
    pub workspace: Option<String>,
    /// Which model reads the surface.
    #[serde(default)]
    pub model: Option<ModelReference>,
    /// Through which channel the requester speaks.
    #[serde(default)]
    pub channel: Option<ChannelReference>,
    /// Where a message sent on behalf of this run goes by default.
    #[serde(default)]
    pub delivery: Option<Delivery>,
    /// Who asked.
    #[serde(default)]
    pub requester: Option<Requester>,
    /// Providers for which the host holds a usable credential; never the credential.
    #[serde(default)]
    pub authenticated_providers: Vec<String>,
    /// What the client can show or do.
    #[serde(default)]
    pub client_capabilities: Vec<String>,
    /// Whether the run's own commands are confined.
    #[serde(default)]
    pub sandboxed: bool,
    /// Tools that the model's provider brings itself; they win over tools of the same name.
    #[serde(default)]
    pub native_model_tools: Vec<ToolName>,
    /// The special purpose of the run, whose closed list in `[tools.purposes]` caps it.
    #[serde(default)]
    pub purpose: Option<String>,
    /// This run's own cap, in the language of policy entries. Present: only these. Empty: none.
    #[serde(default)]
    pub tools_allow: Option<Vec<PolicyEntry>>,
    /// The surface that was captured when a scheduled run was planned: a cap.
    #[serde(default)]
    pub captured: Option<Capture>,
    /// The surface of the run that started this one: a cap.
    #[serde(default)]
    pub inherited: Option<Capture>,
    /// The file it was read from.
    #[serde(skip)]
    pub(crate) source: ReadFrom,
    /// The skills of this turn, pinned when its surface was assembled.
    #[serde(skip)]
    pub(crate) skills: Pinned,
}

/// What a surface pinned for its run. It is no part of what a run context says, so that it makes no two of them differ.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pinned(pub(crate) Option<Arc<SkillSnapshot>>);

impl PartialEq for Pinned {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Pinned {}

/// Where a run context was read from. Two contexts that say the same are equal, wherever they stand.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadFrom(Option<Arc<Source>>);

impl PartialEq for ReadFrom {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ReadFrom {}

impl RunContext {
    /// A run of `agent` started by a person, about which nothing else is known.
    pub fn new(agent: impl Into<String>) -> Self {
        let agent = agent.into();
        Self {
            session_key: agent.clone(),
            session: agent.clone(),
            run: "run".to_owned(),
            agent,
            parent_run: None,
            trigger: Trigger::User,
            interactive: false,
            workspace: None,
            model: None,
            channel: None,
            delivery: None,
            requester: None,
            authenticated_providers: Vec::new(),
            client_capabilities: Vec::new(),
            sandboxed: false,
            native_model_tools: Vec::new(),
            purpose: None,
            tools_allow: None,
            captured: None,
            inherited: None,
            source: ReadFrom::default(),
            skills: Pinned::default(),
        }
    }

    /// The skills of this turn; `None` before its surface was assembled, and in a host without skills.
    pub fn skills(&self) -> Option<&Arc<SkillSnapshot>> {
        self.skills.0.as_ref()
    }

    /// What the skills of this turn have in the configuration for programs that the host starts, by `[skills.entries.NAME] env`;
    /// nothing in a run that is sandboxed. What it names is for such programs alone.
    pub fn skill_environment(&self) -> impl Iterator<Item = (&str, &str)> {
        let skills = self.skills().filter(|_| !self.sandboxed);
        skills.into_iter().flat_map(|skills| skills.environment().iter())
    }

    /// Reads the bytes of the JSON file at `path`, which attests the run; only `agent` is required.
    ///
    /// # Errors
    /// The first fault, with file, line, column, field and what was probably meant.
    pub fn from_json(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        if bytes.len() > MAX_RUN_BYTES {
            let message =
                format!("{} has {} bytes, the limit is {MAX_RUN_BYTES}", path.display(), bytes.len());
            return Err(Error::configuration(message));
        }
        let document = Document::from_json(bytes).map_err(|problem| problem.error(path))?;
        let mut run: Self = document.read().map_err(|problem| problem.error(path))?;
        if run.agent.trim().is_empty() {
            return Err(document.problem_at(&["agent"], "a run is some agent's: name it").error(path));
        }
        let default = Self::new(&run.agent);
        for (written, default) in [
            (&mut run.session_key, default.session_key),
            (&mut run.session, default.session),
            (&mut run.run, default.run),
        ] {
            if written.is_empty() {
                *written = default;
            }
        }
        run.source = ReadFrom(Some(Arc::new(Source { path: path.to_owned(), document })));
        Ok(run)
    }

    /// Whose standing approvals the run uses: the requester's in this channel and account, else the session's. The sender,
    /// whom strangers may name, comes last, so that no name can read as somebody else's channel.
    pub(crate) fn owner(&self) -> String {
        let Some(requester) = &self.requester else { return self.session_key.clone() };
        let channel = self.channel.as_ref();
        let name = channel.map_or("", |channel| channel.name.as_str());
        let account = channel.and_then(|channel| channel.account.as_deref()).unwrap_or_default();
        format!("{name}:{account}:{}", requester.sender)
    }

    /// Where the file of the run says this, if it was read from one.
    pub(crate) fn location(&self, path: &[&str]) -> Option<Location> {
        // What a flag beside the file says is not in the file.
        self.source
            .0
            .as_ref()
            .filter(|source| source.has(path.first().copied()))
            .map(|source| source.location(path))
    }

    /// The same run, capped by a surface that was captured earlier: how a scheduled run keeps what its planner had, at
    /// most.
    #[must_use]
    pub fn capped(mut self, capture: Capture) -> Self {
        self.captured = Some(match self.captured.take() {
            Some(before) => before.and(capture),
            None => capture,
        });
        self
    }

    /// The run as plugins see it: these providers are usable too, because the operator says so.
    pub(crate) fn authenticated_at(mut self, providers: &[String]) -> Self {
        self.authenticated_providers.extend_from_slice(providers);
        self.authenticated_providers.sort();
        self.authenticated_providers.dedup();
        self
    }

    /// Whether another run started this one.
    pub(crate) fn is_child(&self) -> bool {
        self.trigger == Trigger::Subagent || self.parent_run.is_some() || self.inherited.is_some()
    }

    /// How many runs started one another before this one.
    pub(crate) fn depth(&self) -> u32 {
        let inherited = self.inherited.as_ref().map_or(0, |capture| capture.depth().saturating_add(1));
        inherited.max(self.captured.as_ref().map_or(0, Capture::depth))
    }

    /// The run of a child: what it leaves open is as in `parent`, and it is confined where `parent` is.
    pub(crate) fn child_of(mut self, parent: &Self, capture: Capture) -> Self {
        self.trigger = Trigger::Subagent;
        self.parent_run = Some(parent.run.clone());
        self.sandboxed |= parent.sandboxed;
        self.workspace = self.workspace.or_else(|| parent.workspace.clone());
        self.model = self.model.or_else(|| parent.model.clone());
        self.channel = self.channel.or_else(|| parent.channel.clone());
        self.delivery = self.delivery.or_else(|| parent.delivery.clone());
        self.requester = self.requester.or_else(|| parent.requester.clone());
        if self.authenticated_providers.is_empty() {
            self.authenticated_providers.clone_from(&parent.authenticated_providers);
        }
        if self.client_capabilities.is_empty() {
            self.client_capabilities.clone_from(&parent.client_capabilities);
        }
        self.inherited = Some(match self.inherited.take() {
            Some(given) => capture.and(given),
            None => capture,
        });
        self
    }

    /// The same run, read by this model.
    #[must_use]
    pub fn provider(mut self, provider: impl Into<String>, model: impl Into<String>) -> Self {
        self.model =
            Some(ModelReference { provider: provider.into(), model: model.into(), context_tokens: None });
        self
    }

    /// Size of the model's context, if known.
    pub(crate) fn context_tokens(&self) -> Option<u32> {
        self.model.as_ref().and_then(|model| model.context_tokens)
    }
}

/// Why a run happens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A person wrote.
    #[default]
    User,
    /// A schedule came due.
    Schedule,
    /// A periodic check.
    Heartbeat,
    /// Another run started it.
    Subagent,
    /// A program asked.
    Api,
}

/// A model at a provider.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ModelReference {
    /// The provider's name.
    pub provider: String,
    /// The model's name there.
    pub model: String,
    /// Size of its context in tokens.
    #[serde(default)]
    pub context_tokens: Option<u32>,
}

/// A place in a messaging channel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ChannelReference {
    /// The channel's name, such as `slack`.
    pub name: String,
    /// Which of the host's accounts there.
    #[serde(default)]
    pub account: Option<String>,
    /// What kind of conversation.
    #[serde(default)]
    pub kind: Option<ChatKind>,
    /// The group.
    #[serde(default)]
    pub group: Option<String>,
    /// The thread in it.
    #[serde(default)]
    pub thread: Option<String>,
}

/// Kinds of conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChatKind {
    /// Two parties.
    Direct,
    /// Several.
    Group,
    /// A thread among several.
    Thread,
}

/// Where messages go by default.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Delivery {
    /// The channel.
    pub channel: String,
    /// Which account.
    #[serde(default)]
    pub account: Option<String>,
    /// To whom.
    pub recipient: String,
    /// In which thread.
    #[serde(default)]
    pub thread: Option<String>,
}

/// Who asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Requester {
    /// The channel's id of the person.
    pub sender: String,
    /// Whether it is the owner; `None` if the host does not know.
    #[serde(default)]
    pub is_owner: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_an_agent_is_refused_with_its_place() {
        for agent in ["", " "] {
            let written = format!(r#"{{"agent": "{agent}"}}"#);
            let error = RunContext::from_json(written.as_bytes(), Path::new("run.json")).unwrap_err();
            assert_eq!(error.to_string(), "run.json:1:2: `agent`: a run is some agent's: name it");
        }
    }
}
