//! A node's skills: what a machine that is connected tells of enters; skills that are read like any other leave, until it goes.
//! Nothing of it is looked for here: files and programs are the node's.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::eligibility::{Surroundings, UnknownMachine};
use super::name::SkillName;
use super::skill::Skill;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Error;
use crate::text;

/// Longest name of a node, in characters: half of what a skill's name may have, before which it may stand.
const MAX_NODE_NAME_CHARS: usize = 32;

/// Skills of one node.
const MAX_NODE_SKILLS: usize = 64;

/// One skill of a node, in bytes: it comes over a wire.
const MAX_NODE_SKILL_BYTES: usize = 64 * 1024;

/// All skills of one node, in bytes.
const MAX_NODE_BYTES: usize = 512 * 1024;

/// A node's name: lower-case ASCII letters and digits, in words that single hyphens join; at most 32 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(SkillName);

impl NodeName {
    /// Reads a name.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(written: &str) -> Result<Self, String> {
        let (name, shown) = (SkillName::parse(written).ok(), text::shorten(written, 80));
        let fits = |name: &SkillName| name.as_str().is_ascii() && name.as_str().len() <= MAX_NODE_NAME_CHARS;
        name.filter(fits).map(Self).ok_or_else(|| {
            format!(
                "{shown:?} is no name of a node: 1 to {MAX_NODE_NAME_CHARS} lower-case ASCII letters and digits, in words that single hyphens join"
            )
        })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A machine that has skills while it is connected.
#[derive(Debug, Clone)]
pub struct Node {
    name: NodeName,
    surroundings: Arc<dyn Surroundings>,
    files: Vec<Vec<u8>>,
}

impl Node {
    /// A node without skills, of whose machine nothing is known.
    pub fn new(name: NodeName) -> Self {
        Self { name, surroundings: Arc::new(UnknownMachine), files: Vec::new() }
    }

    /// What the node's machine has, for its own skills that need some of it.
    #[must_use]
    pub fn surroundings(mut self, surroundings: impl Surroundings + 'static) -> Self {
        self.surroundings = Arc::new(surroundings);
        self
    }

    /// Adds a skill by the bytes of its `SKILL.md`.
    #[must_use]
    pub fn skill(mut self, file: impl Into<Vec<u8>>) -> Self {
        self.files.push(file.into());
        self
    }
}

/// The skills of a node, as they were when it connected.
#[derive(Debug)]
pub(super) struct NodeSkills {
    pub(super) name: NodeName,
    pub(super) surroundings: Arc<dyn Surroundings>,
    pub(super) skills: Vec<Arc<Skill>>,
    pub(super) findings: Vec<Diagnostic>,
}

impl NodeSkills {
    /// Reads what a node has. One file that cannot be used hides no other.
    fn read(node: &Node) -> Self {
        let Node { name, surroundings, files } = node;
        let (mut skills, mut findings) = (BTreeMap::new(), Vec::new());
        let refused = |message: String| {
            let hint = "correct it on the node, which then connects again";
            Diagnostic::new(Code::NodeSkillRefused, name, message, hint)
        };
        let mut left = MAX_NODE_BYTES;
        for (number, bytes) in (1..).zip(files.iter().take(MAX_NODE_SKILLS)) {
            let size = bytes.len();
            if size > MAX_NODE_SKILL_BYTES {
                let limit = format!("the limit is {MAX_NODE_SKILL_BYTES}");
                findings.push(refused(format!("skill {number} of the node has {size} bytes, {limit}")));
                continue;
            }
            let Some(rest) = left.checked_sub(size) else {
                let limit = format!("more than {MAX_NODE_BYTES} bytes");
                findings.push(refused(format!("skill {number} of the node would make its skills {limit}")));
                continue;
            };
            left = rest;
            let skill = match Skill::of_node(bytes, name, number) {
                Ok(skill) => skill,
                Err(finding) => {
                    findings.push(finding);
                    continue;
                }
            };
            if skill.requirements().command_tool.is_some() {
                let message =
                    format!("the command of the skill `{}` calls a tool, which no node's may", skill.name());
                findings.push(refused(format!("{message}; it starts a turn of the model")));
            }
            let own = skill.name().clone();
            if skills.contains_key(&own) {
                findings
                    .push(refused(format!("the node has two skills `{own}`, of which the first is taken")));
                continue;
            }
            skills.insert(own, Arc::new(skill.without_command_tool()));
        }
        if files.len() > MAX_NODE_SKILLS {
            let found = files.len();
            findings.push(refused(format!(
                "the node has {found} skills, of which the first {MAX_NODE_SKILLS} are looked at"
            )));
        }
        let skills = skills.into_values().collect();
        Self { name: name.clone(), surroundings: Arc::clone(surroundings), skills, findings }
    }
}

/// Whoever is connected.
#[derive(Debug, Default)]
pub(super) struct Nodes(Mutex<Connected>);

/// Who was connected at one time.
#[derive(Debug, Clone, Default)]
pub(super) struct Connected {
    /// How often somebody came or went until then.
    pub(super) changes: u64,
    nodes: BTreeMap<NodeName, Arc<NodeSkills>>,
}

impl Connected {
    /// In the order of their names.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Arc<NodeSkills>> {
        self.nodes.values()
    }

    pub(super) fn node(&self, name: &NodeName) -> Option<&Arc<NodeSkills>> {
        self.nodes.get(name)
    }
}

impl Nodes {
    pub(super) fn connected(&self) -> Connected {
        self.with(|connected| connected.clone())
    }

    /// Takes a node's skills in.
    pub(super) fn connect(self: &Arc<Self>, node: &Node) -> Result<NodeConnection, Error> {
        let skills = Arc::new(NodeSkills::read(node));
        let is_new = self.with(|connected| {
            let is_new = !connected.nodes.contains_key(&node.name);
            if is_new {
                connected.changes += 1;
                connected.nodes.insert(node.name.clone(), Arc::clone(&skills));
            }
            is_new
        });
        if !is_new {
            let message =
                format!("a node `{}` is connected already; its name is taken until it goes", node.name);
            return Err(Error::configuration(message));
        }
        Ok(NodeConnection { nodes: Arc::clone(self), skills })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Connected) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A node that is connected. Its skills are there from the next turn on, and gone from the first turn after this is dropped; a
/// turn that runs keeps what it has.
#[derive(Debug)]
#[must_use = "the node is connected for as long as this is kept"]
pub struct NodeConnection {
    nodes: Arc<Nodes>,
    skills: Arc<NodeSkills>,
}

impl NodeConnection {
    /// What of the node's skills was not taken, and why.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.skills.findings
    }
}

impl Drop for NodeConnection {
    fn drop(&mut self) {
        self.nodes.with(|connected| {
            connected.changes += 1;
            connected.nodes.remove(&self.skills.name);
        });
    }
}

/// Where a skill of a node is said to be.
pub(super) fn place(node: &NodeName, skill: &str) -> PathBuf {
    PathBuf::from(format!("node://{node}/skills/{skill}/SKILL.md"))
}

/// The name of a node's skill where somebody else has its own; `None` if that would be none.
pub(super) fn prefixed(node: &NodeName, skill: &SkillName) -> Option<SkillName> {
    SkillName::parse(&format!("{node}-{skill}")).ok()
}
