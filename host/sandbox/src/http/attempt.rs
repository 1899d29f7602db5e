//! What a guest reached for, on record: a target enters when it is tried, what came of it is added when it is known. A guest
//! that tries without end fills no memory: the rest is counted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use airlock_core::{PluginId, Reached, text};

use crate::state::Meter;

/// Attempts that are kept one by one: four times as many as requests are let through, and few enough to read.
const MAX_KEPT: usize = 64;

/// Longest reason, in characters: a refusal with two names of hosts in it.
const MAX_REASON_CHARS: usize = 600;

/// One attempt; clones speak of the same.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    meter: Arc<Meter>,
    plugin: PluginId,
    /// Its place among what was reached for; `None` if it is only counted.
    place: Option<usize>,
    target: String,
}

impl Attempt {
    /// Notes that something is tried; it counts as let through until somebody says otherwise.
    pub(super) fn begin(meter: &Arc<Meter>, plugin: &PluginId, target: String) -> Self {
        let place = push(meter, plugin, "network", target.clone(), true, None);
        Self { meter: Arc::clone(meter), plugin: plugin.clone(), place, target }
    }

    /// It was not let through.
    pub(super) fn refused(&self, reason: &str) {
        self.amend(false, reason);
    }

    /// It was let through; this is what happened then.
    pub(super) fn note(&self, reason: &str) {
        self.amend(true, reason);
    }

    /// What was about to pass, either way, has the value of a secret in it.
    pub(super) fn leak(&self, name: &str, reason: &str) {
        self.secret(name, false, reason);
        self.refused(&format!("the value of the secret `{name}` was in it"));
    }

    /// A secret did not go where the manifest wants it, and why.
    pub(super) fn secret(&self, name: &str, allowed: bool, reason: &str) {
        let target = format!("{name} for {}", self.target);
        push(&self.meter, &self.plugin, "secret", target, allowed, Some(reason));
    }

    fn amend(&self, allowed: bool, reason: &str) {
        let mut traces = self.meter.traces();
        let Some(place) = self.place else {
            if !allowed {
                drop(traces);
                count(&self.meter, &self.plugin, 0, 1);
            }
            return;
        };
        // A call that is over has taken its traces with it.
        if let Some(reached) = traces.reached.get_mut(place) {
            reached.allowed &= allowed;
            let reason = text::shorten(reason, MAX_REASON_CHARS);
            reached.reason = Some(match reached.reason.take() {
                Some(before) => format!("{before}; {reason}"),
                None => reason.into_owned(),
            });
        }
    }
}

/// Keeps one attempt and says where, or counts it.
fn push(
    meter: &Meter,
    plugin: &PluginId,
    capability: &'static str,
    target: String,
    allowed: bool,
    reason: Option<&str>,
) -> Option<usize> {
    let mut traces = meter.traces();
    let place = traces.reached.len();
    if place < MAX_KEPT {
        let reason = reason.map(|reason| text::shorten(reason, MAX_REASON_CHARS).into_owned());
        traces.reached.push(Reached { plugin: plugin.clone(), capability, target, allowed, reason });
        return Some(place);
    }
    drop(traces);
    count(meter, plugin, 1, u64::from(!allowed));
    None
}

/// Says in one last entry how many more there were.
fn count(meter: &Meter, plugin: &PluginId, more: u64, refused: u64) {
    let all = meter.more_reached.fetch_add(more, Ordering::Relaxed) + more;
    let refused = meter.more_refused.fetch_add(refused, Ordering::Relaxed) + refused;
    let last = Reached {
        plugin: plugin.clone(),
        capability: "network",
        target: format!("{all} more"),
        allowed: refused == 0,
        reason: Some(format!(
            "only {MAX_KEPT} attempts of a call are kept; of the others {refused} were refused"
        )),
    };
    let mut traces = meter.traces();
    match traces.reached.get_mut(MAX_KEPT) {
        Some(entry) => *entry = last,
        None => traces.reached.push(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_without_end_are_counted() {
        let (meter, plugin) = (Arc::new(Meter::default()), PluginId::parse("fetch").unwrap());
        for number in 0..1_000 {
            let attempt = Attempt::begin(&meter, &plugin, format!("GET {number}"));
            if number % 2 == 1 {
                attempt.refused("no");
            }
        }
        let reached = &meter.traces().reached;
        assert_eq!(reached.len(), 65);
        assert_eq!((reached[1].target.as_str(), reached[1].allowed), ("GET 1", false));
        assert_eq!(reached[64].target, "936 more");
        assert!(reached[64].reason.as_deref().unwrap().contains("468 were refused"), "{:?}", reached[64]);
    }
}
