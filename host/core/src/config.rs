//! The operator's configuration `airlock.toml`: text enters, a typed [`Config`] or one placed error leaves.
//!
//! Unknown keys, impossible values and malformed names are refused with line, column and a suggestion. Reading it has
//! no effect; what a key does is decided where it is used.

mod entry;
mod plugins;
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::diagnostic::Location;
use crate::document::{Document, Problem, RawJson, Source};
use crate::error::Error;
use crate::hooks::HookName;
use crate::id::ToolName;
use crate::limits::{AtLeast, Limits, WaitMs};
use crate::skills::SkillName;

pub use entry::PolicyEntry;
pub use plugins::{FilesystemGrant, Grants, LimitsEntry, OnFailure, PluginEntry, PluginsConfig};
pub(crate) use tools::WrittenPolicy;
pub use tools::{AgentTools, ProviderTools, ToolPolicy, ToolsConfig};

/// Largest configuration in bytes: thousands of entries, and still read in a millisecond.
const MAX_CONFIG_BYTES: usize = 1 << 20;

/// What an operator decided. Every key is optional; the default is an empty file.
#[derive(Debug, Clone, Default)]
pub struct Config {
    file: File,
    source: Option<Source>,
}

impl Config {
    /// Reads the bytes of the file at `path`, to which relative paths in it refer.
    ///
    /// # Errors
    /// The first fault, with file, line, column, field and what was probably meant.
    pub fn from_toml(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        if bytes.len() > MAX_CONFIG_BYTES {
            let message = format!("{} has more than {MAX_CONFIG_BYTES} bytes", path.display());
            return Err(Error::configuration(message));
        }
        let document = Document::from_toml(bytes).map_err(|problem| problem.error(path))?;
        let file: File = document.read().map_err(|problem| problem.error(path))?;
        if let Some((path_in_file, message)) = file.limits.problem() {
            return Err(document.problem_at(&path_in_file, message).error(path));
        }
        if let Some(name) =
            file.secrets.iter().find(|(_, source)| source.env.is_some() == source.file.is_some())
        {
            let message = "a secret comes from exactly one of `env` and `file`";
            return Err(document.problem_at(&["secrets", name.0], message).error(path));
        }
        if let Some(path_in_file) = file.skills.impossible_variable() {
            let message = "no program can have such a variable: a name without `=`, and no zero byte";
            return Err(document.problem_at(&path_in_file, message).error(path));
        }
        Ok(Self { file, source: Some(Source { path: path.to_owned(), document }) })
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read; else as [`Self::from_toml`].
    pub fn from_path(path: &Path) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        // One byte more than a configuration may have, so that one that is too large is refused as such.
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_CONFIG_BYTES as u64 + 1).read_to_end(&mut bytes))
            .map_err(|error| Error::configuration(format!("{} cannot be read: {error}", path.display())))?;
        Self::from_toml(&bytes, path)
    }

    /// Everything in the file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The operator's plugin roots, relative ones below the configuration's folder.
    pub fn plugin_roots(&self) -> Vec<PathBuf> {
        self.file.plugins.roots.iter().map(|root| self.beside(root)).collect()
    }

    /// The operator's store, relative to the configuration's folder; `None` if it names none.
    pub fn store_path(&self) -> Option<PathBuf> {
        self.file.store.path.as_ref().map(|path| self.beside(path))
    }

    /// A path as the configuration writes it: relative to the configuration's folder.
    pub(crate) fn beside(&self, path: &Path) -> PathBuf {
        let folder = self.source.as_ref().and_then(|source| source.path.parent()).unwrap_or(Path::new(""));
        folder.join(path)
    }

    /// The whole file as a value; null without one.
    pub(crate) fn written(&self) -> Value {
        let read = self.source.as_ref().and_then(|source| source.document.read::<RawJson>().ok());
        read.map_or(Value::Null, |RawJson(value)| value)
    }

    /// Where the value at `path` stands; `None` if the configuration has no file.
    pub(crate) fn location(&self, path: &[&str]) -> Option<Location> {
        self.source.as_ref().map(|source| source.location(path))
    }

    /// An error about the value at `path`, which only its use brings to light.
    pub(crate) fn problem(&self, path: &[&str], message: String, hint: Option<String>) -> Error {
        let Some(source) = &self.source else { return Error::configuration(message) };
        let problem = source.document.problem_at(path, message);
        Problem { hint, ..problem }.error(&source.path)
    }

    /// The operator's limits of every invocation.
    pub(crate) fn limits(&self) -> Limits {
        let (written, default) = (&self.file.limits, Limits::default());
        Limits {
            timeout: written.timeout_ms.map_or(default.timeout, |limit| Duration::from_millis(limit.get())),
            fuel: written.fuel.map_or(default.fuel, AtLeast::get),
            memory_bytes: written.memory_bytes.map_or(default.memory_bytes, AtLeast::get),
        }
    }
}

/// The file as written. Each field says what its key means.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[schemars(title = "airlock.toml")]
pub struct File {
    /// Which plugins there are, and what each may do.
    pub plugins: PluginsConfig,
    /// Secrets by name; never handed to a guest.
    pub secrets: BTreeMap<String, SecretSource>,
    /// What the host can use at providers.
    pub providers: ProvidersConfig,
    /// Which tools a run may have.
    pub tools: ToolsConfig,
    /// Agents by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// Channels by name.
    pub channels: BTreeMap<String, ChannelConfig>,
    /// When schemas are withheld until they are searched for.
    pub tool_search: ToolSearchConfig,
    /// Limits of every invocation.
    pub limits: LimitsConfig,
    /// Hooks in general.
    pub hooks: HooksConfig,
    /// Asking a person.
    pub approvals: ApprovalsConfig,
    /// Stopping a model that repeats itself.
    pub loop_protection: LoopProtectionConfig,
    /// Skills.
    pub skills: SkillsConfig,
    /// Where grants and records are kept.
    pub store: StoreConfig,
    /// What records hold.
    pub audit: AuditConfig,
}

/// `[limits]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LimitsConfig {
    /// Wall clock in milliseconds; 30,000 by default, an hour at most.
    pub timeout_ms: Option<AtLeast<1>>,
    /// Fuel; 1,000,000,000 by default.
    pub fuel: Option<AtLeast<1_000>>,
    /// Bytes of memory; 64 MiB by default and at most.
    pub memory_bytes: Option<AtLeast<65_536>>,
    /// Guests that run at once; 64 by default.
    pub concurrent_guests: Option<AtLeast<1>>,
    /// Of those, guests of one plugin; 16 by default.
    pub concurrent_guests_per_plugin: Option<AtLeast<1>>,
}

impl LimitsConfig {
    /// The first limit that is higher than the host can keep, and what it may be.
    fn problem(&self) -> Option<(Vec<&'static str>, String)> {
        // A slot of the pool has 64 MiB; each concurrent guest reserves 4 GiB of address space.
        let most: [(&'static str, Option<u64>, u64); 4] = [
            ("timeout-ms", self.timeout_ms.map(AtLeast::get), 3_600_000),
            ("memory-bytes", self.memory_bytes.map(AtLeast::get), 64 << 20),
            ("concurrent-guests", self.concurrent_guests.map(AtLeast::get), 1_024),
            ("concurrent-guests-per-plugin", self.concurrent_guests_per_plugin.map(AtLeast::get), 1_024),
        ];
        most.into_iter()
            .find(|(_, value, most)| value.is_some_and(|value| value > *most))
            .map(|(name, _, most)| (vec!["limits", name], format!("the most is {most}")))
    }
}

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SecretSource {
    /// An environment variable's name.
    #[serde(default)]
    pub env: Option<String>,
    /// A file.
    #[serde(default)]
    pub file: Option<PathBuf>,
}

/// `[providers]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ProvidersConfig {
    /// Providers for which the host holds a usable credential.
    pub authenticated: Vec<String>,
}

/// `[agents.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AgentConfig {
    /// Present: only these skills.
    pub skills: Option<BTreeSet<SkillName>>,
    /// Which tools its runs may have.
    pub tools: AgentTools,
}

/// `[channels.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ChannelConfig {
    /// Groups by their id in the channel.
    pub groups: BTreeMap<String, GroupConfig>,
}

/// `[channels.NAME.groups.ID]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct GroupConfig {
    /// Which tools runs of this group may have.
    pub tools: ToolPolicy,
}

/// `[tool-search]`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ToolSearchConfig {
    /// If a run has more tools than this, some are withheld from the model until it searches for them.
    pub threshold_tools: u32,
    /// If the schemas of their parameters have more bytes than this, too.
    pub threshold_bytes: u32,
    /// Never withheld.
    pub pinned: Vec<ToolName>,
}

impl Default for ToolSearchConfig {
    fn default() -> Self {
        Self { threshold_tools: 64, threshold_bytes: 65_536, pinned: Vec::new() }
    }
}

/// `[hooks]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct HooksConfig {
    /// Milliseconds by hook.
    pub timeouts: BTreeMap<HookName, WaitMs>,
}

/// `[approvals]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ApprovalsConfig {
    /// How long an answer is awaited; 120,000 by default.
    pub timeout_ms: Option<WaitMs>,
}

/// `[loop-protection]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LoopProtectionConfig {
    /// On or off.
    pub enabled: bool,
}

/// `[skills]`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SkillsConfig {
    /// More folders, weakest of all.
    pub extra_dirs: Vec<PathBuf>,
    /// Notice changes.
    pub watch: bool,
    /// What is said about single skills.
    pub entries: BTreeMap<SkillName, SkillEntry>,
}

impl Default for SkillsConfig {
    fn default() -> Self {
        Self { extra_dirs: Vec::new(), watch: true, entries: BTreeMap::new() }
    }
}

impl SkillsConfig {
    /// Where a variable is that cannot be one.
    fn impossible_variable(&self) -> Option<[&str; 5]> {
        let variables = self.entries.iter().flat_map(|(skill, entry)| {
            entry.env.iter().map(move |(name, value)| (skill.as_str(), name.as_str(), value))
        });
        let is_wrong =
            |name: &str, value: &str| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        let (skill, name, _) = variables.into_iter().find(|(_, name, value)| is_wrong(name, value))?;
        Some(["skills", "entries", skill, "env", name])
    }
}

/// `[skills.entries.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SkillEntry {
    /// On or off.
    pub enabled: Option<bool>,
    /// Variables of programs that the host starts while an agent has the skill; none in a sandboxed run.
    pub env: BTreeMap<String, String>,
}

/// `[store]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct StoreConfig {
    /// The file; absent means memory for the library and the data folder for the program.
    pub path: Option<PathBuf>,
}

/// `[audit]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AuditConfig {
    /// Digests of contents, or contents.
    pub contents: AuditContents,
}

/// What a record holds of arguments and results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AuditContents {
    /// Their digests.
    #[default]
    Digest,
    /// All of them.
    Full,
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = include_str!("config/whole.toml");

    #[test]
    fn the_whole_schema_is_read() {
        let config = Config::from_toml(WHOLE.as_bytes(), Path::new("/etc/airlock.toml")).unwrap();
        let file = config.file();
        let github = &file.plugins.entries[&crate::id::PluginId::parse("github").unwrap()];
        assert_eq!(github.config.as_ref().unwrap().0["org"], "acme");
        assert_eq!(github.grants.hooks.len(), 2);
        assert_eq!(github.limits.timeout_ms.unwrap().get(), 10_000);
        assert_eq!(config.plugin_roots(), [PathBuf::from("/etc/plugins")]);
        assert_eq!(config.store_path(), None);
        let stored = Config::from_toml(b"[store]\npath = \"a.db\"", Path::new("/etc/airlock.toml")).unwrap();
        assert_eq!(stored.store_path(), Some(PathBuf::from("/etc/a.db")));
        assert_eq!(file.tools.by_provider.keys().collect::<Vec<_>>(), ["openai/gpt-5"]);
        assert_eq!(file.agents["writer"].tools.profile.as_deref(), Some("reviewer"));
        assert_eq!(config.location(&["plugins", "deny", "0"]).unwrap().line, Some(7));
        assert_eq!(config.limits(), Limits::default());
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let error = Config::from_toml(text.as_bytes(), Path::new("airlock.toml")).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn every_slip_is_named_with_its_place() {
        check(
            "[plugins]\nenabeld = true",
            "airlock.toml:2:1: `plugins.enabeld`: unknown key `enabeld`: did you mean `enabled`?",
        );
        check("[plugin]", "airlock.toml:1:2: `plugin`: unknown key `plugin`: did you mean `plugins`?");
        check(
            "[plugins]\ndeny = [\"Bad Id\"]",
            "airlock.toml:2:9: `plugins.deny[0]`: \"Bad Id\" starts with 'B': a plugin id is 1 to 64 characters, starts with a lower-case letter, then has lower-case letters, digits and `-`",
        );
        check(
            "[limits]\nmemory-bytes = 1024",
            "airlock.toml:2:16: `limits.memory-bytes`: invalid value: integer `1024`, expected a whole number of at least 65536",
        );
        check(
            "[limits]\nmemory-bytes = 100000000",
            "airlock.toml:2:1: `limits.memory-bytes`: the most is 67108864",
        );
        check(
            "[tools]\nallow = [\"group:\"]",
            "airlock.toml:2:10: `tools.allow[0]`: `group:` names no group: write `group:NAME`",
        );
        check(
            "[hooks]\ntimeouts = { before-tool-cal = 1 }",
            "airlock.toml:2:14: `hooks.timeouts.before-tool-cal`: unknown value `before-tool-cal`: did you mean `before-tool-call`?",
        );
        check(
            "[hooks]\ntimeouts = { before-tool-call = 600001 }",
            "airlock.toml:2:33: `hooks.timeouts.before-tool-call`: invalid value: integer `600001`, expected a whole number of at least 1 and at most 600000",
        );
        check(
            "[plugins.entries.a.grants]\nfilesystem = [{ path = \"work-space\", access = \"read\" }]",
            "airlock.toml:2:24: `plugins.entries.a.grants.filesystem[0].path`: unknown value `work-space`: did you mean `workspace`?",
        );
        check(
            "[secrets]\na = {}",
            "airlock.toml:2:1: `secrets.a`: a secret comes from exactly one of `env` and `file`",
        );
        check(
            "[skills.entries.a]\nenv = { \"A=B\" = \"1\" }",
            "airlock.toml:2:9: `skills.entries.a.env.A=B`: no program can have such a variable: a name without `=`, and no zero byte",
        );
        check("a = ", "airlock.toml:1:5: string values must be quoted, expected literal string: write TOML");
    }
}
