//! All skills of a host: roots and nodes enter; for each turn a snapshot leaves. It looks again when a turn begins, at most every
//! 250 ms, and makes another version only if a name, a path or a byte changed; a turn that runs keeps the one that it has.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::content::Content;
use super::copy::Copying;
use super::eligibility::{Gates, Surroundings};
use super::folder::{Files, Folder, Now};
use super::node::{Node, NodeConnection, Nodes};
use super::root::{Place, SkillRoot, SkillSource};
use super::snapshot::{ListedSkill, SkillSnapshot};
use crate::config::Config;
use crate::error::Error;
use crate::run::RunContext;

/// Sets of roots whose content is kept: as many workspaces as one host has open.
const MAX_SETS: usize = 128;

/// Roots whose files are kept: two of each workspace, and as many again.
const MAX_FOLDERS: usize = 4 * MAX_SETS;

/// Agents of one set of roots whose last snapshot is kept; a host with more makes theirs anew.
const MAX_AGENTS: usize = 64;

/// The skills of one host.
#[derive(Debug)]
pub(crate) struct SkillLibrary {
    roots: Vec<SkillRoot>,
    surroundings: Arc<dyn Surroundings>,
    nodes: Arc<Nodes>,
    copying: Copying,
    folders: Mutex<BTreeMap<Place, Arc<Folder>>>,
    sets: Mutex<Sets>,
}

#[derive(Debug, Default)]
struct Sets {
    known: BTreeMap<Vec<Place>, Known>,
    /// The last one that was given to any set, so that no two contents have one.
    version: u64,
}

/// What came of a set of roots, with the nodes of then.
#[derive(Debug)]
struct Known {
    files: Vec<Arc<Files>>,
    content: Arc<Content>,
    version: u64,
    /// By agent, and by whether its run is sandboxed.
    taken: BTreeMap<(String, bool), Taken>,
}

/// A snapshot that a turn took. The next one takes the same if it would be.
#[derive(Debug, Clone)]
struct Taken {
    at: Now,
    /// Of the configuration.
    generation: u64,
    content: Arc<Content>,
    snapshot: Arc<SkillSnapshot>,
}

impl SkillLibrary {
    pub(crate) fn new(roots: Vec<SkillRoot>, surroundings: Arc<dyn Surroundings>) -> Self {
        let (nodes, copying) = (Arc::default(), Copying::default());
        Self { roots, surroundings, nodes, copying, folders: Mutex::default(), sets: Mutex::default() }
    }

    /// Has a node's skills be there while it is connected.
    ///
    /// # Errors
    /// If a node of that name is connected.
    pub(crate) fn connect(&self, node: &Node) -> Result<NodeConnection, Error> {
        self.nodes.connect(node)
    }

    /// The skills of a turn. `generation` numbers the configuration, `carried` are folders of plugins.
    pub(crate) fn snapshot(
        &self,
        run: &RunContext,
        (generation, config): (u64, &Config),
        carried: impl Iterator<Item = Place>,
        now: Now,
    ) -> Arc<SkillSnapshot> {
        let places = self.places(run, config, carried);
        let files = places.iter().map(|place| self.look(place, config.file().skills.watch, now)).collect();
        let whose = (run.agent.clone(), run.sandboxed);
        let (content, version, taken) = self.content(&places, files, &whose);
        let same =
            taken.filter(|taken| taken.generation == generation && Arc::ptr_eq(&taken.content, &content));
        if let Some(taken) = same.as_ref().filter(|taken| taken.at.is_recent(now)) {
            return Arc::clone(&taken.snapshot);
        }
        let gates = Gates::new(run, config, &*self.surroundings, &content.nodes);
        let listed: Vec<ListedSkill> = content
            .skills
            .iter()
            .map(|skill| ListedSkill { skill: Arc::clone(skill), shut_gates: gates.shut(skill) })
            .collect();
        let snapshot = match same {
            Some(taken) if taken.snapshot.has_the_gates_of(&listed) => taken.snapshot,
            _ => {
                let copying = Arc::clone(&self.copying);
                Arc::new(SkillSnapshot::new(&content, listed, version, copying, config))
            }
        };
        let taken = Taken { at: now, generation, content, snapshot: Arc::clone(&snapshot) };
        if let Some(known) = locked(&self.sets).known.get_mut(&places) {
            if known.taken.len() >= MAX_AGENTS {
                known.taken.clear();
            }
            known.taken.insert(whose, taken);
        }
        snapshot
    }

    /// Where to look, weakest first, in the order in which somebody named them.
    fn places(&self, run: &RunContext, config: &Config, carried: impl Iterator<Item = Place>) -> Vec<Place> {
        let alone = |root| Place { root, within: None };
        let extra = config.file().skills.extra_dirs.iter();
        let extra = extra.map(|path| SkillRoot { source: SkillSource::Extra, path: config.beside(path) });
        let mut places: Vec<Place> = extra.map(alone).chain(carried).collect();
        places.extend(self.roots.iter().cloned().map(alone));
        if let Some(workspace) = run.workspace.as_ref().map(Path::new) {
            let below = |source, path: &str| Place {
                root: SkillRoot { source, path: workspace.join(path) },
                within: Some(workspace.to_owned()),
            };
            places.push(below(SkillSource::WorkspaceAgents, ".agents/skills"));
            places.push(below(SkillSource::Workspace, "skills"));
        }
        places.sort_by(|one, other| one.root.source.cmp(&other.root.source));
        places
    }

    /// What a place has. Whoever looks at one holds up only those that want the same.
    fn look(&self, place: &Place, is_watched: bool, now: Now) -> Arc<Files> {
        let mut folders = locked(&self.folders);
        let folder = folders.get(place).cloned();
        let folder = folder.unwrap_or_else(|| {
            if folders.len() >= MAX_FOLDERS {
                folders.clear();
            }
            let folder = Arc::new(Folder::default());
            folders.insert(place.clone(), Arc::clone(&folder));
            folder
        });
        drop(folders);
        folder.look(place, is_watched, now)
    }

    /// What the places and the nodes have, and what such a turn took last.
    fn content(
        &self,
        places: &[Place],
        mut files: Vec<Arc<Files>>,
        whose: &(String, bool),
    ) -> (Arc<Content>, u64, Option<Taken>) {
        let mut sets = locked(&self.sets);
        let nodes = self.nodes.connected();
        let known = sets.known.remove(places);
        // Another turn may have looked later and come here first.
        for (mine, known) in files.iter_mut().zip(known.iter().flat_map(|known| &known.files)) {
            if known.number > mine.number {
                mine.clone_from(known);
            }
        }
        let is_same = |known: &Known| {
            known.content.nodes.changes == nodes.changes
                && known.files.iter().zip(&files).all(|(known, mine)| Arc::ptr_eq(known, mine))
        };
        let known = match known {
            Some(known) if is_same(&known) => known,
            known => {
                let content = Arc::new(Content::settle(&files, nodes));
                let same = known.filter(|known| known.content.digest == content.digest);
                let version = same.map_or_else(
                    || {
                        sets.version += 1;
                        sets.version
                    },
                    |known| known.version,
                );
                Known { files, content, version, taken: BTreeMap::new() }
            }
        };
        let answer = (Arc::clone(&known.content), known.version, known.taken.get(whose).cloned());
        if sets.known.len() >= MAX_SETS {
            sets.known.clear();
        }
        sets.known.insert(places.to_vec(), known);
        answer
    }
}

/// What is behind a lock is replaced as a whole, so that a panic leaves nothing half-changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
