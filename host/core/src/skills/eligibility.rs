//! Whether a skill is of use here: a skill, the configuration and what the embedder says of the machine enter; every gate that is
//! shut leaves, by name. Nothing is run, and no environment is read.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::node::{Connected, NodeName};
use super::root::SkillSource;
use super::skill::Skill;
use crate::config::Config;
use crate::run::RunContext;

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

/// A machine of which not even the system is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnknownMachine;

impl Surroundings for UnknownMachine {
    fn system(&self) -> &str {
        "unknown"
    }

    fn has_program(&self, _name: &str) -> bool {
        false
    }

    fn has_variable(&self, _name: &str) -> bool {
        false
    }
}

/// What gates are held against, for all skills of one turn. Each thing is asked once.
pub(super) struct Gates<'a> {
    run: &'a RunContext,
    config: &'a Config,
    surroundings: &'a dyn Surroundings,
    nodes: &'a Connected,
    written: OnceCell<Value>,
    programs: RefCell<BTreeMap<(Option<NodeName>, String), bool>>,
}

impl<'a> Gates<'a> {
    pub(super) fn new(
        run: &'a RunContext,
        config: &'a Config,
        surroundings: &'a dyn Surroundings,
        nodes: &'a Connected,
    ) -> Self {
        let (written, programs) = (OnceCell::new(), RefCell::default());
        Self { run, config, surroundings, nodes, written, programs }
    }

    /// Every reason why a skill is not there for the agent of the turn; none means that it is.
    pub(super) fn shut(&self, skill: &Skill) -> Vec<String> {
        let (mut shut, name, needs) = (Vec::new(), skill.name(), skill.requirements());
        let entry = self.config.file().skills.entries.get(name);
        if entry.and_then(|entry| entry.enabled) == Some(false) {
            shut.push(format!("`[skills.entries.{name}]` switches it off"));
        }
        let agent = &self.run.agent;
        let allowed = self.config.file().agents.get(agent).and_then(|agent| agent.skills.as_ref());
        if allowed.is_some_and(|allowed| !allowed.contains(name)) {
            shut.push(format!("`agents.{agent}.skills` does not name it"));
        }
        let node = match skill.source() {
            SkillSource::Node(name) => self.nodes.node(name),
            _ => None,
        };
        let surroundings = node.map_or(self.surroundings, |node| &*node.surroundings);
        let has_program = |program: &String| {
            let key = (node.map(|node| node.name.clone()), program.clone());
            *self.programs.borrow_mut().entry(key).or_insert_with(|| surroundings.has_program(program))
        };
        let system = surroundings.system();
        if !needs.os.is_empty() && !needs.os.iter().any(|os| os == system) {
            shut.push(format!("it is for {}, and this is {system}", needs.os.join(", ")));
        }
        for program in needs.bins.iter().filter(|program| !has_program(program)) {
            shut.push(format!("the program `{program}` is not there"));
        }
        for any in needs.any_bins.iter().filter(|any| !any.iter().any(has_program)) {
            shut.push(format!("none of the programs {} is there", quoted(any)));
        }
        let is_given = |variable: &String| {
            gives_variables(skill, self.run)
                && entry.is_some_and(|entry| entry.env.get(variable).is_some_and(|value| !value.is_empty()))
        };
        for variable in needs.env.iter().filter(|name| !is_given(name) && !surroundings.has_variable(name)) {
            shut.push(format!("the variable `{variable}` is not set, or empty"));
        }
        let written = || self.written.get_or_init(|| self.config.written());
        for key in needs.config.iter().filter(|key| !is_set(written(), key)) {
            shut.push(format!("the configuration's `{key}` is not set, or empty or false"));
        }
        shut
    }
}

/// Whether programs of a run are given what the configuration has for a skill: those of the host are, for skills that are here.
pub(super) fn gives_variables(skill: &Skill, run: &RunContext) -> bool {
    !run.sandboxed && !matches!(skill.source(), SkillSource::Node(_))
}

/// Whether the configuration says something at a path with dots that is not false, null, zero or empty.
fn is_set(written: &Value, path: &str) -> bool {
    match path.split('.').try_fold(written, |value, key| value.get(key)) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(Value::Bool(true)) => true,
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
