//! One attack as data: who attacks, with which call, under which limits, and how it must end. Nothing runs here.

use airlock_core::{CallKind, Code};
use serde_json::{Value, json};

use crate::guest::Guest;

/// Deadline of a plugin that is made here, in milliseconds: short, since many attacks only end by it, and longer than what
/// an honest call takes on a busy machine.
const TIMEOUT_MS: u64 = 200;

/// How an attack must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// The plugin loads, and its call ends so.
    Ends(CallKind),
    /// The plugin has no tool, for this reason.
    Refused(Code),
}

impl Expected {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ends(kind) => kind.as_str(),
            Self::Refused(code) => code.as_str(),
        }
    }
}

/// Where the attacking plugin comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A built sample plugin of that name.
    Sample,
    /// A component and its manifest, made here.
    Made {
        /// The component.
        component: Vec<u8>,
        /// The manifest.
        manifest: Value,
    },
}

/// One attack.
#[derive(Debug, Clone)]
pub struct Attack {
    /// What is tried, in a few words.
    pub title: &'static str,
    /// The plugin's id.
    pub plugin: String,
    /// The plugin itself.
    pub source: Source,
    /// The tool that is called, if it gets so far.
    pub tool: String,
    /// With which arguments.
    pub arguments: &'static str,
    /// The operator's configuration.
    pub settings: &'static str,
    /// How it must end.
    pub expected: Expected,
}

impl Attack {
    /// A call of a sample plugin.
    pub(crate) fn sample(
        title: &'static str,
        plugin: &str,
        tool: &str,
        arguments: &'static str,
        expected: CallKind,
    ) -> Self {
        Self {
            title,
            plugin: plugin.to_owned(),
            source: Source::Sample,
            tool: tool.to_owned(),
            arguments,
            settings: "",
            expected: Expected::Ends(expected),
        }
    }

    /// A call of a guest that is made here; its one tool is named like the plugin.
    pub fn call(title: &'static str, plugin: &str, guest: &Guest, expected: CallKind) -> Self {
        Self::made(title, plugin, guest.component(plugin), Expected::Ends(expected))
    }

    /// A plugin that gets no tool.
    pub(crate) fn refused(title: &'static str, plugin: &str, component: Vec<u8>, code: Code) -> Self {
        Self::made(title, plugin, component, Expected::Refused(code))
    }

    pub(crate) fn made(title: &'static str, plugin: &str, component: Vec<u8>, expected: Expected) -> Self {
        let manifest = json!({
            "id": plugin, "version": "1.0.0", "component": "plugin.wasm", "world": "airlock:plugin@0.1.0",
            "contracts": { "tools": [plugin] },
            "limits": { "timeoutMs": TIMEOUT_MS },
        });
        Self {
            title,
            plugin: plugin.to_owned(),
            source: Source::Made { component, manifest },
            tool: plugin.to_owned(),
            arguments: "{}",
            settings: "",
            expected,
        }
    }

    /// The same under an operator's configuration.
    pub(crate) fn with_settings(mut self, settings: &'static str) -> Self {
        self.settings = settings;
        self
    }

    /// The same with permissions in the manifest.
    pub(crate) fn asking(mut self, permissions: Value) -> Self {
        if let Source::Made { manifest, .. } = &mut self.source {
            manifest["permissions"] = permissions;
        }
        self
    }

    /// The same with another limit in the manifest.
    pub(crate) fn limited(mut self, limit: &str, value: u64) -> Self {
        if let Source::Made { manifest, .. } = &mut self.source {
            manifest["limits"][limit] = json!(value);
        }
        self
    }
}
