//! Discovered: what is known of every plugin from its manifest alone. Candidates enter, an immutable snapshot leaves.
//!
//! Ownership and conflicts are settled here, without running code and independent of any order.

mod configuration;
mod enablement;
mod ownership;
mod unused;

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use enablement::disabled;

use crate::capability::Secrets;
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic, Location, Severity};
use crate::discover::{Candidate, Origin};
use crate::document::Source;
use crate::id::{Digest, PluginId, ToolName};
use crate::manifest::Manifest;
use crate::skills::{Place, SkillRoot, SkillSource};

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
    /// Its configuration as JSON, with defaults; what the guest reads.
    pub(crate) configuration: Arc<serde_json::Value>,
    /// Every reason why the plugin as a whole is not used: faults and decisions, the first one first.
    pub refusals: Vec<Diagnostic>,
    /// The manifest's text with its places.
    pub(crate) source: Source,
    /// Changes whenever the manifest, the component's file or the configuration does.
    pub(crate) fingerprint: Digest,
}

/// A package whose manifest is unreadable: installed, and nothing more.
#[derive(Debug)]
pub(crate) struct BrokenPackage {
    /// The package's folder.
    pub folder: PathBuf,
    /// Where it comes from.
    pub origin: Origin,
    /// What is wrong.
    pub diagnostic: Diagnostic,
    /// What could be read, to tell whether a name occurs in it.
    text: Vec<u8>,
}

impl BrokenPackage {
    /// Whether the unusable manifest has `name` as one of its texts.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        let quoted = format!("\"{name}\"");
        self.text.windows(quoted.len()).any(|window| window == quoted.as_bytes())
    }
}

/// A declared tool name that its plugin does not get.
#[derive(Debug, Clone)]
pub(crate) struct Conflict {
    /// The name.
    pub tool: ToolName,
    /// Who goes without.
    pub plugin: PluginId,
    /// Both owners, and what to do.
    pub diagnostic: Diagnostic,
}

/// Every plugin below the roots, as its manifest describes it.
#[derive(Debug)]
pub(crate) struct Catalogue {
    entries: Vec<Arc<CatalogEntry>>,
    broken: Vec<BrokenPackage>,
    conflicts: BTreeMap<(PluginId, ToolName), Conflict>,
    diagnostics: Vec<Diagnostic>,
    fingerprint: Digest,
}

impl Catalogue {
    /// Folders of skills that plugins carry which are on.
    pub(crate) fn carried_skills(&self) -> impl Iterator<Item = Place> {
        let used = self.entries.iter().filter(|entry| entry.refusal().is_none());
        used.flat_map(|entry| {
            entry.manifest.skills.iter().map(|path| {
                let source = SkillSource::Plugin(entry.manifest.id.clone());
                let root = SkillRoot { source, path: entry.folder.join(path.as_str()) };
                Place { root, within: Some(entry.folder.clone()) }
            })
        })
    }

    /// Reads every manifest and settles who owns what. `native_tools` always keep their names.
    pub(crate) fn build(
        candidates: Vec<Candidate>,
        mut diagnostics: Vec<Diagnostic>,
        native_tools: &[ToolName],
        config: &Config,
        configuration: MissingConfiguration,
        secrets: &Secrets,
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
                    text: candidate.manifest.unwrap_or_default(),
                }),
            }
        }
        entries
            .sort_by(|one, other| (&one.manifest.id, &one.folder).cmp(&(&other.manifest.id, &other.folder)));
        ownership::settle_duplicate_ids(&mut entries);
        for entry in &mut entries {
            if native_tools.iter().any(|name| name.as_str() == entry.manifest.id.as_str()) {
                let id = &entry.manifest.id;
                entry.refusals.push(
                    Diagnostic::new(
                        Code::PluginNameTaken,
                        id,
                        format!("the plugin id `{id}` is the name of a native tool, so policy entries could mean either"),
                        "give the plugin another id",
                    )
                    .at(entry.source.location(&["id"])),
                );
            }
        }
        for entry in &mut entries {
            let id = entry.manifest.id.clone();
            let decisions = enablement::disabled(config, &id, entry.origin);
            let is_used = !entry.refusals.iter().any(|why| {
                matches!(why.code, Code::PluginShadowed | Code::PluginDuplicate | Code::PluginNameTaken)
            });
            if is_used {
                match configuration::configure(config, entry, configuration, secrets) {
                    Ok(value) => entry.configuration = Arc::new(value),
                    Err(diagnostic) => entry.refusals.push(*diagnostic),
                }
            }
            // What somebody decided comes before a fault that it makes unimportant.
            entry.refusals.splice(0..0, decisions);
            let configuration = entry.configuration.to_string();
            entry.fingerprint =
                Digest::of_parts([entry.fingerprint.as_bytes().as_slice(), configuration.as_bytes()]);
        }
        let conflicts = ownership::settle_tools(&entries, native_tools, config);
        diagnostics.extend(broken.iter().map(|package| package.diagnostic.clone()));
        diagnostics.extend(entries.iter().filter_map(|entry| entry.refusal().cloned()));
        diagnostics.extend(conflicts.iter().map(|conflict| conflict.diagnostic.clone()));
        diagnostics.extend(ownership::contested_capabilities(&entries));
        diagnostics.extend(ownership::pointless_owners(&entries, config));
        diagnostics.extend(ownership::pointless_pins(&entries, native_tools, config));
        diagnostics.extend(enablement::unmatched(config, &entries));
        diagnostics.extend(enablement::guards_off(config, &entries));
        diagnostics.extend(unused::unused(config, &entries));
        diagnostics.retain(|diagnostic| diagnostic.severity() > Severity::Note);
        diagnostics.sort();
        diagnostics.dedup();
        Self {
            entries: entries.into_iter().map(Arc::new).collect(),
            broken,
            conflicts: conflicts
                .into_iter()
                .map(|conflict| ((conflict.plugin.clone(), conflict.tool.clone()), conflict))
                .collect(),
            diagnostics,
            fingerprint,
        }
    }

    /// Plugins in order of their ids, refused ones included.
    pub(crate) fn entries(&self) -> &[Arc<CatalogEntry>] {
        &self.entries
    }

    /// Packages whose manifest cannot be used.
    pub(crate) fn broken(&self) -> &[BrokenPackage] {
        &self.broken
    }

    /// Everything found so far, sorted.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Covers every manifest's exact bytes and every package's folder.
    pub(crate) fn fingerprint(&self) -> Digest {
        self.fingerprint
    }

    /// Why `plugin` does not get the name `tool`, if so.
    pub(crate) fn conflict(&self, plugin: &PluginId, tool: &ToolName) -> Option<&Conflict> {
        self.conflicts.get(&(plugin.clone(), tool.clone()))
    }
}

fn read(candidate: &Candidate) -> Result<CatalogEntry, Box<Diagnostic>> {
    let bytes = candidate.manifest.as_deref().map_err(|diagnostic| Box::new(diagnostic.clone()))?;
    let path = candidate.manifest_path();
    let (manifest, document) = Manifest::parse(bytes).map_err(|problem| {
        let (code, otherwise) = if problem.is_syntax {
            (Code::ManifestSyntax, "write strict JSON, without comments or trailing commas")
        } else {
            (Code::ManifestInvalid, "see the manifest's documentation")
        };
        let subject = candidate.folder.file_name().unwrap_or_default().display();
        let hint = problem.hint.clone().unwrap_or_else(|| otherwise.to_owned());
        Box::new(Diagnostic::new(code, subject, problem.to_string(), hint).at(problem.location(&path)))
    })?;
    let source = Source { path, document };
    let (mut component, mut refusals, mut identity) = (None, Vec::new(), String::new());
    if let Some(code) = &manifest.code {
        match candidate.file(&code.component) {
            Ok((file, metadata)) => {
                identity = identity_of(&metadata);
                component = Some(file);
            }
            Err(error) => {
                let file = code.component.as_str();
                refusals.push(
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
    let folder = candidate.folder.clone();
    let fingerprint = Digest::of_parts([bytes, folder.as_os_str().as_encoded_bytes(), identity.as_bytes()]);
    let configuration = Arc::new(serde_json::Value::Object(serde_json::Map::new()));
    Ok(CatalogEntry {
        manifest,
        origin: candidate.origin,
        folder,
        component,
        configuration,
        refusals,
        source,
        fingerprint,
    })
}

impl CatalogEntry {
    /// Why the plugin as a whole is not used, if it is not.
    pub fn refusal(&self) -> Option<&Diagnostic> {
        self.refusals.first()
    }

    /// Where the manifest says something about a tool.
    pub(crate) fn metadata_location(&self, tool: &ToolName, field: &str) -> Location {
        self.source.location(&["toolMetadata", tool.as_str(), field])
    }

    /// An entry of a plugin that lies nowhere.
    #[cfg(test)]
    pub(crate) fn of_manifest(source: &str) -> Self {
        let (manifest, document) = Manifest::parse(source.as_bytes()).unwrap();
        let configuration = Arc::new(serde_json::Value::Object(serde_json::Map::new()));
        let (origin, folder, fingerprint) = (Origin::Config, PathBuf::from("/p"), manifest.digest);
        let (source, component) = (Source { path: "/p/airlock.plugin.json".into(), document }, None);
        let refusals = Vec::new();
        Self { manifest, origin, folder, component, configuration, refusals, source, fingerprint }
    }
}

/// What changes when a file is replaced or rewritten.
fn identity_of(metadata: &Metadata) -> String {
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(metadata);
    #[cfg(not(unix))]
    let inode = 0;
    format!("{inode} {} {:?}", metadata.len(), metadata.modified().ok())
}

/// What to do with a plugin whose schema wants configuration that nobody wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingConfiguration {
    /// It cannot be used.
    Refuse,
    /// Look at it all the same, as its author does.
    Overlook,
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
            let catalogue = Catalogue::build(
                candidates,
                Vec::new(),
                &natives,
                &Config::default(),
                MissingConfiguration::Refuse,
                &Secrets::default(),
            );
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
