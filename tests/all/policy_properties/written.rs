//! Policies and runs at random, and a second reading of the rules that shares no code with the first: a policy is a list
//! of filters, and a tool is there if each of them, asked in whatever order, lets it pass.

use std::collections::BTreeSet;

use airlock_core::{ChannelReference, PolicyEntry, Requester, RunContext, Trigger};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// The pool: name, owner, group. None is optional, so that the pool is the same for every policy.
pub(super) const TOOLS: [(&str, &str, &str); 13] = [
    ("read", "core", "fs"),
    ("write", "core", "fs"),
    ("apply_patch", "core", "fs"),
    ("web_search", "core", "web"),
    ("message", "core", "messaging"),
    ("github_search", "github", ""),
    ("github_create", "github", ""),
    ("notes_add", "notes", ""),
    ("notes_list", "notes", ""),
    ("made_one", "maker", ""),
    ("made_two", "maker", ""),
    ("made_three", "maker", ""),
    ("lone", "lone", ""),
];

/// Marked `ownerOnly` and `noSubagents`.
pub(super) const OWNER_ONLY: &str = "github_create";
pub(super) const NO_SUBAGENTS: &str = "notes_add";

const ENTRIES: [&str; 26] = [
    "read",
    "write",
    "apply_patch",
    "web_search",
    "message",
    "github_search",
    "github_create",
    "notes_add",
    "notes_list",
    "made_one",
    "made_two",
    "made_three",
    "lone",
    "*",
    "github_*",
    "*_search",
    "n*_l*",
    "group:fs",
    "group:web",
    "group:plugins",
    "group:mine",
    "plugin:notes",
    "github",
    "maker",
    "nothing",
    "wr*",
];

const PROFILES: [(&str, &[&str]); 4] = [
    ("coding", &["group:fs", "group:web"]),
    ("messaging", &["group:messaging"]),
    ("full", &["*"]),
    ("own", &["notes", "read", "made_*"]),
];

/// What `group:mine` stands for.
const MINE: [&str; 3] = ["lone", "github_*", "write"];

#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub(super) profile: Option<&'static str>,
    pub(super) allow: Option<Vec<&'static str>>,
    also_allow: Vec<&'static str>,
    pub(super) deny: Vec<&'static str>,
}

/// Where a table stands.
pub(super) const PLACES: [&str; 11] = [
    "tools",
    "tools.by-provider.acme",
    "tools.by-provider.\"Acme/one\"",
    "agents.writer.tools",
    "agents.writer.tools.by-provider.acme",
    "channels.slack.groups.C1.tools",
    "tools.by-sender.\"slack:U1\"",
    "tools.by-sender.U1",
    "tools.by-sender.\"*\"",
    "tools.sandbox",
    "tools.subagents",
];

/// Whether a table may name a profile.
const fn may_have_profile(place: usize) -> bool {
    place < 5
}

/// A policy: a table for each place, if it is written at all.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) tables: Vec<Option<Lists>>,
    /// In which order the tables stand in the file.
    order: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) model: Option<&'static str>,
    pub(super) channel: bool,
    pub(super) sender: bool,
    pub(super) is_owner: Option<bool>,
    pub(super) sandboxed: bool,
    pub(super) child: bool,
    pub(super) caps: Option<Vec<&'static str>>,
}

pub(super) fn entries(most: usize) -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(ENTRIES.to_vec(), 0..=most)
}

fn lists(place: usize) -> impl Strategy<Value = Lists> {
    let profile = proptest::option::weighted(0.3, select(PROFILES.map(|(name, _)| name).to_vec()));
    (profile, proptest::option::weighted(0.4, entries(12)), entries(2), entries(3)).prop_map(
        move |(profile, allow, also_allow, deny)| Lists {
            profile: profile.filter(|_| may_have_profile(place)),
            allow,
            also_allow,
            deny,
        },
    )
}

pub(super) fn written() -> impl Strategy<Value = Written> {
    let tables: Vec<_> =
        (0..PLACES.len()).map(|place| proptest::option::weighted(0.4, lists(place))).collect();
    let order = Just((0..PLACES.len()).collect::<Vec<_>>()).prop_shuffle();
    (tables, order).prop_map(|(tables, order)| Written { tables, order })
}

pub(super) fn run() -> impl Strategy<Value = Run> {
    let model = proptest::option::of(select(vec!["ACME/One", "acme/two", "other/one"]));
    let caps = proptest::option::weighted(0.2, entries(15));
    let owner = proptest::option::of(any::<bool>());
    (model, any::<bool>(), any::<bool>(), owner, any::<bool>(), any::<bool>(), caps).prop_map(
        |(model, channel, sender, is_owner, sandboxed, child, caps)| Run {
            model,
            channel,
            sender,
            is_owner,
            sandboxed,
            child,
            caps,
        },
    )
}

impl Written {
    pub(super) fn toml(&self) -> String {
        let quoted = |entries: &[&str]| {
            entries.iter().map(|entry| format!("{entry:?}")).collect::<Vec<_>>().join(", ")
        };
        let mut text = format!("[tools.groups]\nmine = [{}]\n[tools.profiles]\n", quoted(&MINE));
        text.push_str(&format!("own = [{}]\n", quoted(PROFILES[3].1)));
        for place in &self.order {
            let Some(lists) = &self.tables[*place] else { continue };
            text.push_str(&format!("[{}]\n", PLACES[*place]));
            if let Some(profile) = lists.profile {
                text.push_str(&format!("profile = {profile:?}\n"));
            }
            if let Some(allow) = &lists.allow {
                text.push_str(&format!("allow = [{}]\n", quoted(allow)));
            }
            text.push_str(&format!(
                "also-allow = [{}]\ndeny = [{}]\n",
                quoted(&lists.also_allow),
                quoted(&lists.deny)
            ));
        }
        text
    }

    /// Which tables are about the run.
    pub(super) fn applies(&self, place: usize, run: &Run) -> bool {
        let model = run.model.map(str::to_lowercase).unwrap_or_default();
        let is_written = |place: usize| self.tables[place].is_some();
        match place {
            0 | 3 => true,
            1 | 4 => model.starts_with("acme/"),
            2 => model == "acme/one",
            5 => run.channel,
            6 => run.channel && run.sender,
            7 => run.sender && !(run.channel && is_written(6)),
            8 => !(run.sender && (run.channel && is_written(6) || is_written(7))),
            9 => run.sandboxed,
            _ => run.child,
        }
    }

    /// The names that the run has, by the second reading; the filters are asked in the order that `order` gives.
    pub(super) fn expected(&self, run: &Run, order: &[usize]) -> BTreeSet<&'static str> {
        let passes = |tool: &(&'static str, &str, &str), place: usize| {
            let Some(lists) = self.tables[place].as_ref().filter(|_| self.applies(place, run)) else {
                return true;
            };
            let is_in = |list: &[&str]| list.iter().any(|entry| means(entry, tool));
            // The agent's profile stands in the global one's place.
            let is_replaced =
                place == 0 && self.tables[3].as_ref().is_some_and(|agent| agent.profile.is_some());
            let profile = lists.profile.filter(|_| !is_replaced);
            let in_profile = profile.is_none_or(|name| {
                PROFILES.iter().any(|(known, list)| *known == name && is_in(list)) || is_in(&lists.also_allow)
            });
            let in_allow = lists.allow.as_ref().is_none_or(|allow| is_in(allow) || is_in(&lists.also_allow));
            in_profile && in_allow && !is_in(&lists.deny)
        };
        let mut tools: Vec<_> = TOOLS.iter().collect();
        for place in order {
            tools.retain(|tool| passes(tool, *place));
        }
        let is_stranger = run.sender && run.is_owner == Some(false);
        tools.retain(|tool| !(is_stranger && tool.0 == OWNER_ONLY));
        tools.retain(|tool| !(run.child && tool.0 == NO_SUBAGENTS));
        if let Some(caps) = &run.caps {
            tools.retain(|tool| caps.iter().any(|entry| means(entry, tool)));
        }
        tools.into_iter().map(|tool| tool.0).collect()
    }
}

/// What an entry means, by its definition.
pub(super) fn means(entry: &str, tool: &(&str, &str, &str)) -> bool {
    let (name, owner, group) = *tool;
    if name == "apply_patch" && means(entry, &("write", owner, group)) {
        return true;
    }
    match entry.split_once(':') {
        Some(("group", "plugins")) => owner != "core",
        Some(("group", "mine")) => MINE.iter().any(|entry| means(entry, tool)),
        Some(("group", named)) => group == named,
        Some((_, id)) => owner == id,
        None if entry == name => true,
        None if entry.contains('*') => fits(entry.as_bytes(), name.as_bytes()),
        // A bare plugin id, unless a tool has that name.
        None => owner == entry && entry != "core" && TOOLS.iter().all(|tool| tool.0 != entry),
    }
}

fn fits(glob: &[u8], name: &[u8]) -> bool {
    match (glob.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            fits(rest, name) || name.split_first().is_some_and(|(_, name)| fits(glob, name))
        }
        (Some((one, glob)), Some((other, name))) => one == other && fits(glob, name),
        _ => false,
    }
}

impl Run {
    pub(super) fn context(&self) -> RunContext {
        let mut run = RunContext::new("writer");
        if let Some((provider, model)) = self.model.and_then(|model| model.split_once('/')) {
            run = run.provider(provider, model);
        }
        if self.channel {
            let (account, kind, group, thread) = (None, None, Some("C1".to_owned()), None);
            run.channel = Some(ChannelReference { name: "slack".to_owned(), account, kind, group, thread });
        }
        if self.sender {
            run.requester = Some(Requester { sender: "U1".to_owned(), is_owner: self.is_owner });
        }
        run.sandboxed = self.sandboxed;
        run.trigger = if self.child { Trigger::Subagent } else { Trigger::User };
        run.tools_allow = self.caps.as_ref().map(|caps| parsed(caps));
        run
    }
}

pub(super) fn parsed(entries: &[&str]) -> Vec<PolicyEntry> {
    entries.iter().map(|entry| PolicyEntry::parse(entry).unwrap()).collect()
}
