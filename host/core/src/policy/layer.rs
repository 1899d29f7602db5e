//! One layer: lists as the operator wrote them enter, compiled once; whether a tool passes, and by which entry not, leaves.
//!
//! Layers know nothing of each other. Each can only remove.

use std::fmt;
use std::sync::Arc;

use super::pattern::{Pattern, PatternSet, Side};
use super::vocabulary::Form;
use crate::config::{Config, PolicyEntry};
use crate::diagnostic::Location;
use crate::surface::{Candidate, Cause, Rule, Stage};

macro_rules! layers {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal;)+) => {
        /// The layers in the order in which they are explained; no result depends on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum LayerName { $($(#[doc = $doc])+ $variant,)+ }

        impl LayerName {
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

layers! {
    /// The agent's profile, else the global one.
    Profile = "profile";
    /// The profiles of every provider key that matches.
    ProviderProfile = "provider-profile";
    /// `[tools]`.
    Global = "global";
    /// `[tools.by-provider]`, every key that matches.
    Provider = "provider";
    /// `[agents.NAME.tools]`.
    Agent = "agent";
    /// `[agents.NAME.tools.by-provider]`, every key that matches.
    AgentProvider = "agent-provider";
    /// `[channels.NAME.groups.ID.tools]`.
    Group = "group";
    /// `[tools.by-sender]`, the most specific key.
    Sender = "sender";
    /// `[tools.sandbox]`.
    Sandbox = "sandbox";
    /// Tools for the owner only.
    OwnerOnly = "owner-only";
    /// `[tools.subagents]`, and tools that are not for child runs.
    Subagent = "subagent";
    /// The run's own cap.
    Runtime = "runtime";
    /// The surface of the run that started this one.
    Inherited = "inherited";
}

impl LayerName {
    /// Whether an entry of the layer can opt in to an optional tool: an operator wrote it, and for runs like this one.
    pub(crate) fn can_opt_in(self) -> bool {
        (Self::ProviderProfile..=Self::Sandbox).contains(&self)
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One filter of a run.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub(crate) name: LayerName,
    /// Where its lists stand.
    place: Place,
    filter: Filter,
    /// What it names explicitly, for optional tools.
    explicit: PatternSet,
}

#[derive(Debug, Clone)]
enum Filter {
    Lists(Box<Lists>),
    /// Nothing that its author marked as the owner's only.
    NoOwnerOnly,
    /// Nothing that its author marked as not for child runs.
    NoSubagents,
}

#[derive(Debug, Clone)]
struct Lists {
    allow: Option<Allow>,
    denied: PatternSet,
    deny: Vec<Denied>,
}

/// One entry of a `deny`, and where it is written.
#[derive(Debug, Clone)]
struct Denied {
    entry: PolicyEntry,
    patterns: Arc<[Pattern]>,
    location: Option<Location>,
}

/// What a layer permits at most, and where that stands below the layer's place.
#[derive(Debug, Clone)]
struct Allow {
    permitted: PatternSet,
    key: &'static [&'static str],
    /// Its end of the sentence "`read` is not permitted: …".
    reason: String,
    location: Option<Location>,
}

/// Where something is written.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// In `airlock.toml`.
    Config(Vec<String>),
    /// In what the host says about the run.
    Run,
}

impl Place {
    /// Where the value at `below` stands in the configuration; what a run says has its own place.
    fn location(&self, below: &[&str], config: &Config) -> Option<Location> {
        let Self::Config(path) = self else { return None };
        let path: Vec<&str> = path.iter().map(String::as_str).chain(below.iter().copied()).collect();
        config.location(&path)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Config(path) = self else { return Ok(()) };
        for (place, key) in path.iter().enumerate() {
            let dot = if place == 0 { "" } else { "." };
            let is_bare = key.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_'));
            if is_bare { write!(formatter, "{dot}{key}")? } else { write!(formatter, "{dot}\"{key}\"")? }
        }
        Ok(())
    }
}

/// One entry with what it stands for.
pub(crate) type Compiled = (PolicyEntry, Arc<[Pattern]>, Form);

impl Layer {
    /// A layer of lists. `allow` is what was written; `also_allow` widens it and nothing else.
    pub(crate) fn lists(
        name: LayerName,
        place: Place,
        allow: Option<&[Compiled]>,
        also_allow: &[Compiled],
        deny: &[Compiled],
        config: &Config,
    ) -> Self {
        let reason = if allow.is_some_and(<[_]>::is_empty) {
            format!("`{place}.allow` is empty, which permits nothing")
        } else {
            format!("`{place}.allow` does not name it")
        };
        let permitted = allow.map(|allow| patterns(allow).chain(patterns(also_allow)));
        let permitted = permitted.map(|patterns| {
            let mut permitted = PatternSet::new(Side::Permit);
            permitted.extend(patterns);
            permitted
        });
        let allow_and_also = allow.into_iter().flatten().chain(also_allow);
        let mut explicit = PatternSet::new(Side::OptIn);
        explicit.extend(patterns(allow_and_also.filter(|entry| entry.2 != Form::Group)));
        let mut denied = PatternSet::new(Side::Deny);
        denied.extend(patterns(deny));
        let located = |(index, (entry, patterns, _)): (usize, &Compiled)| Denied {
            entry: entry.clone(),
            patterns: Arc::clone(patterns),
            location: place.location(&["deny", &index.to_string()], config),
        };
        let deny = deny.iter().enumerate().map(located).collect();
        let location = place.location(&["allow"], config);
        let allow = permitted.map(|permitted| Allow { permitted, key: &["allow"], reason, location });
        Self { name, place, filter: Filter::Lists(Box::new(Lists { allow, denied, deny })), explicit }
    }

    /// A layer that permits these and nothing else. `key` is where that is written below `place`.
    pub(crate) fn only(
        name: LayerName,
        place: Place,
        key: &'static [&'static str],
        reason: String,
        permitted: PatternSet,
        location: Option<Location>,
    ) -> Self {
        let allow = Some(Allow { permitted, key, reason, location });
        let lists = Lists { allow, denied: PatternSet::default(), deny: Vec::new() };
        let filter = Filter::Lists(Box::new(lists));
        Self { name, place, filter, explicit: PatternSet::default() }
    }

    /// The layer of what authors marked as the owner's only.
    pub(crate) fn owner_only() -> Self {
        Self::marks(LayerName::OwnerOnly, Filter::NoOwnerOnly)
    }

    /// The layer of what authors marked as not for child runs.
    pub(crate) fn no_subagents() -> Self {
        Self::marks(LayerName::Subagent, Filter::NoSubagents)
    }

    fn marks(name: LayerName, filter: Filter) -> Self {
        Self { name, place: Place::Run, filter, explicit: PatternSet::default() }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Whether the tool passes.
    pub(crate) fn permits(&self, candidate: &Candidate) -> bool {
        match &self.filter {
            Filter::Lists(lists) => {
                lists.allow.as_ref().is_none_or(|allow| allow.permitted.matches(candidate))
                    && !lists.denied.matches(candidate)
            }
            Filter::NoOwnerOnly => !candidate.metadata.owner_only,
            Filter::NoSubagents => !candidate.metadata.no_subagents,
        }
    }

    /// Whether an entry names the tool, its plugin or a glob that fits: enough for an optional tool.
    pub(crate) fn opts_in(&self, candidate: &Candidate) -> bool {
        self.name.can_opt_in() && self.explicit.matches(candidate)
    }

    /// The first entry of the `deny` that means the host's own tool of that name.
    pub(crate) fn denial_of(&self, name: &str) -> Option<Cause> {
        let Filter::Lists(lists) = &self.filter else { return None };
        let means = |denied: &&Denied| denied.patterns.iter().any(|pattern| pattern.means(name));
        let Denied { entry, location, .. } = lists.deny.iter().find(means)?;
        let rule =
            Rule { layer: self.name.as_str(), rule: format!("deny `{entry}`"), location: location.clone() };
        let place = &self.place;
        let reason = format!("`{name}` is denied by `{entry}` in `{place}.deny`");
        let fix = format!("take `{entry}` out of `{place}.deny`");
        Some(Cause { stage: Stage::Policy, rule, reason, fix })
    }

    /// Every rule by which the tool does not pass; none if it does.
    pub(crate) fn causes(&self, candidate: &Candidate, words: Words) -> Vec<Cause> {
        let mut causes = Vec::new();
        let name = &candidate.name;
        let mut cause = |rule: String, location: Option<Location>, say: &dyn Fn() -> (String, String)| {
            let is_said = words == Words::OfAll || causes.is_empty();
            let (reason, fix) = if is_said { say() } else { Default::default() };
            let rule = Rule { layer: self.name.as_str(), rule, location };
            causes.push(Cause { stage: Stage::Policy, rule, reason, fix });
        };
        let mut marked = |field: &str, not: &str, fix: &str| {
            let say = || (format!("`{name}` is marked `{field}`, and {not}"), fix.to_owned());
            cause(field.to_owned(), candidate.marked_at(field), &say);
        };
        match &self.filter {
            Filter::NoOwnerOnly if candidate.metadata.owner_only => {
                marked("ownerOnly", "who asked is not the owner", "have the owner ask");
            }
            Filter::NoSubagents if candidate.metadata.no_subagents => {
                marked(
                    "noSubagents",
                    "another run started this one",
                    "use it in a run that no other started",
                );
            }
            Filter::NoOwnerOnly | Filter::NoSubagents => {}
            Filter::Lists(lists) => {
                let place = &self.place;
                for Denied { entry, patterns, location } in &lists.deny {
                    if patterns.iter().any(|pattern| pattern.denies(candidate)) {
                        let say = || {
                            let reason = format!("`{name}` is denied by `{entry}` in `{place}.deny`");
                            (reason, format!("take `{entry}` out of `{place}.deny`"))
                        };
                        cause(format!("deny `{entry}`"), location.clone(), &say);
                    }
                }
                if let Some(allow) = lists.allow.as_ref().filter(|allow| !allow.permitted.matches(candidate))
                {
                    let say = || {
                        let fix = match place {
                            Place::Config(_) => {
                                format!("name `{name}` in `{place}.also-allow`, or widen the list")
                            }
                            Place::Run => format!("have the host widen `{}` of the run", allow.key.join(".")),
                        };
                        (format!("`{name}` is not permitted: {}", allow.reason), fix)
                    };
                    cause(allow.reason.clone(), allow.location.clone(), &say);
                }
            }
        }
        causes
    }
}

/// How much a removal says: a surface lacks hundreds of tools, and a person asks about one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    /// The reason of the first rule.
    OfFirst,
    /// The reasons and cures of all rules.
    OfAll,
}

fn patterns<'a>(entries: impl IntoIterator<Item = &'a Compiled>) -> impl Iterator<Item = Pattern> {
    entries.into_iter().flat_map(|(_, patterns, _)| patterns.iter().cloned().collect::<Vec<_>>())
}
