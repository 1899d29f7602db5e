//! All skills of a host: roots and nodes enter; for each turn a snapshot leaves. It looks again when a turn begins, at most every
//! 250 ms, and makes another version only if a name, a path or a byte changed; a turn that runs keeps the one that it has.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::copy::Copying;
use super::eligibility::{Surroundings, shut_gates};
use super::node::{Connected, Node, NodeConnection, Nodes};
use super::root::{SkillRoot, SkillSource};
use super::skill::Skill;
use super::snapshot::{Content, ListedSkill, SkillSnapshot};
use super::walk::{Walked, walk};
use crate::config::Config;
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::run::RunContext;

/// How long a look at the folders is good for: an editor that writes several files is done by then.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Sets of roots whose content is kept: as many workspaces as one host has open.
const MAX_KEPT: usize = 128;

/// Agents of one set of roots whose last snapshot is kept; a host with more makes theirs anew.
const MAX_AGENTS: usize = 64;

/// The skills of one host.
#[derive(Debug)]
pub(crate) struct SkillLibrary {
    roots: Vec<SkillRoot>,
    surroundings: Arc<dyn Surroundings>,
    nodes: Arc<Nodes>,
    copying: Copying,
    known: Mutex<BTreeMap<Vec<SkillRoot>, Known>>,
}

/// What time it is, by both clocks of a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) monotonic: Duration,
    pub(crate) wall: SystemTime,
}

/// What a set of roots had when it was looked at last, and what came of it with the nodes of then.
#[derive(Debug)]
struct Known {
    looked: Duration,
    files: Arc<Files>,
    content: Arc<Content>,
    version: u64,
    /// By agent.
    taken: BTreeMap<String, Taken>,
}

/// A snapshot that a turn took. The next one takes the same if it would be.
#[derive(Debug, Clone)]
struct Taken {
    at: Duration,
    /// Of the configuration.
    generation: u64,
    content: Arc<Content>,
    snapshot: Arc<SkillSnapshot>,
}

/// What a set of roots has.
#[derive(Debug)]
struct Files {
    read: Vec<Read>,
    /// What the walk alone found.
    findings: Vec<Diagnostic>,
}

/// One folder, and what came of reading it.
#[derive(Debug, Clone)]
struct Read {
    walked: Walked,
    /// Whether a later change shows; else it is read again the next time.
    is_settled: bool,
    skill: Option<Arc<Skill>>,
    findings: Vec<Diagnostic>,
}

impl SkillLibrary {
    pub(crate) fn new(roots: Vec<SkillRoot>, surroundings: Arc<dyn Surroundings>) -> Self {
        let (nodes, copying, known) = (Arc::default(), Copying::default(), Mutex::default());
        Self { roots, surroundings, nodes, copying, known }
    }

    /// Has a node's skills be there while it is connected.
    ///
    /// # Errors
    /// If a node of that name is connected.
    pub(crate) fn connect(&self, node: &Node) -> Result<NodeConnection, Error> {
        self.nodes.connect(node)
    }

    /// The skills of a turn. `generation` numbers the configuration, `carried` are folders of plugins, `now` is the host's time.
    pub(crate) fn snapshot(
        &self,
        run: &RunContext,
        (generation, config): (u64, &Config),
        carried: Vec<SkillRoot>,
        now: Now,
    ) -> Arc<SkillSnapshot> {
        let roots = self.all_roots(run, config, carried);
        let (content, version, taken) = self.content(&roots, &run.agent, config, now);
        let same =
            taken.filter(|taken| taken.generation == generation && Arc::ptr_eq(&taken.content, &content));
        if let Some(taken) = same.as_ref().filter(|taken| now.monotonic.saturating_sub(taken.at) < LOOK_AGAIN)
        {
            return Arc::clone(&taken.snapshot);
        }
        let gates = |skill: &Arc<Skill>| {
            let node = match skill.source() {
                SkillSource::Node(name) => content.nodes.node(name),
                _ => None,
            };
            let surroundings = node.map_or(&*self.surroundings, |node| &*node.surroundings);
            let shut_gates = shut_gates(skill, &run.agent, config, surroundings);
            ListedSkill { skill: Arc::clone(skill), shut_gates }
        };
        let listed: Vec<ListedSkill> = content.skills.iter().map(gates).collect();
        let snapshot = match same {
            Some(taken) if taken.snapshot.has_the_gates_of(&listed) => taken.snapshot,
            _ => {
                let copying = Arc::clone(&self.copying);
                Arc::new(SkillSnapshot::new(&content, listed, version, copying, config))
            }
        };
        let taken = Taken { at: now.monotonic, generation, content, snapshot: Arc::clone(&snapshot) };
        self.take(&roots, &run.agent, taken);
        snapshot
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
            let below = |source, path: &str| SkillRoot { source, path: Path::new(workspace).join(path) };
            roots.push(below(SkillSource::WorkspaceAgents, ".agents/skills"));
            roots.push(below(SkillSource::Workspace, "skills"));
        }
        roots.sort();
        roots.dedup();
        roots
    }

    /// What the roots and the nodes have, and what a turn of this agent took last. One reader looks at a time, so that a change
    /// is read once, whoever asks.
    fn content(
        &self,
        roots: &[SkillRoot],
        agent: &str,
        config: &Config,
        now: Now,
    ) -> (Arc<Content>, u64, Option<Taken>) {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let nodes = self.nodes.connected();
        let known = all.remove(roots);
        let is_good = |known: &Known| {
            !config.file().skills.watch || now.monotonic.saturating_sub(known.looked) < LOOK_AGAIN
        };
        let (looked, files) = match &known {
            Some(known) if is_good(known) => (known.looked, Arc::clone(&known.files)),
            known => (now.monotonic, Files::look(roots, known.as_ref().map(|known| &known.files), now.wall)),
        };
        let known = match known {
            Some(known)
                if Arc::ptr_eq(&known.files, &files) && known.content.nodes.changes == nodes.changes =>
            {
                Known { looked, ..known }
            }
            known => {
                let content = Arc::new(files.settle(nodes));
                let version = match &known {
                    Some(known) if known.content.digest == content.digest => known.version,
                    Some(known) => known.version + 1,
                    None => 1,
                };
                Known { looked, files, content, version, taken: BTreeMap::new() }
            }
        };
        let answer = (Arc::clone(&known.content), known.version, known.taken.get(agent).cloned());
        if all.len() >= MAX_KEPT {
            let oldest = all.iter().min_by_key(|(_, known)| known.looked).map(|(roots, _)| roots.clone());
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        all.insert(roots.to_vec(), known);
        answer
    }

    /// Keeps what a turn took for the next one of its agent.
    fn take(&self, roots: &[SkillRoot], agent: &str, taken: Taken) {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = all.get_mut(roots) else { return };
        if known.taken.len() >= MAX_AGENTS {
            known.taken.clear();
        }
        known.taken.insert(agent.to_owned(), taken);
    }
}

impl Files {
    /// Looks at the roots, and reads what is not as it was.
    fn look(roots: &[SkillRoot], before: Option<&Arc<Self>>, wall: SystemTime) -> Arc<Self> {
        let mut findings = Vec::new();
        let walked: Vec<Walked> = roots.iter().flat_map(|root| walk(root, &mut findings)).collect();
        let settled = before.iter().flat_map(|before| &before.read).filter(|read| read.is_settled);
        let known: HashMap<&Walked, &Read> = settled.map(|read| (&read.walked, read)).collect();
        if let Some(before) = before
            && before.findings == findings
            && before.read.len() == walked.len()
            && walked.iter().all(|walked| known.contains_key(walked))
        {
            return Arc::clone(before);
        }
        let read = walked.into_iter().map(|walked| match known.get(&walked) {
            Some(read) => Read::clone(read),
            None => Read::new(walked, wall),
        });
        Arc::new(Self { read: read.collect(), findings })
    }

    fn settle(&self, nodes: Connected) -> Content {
        let skills = self.read.iter().filter_map(|read| read.skill.clone()).collect();
        let of_files = self.read.iter().flat_map(|read| read.findings.iter().cloned());
        Content::settle(skills, nodes, self.findings.iter().cloned().chain(of_files).collect())
    }
}

impl Read {
    fn new(walked: Walked, wall: SystemTime) -> Self {
        let mut findings = Vec::new();
        let skill = Skill::read(&walked, &mut findings).map(Arc::new);
        Self { is_settled: walked.is_settled(wall), walked, skill, findings }
    }
}
