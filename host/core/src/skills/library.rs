//! All skills of a host: roots enter; for each turn a snapshot leaves. It looks again when a turn begins, at most every 250 ms, and
//! makes another snapshot only if a name, a path or a byte changed; a turn that runs keeps the one that it has.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::eligibility::{Surroundings, shut_gates};
use super::root::{SkillRoot, SkillSource};
use super::skill::Skill;
use super::snapshot::{Content, SkillSnapshot};
use super::walk::{Walked, walk};
use crate::config::Config;
use crate::diagnostic::Diagnostic;
use crate::run::RunContext;

/// How long a look at the folders is good for: an editor that writes several files is done by then.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Sets of roots whose content is kept: as many workspaces as one host has open.
const MAX_KEPT: usize = 128;

/// The skills of one host.
#[derive(Debug)]
pub(crate) struct SkillLibrary {
    roots: Vec<SkillRoot>,
    surroundings: Arc<dyn Surroundings>,
    known: Mutex<BTreeMap<Vec<SkillRoot>, Known>>,
}

/// What a set of roots had when it was looked at last.
#[derive(Debug)]
struct Known {
    looked: Duration,
    walked: Vec<Walked>,
    findings: Vec<Diagnostic>,
    content: Arc<Content>,
    version: u64,
}

impl SkillLibrary {
    pub(crate) fn new(roots: Vec<SkillRoot>, surroundings: Arc<dyn Surroundings>) -> Self {
        Self { roots, surroundings, known: Mutex::default() }
    }

    /// The skills of a turn. `carried` are folders of plugins; `now` is the host's clock.
    pub(crate) fn snapshot(
        &self,
        run: &RunContext,
        config: &Config,
        carried: Vec<SkillRoot>,
        now: Duration,
    ) -> SkillSnapshot {
        let (content, version) = self.content(self.all_roots(run, config, carried), config, now);
        let gates = |skill: &Skill| shut_gates(skill, &run.agent, config, &*self.surroundings);
        SkillSnapshot::new(&content, version, gates)
    }

    fn all_roots(&self, run: &RunContext, config: &Config, carried: Vec<SkillRoot>) -> Vec<SkillRoot> {
        let mut roots: Vec<SkillRoot> = config
            .file()
            .skills
            .extra_dirs
            .iter()
            .map(|path| SkillRoot { source: SkillSource::Extra, path: config.beside(path) })
            .collect();
        roots.extend(carried);
        roots.extend(self.roots.iter().cloned());
        if let Some(workspace) = &run.workspace {
            let below =
                |source, path: &str| SkillRoot { source, path: std::path::Path::new(workspace).join(path) };
            roots.push(below(SkillSource::WorkspaceAgents, ".agents/skills"));
            roots.push(below(SkillSource::Workspace, "skills"));
        }
        roots.sort();
        roots.dedup();
        roots
    }

    /// What the roots have. One reader looks at a time, so that a change is read once, whoever asks.
    fn content(&self, roots: Vec<SkillRoot>, config: &Config, now: Duration) -> (Arc<Content>, u64) {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let version = match all.get_mut(&roots) {
            Some(known) => {
                let is_fresh = now.saturating_sub(known.looked) < LOOK_AGAIN;
                if is_fresh || !config.file().skills.watch {
                    return (Arc::clone(&known.content), known.version);
                }
                known.version
            }
            None => 0,
        };
        let mut findings = Vec::new();
        let walked: Vec<Walked> = roots.iter().flat_map(|root| walk(root, &mut findings)).collect();
        if let Some(known) = all.get_mut(&roots)
            && known.walked == walked
            && known.findings == findings
        {
            known.looked = now;
            return (Arc::clone(&known.content), known.version);
        }
        let before = findings.clone();
        let skills = walked.iter().filter_map(|walked| Skill::read(walked, &mut findings)).collect();
        let content = Content::settle(skills, findings);
        let is_same = all.get(&roots).is_some_and(|known| known.content.digest == content.digest);
        let version = if is_same { version } else { version + 1 };
        let content = Arc::new(content);
        if all.len() >= MAX_KEPT && !all.contains_key(&roots) {
            let oldest = all.iter().min_by_key(|(_, known)| known.looked).map(|(roots, _)| roots.clone());
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        let known = Known { looked: now, walked, findings: before, content: Arc::clone(&content), version };
        all.insert(roots, known);
        (content, version)
    }
}
