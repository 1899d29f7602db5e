//! What the words of policy entries stand for in one snapshot: tools, plugins and groups enter, patterns leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::built_in::{GROUPS, PLUGINS_GROUP};
use super::pattern::{Glob, Pattern};
use crate::config::{Config, PolicyEntry};
use crate::error::Error;
use crate::id::PluginId;
use crate::search::Control;
use crate::surface::{Candidate, Owner, Source};
use crate::text;

/// How deep groups contain groups: deeper is a mistake, and each level costs a stack frame.
const MAX_GROUP_DEPTH: usize = 16;

/// How many patterns all groups and lists of a configuration stand for together: a thousand tools in each of a hundred
/// lists, and still compiled in some ten milliseconds. Groups in groups could multiply without it.
const MAX_PATTERNS: usize = 100_000;

/// Everything that an entry can name.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    /// Names of native tools, of the host's own three, and of plugins that are used: what a bare word means before it means a plugin.
    tools: BTreeSet<Box<str>>,
    /// Names that only plugins declare that are not used. They are known; a manifest that nobody accepted decides nothing.
    unused: BTreeSet<Box<str>>,
    plugins: BTreeSet<PluginId>,
    /// Plugins whose only tool has their id: there a bare word means the same either way.
    lone: BTreeSet<Box<str>>,
    groups: BTreeMap<String, Arc<[Pattern]>>,
}

/// What an entry stands for, and what is to be said about it.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    pub(crate) patterns: Arc<[Pattern]>,
    pub(crate) form: Form,
}

/// How an entry names what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// By a tool's name, a glob or a plugin: explicit enough for an optional tool.
    Explicit,
    /// By a group, which says nothing about a single tool.
    Group,
    /// By a tool's name that is a plugin's id too.
    Ambiguous,
    /// Nothing has that name.
    Unmatched,
}

/// A group that does not exist, or cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GroupProblem {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// Groups that are being replaced by what is in them, from the outermost one.
struct Expansion<'a> {
    written: &'a BTreeMap<String, Vec<PolicyEntry>>,
    open: Vec<&'a str>,
    patterns: usize,
}

impl Vocabulary {
    /// The words of a configuration over these candidates.
    ///
    /// # Errors
    /// If a group of the operator's takes a built-in name, names a group that does not exist, contains itself, or stands
    /// for too much.
    pub(crate) fn new(
        config: &Config,
        plugins: impl IntoIterator<Item = PluginId>,
        candidates: &[Arc<Candidate>],
    ) -> Result<Self, Error> {
        let mut vocabulary = Self { plugins: plugins.into_iter().collect(), ..Self::default() };
        let mut carried: BTreeMap<String, BTreeSet<Pattern>> =
            GROUPS.iter().map(|group| ((*group).to_owned(), BTreeSet::new())).collect();
        carried.insert(PLUGINS_GROUP.to_owned(), BTreeSet::from([Pattern::AnyPlugin]));
        for candidate in candidates {
            let name: Box<str> = candidate.name.as_str().into();
            match &candidate.source {
                Source::Plugin(entry) if entry.refusal().is_some() => drop(vocabulary.unused.insert(name)),
                Source::Plugin(_) => drop(vocabulary.tools.insert(name)),
                Source::Native(native) => {
                    for group in &native.groups {
                        carried.entry(group.clone()).or_default().insert(Pattern::Name(name.clone()));
                    }
                    vocabulary.tools.insert(name);
                }
            }
        }
        vocabulary.tools.extend(Control::ALL.map(|control| control.as_str().into()));
        let mut tools_of: BTreeMap<&Owner, Vec<&str>> = BTreeMap::new();
        for candidate in candidates {
            tools_of.entry(&candidate.owner).or_default().push(candidate.name.as_str());
        }
        let is_lone = |(owner, tools): (&Owner, Vec<&str>)| match (owner, tools.as_slice()) {
            (Owner::Plugin(id), [name]) if id.as_str() == *name => Some((*name).into()),
            _ => None,
        };
        vocabulary.lone = tools_of.into_iter().filter_map(is_lone).collect();
        let freeze = |(name, patterns): (String, BTreeSet<Pattern>)| (name, patterns.into_iter().collect());
        vocabulary.groups = carried.into_iter().map(freeze).collect();
        let written = &config.file().tools.groups;
        for name in written.keys() {
            let path = ["tools", "groups", name];
            if vocabulary.groups.contains_key(name) {
                let message = format!("`{name}` is a built-in group; give yours another name");
                return Err(config.problem(&path, message, None));
            }
            if PolicyEntry::parse(&format!("group:{name}")).is_ok_and(|entry| entry.as_str().ends_with(name))
            {
                continue;
            }
            let message =
                "no entry can name this group: its name has lower-case letters, digits, `_` and `-`"
                    .to_owned();
            return Err(config.problem(&path, message, None));
        }
        let mut expansion = Expansion { written, open: Vec::new(), patterns: 0 };
        for (name, entries) in written {
            vocabulary.expand(config, name, entries, &mut expansion)?;
        }
        Ok(vocabulary)
    }

    fn expand<'a>(
        &mut self,
        config: &Config,
        name: &'a str,
        entries: &'a [PolicyEntry],
        expansion: &mut Expansion<'a>,
    ) -> Result<(), Error> {
        if self.groups.contains_key(name) {
            return Ok(());
        }
        let at = |place: usize, message: String, hint: Option<String>| {
            config.problem(&["tools", "groups", name, &place.to_string()], message, hint)
        };
        expansion.open.push(name);
        let mut patterns = BTreeSet::new();
        for (place, entry) in entries.iter().enumerate() {
            let inner = entry.as_str().strip_prefix("group:");
            if let Some((inner, entries)) = inner.and_then(|inner| expansion.written.get_key_value(inner)) {
                if expansion.open.contains(&inner.as_str()) {
                    let way = [&expansion.open[..], &[inner.as_str()]].concat().join("` → `");
                    return Err(at(place, format!("the group contains itself: `{way}`"), None));
                }
                if expansion.open.len() >= MAX_GROUP_DEPTH {
                    return Err(at(
                        place,
                        format!("groups contain groups over {MAX_GROUP_DEPTH} deep"),
                        None,
                    ));
                }
                self.expand(config, inner, entries, expansion)?;
            }
            let resolved = self.resolve(entry).map_err(|problem| at(place, problem.message, problem.hint))?;
            // Before they are looked at: a group that names another one again and again is work too.
            expansion.patterns = expansion.patterns.saturating_add(resolved.patterns.len());
            if expansion.patterns > MAX_PATTERNS {
                return Err(at(place, too_many(), None));
            }
            patterns.extend(resolved.patterns.iter().cloned());
        }
        expansion.open.pop();
        self.groups.insert(name.to_owned(), patterns.into_iter().collect());
        Ok(())
    }

    /// What an entry stands for. A bare word means the tool of that name before the plugin of that id.
    pub(crate) fn resolve(&self, entry: &PolicyEntry) -> Result<Resolved, GroupProblem> {
        let text = entry.as_str();
        let one = |pattern, form| Ok(Resolved { patterns: Arc::new([pattern]), form });
        if let Some(group) = text.strip_prefix("group:") {
            let Some(patterns) = self.groups.get(group) else { return Err(self.unknown_group(group)) };
            let form = if group == PLUGINS_GROUP { Form::Explicit } else { Form::Group };
            return Ok(Resolved { patterns: Arc::clone(patterns), form });
        }
        if let Some(id) = text.strip_prefix("plugin:") {
            return match self.plugins.get(id) {
                Some(id) => one(Pattern::Plugin(id.clone()), Form::Explicit),
                // No tool is `plugin:…`, so that nothing is matched, now and later.
                None => one(Pattern::Name(text.into()), Form::Unmatched),
            };
        }
        if text.contains('*') {
            let glob = Glob::new(text);
            let fits = text == "*" || self.tools.iter().chain(&self.unused).any(|name| glob.matches(name));
            return one(Pattern::Glob(glob), if fits { Form::Explicit } else { Form::Unmatched });
        }
        match (self.tools.contains(text), self.plugins.get(text)) {
            (true, None) => one(Pattern::Name(text.into()), Form::Explicit),
            (true, Some(id)) => {
                let patterns = Arc::new([Pattern::Name(text.into()), Pattern::PluginDenied(id.clone())]);
                let form = if self.lone.contains(text) { Form::Explicit } else { Form::Ambiguous };
                Ok(Resolved { patterns, form })
            }
            (false, Some(id)) => one(Pattern::Plugin(id.clone()), Form::Explicit),
            (false, None) if self.unused.contains(text) => one(Pattern::Name(text.into()), Form::Explicit),
            (false, None) => one(Pattern::Name(text.into()), Form::Unmatched),
        }
    }

    fn unknown_group(&self, group: &str) -> GroupProblem {
        let meant = text::suggest(group, self.groups.keys().map(String::as_str));
        GroupProblem {
            message: format!("there is no group `{group}`"),
            hint: Some(meant.map_or_else(
                || "define it in `[tools.groups]`".to_owned(),
                |meant| format!("did you mean `group:{meant}`?"),
            )),
        }
    }

    /// The tool, plugin or entry that was probably meant by one that matches nothing.
    pub(crate) fn suggestion(&self, entry: &PolicyEntry) -> Option<String> {
        let text = entry.as_str();
        let plugins = self.plugins.iter().map(PluginId::as_str);
        if let Some(id) = text.strip_prefix("plugin:") {
            return text::suggest(id, plugins).map(|meant| format!("plugin:{meant}"));
        }
        if text.contains('*') {
            return None;
        }
        text::suggest(text, self.tools.iter().map(|name| &**name).chain(plugins)).map(str::to_owned)
    }
}

/// How many globs one list holds: each is tried for each tool of each assembly.
pub(super) const MAX_GLOBS: usize = 1_000;

/// Counts what lists stand for, so that a configuration cannot multiply without end.
#[derive(Debug, Default)]
pub(super) struct Budget(usize);

impl Budget {
    /// Whether `patterns` more are still within it.
    pub(super) fn allows(&mut self, patterns: usize) -> bool {
        self.0 = self.0.saturating_add(patterns);
        self.0 <= MAX_PATTERNS
    }
}

pub(super) fn too_many() -> String {
    format!("groups and lists stand for over {MAX_PATTERNS} entries; use globs or `plugin:ID`")
}
