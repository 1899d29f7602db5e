//! Discovered: what is known of every plugin from its manifest alone. Candidates enter, an immutable snapshot leaves.
//!
//! Ownership and conflicts are settled here, without running code and independent of any order.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Location};
use crate::discover::{Candidate, Origin};
use crate::id::{Digest, PluginId, ToolName};
use crate::manifest::Manifest;

/// One plugin whose manifest parsed.
#[derive(Debug)]
pub struct CatalogEntry {
    /// The manifest.
    pub manifest: Manifest,
    /// Where the package comes from.
    pub origin: Origin,
    /// The package's folder.
    pub folder: PathBuf,
    /// The component file, if the plugin has code and the file is where it should be.
    pub(crate) component: Option<PathBuf>,
    /// Why the plugin as a whole cannot be used, if so.
    pub refusal: Option<Diagnostic>,
}

/// A package whose manifest is unreadable: installed, and nothing more.
#[derive(Debug)]
pub struct BrokenPackage {
    /// The package's folder.
    pub folder: PathBuf,
    /// Where it comes from.
    pub origin: Origin,
    /// What is wrong.
    pub diagnostic: Diagnostic,
}

/// A declared tool name that its plugin does not get.
#[derive(Debug, Clone)]
pub struct Conflict {
    /// The name.
    pub tool: ToolName,
    /// Who goes without.
    pub plugin: PluginId,
    /// Both owners, and what to do.
    pub diagnostic: Diagnostic,
}

/// Every plugin below the roots, as its manifest describes it.
#[derive(Debug)]
pub struct Catalogue {
    entries: Vec<Arc<CatalogEntry>>,
    broken: Vec<BrokenPackage>,
    conflicts: Vec<Conflict>,
    diagnostics: Vec<Diagnostic>,
    fingerprint: Digest,
}

impl Catalogue {
    /// Reads every manifest and settles who owns what. `native_tools` always keep their names.
    pub(crate) fn build(
        candidates: Vec<Candidate>,
        mut diagnostics: Vec<Diagnostic>,
        native_tools: &[ToolName],
    ) -> Self {
        let fingerprint = Digest::of_parts(candidates.iter().flat_map(|candidate| {
            let bytes = candidate.manifest.as_deref().unwrap_or_default();
            [candidate.folder.as_os_str().as_encoded_bytes(), bytes]
        }));
        let (mut entries, mut broken) = (Vec::new(), Vec::new());
        for candidate in candidates {
            match read(&candidate) {
                Ok(entry) => entries.push(entry),
                Err(diagnostic) => broken.push(BrokenPackage {
                    folder: candidate.folder,
                    origin: candidate.origin,
                    diagnostic: *diagnostic,
                }),
            }
        }
        entries
            .sort_by(|one, other| (&one.manifest.id, &one.folder).cmp(&(&other.manifest.id, &other.folder)));
        settle_duplicate_ids(&mut entries);
        for entry in &mut entries {
            if native_tools.iter().any(|name| name.as_str() == entry.manifest.id.as_str()) {
                let id = &entry.manifest.id;
                entry.refusal.get_or_insert(
                    Diagnostic::new(
                        Code::PluginNameTaken,
                        id,
                        format!("the plugin id `{id}` is the name of a native tool, so policy entries could mean either"),
                        "give the plugin another id",
                    )
                    .at(Location::path(entry.folder.join(crate::manifest::MANIFEST_FILE))),
                );
            }
        }
        let conflicts = settle_conflicts(&entries, native_tools);
        diagnostics.extend(broken.iter().map(|package| package.diagnostic.clone()));
        diagnostics.extend(entries.iter().filter_map(|entry| entry.refusal.clone()));
        diagnostics.extend(conflicts.iter().map(|conflict| conflict.diagnostic.clone()));
        diagnostics.sort();
        diagnostics.dedup();
        Self {
            entries: entries.into_iter().map(Arc::new).collect(),
            broken,
            conflicts,
            diagnostics,
            fingerprint,
        }
    }

    /// Plugins in order of their ids, refused ones included.
    pub fn entries(&self) -> &[Arc<CatalogEntry>] {
        &self.entries
    }

    /// Packages whose manifest cannot be used.
    pub fn broken(&self) -> &[BrokenPackage] {
        &self.broken
    }

    /// Everything found so far, sorted.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Covers every manifest's exact bytes and every package's folder.
    pub fn fingerprint(&self) -> Digest {
        self.fingerprint
    }

    /// Why `plugin` does not get the name `tool`, if so.
    pub(crate) fn conflict(&self, plugin: &PluginId, tool: &ToolName) -> Option<&Conflict> {
        self.conflicts.iter().find(|conflict| conflict.plugin == *plugin && conflict.tool == *tool)
    }
}

fn read(candidate: &Candidate) -> Result<CatalogEntry, Box<Diagnostic>> {
    let bytes = candidate.manifest.as_deref().map_err(|diagnostic| Box::new(diagnostic.clone()))?;
    let path = candidate.manifest_path();
    let manifest = Manifest::parse(bytes).map_err(|problem| {
        let (code, otherwise) = if problem.is_syntax {
            (Code::ManifestSyntax, "write strict JSON, without comments or trailing commas")
        } else {
            (Code::ManifestInvalid, "see the manifest's documentation")
        };
        let subject = candidate.folder.file_name().unwrap_or_default().display();
        let hint = problem.hint.clone().unwrap_or_else(|| otherwise.to_owned());
        Box::new(Diagnostic::new(code, subject, problem.to_string(), hint).at(problem.location(&path)))
    })?;
    let (mut component, mut refusal) = (None, None);
    if let Some(code) = &manifest.code {
        match candidate.file(&code.component) {
            Ok(file) => component = Some(file),
            Err(error) => {
                let file = code.component.as_str();
                refusal = Some(
                    Diagnostic::new(
                        Code::ComponentMissing,
                        &manifest.id,
                        format!("the component `{file}` cannot be used: {error}"),
                        "build the plugin, or correct `component` in its manifest",
                    )
                    .at(Location::path(candidate.folder.join(file))),
                );
            }
        }
    }
    Ok(CatalogEntry {
        manifest,
        origin: candidate.origin,
        folder: candidate.folder.clone(),
        component,
        refusal,
    })
}

/// The strongest origin keeps an id; between equals neither does.
fn settle_duplicate_ids(entries: &mut [CatalogEntry]) {
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
                let winner = winner.collect::<Vec<_>>().join(" and ");
                (Code::PluginShadowed, format!("version {} is shadowed by {winner}", entry.manifest.version))
            } else if is_tied {
                let rivals = others.map(|(_, (_, shown))| shown.as_str()).collect::<Vec<_>>().join(" and ");
                (Code::PluginDuplicate, format!("the id also belongs to {rivals}; neither loads"))
            } else {
                continue;
            };
            let location = Location::path(&entry.folder);
            entry.refusal = Some(
                Diagnostic::new(code, &entry.manifest.id, message, "remove all copies but one").at(location),
            );
        }
    }
}

/// Who goes without a tool name: a native tool wins, then the stronger origin; between equals neither gets it.
fn settle_conflicts(entries: &[CatalogEntry], native_tools: &[ToolName]) -> Vec<Conflict> {
    let mut claims: BTreeMap<&ToolName, Vec<&CatalogEntry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.refusal.is_none()) {
        for tool in &entry.manifest.contracts.tools {
            claims.entry(tool).or_default().push(entry);
        }
    }
    let mut conflicts = Vec::new();
    for (tool, claimants) in claims {
        let is_native = native_tools.contains(tool);
        let strongest = claimants.iter().map(|entry| entry.origin).max().unwrap_or(Origin::Workspace);
        let is_tied = claimants.iter().filter(|entry| entry.origin == strongest).count() > 1;
        for loser in &claimants {
            let id = &loser.manifest.id;
            let rivals = claimants.iter().filter(|entry| entry.manifest.id != *id);
            let rivals = rivals
                .map(|entry| format!("`{}` ({})", entry.manifest.id, entry.origin))
                .collect::<Vec<_>>()
                .join(", ");
            let (message, hint) = if is_native {
                (
                    format!("`{id}` declares the tool `{tool}`, which is a native tool"),
                    "a plugin never replaces a native tool: rename the plugin's",
                )
            } else if loser.origin < strongest {
                (
                    format!(
                        "`{id}` ({}) declares the tool `{tool}`, which belongs to {rivals}",
                        loser.origin
                    ),
                    "rename the tool, or remove the other plugin",
                )
            } else if is_tied {
                (
                    format!(
                        "`{id}` ({}) and {rivals} declare the tool `{tool}`; neither gets it",
                        loser.origin
                    ),
                    "remove one of the plugins, or rename the tool in one",
                )
            } else {
                continue;
            };
            let location = Location::path(loser.folder.join(crate::manifest::MANIFEST_FILE));
            let diagnostic = Diagnostic::new(Code::ToolConflict, tool, message, hint).at(location);
            conflicts.push(Conflict { tool: tool.clone(), plugin: id.clone(), diagnostic });
        }
    }
    conflicts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(id: &str, folder: &str, origin: Origin, tools: &[&str]) -> Candidate {
        let skills_only = tools.is_empty();
        let code =
            if skills_only { "" } else { r#""component": "a.wasm", "world": "airlock:plugin@0.1.0","# };
        let tools = serde_json::to_string(tools).unwrap();
        let manifest =
            format!(r#"{{"id": "{id}", {code} "version": "1.0.0", "contracts": {{"tools": {tools}}}}}"#);
        Candidate { folder: folder.into(), origin, manifest: Ok(manifest.into_bytes()) }
    }

    /// Builds the catalogue in both orders, requires one answer, and gives the refusals and conflicts in words.
    #[track_caller]
    fn settle(candidates: Vec<Candidate>, natives: &[&str]) -> Vec<String> {
        let natives: Vec<_> = natives.iter().map(|name| ToolName::parse(name).unwrap()).collect();
        let words = |candidates: Vec<Candidate>| {
            let catalogue = Catalogue::build(candidates, Vec::new(), &natives);
            let codes =
                catalogue.diagnostics().iter().filter(|diagnostic| diagnostic.code != Code::ComponentMissing);
            codes.map(|diagnostic| format!("{} {}", diagnostic.code, diagnostic.message)).collect::<Vec<_>>()
        };
        let mut reversed = candidates.clone();
        reversed.reverse();
        let answer = words(candidates);
        assert_eq!(answer, words(reversed));
        answer
    }

    #[test]
    fn the_stronger_origin_keeps_an_id_and_equals_lose_it() {
        let user = || candidate("weather", "/u/weather", Origin::User, &[]);
        let bundled = || candidate("weather", "/b/weather", Origin::Bundled, &[]);
        assert_eq!(
            settle(vec![user(), bundled()], &[]),
            ["plugin-shadowed version 1.0.0 is shadowed by /u/weather (version 1.0.0, user)"]
        );
        let twin = candidate("weather", "/u/weather-2", Origin::User, &[]);
        let words = settle(vec![user(), twin, bundled()], &[]);
        assert_eq!(words.iter().filter(|word| word.starts_with("plugin-duplicate")).count(), 2);
        assert_eq!(words.iter().filter(|word| word.starts_with("plugin-shadowed")).count(), 1);
        assert_eq!(settle(vec![user()], &[]).len() + settle(vec![bundled()], &[]).len(), 0);
    }

    #[test]
    fn a_plugin_named_like_a_native_tool_is_refused() {
        let words = settle(vec![candidate("read", "/u/read", Origin::Config, &[])], &["read"]);
        assert_eq!(
            words,
            [
                "plugin-name-taken the plugin id `read` is the name of a native tool, so policy entries could mean either"
            ]
        );
    }
}
