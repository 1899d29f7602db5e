//! The skills of one turn: everything that was found enters; what an agent has of it leaves, pinned byte for byte. Prompt,
//! commands and reads all look here, and nothing is read again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use super::catalogue;
use super::copy::Copying;
use super::environment::SkillEnvironment;
use super::mention::{self, MAX_MENTIONS};
use super::name::SkillName;
use super::node::{self, Connected};
use super::root::SkillSource;
use super::skill::Skill;
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::error::Error;
use crate::id::Digest;
use crate::text;

/// A skill, and why an agent does not have it, if it does not.
#[derive(Debug, Clone)]
pub struct ListedSkill {
    /// The skill.
    pub skill: Arc<Skill>,
    /// Every gate that is shut.
    pub shut_gates: Vec<String>,
}

/// A skill whose name a stronger one has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Shadowed {
    /// The name that both have.
    pub name: SkillName,
    /// Where the weaker one comes from.
    pub source: SkillSource,
    /// Its file.
    pub path: PathBuf,
    /// The file of the one that is there.
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

/// The skills that a prompt mentions.
#[derive(Debug, Clone)]
pub struct Mentions {
    /// Each once, in their order.
    pub skills: Vec<Arc<Skill>>,
    /// The prompt without the backslashes that kept a `$` from being a mention.
    pub prompt: String,
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
    pub(super) fn settle(
        mut skills: Vec<Arc<Skill>>,
        nodes: Connected,
        mut findings: Vec<Diagnostic>,
    ) -> Self {
        let (mut by_name, mut shadowed) = (BTreeMap::<SkillName, Arc<Skill>>::new(), Vec::new());
        skills.sort_by(|one, other| {
            one.source().cmp(other.source()).then_with(|| other.path().cmp(one.path()))
        });
        for skill in skills {
            let stronger = Arc::clone(&skill);
            if let Some(weaker) = by_name.insert(skill.name().clone(), skill) {
                shadowed.push(Shadowed::new(&weaker, &stronger));
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

/// The skills of one turn.
#[derive(Debug)]
pub struct SkillSnapshot {
    listed: Vec<ListedSkill>,
    shadowed: Vec<Shadowed>,
    findings: Vec<Diagnostic>,
    catalogue: String,
    environment: SkillEnvironment,
    fingerprint: Digest,
    version: u64,
    copying: Copying,
}

impl SkillSnapshot {
    pub(super) fn new(
        content: &Content,
        listed: Vec<ListedSkill>,
        version: u64,
        copying: Copying,
        config: &Config,
    ) -> Self {
        let told: Vec<&Skill> = listed
            .iter()
            .filter(|one| one.shut_gates.is_empty() && !one.skill.is_hidden_from_model())
            .map(|one| &*one.skill)
            .collect();
        let catalogue = catalogue::catalogue(&told);
        let fingerprint = Digest::of_parts([content.digest.as_bytes().as_slice(), catalogue.as_bytes()]);
        let (shadowed, mut findings) = (content.shadowed.clone(), content.findings.clone());
        let had = listed.iter().filter(|one| one.shut_gates.is_empty()).map(|one| &one.skill);
        let environment = SkillEnvironment::new(had, config, &mut findings);
        Self { listed, shadowed, findings, catalogue, environment, fingerprint, version, copying }
    }

    /// Whether the same gates are shut, of the same skills.
    pub(super) fn has_the_gates_of(&self, listed: &[ListedSkill]) -> bool {
        self.listed.iter().map(|one| &one.shut_gates).eq(listed.iter().map(|one| &one.shut_gates))
    }

    /// Everything that was found, by name, with what keeps some of it from the agent.
    pub fn listed(&self) -> &[ListedSkill] {
        &self.listed
    }

    /// What the agent has, by name.
    pub fn skills(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.listed.iter().filter(|one| one.shut_gates.is_empty()).map(|one| &one.skill)
    }

    /// A skill that the agent has.
    pub fn skill(&self, name: &str) -> Option<&Arc<Skill>> {
        self.skills().find(|skill| skill.name().as_str() == name)
    }

    /// Skills whose name a stronger one has.
    pub fn shadowed(&self) -> &[Shadowed] {
        &self.shadowed
    }

    /// What is wrong with files and folders.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// The list for a prompt, within its budget; empty if there is nothing to list.
    pub fn catalogue(&self) -> &str {
        &self.catalogue
    }

    /// What programs that the host starts are given while an agent has these skills.
    pub(crate) fn environment(&self) -> &SkillEnvironment {
        &self.environment
    }

    /// Held by whoever makes a copy.
    pub(super) fn copying(&self) -> &Copying {
        &self.copying
    }

    /// Of all names, files and bytes, and of what the agent is told: two that are equal are one.
    pub fn fingerprint(&self) -> Digest {
        self.fingerprint
    }

    /// Grows whenever a name, a path or a byte changed.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What a model reads of a skill: its `SKILL.md`, or another of its files.
    ///
    /// # Errors
    /// What there is instead; it names nothing that the model is not told of.
    pub fn read(&self, name: &str, file: Option<&str>) -> Result<String, String> {
        let told = || self.skills().filter(|skill| !skill.is_hidden_from_model());
        let Some(skill) = told().find(|skill| skill.name().as_str() == name) else {
            let names: Vec<&str> = told().map(|skill| skill.name().as_str()).collect();
            let meant = text::suggest(name, names)
                .map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
            let shown = text::single_line(&text::shorten(name, 80)).into_owned();
            return Err(format!("there is no skill `{shown}` here{meant}"));
        };
        let Some(file) = file else { return Ok(skill.text().to_owned()) };
        let file = file.strip_prefix("./").unwrap_or(file);
        if file.eq_ignore_ascii_case("SKILL.md") {
            return Ok(skill.text().to_owned());
        }
        let Some(bytes) = skill.files().get(file) else {
            let names: Vec<&str> = skill.files().keys().map(String::as_str).collect();
            let shown = text::single_line(&text::shorten(file, 80)).into_owned();
            let there = if names.is_empty() {
                "it has no other files".to_owned()
            } else {
                format!("it has {}", names.join(", "))
            };
            return Err(format!("the skill `{name}` has no file `{shown}`; {there}"));
        };
        let read = std::str::from_utf8(bytes).map(str::to_owned);
        read.map_err(|_| format!("`{file}` of the skill `{name}` is no text; it has {} bytes", bytes.len()))
    }

    /// The skills that a prompt mentions by `$name`, in any case. Words that are no skill's name are left alone; `\$name` is
    /// none.
    ///
    /// # Errors
    /// If there are more than eight.
    pub fn mentions(&self, prompt: &str) -> Result<Mentions, Error> {
        let (names, prompt) = mention::mentions(prompt);
        let skills: Vec<Arc<Skill>> = names.iter().filter_map(|name| self.skill(name)).cloned().collect();
        if skills.len() > MAX_MENTIONS {
            let message = format!("the prompt mentions {} skills, the limit is {MAX_MENTIONS}", skills.len());
            return Err(Error::configuration(message));
        }
        Ok(Mentions { skills, prompt })
    }
}
