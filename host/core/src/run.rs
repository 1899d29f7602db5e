//! Where and for whom a run happens: every field is attested by the host, none comes from a model or a plugin.

use serde::{Deserialize, Serialize};

/// One turn of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct RunContext {
    /// The agent whose turn it is.
    pub agent: String,
    /// Stable name of the conversation; the agent's name by default.
    pub session_key: String,
    /// This incarnation of the conversation.
    pub session: String,
    /// This turn.
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
}

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
        }
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
