//! What an operator says about plugins: which are on, how they are configured, and what each may reach.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discover::Origin;
use crate::document::RawJson;
use crate::hooks::HookName;
use crate::id::{PluginId, ToolName};
use crate::limits::{AtLeast, LimitsCeiling, WaitMs};
use crate::manifest::{Endpoint, FileAccess, HookContract, permissions};

/// `[plugins]`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PluginsConfig {
    /// False: no plugin at all.
    pub enabled: bool,
    /// Folders of origin `config`, relative to the file.
    pub roots: Vec<PathBuf>,
    /// Present: only these.
    pub allow: Option<Vec<PluginId>>,
    /// Never these.
    pub deny: Vec<PluginId>,
    /// What is said about single plugins.
    pub entries: BTreeMap<PluginId, PluginEntry>,
}

impl Default for PluginsConfig {
    fn default() -> Self {
        Self { enabled: true, roots: Vec::new(), allow: None, deny: Vec::new(), entries: BTreeMap::new() }
    }
}

/// `[plugins.entries.ID]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PluginEntry {
    /// On or off, whatever the default is.
    pub enabled: Option<bool>,
    /// Needed to accept a plugin that a workspace brings; binds the entry to that origin.
    pub origin: Option<Origin>,
    /// The plugin's configuration, validated against its manifest's `configSchema`.
    pub config: Option<RawJson>,
    /// What a guard that cannot load does to the events it covers.
    pub on_load_failure: OnFailure,
    /// What a failing `before-prompt-build` handler does.
    pub on_hook_failure: OnFailure,
    /// Honour `toolMetadata.profiles`.
    pub join_profiles: bool,
    /// Lower limits than `[limits]`.
    pub limits: LimitsEntry,
    /// Lower limits still, for calls of one tool.
    pub tool_limits: BTreeMap<ToolName, LimitsEntry>,
    /// Milliseconds by hook.
    pub hook_timeouts: BTreeMap<HookName, WaitMs>,
    /// What it may reach of what it asks for.
    pub grants: Grants,
}

/// What happens when a guard is missing or fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The event takes the hook's failure action.
    #[default]
    Refuse,
    /// The event goes on without it.
    Ignore,
}

/// `[plugins.entries.ID.grants]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all(serialize = "camelCase", deserialize = "kebab-case"), default)]
pub struct Grants {
    /// Hosts.
    pub network: Vec<Endpoint>,
    /// Secrets by name.
    pub secrets: Vec<String>,
    /// A store of its own.
    pub key_value: bool,
    /// Folders.
    pub filesystem: Vec<FilesystemGrant>,
    /// Hooks over others.
    pub hooks: Vec<HookContract>,
}

/// One granted folder.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FilesystemGrant {
    /// The folder's name; `workspace`, the run's own, is the only one so far.
    #[serde(deserialize_with = "permissions::folder")]
    #[schemars(extend("enum" = permissions::FOLDERS))]
    pub path: String,
    /// What may be done there.
    pub access: FileAccess,
}

/// Limits of one plugin, each lower than the operator's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LimitsEntry {
    /// Wall clock in milliseconds.
    pub timeout_ms: Option<AtLeast<1>>,
    /// Fuel.
    pub fuel: Option<AtLeast<1_000>>,
    /// Bytes of memory.
    pub memory_bytes: Option<AtLeast<65_536>>,
}

impl LimitsEntry {
    pub(crate) fn ceiling(&self) -> LimitsCeiling {
        LimitsCeiling { timeout_ms: self.timeout_ms, fuel: self.fuel, memory_bytes: self.memory_bytes }
    }
}
