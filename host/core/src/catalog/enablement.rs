//! Whether a plugin is on, by the operator's configuration alone: the first rule that matches decides.

use super::CatalogEntry;
use crate::config::{Config, PluginEntry};
use crate::diagnostic::{Code, Diagnostic};
use crate::discover::Origin;
use crate::id::PluginId;
use crate::text;

impl Config {
    /// What the configuration says about a plugin of that origin. An entry without an origin is about any but a
    /// workspace's: what a stranger's repository brings must not inherit what an installed plugin was granted.
    pub(crate) fn entry(&self, id: &PluginId, origin: Origin) -> Option<&PluginEntry> {
        let entry = self.file().plugins.entries.get(id)?;
        match entry.origin {
            Some(bound) => bound == origin,
            None => origin != Origin::Workspace,
        }
        .then_some(entry)
    }
}

/// Every decision that switches a plugin off: each one alone would.
pub(crate) fn disabled(config: &Config, id: &PluginId, origin: Origin) -> Vec<Diagnostic> {
    let plugins = &config.file().plugins;
    let entry = config.entry(id, origin);
    let mut off = Vec::new();
    let mut decide = |path: &[&str], message: String, hint: String| {
        off.push(Diagnostic::new(Code::PluginDisabled, id, message, hint).at(config.location(path)));
    };
    if !plugins.enabled {
        let hint = "set `plugins.enabled = true`".to_owned();
        decide(&["plugins", "enabled"], "all plugins are switched off".to_owned(), hint);
    }
    for (place, _) in plugins.deny.iter().enumerate().filter(|(_, denied)| *denied == id) {
        let path = ["plugins", "deny", &place.to_string()];
        decide(&path, format!("`{id}` is in `plugins.deny`"), "take it out of `plugins.deny`".to_owned());
    }
    if entry.is_some_and(|entry| entry.enabled == Some(false)) {
        let path = ["plugins", "entries", id.as_str(), "enabled"];
        let hint = "set `enabled = true` in its entry".to_owned();
        decide(&path, format!("the entry of `{id}` switches it off"), hint);
    }
    if plugins.allow.as_ref().is_some_and(|allow| !allow.contains(id)) {
        let message = format!("`plugins.allow` is present and does not name `{id}`");
        decide(&["plugins", "allow"], message, format!("add \"{id}\" to `plugins.allow`"));
    }
    if origin == Origin::Workspace && entry.is_none() {
        let message = format!("a workspace brings `{id}`, and no entry accepts it");
        let hint =
            format!("add `[plugins.entries.{id}]` with `origin = \"workspace\"`, if you trust the workspace");
        decide(&["plugins", "entries", id.as_str()], message, hint);
    }
    off
}

/// Guards that a list switches off, by accident perhaps: an entry that switches its own plugin off knows what it does.
pub(super) fn guards_off(config: &Config, entries: &[CatalogEntry]) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for entry in entries {
        let id = &entry.manifest.id;
        let Some(written) = config.entry(id, entry.origin) else { continue };
        let guards = written.grants.hooks.iter().any(|granted| granted.hook.is_fail_closed());
        let off = disabled(config, id, entry.origin);
        if let Some(rule) = off.first().filter(|_| guards && written.enabled != Some(false)) {
            let message = format!("`{id}` is granted a hook that guards, and is off: {}", rule.message);
            let hint = format!("{}, or take the grant away", rule.hint);
            findings.push(Diagnostic::new(Code::GuardOff, id, message, hint).at(rule.location.clone()));
        }
    }
    findings
}

/// How many names that no plugin has are reported: a person mends the first ones first.
pub(super) const MAX_UNMATCHED: usize = 64;

/// Names in the configuration that no installed plugin has.
pub(super) fn unmatched(config: &Config, entries: &[CatalogEntry]) -> Vec<Diagnostic> {
    let plugins = &config.file().plugins;
    let named = |list: &'static str, ids: &[PluginId]| {
        let placed = ids.iter().enumerate();
        placed
            .map(|(place, id)| (id.clone(), vec!["plugins".to_owned(), list.to_owned(), place.to_string()]))
            .collect::<Vec<_>>()
    };
    let in_table =
        |path: [&str; 2], key: &str| path.iter().chain([&key]).map(ToString::to_string).collect::<Vec<_>>();
    let mut written = named("deny", &plugins.deny);
    written.extend(named("allow", plugins.allow.as_deref().unwrap_or_default()));
    written
        .extend(plugins.entries.keys().map(|id| (id.clone(), in_table(["plugins", "entries"], id.as_str()))));
    let owners = config.file().tools.owners.iter();
    written.extend(owners.map(|(tool, id)| (id.clone(), in_table(["tools", "owners"], tool.as_str()))));
    let installed: std::collections::BTreeSet<&PluginId> =
        entries.iter().map(|entry| &entry.manifest.id).collect();
    let is_installed = |id: &PluginId| installed.contains(id);
    written.retain(|(id, _)| !is_installed(id));
    let finding = |(id, path): (PluginId, Vec<String>)| {
        let installed = entries.iter().map(|entry| entry.manifest.id.as_str());
        let hint = text::suggest(id.as_str(), installed).map_or_else(
            || "install it, or remove what the configuration says about it".to_owned(),
            |name| format!("did you mean `{name}`?"),
        );
        let message = format!("the configuration names the plugin `{id}`, which is not installed");
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        Diagnostic::new(Code::PluginUnknown, &id, message, hint).at(config.location(&path))
    };
    written.into_iter().take(MAX_UNMATCHED).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(config: &str, origin: Origin, expected: &[&str]) {
        let config = Config::from_toml(config.as_bytes(), std::path::Path::new("airlock.toml")).unwrap();
        let off = disabled(&config, &PluginId::parse("github").unwrap(), origin);
        let off: Vec<_> =
            off.into_iter().map(|off| format!("{} ({})", off.message, off.location.unwrap())).collect();
        assert_eq!(off, expected);
    }

    #[test]
    fn every_rule_that_switches_it_off_is_named() {
        let entry = |value| format!("[plugins.entries.github]\nenabled = {value}");
        check("", Origin::User, &[]);
        check(
            "[plugins]\nenabled = false\nallow = [\"github\"]",
            Origin::User,
            &["all plugins are switched off (airlock.toml:2:1)"],
        );
        check(
            "[plugins]\nallow = [\"github\"]\ndeny = [\"a\", \"github\"]",
            Origin::User,
            &["`github` is in `plugins.deny` (airlock.toml:3:14)"],
        );
        check(&entry("false"), Origin::User, &["the entry of `github` switches it off (airlock.toml:2:1)"]);
        check(
            &format!("[plugins]\nallow = []\n{}", entry("true")),
            Origin::User,
            &["`plugins.allow` is present and does not name `github` (airlock.toml:2:1)"],
        );
        check(&entry("true"), Origin::User, &[]);
    }

    #[test]
    fn a_workspace_s_plugin_inherits_nothing() {
        let off = "a workspace brings `github`, and no entry accepts it";
        check("", Origin::Workspace, &[&format!("{off} (airlock.toml:1:1)")]);
        check(
            "[plugins.entries.github]\nenabled = true",
            Origin::Workspace,
            &[&format!("{off} (airlock.toml:1:18)")],
        );
        check("[plugins.entries.github]\norigin = \"workspace\"", Origin::Workspace, &[]);
    }
}
