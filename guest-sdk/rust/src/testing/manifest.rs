//! A plugin and the text of its manifest enter, a sentence for each disagreement about tools and hooks leaves. It never
//! corrects either.

mod hooks;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde_json::Value;

use super::Registered;
use crate::Exposure;
use crate::Plugin;

/// Compares the plugin with its manifest, given as the text of `airlock.plugin.json`.
///
/// # Errors
///
/// A sentence for each disagreement: a tool, static or of a factory, or a hook that only one side knows; a tool that is
/// optional for one side only; a handler that is about other tools than the manifest says.
pub fn check_manifest<P: Plugin>(manifest: &str) -> Result<(), String> {
    let manifest: Value = serde_json::from_str(manifest)
        .map_err(|error| format!("airlock.plugin.json is not JSON: {error}"))?;
    let registered = super::register::<P>()?;
    let mut problems = tools(&manifest, &registered);
    problems.extend(hooks::problems(&manifest, &registered.handlers));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn tools(manifest: &Value, registered: &Registered) -> Vec<String> {
    let tools = manifest.pointer("/contracts/tools").and_then(Value::as_array);
    let declared: BTreeSet<&str> = tools.into_iter().flatten().filter_map(Value::as_str).collect();

    // Each name with its exposure and where an author changes that.
    let of_tools =
        registered.tools.iter().map(|(tool, exposure)| (tool.name.as_str(), *exposure, "#[tool(optional)]"));
    let of_factories = registered.factories.iter().flat_map(|factory| {
        factory.names.iter().map(|name| (name.as_str(), factory.exposure, "#[factory(…, optional)]"))
    });
    let names: BTreeMap<&str, (Exposure, &str)> =
        of_tools.chain(of_factories).map(|(name, exposure, place)| (name, (exposure, place))).collect();

    let mut problems = Vec::new();
    for name in names.keys().filter(|name| !declared.contains(*name)) {
        problems.push(format!("the plugin has the tool `{name}`; add it to `contracts.tools`"));
    }
    for name in declared.iter().filter(|name| !names.contains_key(*name)) {
        problems.push(format!(
            "`contracts.tools` declares `{name}`; list it in `plugin!` or in a factory, or remove it there"
        ));
    }
    for (name, (exposure, place)) in &names {
        let metadata = manifest.get("toolMetadata").and_then(|metadata| metadata.get(name));
        let optional = metadata.and_then(|metadata| metadata.get("optional")) == Some(&Value::Bool(true));
        if optional != (*exposure == Exposure::Optional) {
            problems.push(format!("`{name}` must be optional both in `toolMetadata` and in `{place}`"));
        }
    }
    problems
}
