//! The list of skills for a prompt: skills enter; a text within its budget leaves. First descriptions are shortened, then skills
//! are left out, and the text says which.

use std::fmt::Write as _;

use super::skill::Skill;
use crate::text;

/// Skills of one list.
const MAX_LISTED: usize = 150;

/// Characters of one list: some 4,500 tokens.
const MAX_CHARS: usize = 18_000;

/// Characters to which descriptions are cut, one step after the other, before a skill is left out.
const CUTS: [usize; 4] = [1_024, 220, 120, 64];

/// Room for the note about what was left out: some twenty names.
const NOTE_CHARS: usize = 600;

/// The list, empty if there is nothing to list, and how many of the skills, which are sorted by name, are on it. `location` says
/// where each is.
pub(super) fn catalogue(skills: &[&Skill], location: impl Fn(&Skill) -> String) -> (String, usize) {
    if skills.is_empty() {
        return (String::new(), 0);
    }
    let listed = skills.get(..MAX_LISTED).unwrap_or(skills);
    let lines_of = |cut: usize| listed.iter().map(|skill| line(skill, &location(skill), cut)).collect();
    let whole = CUTS.iter().map(|cut| lines_of(*cut)).find(|lines: &Vec<String>| fits(lines, skills.len()));
    let lines = whole.unwrap_or_else(|| {
        // What is shortest, as far as it goes.
        let mut lines = lines_of(CUTS.last().copied().unwrap_or_default());
        while !fits(&lines, skills.len()) && lines.pop().is_some() {}
        lines
    });
    let mut list = "<available_skills>\n".to_owned();
    list.extend(lines.iter().map(String::as_str));
    if let Some(left_out) = skills.get(lines.len()..).filter(|left_out| !left_out.is_empty()) {
        let names: Vec<&str> = left_out.iter().map(|skill| skill.name().as_str()).collect();
        let names = text::shorten(&names.join(", "), NOTE_CHARS - 100).into_owned();
        // Writing into a text cannot fail.
        let _ = writeln!(
            list,
            "<note>{} of {} skills; there is no room for {names}</note>",
            lines.len(),
            skills.len()
        );
    }
    list.push_str("</available_skills>");
    (list, lines.len())
}

fn fits(lines: &[String], of: usize) -> bool {
    let chars: usize = lines.iter().map(|line| line.chars().count()).sum();
    let note = if lines.len() < of { NOTE_CHARS } else { 0 };
    chars + note + "<available_skills>\n</available_skills>".len() <= MAX_CHARS
}

fn line(skill: &Skill, location: &str, cut: usize) -> String {
    format!(
        "<skill><name>{}</name><description>{}</description><location>{}</location></skill>\n",
        skill.name(),
        plain(&text::shorten(skill.description(), cut)),
        plain(location)
    )
}

/// Text that cannot end the element it is in, on one line and without what hides or turns.
fn plain(written: &str) -> String {
    let escaped = written.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text::single_line(&escaped).into_owned()
}
