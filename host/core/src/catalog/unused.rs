//! What an operator writes about a plugin and that has no effect: limits that lower nothing, and grants of what no manifest
//! asks for. Nobody should believe in a limit or a grant that is not there.

use super::CatalogEntry;
use super::enablement::MAX_UNMATCHED;
use crate::config::{Config, LimitsEntry, PluginEntry};
use crate::diagnostic::{Code, Diagnostic};
use crate::limits::{AtLeast, Limits};

/// Findings about entries of plugins that are in use.
pub(super) fn unused(config: &Config, entries: &[CatalogEntry]) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for entry in entries.iter().filter(|entry| entry.refusals.is_empty()) {
        let id = entry.manifest.id.as_str();
        let Some(written) = config.entry(&entry.manifest.id, entry.origin) else { continue };
        let mut find = |path: &[&str], message: String, hint: &str| {
            let path: Vec<&str> = ["plugins", "entries", id].iter().chain(path).copied().collect();
            let finding = Diagnostic::new(Code::EntryUnused, id, message, hint);
            findings.push(finding.at(config.location(&path)));
        };
        limits(entry, written, config.limits(), &mut find);
        grants(entry, written, &mut find);
    }
    findings.truncate(MAX_UNMATCHED);
    findings
}

fn limits(
    entry: &CatalogEntry,
    written: &PluginEntry,
    whole: Limits,
    find: &mut impl FnMut(&[&str], String, &str),
) {
    let of_plugin = whole.lowered_by(&entry.manifest.limits).lowered_by(&written.limits.ceiling());
    for (name, value, most) in higher(&written.limits, &whole) {
        let message = format!("`{name}` = {value} lowers nothing: [limits] has {most}");
        find(&["limits", name], message, "write a lower value, or take it out");
    }
    for (tool, lower) in &written.tool_limits {
        let name = tool.as_str();
        if !entry.manifest.contracts.tools.contains(tool) {
            let message = format!("`tool-limits` names `{tool}`, which the plugin does not declare");
            find(&["tool-limits", name], message, "correct the name, or take it out");
            continue;
        }
        for (limit, value, most) in higher(lower, &of_plugin) {
            let message = format!("`{limit}` = {value} of `{tool}` lowers nothing: its plugin has {most}");
            find(&["tool-limits", name, limit], message, "write a lower value, or take it out");
        }
    }
}

/// The written limits that are higher than what is in force without them.
fn higher(written: &LimitsEntry, whole: &Limits) -> Vec<(&'static str, u64, u64)> {
    let timeout_ms = u64::try_from(whole.timeout.as_millis()).unwrap_or(u64::MAX);
    let all = [
        ("timeout-ms", written.timeout_ms.map(AtLeast::get), timeout_ms),
        ("fuel", written.fuel.map(AtLeast::get), whole.fuel),
        ("memory-bytes", written.memory_bytes.map(AtLeast::get), whole.memory_bytes),
    ];
    let higher = all.into_iter().filter_map(|(name, value, most)| Some((name, value?, most)));
    higher.filter(|(_, value, most)| value > most).collect()
}

fn grants(entry: &CatalogEntry, written: &PluginEntry, find: &mut impl FnMut(&[&str], String, &str)) {
    let (asked, granted) = (&entry.manifest.permissions, &written.grants);
    let hint = "take the grant out, or ask the plugin's author why the manifest does not ask for it";
    for (place, endpoint) in granted.network.iter().enumerate() {
        let is_asked = asked
            .network
            .iter()
            .any(|asked| asked.endpoint.covers(endpoint) || endpoint.covers(&asked.endpoint));
        // An address may be there so that a name may lead to it.
        if !is_asked && (endpoint.host.address().is_none() || asked.network.is_empty()) {
            let message = format!("requests to `{endpoint}` are granted, and nothing asks for them");
            find(&["grants", "network", &place.to_string()], message, hint);
        }
    }
    for (place, name) in granted.secrets.iter().enumerate() {
        if !asked.secrets.iter().any(|asked| asked.name == *name) {
            let message = format!("the secret `{name}` is granted, and nothing asks for it");
            find(&["grants", "secrets", &place.to_string()], message, hint);
        }
    }
    if granted.key_value && asked.key_value.is_none() {
        let message = "a key-value store is granted, and nothing asks for it".to_owned();
        find(&["grants", "key-value"], message, hint);
    }
    for (place, folder) in granted.filesystem.iter().enumerate() {
        if !asked.filesystem.iter().any(|asked| asked.path == folder.path) {
            let message = format!("the folder `{}` is granted, and nothing asks for it", folder.path);
            find(&["grants", "filesystem", &place.to_string()], message, hint);
        }
    }
}
