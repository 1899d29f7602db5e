//! The behaviour of Airlock as a whole: real components, the real sandbox, the real program. One module a theme.

#![allow(
    missing_docs,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test binary"
)]

mod approvals;
mod calls;
mod command_line;
mod compile_cache;
mod concurrency;
mod deferral;
mod discovery;
mod endings;
mod explanations;
mod factories;
mod filesystem;
mod generated;
mod golden;
mod hooks;
mod hostile;
mod hostile_hooks;
mod http;
mod judged;
mod key_value;
mod leaks;
mod limits;
mod many_calls;
mod many_plugins;
mod policy;
mod policy_attacks;
mod policy_properties;
mod policy_rules;
mod policy_table;
mod records;
mod registration;
mod reload;
mod scripted;
mod search;
mod shutdown;
mod skill_reference;
mod skills;
mod suite;
mod support;
mod surface;
mod turns;
mod web;
