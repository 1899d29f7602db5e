//! YAML under a budget: a document of at most a few thousand nodes enters, a typed value leaves, or the line and column of
//! what is wrong. The only module that knows the parser.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_saphyr::localizer::Localizer;
use serde_saphyr::{
    Budget, DuplicateKeyPolicy, Error, Location, MergeKeyPolicy, MessageFormatter, Options,
    UserMessageFormatter,
};

/// Nodes of one document: a front matter has a few dozen.
const MAX_NODES: usize = 2_000;

/// Nesting of one document.
const MAX_DEPTH: usize = 32;

/// Aliases and anchors of one document. Nobody needs them in a front matter, and some files of others have one or two.
const MAX_ALIASES: usize = 16;

/// Nodes that aliases may stand for, all together.
const MAX_REPLAYED: usize = 2_000;

/// What is wrong with a document, and where: lines and columns from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlError {
    pub(super) message: String,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
}

/// What the parser says to programmers, and what that means.
const PLAIN_WORDS: [(&str, &str); 6] = [
    ("YAML document too large or too complex: limits breached: Documents", "there is more than one document"),
    ("YAML document too large or too complex", "it is too large or too complex for what it is"),
    ("expected mapping start", "a mapping of keys and values is expected here"),
    ("expected string scalar", "a text is expected here"),
    ("expected sequence start", "a list is expected here"),
    ("unexpected end of file", "there is nothing, or it ends too early"),
];

/// The parser's words without the place, which stands beside them and is often another in the file.
#[derive(Debug)]
struct WithoutPlace;

impl Localizer for WithoutPlace {
    fn attach_location<'a>(&self, base: Cow<'a, str>, _: Location) -> Cow<'a, str> {
        base
    }

    fn alias_defined_at(&self, _: Location) -> String {
        String::new()
    }

    fn alias_used_at(&self, _: Location) -> String {
        String::new()
    }
}

impl MessageFormatter for WithoutPlace {
    fn localizer(&self) -> &dyn Localizer {
        self
    }

    fn format_message<'a>(&self, error: &'a Error) -> Cow<'a, str> {
        let said = UserMessageFormatter.format_message(error);
        let plain = PLAIN_WORDS.iter().find(|(parser, _)| said.starts_with(parser));
        plain.map_or(said, |(_, plain)| Cow::Borrowed(*plain))
    }
}

pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    let mut budget = Budget::default();
    budget.max_nodes = MAX_NODES;
    budget.max_events = 4 * MAX_NODES;
    budget.max_depth = MAX_DEPTH;
    budget.max_aliases = MAX_ALIASES;
    budget.max_anchors = MAX_ALIASES;
    budget.max_documents = 1;
    let mut options = Options::default();
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = MAX_REPLAYED;
    options.duplicate_keys = DuplicateKeyPolicy::Error;
    // A merge hides keys: of two that say the same, one is lost.
    options.merge_keys = MergeKeyPolicy::Error;
    options.strict_booleans = true;
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location();
        let number = |number: u64| u32::try_from(number).ok().filter(|number| *number > 0);
        YamlError {
            message: error.render_with_formatter(&WithoutPlace),
            line: place.and_then(|place| number(place.line())),
            column: place.and_then(|place| number(place.column())),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn what_is_wrong_has_its_place() {
        for (text, line) in
            [("a: 1\na: 2", 2), ("a: [1, 2", 1), ("a: b: c", 1), ("a: 1\n\tb: 2", 2), ("a: @x", 1)]
        {
            let error = parse::<Value>(text).unwrap_err();
            assert!(error.line.is_some_and(|found| found.abs_diff(line) <= 1), "{text}: {error:?}");
            assert!(!error.message.contains(" at line "), "{error:?}");
        }
    }

    #[test]
    fn bombs_are_refused_before_they_go_off() {
        let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for (letter, before) in ('b'..='i').zip('a'..) {
            bomb.push_str(&format!("{letter}: &{letter} [{}]\n", vec![format!("*{before}"); 9].join(", ")));
        }
        assert!(parse::<Value>(&bomb).is_err());
        let deep = format!("a: {}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(parse::<Value>(&deep).is_err());
        let wide = format!("a: [{}]", "1,".repeat(100_000));
        assert!(parse::<Value>(&wide).is_err());
    }
}
