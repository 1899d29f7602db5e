//! A list of the tools that a surface withholds, for a prompt: the surface and a number of characters enter, short lines by
//! owner leave. It never has more characters than it may, and never names what the surface has not.

use super::control::Control;
use super::{MAX_DESCRIPTION_CHARS, one_line};
use crate::surface::{ExposedTool, Owner, Surface};

/// How long a tool's description may be, in characters, from the most that may fit to none.
const STEPS: [usize; 3] = [MAX_DESCRIPTION_CHARS, 64, 0];

impl Surface {
    /// The tools that are withheld from the wire, by owner and name, in at most `max_chars` characters. First descriptions
    /// are shortened, then left out, then names are; the last line says how many. Empty where nothing is withheld.
    pub fn directory(&self, max_chars: usize) -> String {
        let mut tools = self.still_deferred();
        tools.sort_by(|one, other| (&one.owner, &one.tool.name).cmp(&(&other.owner, &other.tool.name)));
        let all = STEPS.iter().find_map(|step| page(&tools, *step, max_chars));
        all.unwrap_or_else(|| names(&tools, max_chars))
    }
}

/// All tools, if they fit.
fn page(tools: &[&ExposedTool], description_chars: usize, max_chars: usize) -> Option<String> {
    if description_chars == 0 {
        let page = names(tools, usize::MAX);
        return (page.chars().count() <= max_chars).then_some(page);
    }
    let (mut page, mut chars, mut owner) = (String::new(), 0, None);
    for exposed in tools {
        let mut line = String::new();
        if owner != Some(&exposed.owner) {
            line = format!("{}:\n", exposed.owner);
            owner = Some(&exposed.owner);
        }
        line.push_str(&format!(
            "- {}: {}\n",
            exposed.tool.name,
            one_line(&exposed.tool.description, description_chars)
        ));
        chars += line.chars().count();
        page.push_str(&line);
        // The last line needs no end.
        if chars > max_chars.saturating_add(1) {
            return None;
        }
    }
    page.pop();
    Some(page)
}

/// As many names as fit, and how many more there are. Names and owners are ASCII, so that bytes are characters.
fn names(tools: &[&ExposedTool], max_chars: usize) -> String {
    let more = |count: usize| match count {
        0 => String::new(),
        count => format!("and {count} more: use {}", Control::Search.as_str()),
    };
    let (mut page, mut owner): (String, Option<&Owner>) = (String::new(), None);
    for (place, exposed) in tools.iter().enumerate() {
        let name = &exposed.tool.name;
        let piece = match owner {
            Some(owner) if *owner == exposed.owner => format!(", {name}"),
            Some(_) => format!("\n{}: {name}", exposed.owner),
            None => format!("{}: {name}", exposed.owner),
        };
        let rest = more(tools.len() - place - 1);
        let needed = page.len() + piece.len() + rest.len() + usize::from(!rest.is_empty());
        if needed > max_chars {
            let rest = more(tools.len() - place);
            if page.is_empty() {
                return if rest.len() <= max_chars { rest } else { String::new() };
            }
            return format!("{page}\n{rest}");
        }
        page.push_str(&piece);
        owner = Some(&exposed.owner);
    }
    page
}
