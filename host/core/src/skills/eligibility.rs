//! Whether a skill is of use here: a skill, the configuration and what the embedder says of the machine enter; every gate that is
//! shut leaves, by name. Nothing is run, and no environment is read.

use std::fmt;

use super::skill::Skill;
use crate::config::Config;

/// What a machine has, as far as the embedder wants to tell.
pub trait Surroundings: Send + Sync + fmt::Debug {
    /// Its system: `linux`, `macos` or `windows`.
    fn system(&self) -> &str;

    /// Whether a program of that name can be started.
    fn has_program(&self, name: &str) -> bool;

    /// Whether an environment variable of that name is set.
    fn has_variable(&self, name: &str) -> bool;
}

/// Tells nothing: a skill that needs a program or a variable is not eligible.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnknownSurroundings;

impl Surroundings for UnknownSurroundings {
    fn system(&self) -> &str {
        std::env::consts::OS
    }

    fn has_program(&self, _name: &str) -> bool {
        false
    }

    fn has_variable(&self, _name: &str) -> bool {
        false
    }
}

/// Every reason why a skill is not there for an agent; none means that it is.
pub(super) fn shut_gates(
    skill: &Skill,
    agent: &str,
    config: &Config,
    surroundings: &dyn Surroundings,
) -> Vec<String> {
    let (mut shut, name, needs) = (Vec::new(), skill.name().as_str(), skill.requirements());
    let entry = config.file().skills.entries.get(name);
    if entry.and_then(|entry| entry.enabled) == Some(false) {
        shut.push(format!("`[skills.entries.{name}]` switches it off"));
    }
    let allowed = config.file().agents.get(agent).and_then(|agent| agent.skills.as_ref());
    if allowed.is_some_and(|allowed| !allowed.iter().any(|allowed| allowed == name)) {
        shut.push(format!("`agents.{agent}.skills` does not name it"));
    }
    let system = surroundings.system();
    let is_known = |os: &String| {
        os == system || os == "darwin" && system == "macos" || os == "win32" && system == "windows"
    };
    if !needs.os.is_empty() && !needs.os.iter().any(is_known) {
        shut.push(format!("it is for {}, and this is {system}", needs.os.join(", ")));
    }
    for program in needs.bins.iter().filter(|program| !surroundings.has_program(program)) {
        shut.push(format!("the program `{program}` is not there"));
    }
    if !needs.any_bins.is_empty() && !needs.any_bins.iter().any(|program| surroundings.has_program(program)) {
        shut.push(format!("none of the programs {} is there", quoted(&needs.any_bins)));
    }
    let is_given = |name: &str| entry.is_some_and(|entry| entry.env.contains_key(name));
    for variable in needs.env.iter().filter(|name| !is_given(name) && !surroundings.has_variable(name)) {
        shut.push(format!("the variable `{variable}` is not set"));
    }
    for key in needs.config.iter().filter(|key| !config.is_true(key)) {
        shut.push(format!("the configuration's `{key}` is not set"));
    }
    shut
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
