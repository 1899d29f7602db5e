//! The groups and profiles that every configuration may name, as data. No tool of anybody's is named here: native tools
//! carry their groups, and operators define more.

/// Groups that native tools carry. A group that no tool of this host carries is known and empty.
pub(crate) const GROUPS: &[&str] = &[
    "fs",
    "runtime",
    "web",
    "memory",
    "sessions",
    "ui",
    "messaging",
    "automation",
    "nodes",
    "agents",
    "media",
    "skills",
];

/// The group of every tool of every plugin.
pub(crate) const PLUGINS_GROUP: &str = "plugins";

/// Profiles and what is in them, in the language of policy entries.
pub(crate) const PROFILES: &[(&str, &[&str])] = &[
    // Nothing by itself: what `also-allow` names.
    ("minimal", &[]),
    ("coding", &["group:fs", "group:runtime", "group:web", "group:memory", "group:sessions", "group:skills"]),
    ("messaging", &["group:messaging", "group:sessions"]),
    ("full", &["*"]),
];
