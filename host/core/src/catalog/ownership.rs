//! Who owns what: entries enter, those that go without something are named. Independent of any order.

use std::collections::{BTreeMap, BTreeSet};

use super::enablement::MAX_UNMATCHED;
use super::{CatalogEntry, Conflict};
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::discover::Origin;
use crate::id::{PluginId, ToolName};
use crate::manifest::MANIFEST_FILE;
use crate::search::Control;
use crate::text;

/// The strongest origin keeps an id; between equals neither does.
pub(super) fn settle_duplicate_ids(entries: &mut [CatalogEntry]) {
    for same in entries.chunk_by_mut(|one, other| one.manifest.id == other.manifest.id) {
        if same.len() < 2 {
            continue;
        }
        let strongest = same.iter().map(|entry| entry.origin).max().unwrap_or(Origin::Workspace);
        let all: Vec<(Origin, String)> = same
            .iter()
            .map(|entry| {
                (
                    entry.origin,
                    format!(
                        "{} (version {}, {})",
                        entry.folder.display(),
                        entry.manifest.version,
                        entry.origin
                    ),
                )
            })
            .collect();
        let is_tied = all.iter().filter(|(origin, _)| *origin == strongest).count() > 1;
        for (index, entry) in same.iter_mut().enumerate() {
            let others = all.iter().enumerate().filter(|(other, _)| *other != index);
            let (code, message) = if entry.origin < strongest {
                let winner = others
                    .filter(|(_, (origin, _))| *origin == strongest)
                    .map(|(_, (_, shown))| shown.as_str());
                let winner = listed(winner);
                (Code::PluginShadowed, format!("version {} is shadowed by {winner}", entry.manifest.version))
            } else if is_tied {
                let rivals = listed(others.map(|(_, (_, shown))| shown.as_str()));
                (Code::PluginDuplicate, format!("the id also belongs to {rivals}; neither loads"))
            } else {
                continue;
            };
            let location = Location::path(&entry.folder);
            // Whatever else is wrong with a copy that is not used is of no interest.
            entry.refusals = vec![
                Diagnostic::new(code, &entry.manifest.id, message, "remove all copies but one").at(location),
            ];
        }
    }
}

/// Who goes without a tool name: a native tool wins, then the stronger origin, then whom the operator names; between
/// equals neither gets it.
pub(super) fn settle_tools(
    entries: &[CatalogEntry],
    native_tools: &[ToolName],
    config: &Config,
) -> Vec<Conflict> {
    let mut claims: BTreeMap<&ToolName, Vec<&CatalogEntry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.refusals.is_empty()) {
        for tool in &entry.manifest.contracts.tools {
            claims.entry(tool).or_default().push(entry);
        }
    }
    let mut conflicts = Vec::new();
    for (tool, claimants) in claims {
        let is_native = native_tools.contains(tool);
        let (strongest, is_tied) = rank(&claimants);
        let owner = config.file().tools.owners.get(tool);
        let owner = owner.filter(|owner| {
            claimants.iter().any(|entry| entry.manifest.id == **owner && entry.origin == strongest)
        });
        for loser in &claimants {
            let id = &loser.manifest.id;
            let rivals = rivals(&claimants, loser);
            let location = Location::path(loser.folder.join(MANIFEST_FILE));
            let diagnostic = if is_native {
                let is_own = Control::named(tool.as_str()).is_some();
                let what = if is_own { "the host's own" } else { "a native tool" };
                let message = format!("`{id}` declares the tool `{tool}`, which is {what}");
                let hint = "a plugin never replaces a native tool: rename the plugin's";
                Diagnostic::new(Code::ToolConflict, tool, message, hint).at(location)
            } else if loser.origin < strongest {
                let message = format!(
                    "`{id}` ({}) declares the tool `{tool}`, which belongs to {rivals}",
                    loser.origin
                );
                let hint = "rename the tool, or remove the other plugin";
                Diagnostic::new(Code::ToolConflict, tool, message, hint).at(location)
            } else if let Some(owner) = owner {
                if owner == id {
                    continue;
                }
                let message = format!("the operator gives the tool `{tool}` to `{owner}` and not to `{id}`");
                let hint = "change `[tools.owners]`";
                let diagnostic = Diagnostic::new(Code::ToolOwned, tool, message, hint);
                diagnostic.at(config.location(&["tools", "owners", tool.as_str()]).unwrap_or(location))
            } else if is_tied {
                let message = format!(
                    "`{id}` ({}) and {rivals} declare the tool `{tool}`; neither gets it",
                    loser.origin
                );
                let hint =
                    format!("name the owner in `[tools.owners]`: `{tool} = \"{id}\"`, or remove a plugin");
                Diagnostic::new(Code::ToolConflict, tool, message, hint).at(location)
            } else {
                continue;
            };
            conflicts.push(Conflict { tool: tool.clone(), plugin: id.clone(), diagnostic });
        }
    }
    conflicts
}

/// Findings about names that the operator gives to plugins that do not have them.
pub(super) fn pointless_owners(entries: &[CatalogEntry], config: &Config) -> Vec<Diagnostic> {
    let owners = config.file().tools.owners.iter();
    let pointless = owners.filter(|(tool, owner)| {
        let mut named = entries.iter().filter(|entry| entry.manifest.id == **owner).peekable();
        // A plugin that is not installed has a finding of its own.
        named.peek().is_some() && !named.any(|entry| entry.manifest.contracts.tools.contains(tool))
    });
    let finding = |(tool, owner): (&ToolName, &PluginId)| {
        let message = format!("the operator gives the tool `{tool}` to `{owner}`, which does not declare it");
        Diagnostic::new(Code::PolicyUnmatched, tool, message, "change `[tools.owners]`")
            .at(config.location(&["tools", "owners", tool.as_str()]))
    };
    pointless.take(MAX_UNMATCHED).map(finding).collect()
}

/// Findings about tools that the operator keeps from being withheld and that nothing has.
pub(super) fn pointless_pins(
    entries: &[CatalogEntry],
    native_tools: &[ToolName],
    config: &Config,
) -> Vec<Diagnostic> {
    let declared: BTreeSet<&ToolName> =
        entries.iter().flat_map(|entry| &entry.manifest.contracts.tools).chain(native_tools).collect();
    let pinned = config.file().tool_search.pinned.iter().enumerate();
    let finding = |(place, tool): (usize, &ToolName)| {
        let meant = text::suggest(tool.as_str(), declared.iter().map(|name| name.as_str()));
        let hint = meant.map_or_else(
            || "take it out, or install the plugin that has it".to_owned(),
            |meant| format!("did you mean `{meant}`?"),
        );
        let message = format!("`tool-search.pinned` names `{tool}`, which nothing has");
        let location = config.location(&["tool-search", "pinned", &place.to_string()]);
        Diagnostic::new(Code::PolicyUnmatched, tool, message, hint).at(location)
    };
    pinned.filter(|(_, tool)| !declared.contains(tool)).take(MAX_UNMATCHED).map(finding).collect()
}

/// Findings about channels and providers that two plugins say they implement; settled like tool names.
pub(super) fn contested_capabilities(entries: &[CatalogEntry]) -> Vec<Diagnostic> {
    let mut claims: BTreeMap<(&str, &str), Vec<&CatalogEntry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.refusals.is_empty()) {
        let contracts = &entry.manifest.contracts;
        let channels = contracts.channels.iter().map(|name| ("channel", name.as_str()));
        let providers = contracts.providers.iter().map(|name| ("provider", name.as_str()));
        for claim in channels.chain(providers) {
            claims.entry(claim).or_default().push(entry);
        }
    }
    let mut findings = Vec::new();
    for ((kind, name), claimants) in claims {
        let (strongest, is_tied) = rank(&claimants);
        for loser in claimants.iter().filter(|entry| is_tied || entry.origin < strongest) {
            let rivals = rivals(&claimants, loser);
            let end = if loser.origin < strongest { "which has it" } else { "neither has it" };
            let message = format!(
                "`{}` ({}) implements the {kind} `{name}`, and so does {rivals}; {end}",
                loser.manifest.id, loser.origin
            );
            let location = Location::path(loser.folder.join(MANIFEST_FILE));
            findings.push(
                Diagnostic::new(Code::OwnershipConflict, name, message, "remove one of the plugins")
                    .at(location),
            );
        }
    }
    findings
}

/// The strongest origin among claimants, and whether several have it.
fn rank(claimants: &[&CatalogEntry]) -> (Origin, bool) {
    let strongest = claimants.iter().map(|entry| entry.origin).max().unwrap_or(Origin::Workspace);
    (strongest, claimants.iter().filter(|entry| entry.origin == strongest).count() > 1)
}

/// The other claimants in words.
fn rivals(claimants: &[&CatalogEntry], one: &CatalogEntry) -> String {
    let others = claimants.iter().filter(|entry| entry.manifest.id != one.manifest.id);
    listed(others.map(|entry| Rival(entry)))
}

/// A plugin and where it comes from, in words.
struct Rival<'a>(&'a CatalogEntry);

impl std::fmt::Display for Rival<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "`{}` ({})", self.0.manifest.id, self.0.origin)
    }
}

/// The first three in words, and how many more there are: a thousand copies must not each name all others.
fn listed(items: impl Iterator<Item = impl std::fmt::Display>) -> String {
    const NAMED: usize = 3;
    let mut items = items;
    let named: Vec<String> = items.by_ref().take(NAMED).map(|item| item.to_string()).collect();
    let mut words = named.join(" and ");
    let more = items.count();
    if more > 0 {
        words.push_str(&format!(" and {more} more"));
    }
    words
}
