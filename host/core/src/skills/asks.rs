//! Which tools a skill speaks of: its list, its command, and single words that stand in its text as code. What a word means is not
//! known; whoever asks says which names there are.

use std::collections::BTreeSet;

use super::allowed_tools::AllowedTools;
use super::skill::Skill;
use crate::id::ToolName;

/// Tools by their canonical names, as far as `is_known` knows them or the skill's own list has them.
pub(crate) fn tools_named(skill: &Skill, is_known: impl Fn(&ToolName) -> bool) -> BTreeSet<ToolName> {
    let mut named = skill.allowed_tools().map(AllowedTools::names).unwrap_or_default();
    named.extend(skill.requirements().command_tool.clone());
    let in_code = spans(skill.body()).filter_map(|span| ToolName::canonicalise(span).ok());
    named.extend(in_code.filter(is_known));
    named
}

/// What stands between backticks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).map(str::trim).filter(|span| !span.is_empty())
}
