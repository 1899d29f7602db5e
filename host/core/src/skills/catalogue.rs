//! The list of skills for a prompt: skills enter; a text within its budget leaves. First descriptions are shortened, then skills
//! are left out, and the text says how many.

use std::fmt::Write as _;

use super::skill::Skill;
use crate::text;

/// Skills of one list.
const MAX_LISTED: usize = 150;

/// Characters of one list: some 4,500 tokens.
const MAX_CHARS: usize = 18_000;

/// Characters to which descriptions are cut, one step after the other, before a skill is left out.
const CUTS: [usize; 4] = [1_024, 220, 120, 64];

/// Room for the note about what was left out.
const NOTE_CHARS: usize = 120;

/// The list; empty if there is nothing to list. `skills` are sorted by name.
pub(super) fn catalogue(skills: &[&Skill]) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let listed = skills.get(..MAX_LISTED).unwrap_or(skills);
    let whole = CUTS.iter().map(|cut| lines(listed, *cut)).find(|lines| fits(lines, skills.len()));
    let lines = whole.unwrap_or_else(|| {
        // What is shortest, as far as it goes.
        let mut lines = lines(listed, CUTS.last().copied().unwrap_or_default());
        while !fits(&lines, skills.len()) && lines.pop().is_some() {}
        lines
    });
    let mut list = "<available_skills>\n".to_owned();
    list.extend(lines.iter().map(String::as_str));
    if lines.len() < skills.len() {
        // Writing into a text cannot fail.
        let _ = writeln!(
            list,
            "<note>{} of {} skills; the others do not fit here</note>",
            lines.len(),
            skills.len()
        );
    }
    list.push_str("</available_skills>");
    list
}

fn fits(lines: &[String], of: usize) -> bool {
    let chars: usize = lines.iter().map(|line| line.chars().count()).sum();
    let note = if lines.len() < of { NOTE_CHARS } else { 0 };
    chars + note + "<available_skills>\n</available_skills>".len() <= MAX_CHARS
}

fn lines(skills: &[&Skill], cut: usize) -> Vec<String> {
    skills
        .iter()
        .map(|skill| {
            format!(
                "<skill><name>{}</name><description>{}</description><location>{}</location></skill>\n",
                skill.name(),
                plain(&text::shorten(skill.description(), cut)),
                plain(&skill.path().display().to_string())
            )
        })
        .collect()
}

/// Text that cannot end the element it is in, on one line and without what hides or turns.
fn plain(written: &str) -> String {
    let escaped = written.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text::single_line(&escaped).into_owned()
}
