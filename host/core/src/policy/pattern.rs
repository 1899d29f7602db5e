//! What an entry of a list stands for, and whether a tool is meant: one pattern, or many compiled into a set.
//!
//! Matching is pure, exact and linear in the entry; `*` is the only special character. Where an entry could mean more
//! than one thing, it permits the least and denies the most.

use std::collections::{BTreeSet, HashSet};

use crate::discover::Origin;
use crate::id::{PluginId, ToolName};
use crate::surface::{Candidate, Owner};

/// Who may write may patch, and who may not write may not patch: the two have the same effect.
const COMPANION: (&str, &str) = ("apply_patch", "write");

/// What a list is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Side {
    /// What it means may be there. `write` means the host's own `apply_patch` too.
    #[default]
    Permit,
    /// What it means was asked for by name.
    OptIn,
    /// What it means may not be there. `write` means any `apply_patch` too, and a word means the plugin of that id as well
    /// as the tool of that name.
    Deny,
}

/// What one entry stands for, after groups were replaced by what is in them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Pattern {
    /// The tool of that name, whoever has it.
    Name(Box<str>),
    /// Every tool whose name fits.
    Glob(Glob),
    /// Every tool of that plugin.
    Plugin(PluginId),
    /// Every tool of any plugin.
    AnyPlugin,
    /// The tool of that name, if that owner still has it, and comes from where it did.
    Owned(ToolName, Owner, Option<Origin>),
    /// Every tool of that plugin, in a list that denies: the word is a tool's name too.
    PluginDenied(PluginId),
}

impl Pattern {
    /// Whether the pattern means the host's own tool of that name.
    pub(crate) fn means(&self, name: &str) -> bool {
        match self {
            Self::Name(known) => **known == *name,
            Self::Glob(glob) => glob.matches(name),
            _ => false,
        }
    }

    /// Whether the pattern denies the tool.
    pub(crate) fn denies(&self, candidate: &Candidate) -> bool {
        let name = candidate.name.as_str();
        match self {
            Self::Name(known) => **known == *name || name == COMPANION.0 && **known == *COMPANION.1,
            Self::Glob(glob) => glob.matches(name) || name == COMPANION.0 && glob.matches(COMPANION.1),
            Self::Plugin(id) | Self::PluginDenied(id) => {
                matches!(&candidate.owner, Owner::Plugin(owner) if owner == id)
            }
            Self::AnyPlugin => matches!(candidate.owner, Owner::Plugin(_)),
            Self::Owned(known, owner, origin) => {
                (known, owner, *origin) == (&candidate.name, &candidate.owner, candidate.origin())
            }
        }
    }
}

/// A pattern of names in which `*` stands for any run of characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Glob(Box<str>);

impl Glob {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Whether the whole of `name` fits: the first part at its start, the last at its end, the others between in order.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        let Some(mut rest) = rest.strip_suffix(last) else { return false };
        parts.all(|part| {
            rest.find(part).and_then(|start| rest.get(start + part.len()..)).is_some_and(|after| {
                rest = after;
                true
            })
        })
    }
}

/// Many patterns, asked at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct PatternSet {
    side: Side,
    names: HashSet<Box<str>>,
    globs: BTreeSet<Glob>,
    plugins: HashSet<PluginId>,
    any_plugin: bool,
    owned: HashSet<(ToolName, Owner, Option<Origin>)>,
}

impl PatternSet {
    /// An empty set for that purpose.
    pub(crate) fn new(side: Side) -> Self {
        Self { side, ..Self::default() }
    }

    pub(crate) fn matches(&self, candidate: &Candidate) -> bool {
        let name = candidate.name.as_str();
        let by_owner = match &candidate.owner {
            Owner::Core => false,
            Owner::Plugin(id) => self.any_plugin || self.plugins.contains(id),
        };
        by_owner
            || self.matches_name(name)
            || name == COMPANION.0 && self.admits_companion(candidate) && self.matches_name(COMPANION.1)
            || !self.owned.is_empty()
                && self.owned.contains(&(candidate.name.clone(), candidate.owner.clone(), candidate.origin()))
    }

    fn matches_name(&self, name: &str) -> bool {
        self.names.contains(name) || self.globs.iter().any(|glob| glob.matches(name))
    }

    /// Whether an entry about `write` is about this `apply_patch` too.
    fn admits_companion(&self, candidate: &Candidate) -> bool {
        match self.side {
            Side::Permit => candidate.owner == Owner::Core,
            Side::OptIn => false,
            Side::Deny => true,
        }
    }

    /// How many globs it holds: each is tried for each tool.
    pub(crate) fn globs(&self) -> usize {
        self.globs.len()
    }
}

impl Extend<Pattern> for PatternSet {
    fn extend<T: IntoIterator<Item = Pattern>>(&mut self, patterns: T) {
        for pattern in patterns {
            match pattern {
                Pattern::Name(name) => drop(self.names.insert(name)),
                Pattern::Glob(glob) => drop(self.globs.insert(glob)),
                Pattern::Plugin(id) => drop(self.plugins.insert(id)),
                Pattern::AnyPlugin => self.any_plugin = true,
                Pattern::Owned(name, owner, origin) => drop(self.owned.insert((name, owner, origin))),
                Pattern::PluginDenied(id) if self.side == Side::Deny => drop(self.plugins.insert(id)),
                Pattern::PluginDenied(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_star_is_special() {
        let fits = |glob: &str, name: &str| Glob::new(glob).matches(name);
        for (glob, name) in [
            ("*", "read"),
            ("web_*", "web_"),
            ("web_*", "web_get_raw"),
            ("*_get", "web_get"),
            ("w*b*t", "web_get"),
            ("a*a", "aa"),
            ("**", "x"),
            ("*b*", "abc"),
        ] {
            assert!(fits(glob, name), "{glob} {name}");
        }
        for (glob, name) in [
            ("web_*", "web"),
            ("web_*", "a_web_get"),
            ("a*a", "a"),
            ("*ab*ab*", "xaby"),
            ("a*bc*c", "abc"),
            ("read", "reads"),
        ] {
            assert!(!fits(glob, name), "{glob} {name}");
        }
    }

    /// The plainest definition there is.
    fn fits_by_definition(glob: &[u8], name: &[u8]) -> bool {
        match (glob.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) => {
                fits_by_definition(rest, name)
                    || name.split_first().is_some_and(|(_, name)| fits_by_definition(glob, name))
            }
            (Some((one, glob)), Some((other, name))) => one == other && fits_by_definition(glob, name),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_glob_means_what_its_definition_says(glob in "[ab*]{0,8}", name in "[ab]{0,8}") {
            prop_assert_eq!(Glob::new(&glob).matches(&name), fits_by_definition(glob.as_bytes(), name.as_bytes()));
        }
    }
}
