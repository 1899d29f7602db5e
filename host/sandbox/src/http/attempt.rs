//! What a guest reached for, on record: a target enters when it is tried, what came of it is added when it is known. A guest
//! that tries without end fills no memory: the rest is counted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use airlock_core::{PluginId, Reached, Traces};

use crate::state::Meter;

/// Attempts that are kept one by one: four times as many as requests are let through, and few enough to read.
const MAX_KEPT: usize = 64;

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
        let place = push(meter, Reached::new(plugin, "network", &target));
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
        self.secret(name, reason);
        self.refused(&format!("the value of the secret `{name}` was in it"));
    }

    /// A secret did not go where the manifest wants it, and why.
    pub(super) fn secret(&self, name: &str, reason: &str) {
        let target = format!("{name} for {}", self.target);
        push(&self.meter, Reached::new(&self.plugin, "secret", &target).refused(reason));
    }

    fn amend(&self, allowed: bool, reason: &str) {
        let mut traces = self.meter.traces.lock();
        let Some(place) = self.place else {
            if !allowed {
                count(&self.meter, &mut traces, &self.plugin, 0, 1);
            }
            return;
        };
        // A call that is over has taken its traces with it.
        if let Some(reached) = traces.reached.get_mut(place) {
            reached.allowed &= allowed;
            reached.say(reason);
        }
    }
}

/// Keeps one attempt and says where, or counts it.
fn push(meter: &Meter, reached: Reached) -> Option<usize> {
    let mut traces = meter.traces.lock();
    let place = traces.reached.len();
    if place < MAX_KEPT {
        traces.reached.push(reached);
        return Some(place);
    }
    count(meter, &mut traces, &reached.plugin, 1, u64::from(!reached.allowed));
    None
}

/// Says in one entry how many more there were.
fn count(meter: &Meter, traces: &mut Traces, plugin: &PluginId, more: u64, refused: u64) {
    const MORE: &str = " more attempts";
    let all = meter.more_reached.fetch_add(more, Ordering::Relaxed) + more;
    let refused = meter.more_refused.fetch_add(refused, Ordering::Relaxed) + refused;
    let mut last = Reached::new(plugin, "network", &format!("{all}{MORE}"));
    last.allowed = refused == 0;
    last.say(&format!("only {MAX_KEPT} of a call are kept; of the others {refused} were refused"));
    match traces.reached.iter_mut().rfind(|reached| reached.target.ends_with(MORE)) {
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
        let reached = &meter.traces.lock().reached;
        assert_eq!(reached.len(), 65);
        assert_eq!((reached[1].target.as_str(), reached[1].allowed), ("GET 1", false));
        assert_eq!(reached[64].target, "936 more attempts");
        assert!(reached[64].reason.as_deref().unwrap().contains("468 were refused"), "{:?}", reached[64]);
    }
}
