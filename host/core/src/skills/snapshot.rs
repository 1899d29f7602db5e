//! The skills of one turn: everything that was found enters; what an agent has of it leaves, pinned byte for byte. Prompt,
//! commands and reads all look here, and nothing is read again.

use std::fmt;
use std::sync::Arc;

use super::catalogue;
use super::content::{Content, Shadowed};
use super::copy::Copying;
use super::environment::SkillEnvironment;
use super::mention::{self, MAX_MENTIONS};
use super::name::SkillName;
use super::skill::Skill;
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Error;
use crate::id::Digest;
use crate::text;

/// Names in one message, in characters.
const MAX_NAMES_CHARS: usize = 600;

/// A skill, and why an agent does not have it, if it does not.
#[derive(Debug, Clone)]
pub struct ListedSkill {
    /// The skill.
    pub skill: Arc<Skill>,
    /// Every gate that is shut.
    pub shut_gates: Vec<String>,
}

/// The skills that a prompt mentions.
#[derive(Debug, Clone)]
pub struct Mentions {
    /// Each once, in their order.
    pub skills: Vec<Arc<Skill>>,
    /// The prompt without the backslashes that kept a `$` from being a mention.
    pub prompt: String,
}

/// The skills of one turn.
pub struct SkillSnapshot {
    listed: Vec<ListedSkill>,
    /// For which the catalogue has no room.
    omitted: Vec<SkillName>,
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
        let (catalogue, is_told) = catalogue::catalogue(&told, at_its_path);
        let omitted = told.get(is_told..).unwrap_or_default();
        let omitted: Vec<SkillName> = omitted.iter().map(|skill| skill.name().clone()).collect();
        let (shadowed, mut findings) = (content.shadowed.clone(), content.findings.clone());
        findings.extend(unlisted(&omitted));
        findings.extend(misspelt(&listed, config));
        let had = || listed.iter().filter(|one| one.shut_gates.is_empty()).map(|one| &one.skill);
        let environment = SkillEnvironment::new(had(), config, &mut findings);
        findings.sort();
        let mut parts = vec![content.digest.as_bytes().to_vec(), catalogue.as_bytes().to_vec()];
        parts.extend(had().map(|skill| skill.name().as_str().as_bytes().to_vec()));
        parts.extend(
            environment.iter().flat_map(|(name, value)| [name, value].map(|text| text.as_bytes().to_vec())),
        );
        let fingerprint = Digest::of_parts(parts.iter().map(Vec::as_slice));
        Self { listed, omitted, shadowed, findings, catalogue, environment, fingerprint, version, copying }
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

    /// The same list, for a model that finds the skills below `folder`, as [`Self::copy_to`] lays them out there.
    pub fn catalogue_in(&self, folder: &str) -> String {
        let told: Vec<&Skill> = self.told().map(AsRef::as_ref).collect();
        let folder = folder.trim_end_matches('/');
        catalogue::catalogue(&told, |skill| format!("{folder}/{}/SKILL.md", skill.name())).0
    }

    /// What a model is told of, whether or not there is room for it.
    pub(super) fn told(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.skills().filter(|skill| !skill.is_hidden_from_model())
    }

    /// Skills that a model is not told of because the catalogue has no room for them.
    pub fn omitted(&self) -> &[SkillName] {
        &self.omitted
    }

    /// What programs that the host starts are given while an agent has these skills.
    pub(crate) fn environment(&self) -> &SkillEnvironment {
        &self.environment
    }

    /// Held by whoever makes a copy.
    pub(super) fn copying(&self) -> &Copying {
        &self.copying
    }

    /// Of all names, files and bytes, of what the agent has and is told, and of its variables: two that are equal are one.
    pub fn fingerprint(&self) -> Digest {
        self.fingerprint
    }

    /// Another one whenever a name, a path or a byte changed, or other folders are looked at. One host never gives two contents one
    /// number; what an agent may have of it is not in it.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What a model reads of a skill: its `SKILL.md`, or another of its files.
    ///
    /// # Errors
    /// What there is instead; it names nothing that the model is not told of.
    pub fn read(&self, name: &str, file: Option<&str>) -> Result<String, String> {
        let Some(skill) = self.told().find(|skill| skill.name().as_str() == name) else {
            let names: Vec<&str> = self.told().map(|skill| skill.name().as_str()).collect();
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
                format!("it has {}", text::single_line(&text::shorten(&names.join(", "), MAX_NAMES_CHARS)))
            };
            return Err(format!("the skill `{name}` has no file `{shown}`; {there}"));
        };
        let read = std::str::from_utf8(bytes).map(str::to_owned);
        let shown = text::single_line(file);
        read.map_err(|_| format!("`{shown}` of the skill `{name}` is no text; it has {} bytes", bytes.len()))
    }

    /// The skills that a prompt mentions by `$name`, in any case but in capitals only, which is a shell's variable. Words that are
    /// no skill's name are left alone; `\$name` is none.
    ///
    /// # Errors
    /// If there are more than eight.
    pub fn mentions(&self, prompt: &str) -> Result<Mentions, Error> {
        let has = |name: &SkillName| self.skill(name.as_str()).is_some();
        let (names, prompt) = mention::mentions(prompt, has);
        if names.len() > MAX_MENTIONS {
            let message = format!("the prompt mentions {} skills, the limit is {MAX_MENTIONS}", names.len());
            return Err(Error::configuration(message));
        }
        let skills = names.iter().filter_map(|name| self.skill(name.as_str())).cloned().collect();
        Ok(Mentions { skills, prompt })
    }
}

/// Without what is in the skills, which is long and not for logs.
impl fmt::Debug for SkillSnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.skills().map(|skill| skill.name().as_str()).collect();
        let mut shown = formatter.debug_struct("SkillSnapshot");
        shown.field("version", &self.version).field("skills", &names).finish_non_exhaustive()
    }
}

fn at_its_path(skill: &Skill) -> String {
    skill.path().display().to_string()
}

/// What an operator is told of skills that a model is not told of.
fn unlisted(omitted: &[SkillName]) -> Option<Diagnostic> {
    let first = omitted.first()?;
    let names: Vec<&str> = omitted.iter().map(SkillName::as_str).collect();
    let message = format!(
        "a prompt has no room for {} skills, of which the model is not told: {}",
        omitted.len(),
        text::shorten(&names.join(", "), MAX_NAMES_CHARS)
    );
    let hint = "give the agent the skills that it needs: `[agents.NAME] skills`";
    Some(Diagnostic::new(Code::SkillsNotListed, first, message, hint))
}

/// Names in the configuration that are no skill's and were probably meant to be.
fn misspelt(listed: &[ListedSkill], config: &Config) -> Vec<Diagnostic> {
    let has = |name: &SkillName| listed.iter().any(|one| one.skill.name() == name);
    let entries = config.file().skills.entries.keys().map(|name| (name, "skills.entries".to_owned()));
    let agents = config.file().agents.iter().flat_map(|(agent, written)| {
        written.skills.iter().flatten().map(move |name| (name, format!("agents.{agent}.skills")))
    });
    let strangers = entries.chain(agents).filter(|(name, _)| !has(name));
    strangers
        .filter_map(|(name, place)| {
            let meant = text::suggest(name.as_str(), listed.iter().map(|one| one.skill.name().as_str()))?;
            let message = format!("`{place}` has `{name}`, which is no skill here; did you mean `{meant}`?");
            Some(Diagnostic::new(Code::SkillUnknown, name, message, "write the skill's name"))
        })
        .collect()
}
