//! Policy as written: layers with allow, also-allow and deny, and the sets that they name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::entry::PolicyEntry;
use crate::id::{PluginId, ToolName};

/// What every table of policy can say, wherever it stands.
#[derive(Debug)]
pub(crate) struct WrittenPolicy<'a> {
    pub(crate) profile: Option<&'a str>,
    pub(crate) allow: Option<&'a [PolicyEntry]>,
    pub(crate) also_allow: &'a [PolicyEntry],
    pub(crate) deny: &'a [PolicyEntry],
}

/// `written` for the tables, which TOML's strictness keeps from sharing their keys in one type.
macro_rules! written {
    ($($table:ty: |$this:ident| $profile:expr;)+) => {
        $(impl $table {
            pub(crate) fn written(&self) -> WrittenPolicy<'_> {
                let $this = self;
                WrittenPolicy {
                    profile: $profile,
                    allow: self.allow.as_deref(),
                    also_allow: &self.also_allow,
                    deny: &self.deny,
                }
            }
        })+
    };
}

written! {
    ToolPolicy: |_table| None;
    AgentTools: |table| table.profile.as_deref();
    ProviderTools: |table| table.profile.as_deref();
    ToolsConfig: |table| table.profile.as_deref();
}

/// One layer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ToolPolicy {
    /// Present: only these. Empty: none.
    pub allow: Option<Vec<PolicyEntry>>,
    /// Widens this layer's own `allow` or profile.
    pub also_allow: Vec<PolicyEntry>,
    /// Never these.
    pub deny: Vec<PolicyEntry>,
}

/// `[agents.NAME.tools]`, and what by-provider keys below it say.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AgentTools {
    /// Replaces the global profile.
    pub profile: Option<String>,
    /// Present: only these. Empty: none.
    pub allow: Option<Vec<PolicyEntry>>,
    /// Widens this layer's own `allow` or profile.
    pub also_allow: Vec<PolicyEntry>,
    /// Never these.
    pub deny: Vec<PolicyEntry>,
    /// Layers for `PROVIDER` and `PROVIDER/MODEL`.
    pub by_provider: BTreeMap<String, ProviderTools>,
}

/// A layer for a provider or one of its models.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ProviderTools {
    /// A profile for it.
    pub profile: Option<String>,
    /// Present: only these. Empty: none.
    pub allow: Option<Vec<PolicyEntry>>,
    /// Widens this layer's own `allow` or profile.
    pub also_allow: Vec<PolicyEntry>,
    /// Never these.
    pub deny: Vec<PolicyEntry>,
}

/// `[tools]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ToolsConfig {
    /// The profile of every agent that names none.
    pub profile: Option<String>,
    /// Present: only these. Empty: none.
    pub allow: Option<Vec<PolicyEntry>>,
    /// Widens this layer's own `allow` or profile.
    pub also_allow: Vec<PolicyEntry>,
    /// Never these.
    pub deny: Vec<PolicyEntry>,
    /// Layers for `PROVIDER` and `PROVIDER/MODEL`.
    pub by_provider: BTreeMap<String, ProviderTools>,
    /// Layers for `CHANNEL:ID`, `ID` and `*`.
    pub by_sender: BTreeMap<String, ToolPolicy>,
    /// The layer of sandboxed runs.
    pub sandbox: ToolPolicy,
    /// The layer of child runs.
    pub subagents: ToolPolicy,
    /// Who gets a name that two plugins of equal rank declare.
    pub owners: BTreeMap<ToolName, PluginId>,
    /// Groups by name.
    pub groups: BTreeMap<String, Vec<PolicyEntry>>,
    /// Profiles by name.
    pub profiles: BTreeMap<String, Vec<PolicyEntry>>,
    /// Closed lists for special runs.
    pub purposes: BTreeMap<String, Vec<PolicyEntry>>,
}
