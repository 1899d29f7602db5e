//! How a person starts skills: what somebody wrote enters; a turn in which the skills that it names are active leaves, or the call
//! of a command's tool. Such a call takes the way of every other, on the surface that the skill leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::skill::Skill;
use super::snapshot::{Mentions, SkillSnapshot};
use crate::call::{Call, Outcome};
use crate::error::Error;
use crate::id::ToolName;
use crate::surface::Surface;

/// Longest name of a command, in characters, as channels take them.
const MAX_COMMAND_CHARS: usize = 32;

/// The command that starts any skill by its name, unless a skill has it.
const ANY_SKILL: &str = "skill";

/// A command by which a person starts a skill.
#[derive(Debug, Clone)]
pub struct SkillCommand {
    /// Lower-case letters, digits and `_`, unlike any other command's.
    pub command: String,
    /// What it starts.
    pub skill: Arc<Skill>,
    /// The tool that it calls, in place of a turn of the model.
    pub tool: Option<ToolName>,
}

/// What comes of something that a person wrote.
#[derive(Debug)]
pub enum Beginning {
    /// A turn of the model.
    Turn(SkillTurn),
    /// A command called its tool, which ended so. The model has no turn.
    Called(Box<Outcome>),
}

/// A turn with the skills that a person started.
#[derive(Debug)]
#[non_exhaustive]
pub struct SkillTurn {
    /// The tools of this turn: what the lists of all its skills leave.
    pub surface: Surface,
    /// The skills, whose instructions the model is to read.
    pub skills: Vec<Arc<Skill>>,
    /// What the person wrote, without a command, and without backslashes that kept a `$` from being a mention.
    pub prompt: String,
}

impl SkillSnapshot {
    /// Commands of the skills that a person may start.
    pub fn commands(&self) -> Vec<SkillCommand> {
        let mut given = Given::default();
        let invocable = self.skills().filter(|skill| skill.is_user_invocable());
        let commands = invocable.map(|skill| {
            let command = given.give(&plain(skill.name().as_str()));
            let tool = skill.requirements().command_tool.clone();
            SkillCommand { command, skill: Arc::clone(skill), tool }
        });
        commands.collect()
    }

    /// The command that a line begins with, `/NAME` or `/skill NAME` in any case, and what stands behind it. `None` if the line
    /// begins with no skill's.
    pub fn command<'a>(&self, line: &'a str) -> Option<(SkillCommand, &'a str)> {
        let (name, arguments) = word(line.trim_start().strip_prefix('/')?);
        let commands = self.commands();
        let find = |name: &str| {
            let name = plain(name);
            let of = |command: &&SkillCommand| plain(command.skill.name().as_str()) == name;
            commands.iter().find(|command| command.command == name).or_else(|| commands.iter().find(of))
        };
        if let Some(command) = find(name) {
            return Some((command.clone(), arguments));
        }
        let (name, arguments) = (plain(name) == ANY_SKILL).then(|| word(arguments))?;
        Some((find(name)?.clone(), arguments))
    }
}

/// Commands that were given.
#[derive(Default)]
struct Given {
    taken: BTreeSet<String>,
    /// The last number behind a name.
    numbers: BTreeMap<String, u32>,
}

impl Given {
    /// A command that nobody has: the name, or its beginning with a number.
    fn give(&mut self, name: &str) -> String {
        let cut = |end: &str| {
            let room = MAX_COMMAND_CHARS.saturating_sub(end.len());
            format!("{}{end}", name.chars().take(room).collect::<String>())
        };
        let (mut command, number) = (cut(""), self.numbers.entry(cut("")).or_insert(1));
        while self.taken.contains(&command) {
            *number += 1;
            command = cut(&format!("_{number}"));
        }
        self.taken.insert(command.clone());
        command
    }
}

/// A name as commands have it.
fn plain(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

/// The first word, and what follows the blanks after it.
fn word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

impl Surface {
    /// Begins a turn with what a person wrote. A command of a skill comes first in it: one with a tool calls that, any other makes
    /// its skill active; without a command the skills that are mentioned by `$name` are active. `adjust` is given a command's call
    /// before it is made, for its cancellation and progress.
    ///
    /// # Errors
    /// If more than eight skills are mentioned.
    pub async fn begin(&self, prompt: &str, adjust: impl FnOnce(Call) -> Call) -> Result<Beginning, Error> {
        let nothing =
            |prompt: &str| SkillTurn { surface: self.clone(), skills: Vec::new(), prompt: prompt.to_owned() };
        let Some(skills) = self.skills() else { return Ok(Beginning::Turn(nothing(prompt))) };
        let Some((command, arguments)) = skills.command(prompt) else {
            let Mentions { skills, prompt } = skills.mentions(prompt)?;
            let surface = skills.iter().fold(self.clone(), |surface, skill| surface.activate(skill));
            return Ok(Beginning::Turn(SkillTurn { surface, skills, prompt }));
        };
        let surface = self.activate(&command.skill);
        if let Some(tool) = &command.tool {
            let call = adjust(call(&surface, &command, tool, arguments));
            return Ok(Beginning::Called(Box::new(surface.call(call).await)));
        }
        let (skills, prompt) = (vec![command.skill], arguments.to_owned());
        Ok(Beginning::Turn(SkillTurn { surface, skills, prompt }))
    }
}

/// What a command calls: its tool, with what a person wrote behind the command as `command`, and the names of the command and the
/// skill as `commandName` and `skillName` if the tool has such parameters.
fn call(surface: &Surface, command: &SkillCommand, tool: &ToolName, arguments: &str) -> Call {
    let parameters = surface.tool(tool).map(|exposed| exposed.tool.parameters.source());
    let properties = parameters.and_then(|parameters| parameters.get("properties"));
    let has = |name: &str| properties.is_some_and(|properties| properties.get(name).is_some());
    let mut members = Map::new();
    members.insert("command".to_owned(), Value::from(arguments));
    let skill = command.skill.name();
    for (name, value) in [("commandName", command.command.as_str()), ("skillName", skill.as_str())] {
        if has(name) {
            members.insert(name.to_owned(), Value::from(value));
        }
    }
    Call::new(tool.as_str(), Value::Object(members)).by_command_of(skill.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_short_and_each_its_own() {
        let mut given = Given::default();
        let long = "a".repeat(64);
        let commands: BTreeSet<String> =
            (0..5_000).map(|number| given.give(&format!("{long}{number}"))).collect();
        assert_eq!(commands.len(), 5_000);
        assert!(commands.iter().all(|command| command.len() <= MAX_COMMAND_CHARS));
        assert_eq!(given.give("tidy"), "tidy");
        assert_eq!(given.give("tidy_2"), "tidy_2");
        assert_eq!(given.give("tidy"), "tidy_3");
    }
}
