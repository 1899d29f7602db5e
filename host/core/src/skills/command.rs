//! Commands of skills: a line that a person wrote enters; the skill that it starts leaves, and the call of its tool if it has one.
//! Such a call takes the way of every other, on the surface that the skill leaves.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::skill::Skill;
use super::snapshot::SkillSnapshot;
use crate::call::Call;
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

/// What a command calls, and where.
#[derive(Debug, Clone)]
pub struct Dispatch {
    /// The surface while the skill is active.
    pub surface: Surface,
    /// The call of its tool, which its record says is a command's.
    pub call: Call,
}

impl SkillSnapshot {
    /// Commands of the skills that a person may start.
    pub fn commands(&self) -> Vec<SkillCommand> {
        let mut commands: Vec<SkillCommand> = Vec::new();
        for skill in self.skills().filter(|skill| skill.is_user_invocable()) {
            let plain = plain(skill.name().as_str());
            let cut = |end: &str| {
                let room = MAX_COMMAND_CHARS.saturating_sub(end.len());
                format!("{}{end}", plain.chars().take(room).collect::<String>())
            };
            let is_free = |command: &String| commands.iter().all(|known| known.command != *command);
            let numbered = (2_u32..).map(|number| cut(&format!("_{number}")));
            let command = std::iter::once(cut("")).chain(numbered).find(is_free).unwrap_or_default();
            let tool = skill.requirements().command_tool.clone();
            commands.push(SkillCommand { command, skill: Arc::clone(skill), tool });
        }
        commands
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
    /// What a command calls: its tool, with what a person wrote behind the command as `command`, and the names of the command and
    /// the skill as `commandName` and `skillName` if the tool has such parameters. `None` if the command has no tool: it starts a
    /// turn of the model in which the skill is active.
    pub fn dispatch(&self, command: &SkillCommand, arguments: &str) -> Option<Dispatch> {
        let tool = command.tool.as_ref()?;
        let surface = self.activate(&command.skill);
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
        let call = Call::new(tool.as_str(), Value::Object(members)).by_command_of(skill.clone());
        Some(Dispatch { surface, call })
    }
}
