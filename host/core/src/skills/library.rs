//! All skills of a host: roots and nodes enter; for each turn a snapshot leaves. It looks again when a turn begins, at most every
//! 250 ms, and makes another version only if a name, a path or a byte changed; a turn that runs keeps the one that it has.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::copy::Copying;
use super::eligibility::{Surroundings, shut_gates};
use super::node::{Node, NodeConnection, Nodes};
use super::root::{SkillRoot, SkillSource};
use super::skill::Skill;
use super::snapshot::{Content, SkillSnapshot};
use super::walk::{Walked, walk};
use crate::config::Config;
use crate::diagnostic::Diagnostic;
use crate::error::Error;
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
    nodes: Arc<Nodes>,
    copying: Copying,
    known: Mutex<BTreeMap<Vec<SkillRoot>, Known>>,
}

/// What a set of roots had when it was looked at last, and what came of it with the nodes of then.
#[derive(Debug)]
struct Known {
    looked: Duration,
    files: Arc<Files>,
    content: Arc<Content>,
    version: u64,
}

/// What a set of roots has.
#[derive(Debug)]
struct Files {
    walked: Vec<Walked>,
    /// What the walk alone found.
    walk_findings: Vec<Diagnostic>,
    skills: Vec<Arc<Skill>>,
    findings: Vec<Diagnostic>,
}

impl SkillLibrary {
    pub(crate) fn new(roots: Vec<SkillRoot>, surroundings: Arc<dyn Surroundings>) -> Self {
        Self {
            roots,
            surroundings,
            nodes: Arc::default(),
            copying: Copying::default(),
            known: Mutex::default(),
        }
    }

    /// Has a node's skills be there while it is connected.
    ///
    /// # Errors
    /// If a node of that name is connected.
    pub(crate) fn connect(&self, node: &Node) -> Result<NodeConnection, Error> {
        self.nodes.connect(node)
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
        let gates = |skill: &Skill| {
            let node = match skill.source() {
                SkillSource::Node(name) => content.nodes.node(name),
                _ => None,
            };
            let surroundings = node.map_or(&*self.surroundings, |node| &*node.surroundings);
            shut_gates(skill, &run.agent, config, surroundings)
        };
        SkillSnapshot::new(&content, version, Arc::clone(&self.copying), config, gates)
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

    /// What the roots and the nodes have. One reader looks at a time, so that a change is read once, whoever asks.
    fn content(&self, roots: Vec<SkillRoot>, config: &Config, now: Duration) -> (Arc<Content>, u64) {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let nodes = self.nodes.connected();
        let known = all.remove(&roots);
        let is_good =
            |known: &Known| !config.file().skills.watch || now.saturating_sub(known.looked) < LOOK_AGAIN;
        let (looked, files) = match &known {
            Some(known) if is_good(known) => (known.looked, Arc::clone(&known.files)),
            known => (now, Files::look(&roots, known.as_ref().map(|known| &known.files))),
        };
        let known = match known {
            Some(known)
                if Arc::ptr_eq(&known.files, &files) && known.content.nodes.changes == nodes.changes =>
            {
                Known { looked, ..known }
            }
            known => {
                let content = Arc::new(Content::settle(&files.skills, nodes, files.findings.clone()));
                let version = match &known {
                    Some(known) if known.content.digest == content.digest => known.version,
                    Some(known) => known.version + 1,
                    None => 1,
                };
                Known { looked, files, content, version }
            }
        };
        let answer = (Arc::clone(&known.content), known.version);
        if all.len() >= MAX_KEPT {
            let oldest = all.iter().min_by_key(|(_, known)| known.looked).map(|(roots, _)| roots.clone());
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        all.insert(roots, known);
        answer
    }
}

impl Files {
    /// Looks at the roots, and reads them if anything is not as it was.
    fn look(roots: &[SkillRoot], before: Option<&Arc<Self>>) -> Arc<Self> {
        let mut findings = Vec::new();
        let walked: Vec<Walked> = roots.iter().flat_map(|root| walk(root, &mut findings)).collect();
        if let Some(before) =
            before.filter(|before| before.walked == walked && before.walk_findings == findings)
        {
            return Arc::clone(before);
        }
        let walk_findings = findings.clone();
        let skills = walked.iter().filter_map(|walked| Skill::read(walked, &mut findings)).map(Arc::new);
        let skills = skills.collect();
        Arc::new(Self { walked, walk_findings, skills, findings })
    }
}
