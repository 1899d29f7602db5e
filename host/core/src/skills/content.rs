//! Which skill has which name: what roots and nodes have enters; one skill for each name leaves, with those that a stronger one
//! shadows. Whoever may have them is decided later.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use super::folder::Files;
use super::name::SkillName;
use super::node::{self, Connected};
use super::root::SkillSource;
use super::skill::Skill;
use crate::diagnostic::{Code, Diagnostic, Location, lossily};
use crate::id::Digest;

/// A skill whose name a stronger one has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Shadowed {
    /// The name that both have.
    pub name: SkillName,
    /// Where the weaker one comes from.
    pub source: SkillSource,
    /// Its file.
    #[serde(serialize_with = "lossily")]
    pub path: PathBuf,
    /// The file of the one that is there.
    #[serde(serialize_with = "lossily")]
    pub by: PathBuf,
}

impl Shadowed {
    fn new(weaker: &Skill, stronger: &Skill) -> Self {
        Self {
            name: weaker.name().clone(),
            source: weaker.source().clone(),
            path: weaker.path().to_owned(),
            by: stronger.path().to_owned(),
        }
    }
}

/// What was found, whoever may have it.
#[derive(Debug)]
pub(super) struct Content {
    /// One for each name, in the order of names.
    pub(super) skills: Vec<Arc<Skill>>,
    pub(super) shadowed: Vec<Shadowed>,
    pub(super) findings: Vec<Diagnostic>,
    /// Of all names, files and bytes.
    pub(super) digest: Digest,
    /// Who was connected.
    pub(super) nodes: Connected,
}

impl Content {
    /// Settles which skill has which name. A node's is never stronger than one that is here: it has its node's name in front
    /// where another has its own.
    ///
    /// `roots` are weakest first; within one, the first path is the strongest.
    pub(super) fn settle(roots: &[Arc<Files>], nodes: Connected) -> Self {
        let (mut by_name, mut shadowed) = (BTreeMap::<SkillName, Arc<Skill>>::new(), Vec::new());
        let mut findings = Vec::new();
        for (place, files) in roots.iter().enumerate() {
            // One folder under two names is not stronger than itself.
            let is_again = |later: &Arc<Files>| files.real.is_some() && later.real == files.real;
            if roots.iter().skip(place + 1).any(is_again) {
                continue;
            }
            findings.extend_from_slice(&files.findings);
            let mut skills: Vec<&Arc<Skill>> = Vec::new();
            for read in &files.read {
                findings.extend_from_slice(&read.findings);
                skills.extend(&read.skill);
            }
            skills.sort_by(|one, other| other.path().cmp(one.path()));
            for skill in skills {
                if let Some(weaker) = by_name.insert(skill.name().clone(), Arc::clone(skill)) {
                    shadowed.push(Shadowed::new(&weaker, skill));
                }
            }
        }
        for node in nodes.nodes() {
            findings.extend_from_slice(&node.findings);
            for skill in &node.skills {
                let Some(stronger) = by_name.get(skill.name()) else {
                    by_name.insert(skill.name().clone(), Arc::clone(skill));
                    continue;
                };
                match node::prefixed(&node.name, skill.name()).filter(|name| !by_name.contains_key(name)) {
                    Some(name) => drop(by_name.insert(name.clone(), Arc::new(skill.renamed(name)))),
                    None => shadowed.push(Shadowed::new(skill, stronger)),
                }
            }
        }
        shadowed.sort();
        for skill in by_name.values() {
            findings.extend(unclear(skill));
        }
        findings.sort();
        findings.dedup();
        let skills: Vec<Arc<Skill>> = by_name.into_values().collect();
        let digest = Self::digest(&skills);
        Self { skills, shadowed, findings, digest, nodes }
    }

    fn digest(skills: &[Arc<Skill>]) -> Digest {
        let parts = skills.iter().map(|skill| {
            let source = skill.source().to_string();
            let path = skill.path().to_string_lossy();
            Digest::of_parts([
                skill.name().as_str().as_bytes(),
                source.as_bytes(),
                path.as_bytes(),
                skill.digest().as_bytes().as_slice(),
            ])
        });
        let parts: Vec<Digest> = parts.collect();
        Digest::of_parts(parts.iter().map(|part| part.as_bytes().as_slice()))
    }
}

/// What a skill's list of tools says that is not held as it is written.
fn unclear(skill: &Skill) -> Vec<Diagnostic> {
    let Some(allowed) = skill.allowed_tools() else { return Vec::new() };
    let find = |message: String, hint: &str| {
        let finding = Diagnostic::new(Code::SkillToolsUnclear, skill.name(), message, hint);
        finding.at(Location::path(skill.path()))
    };
    let quoted =
        |entries: Vec<&str>| entries.iter().map(|entry| format!("`{entry}`")).collect::<Vec<_>>().join(", ");
    let coarser: Vec<&str> = allowed.coarser().collect();
    let unreadable: Vec<&str> = allowed.unreadable().collect();
    let mut findings = Vec::new();
    if !coarser.is_empty() {
        let message = format!("`allowed-tools` has {}, of which the whole tool is allowed", quoted(coarser));
        findings.push(find(message, "limit arguments with a guard"));
    }
    if !unreadable.is_empty() {
        let message = format!("`allowed-tools` has {}, which no tool can be named", quoted(unreadable));
        findings.push(find(message, "write the names of tools, one by one"));
    }
    findings
}
