//! Which tools a run may have, as the operator wrote it: the configuration enters and is compiled once a snapshot; a run
//! picks its layers from it. Every layer is a filter, so no layer and no order adds a tool.
//!
//! Rules: ARCHITECTURE.md, "Policy".

mod built_in;
mod capture;
mod layer;
mod pattern;
mod run;
mod unmatched;
mod vocabulary;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::Catalogue;
use crate::config::{Config, PolicyEntry, WrittenPolicy};
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::surface::{Candidate, Source};
use crate::text;

pub use capture::Capture;
pub(crate) use capture::{CapturedTool, MAX_LINEAGE};
pub(crate) use layer::{LayerName, Words};
pub(crate) use run::RunPolicy;

use built_in::PROFILES;
use layer::{Compiled, Layer, Place};
use pattern::{Pattern, PatternSet, Side};
use unmatched::Findings;
use vocabulary::{Budget, MAX_GLOBS, Vocabulary, too_many};

/// The compiled policy of one snapshot.
#[derive(Debug)]
pub(crate) struct Policy {
    vocabulary: Vocabulary,
    global: Table,
    /// By lower-case `PROVIDER` or `PROVIDER/MODEL`.
    by_provider: Vec<(String, Table)>,
    agents: BTreeMap<String, Agent>,
    /// By lower-case channel and by group; several where a channel is spelt in several ways.
    groups: BTreeMap<(String, String), Vec<Arc<Layer>>>,
    senders: Vec<(String, Arc<Layer>)>,
    sandbox: Arc<Layer>,
    subagents: Arc<Layer>,
    purposes: BTreeMap<String, PatternSet>,
    diagnostics: Vec<Diagnostic>,
}

/// What one table of the configuration becomes: a layer of its lists, and one of its profile if it names one.
#[derive(Debug)]
struct Table {
    profile: Option<Arc<Layer>>,
    lists: Arc<Layer>,
}

#[derive(Debug)]
struct Agent {
    table: Table,
    by_provider: Vec<(String, Table)>,
}

/// Compiles the tables of one configuration.
struct Compiler<'a> {
    config: &'a Config,
    vocabulary: &'a Vocabulary,
    candidates: &'a [Arc<Candidate>],
    budget: Budget,
    findings: Findings,
}

impl Policy {
    /// Compiles what the operator wrote over the candidates of a snapshot.
    ///
    /// # Errors
    /// If a profile or group does not exist, a group cannot be used, or all of them stand for too much; with the place.
    pub(crate) fn compile(
        config: &Config,
        catalogue: &Catalogue,
        candidates: &[Arc<Candidate>],
    ) -> Result<Self, Error> {
        let plugins = catalogue.entries().iter().map(|entry| entry.manifest.id.clone());
        let vocabulary = Vocabulary::new(config, plugins, candidates)?;
        let (budget, findings) = (Budget::default(), Findings::default());
        let mut compiler = Compiler { config, vocabulary: &vocabulary, candidates, budget, findings };
        let tools = &config.file().tools;
        for (name, entries) in &tools.groups {
            compiler.entries(&["tools", "groups", name], entries)?;
        }
        for (name, entries) in &tools.profiles {
            if PROFILES.iter().any(|(built_in, _)| built_in == name) {
                let message = format!("`{name}` is a built-in profile; give yours another name");
                return Err(config.problem(&["tools", "profiles", name], message, None));
            }
            compiler.entries(&["tools", "profiles", name], entries)?;
        }
        let names = [LayerName::Profile, LayerName::Global];
        let global = compiler.table(names, &["tools"], &tools.written())?;
        let provider = [LayerName::ProviderProfile, LayerName::Provider];
        let mut by_provider = Vec::new();
        for (key, written) in &tools.by_provider {
            let path = ["tools", "by-provider", key];
            by_provider
                .push((key.trim().to_lowercase(), compiler.table(provider, &path, &written.written())?));
        }
        let mut agents = BTreeMap::new();
        for (name, agent) in &config.file().agents {
            let path = ["agents", name, "tools"];
            let layers = [LayerName::Profile, LayerName::Agent];
            let table = compiler.table(layers, &path, &agent.tools.written())?;
            let provider = [LayerName::ProviderProfile, LayerName::AgentProvider];
            let mut by_provider = Vec::new();
            for (key, written) in &agent.tools.by_provider {
                let path = ["agents", name, "tools", "by-provider", key];
                by_provider
                    .push((key.trim().to_lowercase(), compiler.table(provider, &path, &written.written())?));
            }
            agents.insert(name.clone(), Agent { table, by_provider });
        }
        let mut groups = BTreeMap::new();
        for (channel, written) in &config.file().channels {
            for (group, written) in &written.groups {
                let path = ["channels", channel, "groups", group, "tools"];
                let layer = compiler.lists(LayerName::Group, &path, &written.tools.written())?;
                let key = (channel.to_lowercase(), group.clone());
                groups.entry(key).or_insert_with(Vec::new).push(layer);
            }
        }
        let mut senders = Vec::new();
        for (key, written) in &tools.by_sender {
            let path = ["tools", "by-sender", key];
            senders.push((key.clone(), compiler.lists(LayerName::Sender, &path, &written.written())?));
        }
        let sandbox = compiler.lists(LayerName::Sandbox, &["tools", "sandbox"], &tools.sandbox.written())?;
        let subagents =
            compiler.lists(LayerName::Subagent, &["tools", "subagents"], &tools.subagents.written())?;
        let mut purposes = BTreeMap::new();
        for (name, entries) in &tools.purposes {
            let compiled = compiler.entries(&["tools", "purposes", name], entries)?;
            purposes.insert(name.clone(), set(&compiled));
        }
        let diagnostics = compiler.findings.into_diagnostics();
        Ok(Self {
            vocabulary,
            global,
            by_provider,
            agents,
            groups,
            senders,
            sandbox,
            subagents,
            purposes,
            diagnostics,
        })
    }

    /// Entries that match nothing, and entries that could mean two things.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl Compiler<'_> {
    /// A table with a profile and lists; `names` are their layers.
    fn table(
        &mut self,
        names: [LayerName; 2],
        path: &[&str],
        written: &WrittenPolicy<'_>,
    ) -> Result<Table, Error> {
        let [profile_layer, lists_layer] = names;
        let profile = match written.profile {
            None => None,
            Some(profile) => {
                Some(Arc::new(self.profile(profile_layer, path, profile, written.also_allow)?))
            }
        };
        Ok(Table { profile, lists: self.lists(lists_layer, path, written)? })
    }

    fn lists(
        &mut self,
        name: LayerName,
        path: &[&str],
        written: &WrittenPolicy<'_>,
    ) -> Result<Arc<Layer>, Error> {
        let below = |key| [path, &[key]].concat();
        let allow = written.allow.map(|entries| self.entries(&below("allow"), entries)).transpose()?;
        let also_allow = self.entries(&below("also-allow"), written.also_allow)?;
        let deny = self.entries(&below("deny"), written.deny)?;
        let allow = allow.as_deref();
        Ok(Arc::new(Layer::lists(name, place(path), allow, &also_allow, &deny, self.config)))
    }

    /// A profile by its name, with what the table adds to it, and the plugins' tools that the operator lets join it.
    fn profile(
        &mut self,
        name: LayerName,
        path: &[&str],
        profile: &str,
        also_allow: &[PolicyEntry],
    ) -> Result<Layer, Error> {
        let profiles = &self.config.file().tools.profiles;
        let mut permitted = PatternSet::new(Side::Permit);
        if let Some((_, entries)) = PROFILES.iter().find(|(known, _)| *known == profile) {
            // The built-in profiles name built-in groups only, which always resolve.
            let entries = entries.iter().filter_map(|entry| PolicyEntry::parse(entry).ok());
            let resolved = entries.filter_map(|entry| self.vocabulary.resolve(&entry).ok());
            permitted.extend(resolved.flat_map(|resolved| resolved.patterns.to_vec()));
        } else if let Some(entries) = profiles.get(profile) {
            // What is to be said about its entries was said once already, whoever uses it.
            let compiled = self.resolved(&["tools", "profiles", profile], entries)?;
            permitted.extend(set_patterns(&compiled));
        } else {
            let known = PROFILES.iter().map(|(name, _)| *name).chain(profiles.keys().map(String::as_str));
            let meant = text::suggest(profile, known);
            let hint = meant.map_or_else(
                || "define it in `[tools.profiles]`".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            );
            let path = [path, &["profile"]].concat();
            let shown = text::single_line(&text::shorten(profile, 80)).into_owned();
            return Err(self.config.problem(&path, format!("there is no profile `{shown}`"), Some(hint)));
        }
        permitted.extend(self.joined(profile));
        let also_allow = self.resolved(&[path, &["also-allow"]].concat(), also_allow)?;
        permitted.extend(set_patterns(&also_allow));
        let reason = format!("the profile `{profile}` does not contain it");
        let location = self.config.location(&[path, &["profile"]].concat());
        Ok(Layer::only(name, place(path), &["profile"], reason, permitted, location))
    }

    /// Tools that wish to be in the profile and whose entry grants that.
    fn joined(&self, profile: &str) -> Vec<Pattern> {
        let joined = self.candidates.iter().filter(|candidate| match &candidate.source {
            Source::Native(_) => false,
            Source::Plugin(entry) => {
                candidate.metadata.profiles.iter().any(|wished| wished == profile)
                    && self
                        .config
                        .entry(&entry.manifest.id, entry.origin)
                        .is_some_and(|entry| entry.join_profiles)
            }
        });
        joined
            .map(|candidate| {
                Pattern::Owned(candidate.name.clone(), candidate.owner.clone(), candidate.origin())
            })
            .collect()
    }

    /// Entries with what they stand for; what is odd about one becomes a diagnostic.
    fn entries(&mut self, path: &[&str], entries: &[PolicyEntry]) -> Result<Vec<Compiled>, Error> {
        let compiled = self.resolved(path, entries)?;
        for (place, (entry, _, form)) in compiled.iter().enumerate() {
            let place = place.to_string();
            let path = [path, &[place.as_str()]].concat();
            self.findings.look_at(self.config, self.vocabulary, &path, entry, *form);
        }
        Ok(compiled)
    }

    fn resolved(&mut self, path: &[&str], entries: &[PolicyEntry]) -> Result<Vec<Compiled>, Error> {
        let (mut compiled, mut globs) = (Vec::new(), 0_usize);
        for (place, entry) in entries.iter().enumerate() {
            let at =
                |message, hint| self.config.problem(&[path, &[&place.to_string()]].concat(), message, hint);
            let resolved =
                self.vocabulary.resolve(entry).map_err(|problem| at(problem.message, problem.hint))?;
            if !self.budget.allows(resolved.patterns.len()) {
                return Err(at(too_many(), None));
            }
            globs += resolved.patterns.iter().filter(|pattern| matches!(pattern, Pattern::Glob(_))).count();
            if globs > MAX_GLOBS {
                return Err(at(format!("the list has over {MAX_GLOBS} globs; name plugins or groups"), None));
            }
            compiled.push((entry.clone(), resolved.patterns, resolved.form));
        }
        Ok(compiled)
    }
}

fn place(path: &[&str]) -> Place {
    Place::Config(path.iter().map(ToString::to_string).collect())
}

fn set_patterns(compiled: &[Compiled]) -> Vec<Pattern> {
    compiled.iter().flat_map(|(_, patterns, _)| patterns.to_vec()).collect()
}

fn set(compiled: &[Compiled]) -> PatternSet {
    let mut set = PatternSet::new(Side::Permit);
    set.extend(set_patterns(compiled));
    set
}
