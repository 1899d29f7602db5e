//! Why is a skill not there? Its name enters; the six states, as far as a skill has them, leave, and what it asks for that the run
//! does not have.

use super::{Explanation, State, Stop, SubjectKind, answer};
use crate::diagnostic::{Code, Diagnostic};
use crate::id::ToolName;
use crate::skills::{ListedSkill, SkillName, SkillSnapshot, tools_named};
use crate::surface::Surface;

/// The answer about a skill of that name; `None` if there is none.
pub(super) fn explain_skill(name: &str, surface: &Surface) -> Option<Explanation> {
    let skills = surface.skills()?;
    let named = SkillName::parse(&name.to_lowercase()).ok();
    let listed = skills.listed().iter().find(|one| Some(one.skill.name()) == named.as_ref());
    let Some(ListedSkill { skill, shut_gates }) = listed else { return broken(name, skills) };
    let name = skill.name().as_str();
    let missing = missing(surface, &tools_named(skill, |tool| is_tool(surface, tool)));
    let stop = if !shut_gates.is_empty() {
        let fix = "meet what it needs, or take the gate away".to_owned();
        Some(Stop { at: State::Exposed, reason: shut_gates.join("; "), rules: Vec::new(), fix })
    } else if surface.leaves_none(skill) {
        let reason =
            "none of the tools that its `allowed-tools` names is there, so that it leaves none".to_owned();
        let fix = "write the names of tools as `airlock tools` has them".to_owned();
        Some(Stop { at: State::Executed, reason, rules: Vec::new(), fix })
    } else if !missing.is_empty() {
        let reason = format!("the skill speaks of {}", missing.join("; and of "));
        let fix = "allow the tools that it needs, or change what it says; a skill adds none".to_owned();
        Some(Stop { at: State::Executed, reason, rules: Vec::new(), fix })
    } else {
        None
    };
    let shadowed: Vec<String> = skills
        .shadowed()
        .iter()
        .filter(|shadowed| shadowed.name == *skill.name())
        .map(|shadowed| format!("{} ({})", shadowed.path.display(), shadowed.source))
        .collect();
    Some(answer(name.to_owned(), SubjectKind::Skill, stop, |state| match state {
        State::Installed => format!("it is {}", skill.path().display()),
        State::Discovered => format!("its file is a skill; it comes from {}", skill.source()),
        State::Registered if shadowed.is_empty() => "nobody else has its name".to_owned(),
        State::Registered => format!("it has its name before {}", shadowed.join(" and ")),
        State::Exposed => format!("every gate is open for the agent `{}`", surface.run().agent),
        State::Called if skill.is_hidden_from_model() => {
            format!("the model is not told of it; a person starts it with `${name}`")
        }
        State::Called if skills.omitted().contains(skill.name()) => {
            format!("the catalogue of this turn has no room for it; `skill_read` or `${name}` has its text")
        }
        State::Called => {
            format!("it is in the catalogue of this turn; `skill_read` or `${name}` has its text")
        }
        State::Executed => "the run has every tool that it speaks of".to_owned(),
    }))
}

/// The answer about a folder of that name which is no skill.
fn broken(name: &str, skills: &SkillSnapshot) -> Option<Explanation> {
    let is_about = |finding: &&Diagnostic| {
        matches!(finding.code, Code::SkillInvalid | Code::NodeSkillRefused) && finding.subject == name
    };
    let finding = skills.diagnostics().iter().find(is_about)?;
    let stop = Stop::by(State::Discovered, finding);
    let place =
        finding.location.as_ref().map_or_else(|| name.to_owned(), |place| place.path.display().to_string());
    Some(answer(name.to_owned(), SubjectKind::Skill, Some(stop), |_| format!("there is {place}")))
}

/// Whether anything here is, or was, a tool of that name.
fn is_tool(surface: &Surface, name: &ToolName) -> bool {
    name.has_aliases() || surface.snapshot().candidates.iter().any(|candidate| candidate.name == *name)
}

/// Tools that the run does not have, each with why.
fn missing<'a>(surface: &Surface, named: impl IntoIterator<Item = &'a ToolName>) -> Vec<String> {
    let gone = named.into_iter().filter(|name| surface.tool(name).is_none());
    gone.map(|name| {
        let removal = surface.removed().iter().find(|removal| removal.name == *name);
        let why = removal.map_or_else(String::new, |removal| format!(" ({})", removal.reason));
        format!("`{name}`, which this run does not have{why}")
    })
    .collect()
}
