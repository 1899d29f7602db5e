//! What one plugin may reach outside its sandbox: what its manifest asks for *and* its operator grants. Each capability is
//! one type with one question, `allows`, and refuses in words that say which of the two is missing and what to write.
//!
//! Rules: ARCHITECTURE.md, "Capabilities". Nothing here reaches anything itself.

mod filesystem;
mod key_value;
mod leak;
mod memory;
mod network;
mod secrets;
mod withhold;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::config::PluginEntry;
use crate::id::PluginId;
use crate::manifest::{FilesystemRequest, Manifest, NetworkRequest, SecretRequest};
use crate::text;

pub use filesystem::FilesystemCapability;
pub use key_value::{KeyValue, KeyValueCapability, KeyValueError, MAX_KEY_BYTES, MAX_KEYS, sum};
pub use memory::MemoryKeyValue;
pub use network::{NetworkCapability, Target};
pub use secrets::{Secret, SecretCapability, Secrets};
pub(crate) use withhold::{Witnesses, execute, handle};

/// All capabilities of one plugin.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// Requests over HTTP.
    pub network: NetworkCapability,
    /// Secrets that the host adds to them.
    pub secrets: SecretCapability,
    /// A key-value store of its own.
    pub key_value: KeyValueCapability,
    /// Folders.
    pub filesystem: FilesystemCapability,
}

impl Capabilities {
    /// What the manifest asks for, and what the operator's entry grants of it. Without an entry nothing is granted.
    pub(crate) fn new(manifest: &Manifest, entry: Option<&PluginEntry>) -> Self {
        let (plugin, asked) = (&manifest.id, &manifest.permissions);
        let granted = entry.map(|entry| entry.grants.clone()).unwrap_or_default();
        Self {
            network: NetworkCapability::new(plugin, asked.network.clone(), granted.network),
            secrets: SecretCapability::new(plugin, asked.secrets.clone(), granted.secrets),
            key_value: KeyValueCapability::new(plugin, asked.key_value.as_ref(), granted.key_value),
            filesystem: FilesystemCapability::new(plugin, asked.filesystem.clone(), &granted.filesystem),
        }
    }

    /// Nothing at all.
    pub(crate) fn none(plugin: &PluginId) -> Self {
        Self {
            network: NetworkCapability::new(plugin, Vec::new(), Vec::new()),
            secrets: SecretCapability::new(plugin, Vec::new(), Vec::new()),
            key_value: KeyValueCapability::new(plugin, None, false),
            filesystem: FilesystemCapability::new(plugin, Vec::new(), &[]),
        }
    }

    /// Whether the plugin can change anything outside itself: a call of its tools counts as one with side effects then.
    pub fn may_have_effects(&self) -> bool {
        self.network.is_effective() || self.key_value.allows().is_ok() || self.filesystem.may_write()
    }

    /// What is asked for and granted, both.
    pub fn effective(&self) -> Effective {
        Effective {
            network: self.network.effective(),
            secrets: self.secrets.effective().cloned().collect(),
            key_value_bytes: self.key_value.allows().ok(),
            filesystem: self.filesystem.effective(),
        }
    }
}

/// What a plugin may really reach, for people who look at an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effective {
    /// Endpoints and methods.
    pub network: Vec<NetworkRequest>,
    /// Secrets, the host that gets each, and the header.
    pub secrets: Vec<SecretRequest>,
    /// How much its store may hold; `None` if it has none.
    pub key_value_bytes: Option<u64>,
    /// Folders.
    pub filesystem: Vec<FilesystemRequest>,
}

/// Why a plugin may not reach something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    message: String,
    hint: String,
}

impl Refusal {
    /// The manifest does not ask for it. `line` is what its author would add to the manifest.
    fn not_requested(plugin: &PluginId, what: &str, line: &str) -> Self {
        Self {
            message: format!("the manifest of `{plugin}` does not ask for {what}"),
            hint: format!("its author adds {line}"),
        }
    }

    /// The operator did not grant it. `line` is what the operator would add to the plugin's grants.
    fn not_granted(plugin: &PluginId, what: &str, line: &str) -> Self {
        Self {
            message: format!("nobody granted `{plugin}` {what}"),
            hint: format!("an operator who wants that adds `{line}` to [plugins.entries.{plugin}.grants]"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.message, self.hint)
    }
}

/// Everything that one invocation is handed to reach outside its sandbox.
#[derive(Debug, Clone)]
pub struct Access {
    /// What it may reach.
    pub capabilities: Arc<Capabilities>,
    /// The values of secrets; a sandbox adds them to requests and shows none to a guest.
    pub secrets: Arc<Secrets>,
    /// Where key-value stores are.
    pub key_value: Arc<dyn KeyValue>,
}

/// Something that a guest reached for, and what came of it, for receipts and the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reached {
    /// Who reached.
    pub plugin: PluginId,
    /// `network`, `secret`, `key-value` or `filesystem`.
    pub capability: &'static str,
    /// What exactly, such as `POST https://api.example.org:443`: bounded, visible, and without query, body or secret.
    pub target: String,
    /// Whether it was let through.
    pub allowed: bool,
    /// Why not, or what happened to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Longest target on record, in characters: a method, a scheme, a host of 253 and a port.
const MAX_TARGET_CHARS: usize = 300;

/// Longest reason on record, in characters: a refusal with two names of hosts in it.
const MAX_REASON_CHARS: usize = 600;

impl Reached {
    /// Something that was let through so far, on one line of bounded length.
    pub fn new(plugin: &PluginId, capability: &'static str, target: &str) -> Self {
        let target = bounded(target, MAX_TARGET_CHARS);
        Self { plugin: plugin.clone(), capability, target, allowed: true, reason: None }
    }

    /// The same, refused.
    #[must_use]
    pub fn refused(mut self, reason: &str) -> Self {
        self.allowed = false;
        self.say(reason);
        self
    }

    /// The same without words that may come from a call's arguments.
    pub(crate) fn in_private(&self) -> Self {
        let target = "[left out: it may quote the call's arguments]".to_owned();
        Self { plugin: self.plugin.clone(), target, reason: None, ..*self }
    }

    /// Adds what came of it.
    pub fn say(&mut self, reason: &str) {
        let reason = match self.reason.take() {
            Some(before) => format!("{before}; {reason}"),
            None => reason.to_owned(),
        };
        self.reason = Some(bounded(&reason, MAX_REASON_CHARS));
    }
}

fn bounded(text: &str, chars: usize) -> String {
    text::single_line(&text::shorten(text, chars)).into_owned()
}
