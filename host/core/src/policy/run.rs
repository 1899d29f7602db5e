//! The policy of one run: its context picks the layers that apply. All of them must permit a tool; none adds one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::layer::{Layer, LayerName, Place, Words};
use super::pattern::{PatternSet, Side};
use super::unmatched::finding;
use super::vocabulary::{Budget, Form, MAX_GLOBS, too_many};
use super::{MAX_LINEAGE, Policy, Table};
use crate::config::{Config, PolicyEntry};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::run::{ModelReference, RunContext};
use crate::surface::{Candidate, Cause};
use crate::text;

/// The layers of one run, with what is to be said about them.
#[derive(Debug)]
pub(crate) struct RunPolicy<'a> {
    layers: Vec<Arc<Layer>>,
    /// The global profile, where the agent's stands in its place.
    replaced_profile: Option<Arc<Layer>>,
    passed_over_senders: Vec<&'a str>,
    diagnostics: Vec<Diagnostic>,
}

impl Policy {
    /// The layers that apply to a run.
    pub(crate) fn for_run<'a>(&'a self, run: &'a RunContext, config: &'a Config) -> RunPolicy<'a> {
        let agent = self.agents.get(&run.agent);
        let mut layers = Vec::new();
        let agent_profile = agent.and_then(|agent| agent.table.profile.clone());
        let replaced_profile = agent_profile.is_some().then(|| self.global.profile.clone()).flatten();
        layers.extend(agent_profile.or_else(|| self.global.profile.clone()));
        layers.push(Arc::clone(&self.global.lists));
        let mut provider_tables = matching(&self.by_provider, run.model.as_ref());
        if let Some(agent) = agent {
            layers.push(Arc::clone(&agent.table.lists));
            provider_tables.extend(matching(&agent.by_provider, run.model.as_ref()));
        }
        for table in provider_tables {
            layers.extend(table.profile.clone());
            layers.push(Arc::clone(&table.lists));
        }
        if let Some(channel) = &run.channel
            && let Some(group) = &channel.group
        {
            let key = (channel.name.to_lowercase(), group.clone());
            layers.extend(self.groups.get(&key).into_iter().flatten().cloned());
        }
        let (sender, passed_over_senders) = self.sender(run);
        layers.extend(sender);
        layers.extend(run.sandboxed.then(|| Arc::clone(&self.sandbox)));
        let is_known_stranger =
            run.requester.as_ref().is_some_and(|requester| requester.is_owner == Some(false));
        layers.extend(is_known_stranger.then(|| Arc::new(Layer::owner_only())));
        if run.is_child() {
            layers.push(Arc::new(Layer::no_subagents()));
            layers.push(Arc::clone(&self.subagents));
        }
        let mut diagnostics = Vec::new();
        self.add_caps(run, config, &mut layers, &mut diagnostics);
        layers.sort_by_key(|layer| layer.name);
        RunPolicy { layers, replaced_profile, passed_over_senders, diagnostics }
    }

    /// The layers of the most specific sender key, in all its spellings, and the keys that would have applied too.
    fn sender<'a>(&'a self, run: &RunContext) -> (Vec<Arc<Layer>>, Vec<&'a str>) {
        let sender = run.requester.as_ref().map(|requester| requester.sender.as_str());
        let channel = run.channel.as_ref().map(|channel| channel.name.as_str());
        let rank = |key: &str| {
            if key == "*" {
                return Some(0);
            }
            // What begins like a channel is one: else somebody on one channel could be called like a key of another.
            match key.split_once(':').filter(|(of, _)| is_like_a_channel(of)) {
                None => (sender == Some(key)).then_some(1),
                Some((of, id)) => {
                    let is_here = channel.is_some_and(|channel| channel.eq_ignore_ascii_case(of));
                    (is_here && sender == Some(id)).then_some(2)
                }
            }
        };
        let ranked = self.senders.iter().filter_map(|keyed| Some((rank(&keyed.0)?, keyed)));
        let ranked: Vec<(u8, &(String, Arc<Layer>))> = ranked.collect();
        let most = ranked.iter().map(|(rank, _)| *rank).max();
        let (applying, passed_over): (Vec<_>, Vec<_>) =
            ranked.into_iter().partition(|(rank, _)| Some(*rank) == most);
        let layers = applying.into_iter().map(|(_, (_, layer))| Arc::clone(layer)).collect();
        (layers, passed_over.into_iter().map(|(_, (key, _))| key.as_str()).collect())
    }

    /// The layers `runtime` and `inherited`: what the host says about the run.
    fn add_caps(
        &self,
        run: &RunContext,
        config: &Config,
        layers: &mut Vec<Arc<Layer>>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let mut cap = |name, key: &'static [&'static str], reason: String, permitted| {
            layers.push(Arc::new(Layer::only(name, Place::Run, key, reason, permitted, run.location(key))));
        };
        if let Some(purpose) = &run.purpose {
            let shown = text::single_line(&text::shorten(purpose, 80)).into_owned();
            let known = self.purposes.get(purpose);
            if known.is_none() {
                let meant = text::suggest(purpose, self.purposes.keys().map(String::as_str));
                let hint = meant.map_or_else(
                    || "define it in `[tools.purposes]`".to_owned(),
                    |meant| format!("did you mean `{meant}`?"),
                );
                let message = format!("there is no purpose `{shown}`, so the run has no tools");
                let location = run.location(&["purpose"]);
                diagnostics.push(Diagnostic::new(Code::PurposeUnknown, &shown, message, hint).at(location));
            }
            let place = config.location(&["tools", "purposes", purpose]);
            let place =
                place.filter(|_| known.is_some()).map(|place| format!(" ({place})")).unwrap_or_default();
            let reason = format!("the list of the run's purpose `{shown}` does not name it{place}");
            cap(
                LayerName::Runtime,
                &["purpose"],
                reason,
                known.cloned().unwrap_or_else(|| PatternSet::new(Side::Permit)),
            );
        }
        if let Some(entries) = &run.tools_allow {
            let permitted = self.named(entries, &|place| run.location(&["tools-allow", place]), diagnostics);
            cap(
                LayerName::Runtime,
                &["tools-allow"],
                "the run's own cap does not name it".to_owned(),
                permitted,
            );
        }
        for (name, [tools, delegated], capture, whose) in [
            (LayerName::Runtime, CAPTURED, &run.captured, "the run that planned this one"),
            (LayerName::Inherited, INHERITED, &run.inherited, "the run that started this one"),
        ] {
            let Some(capture) = capture else { continue };
            let mut permitted = PatternSet::new(Side::Permit);
            permitted.extend(capture.patterns());
            cap(name, tools, format!("{whose} did not have it"), permitted);
            for (list, entries) in capture.delegated().iter().enumerate() {
                let list = list.to_string();
                let at = |place: &str| run.location(&[delegated, &[list.as_str(), place]].concat());
                let permitted = self.named(entries, &at, diagnostics);
                cap(name, delegated, format!("{whose} did not delegate it"), permitted);
            }
            if run.depth() > MAX_LINEAGE {
                let reason = format!("runs started one another over {MAX_LINEAGE} deep");
                cap(name, tools, reason, PatternSet::new(Side::Permit));
            }
        }
        if run.depth() > MAX_LINEAGE {
            let message =
                format!("runs started one another over {MAX_LINEAGE} deep, so this run has no tools");
            let hint = "look for runs that start themselves";
            diagnostics.push(Diagnostic::new(Code::LineageTooDeep, &run.run, message, hint));
        }
    }

    /// What entries of a run or of a turn stand for; what matches nothing adds nothing. `at` says where an entry is
    /// written, by its place. Beyond what a person would write, nothing is looked at and nothing permitted.
    pub(crate) fn named(
        &self,
        entries: &[PolicyEntry],
        at: &dyn Fn(&str) -> Option<Location>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> PatternSet {
        let mut permitted = PatternSet::new(Side::Permit);
        let (mut budget, mut findings, mut seen) = (Budget::default(), 0_usize, BTreeSet::new());
        for (place, entry) in entries.iter().enumerate() {
            if !seen.insert(entry) {
                continue;
            }
            let resolved = self.vocabulary.resolve(entry);
            let is_within = budget.allows(resolved.as_ref().map_or(1, |resolved| resolved.patterns.len()));
            if !is_within || permitted.globs() > MAX_GLOBS {
                let place = at(&place.to_string());
                let hint = "write fewer entries";
                diagnostics.push(Diagnostic::new(Code::PolicyUnmatched, entry, too_many(), hint).at(place));
                break;
            }
            let form = resolved.as_ref().map_or(Form::Unmatched, |resolved| resolved.form);
            if let Ok(resolved) = &resolved {
                permitted.extend(resolved.patterns.iter().cloned());
            }
            if matches!(form, Form::Explicit | Form::Group) || findings >= MAX_RUN_FINDINGS {
                continue;
            }
            findings += 1;
            let found = finding(&self.vocabulary, entry, form, at(&place.to_string()));
            diagnostics.extend(found.map(|found| match resolved {
                Ok(_) => found,
                Err(problem) => {
                    Diagnostic { message: problem.message, hint: problem.hint.unwrap_or(found.hint), ..found }
                }
            }));
        }
        permitted
    }
}

/// How many findings about a run's own entries are kept: a host that writes more mistakes than that looks at the first.
const MAX_RUN_FINDINGS: usize = 16;

/// Where a run says what it may have at most: the tools, and what of them was delegated.
const CAPTURED: [&[&str]; 2] = [&["captured"], &["captured", "delegated"]];
const INHERITED: [&[&str]; 2] = [&["inherited"], &["inherited", "delegated"]];

/// Whether the part of a sender key before the colon is a channel: other ids hold colons too.
fn is_like_a_channel(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_'))
}

/// The tables whose key is the run's provider, or its provider and model.
fn matching<'a>(tables: &'a [(String, Table)], model: Option<&ModelReference>) -> Vec<&'a Table> {
    let Some(model) = model else { return Vec::new() };
    let provider = model.provider.to_lowercase();
    let model = format!("{provider}/{}", model.model.to_lowercase());
    tables.iter().filter(|(key, _)| *key == provider || *key == model).map(|(_, table)| table).collect()
}

impl RunPolicy<'_> {
    /// Whether every layer permits the tool.
    pub(crate) fn permits(&self, candidate: &Candidate) -> bool {
        self.layers.iter().all(|layer| layer.permits(candidate))
    }

    /// The first `deny` of any layer that means the host's own tool of that name.
    pub(crate) fn denial_of(&self, name: &str) -> Option<Cause> {
        self.layers.iter().find_map(|layer| layer.denial_of(name))
    }

    /// Whether an operator's entry that applies to this run names an optional tool.
    pub(crate) fn opts_in(&self, candidate: &Candidate) -> bool {
        self.layers.iter().any(|layer| layer.opts_in(candidate))
    }

    /// Every rule of every layer that removes the tool; none if all permit it.
    pub(crate) fn causes(&self, candidate: &Candidate, words: Words) -> Vec<Cause> {
        let mut causes = Vec::new();
        for layer in &self.layers {
            let found = layer.causes(candidate, words);
            let replaced = self.replaced_profile.as_ref();
            if let Some(replaced) = replaced.filter(|_| layer.name == LayerName::Profile && !found.is_empty())
            {
                // Taking the agent's profile away puts the global one in its place.
                causes.extend(found);
                causes.extend(replaced.causes(candidate, words));
            } else {
                causes.extend(found);
            }
        }
        causes
    }

    /// The layers of the run and where each is written, and the sender keys that were passed over.
    pub(crate) fn in_words(&self) -> String {
        let mut layers: Vec<String> = Vec::new();
        for layer in &self.layers {
            let place = layer.place().to_string();
            let place = if place.is_empty() { String::new() } else { format!(" (`{place}`)") };
            layers.push(format!("{}{place}", layer.name));
        }
        layers.dedup();
        let senders = self.passed_over_senders.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>();
        let passed_over = if senders.is_empty() {
            String::new()
        } else {
            format!("; sender keys passed over for a more specific one: {}", senders.join(", "))
        };
        format!("{}{passed_over}", layers.join(", "))
    }

    /// What is to be said about the run's caps.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}
