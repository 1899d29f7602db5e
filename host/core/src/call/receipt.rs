//! What a call cost and which way it went: checkpoints report here while they run.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;

use crate::capability::Reached;
use crate::clock::Clock;
use crate::limits::Limits;
use crate::plugin::{Micros, Usage};

/// The places that a call passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checkpoint {
    /// The name is on the surface and the arguments fit.
    Acceptance,
    /// The configuration in force lets it through; noted only where it does not.
    Gate,
    /// The embedder's own policies judged it.
    TrustedPolicy,
    /// Handlers judged it.
    BeforeToolCall,
    /// Somebody was asked.
    Approval,
    /// The tool ran.
    Execute,
    /// The copy for the transcript was made.
    Persist,
}

/// What one checkpoint decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrailEntry {
    /// Where.
    pub checkpoint: Checkpoint,
    /// What, in a word.
    pub decision: &'static str,
    /// Who: `core` or a plugin.
    pub by: Cow<'static, str>,
    /// Why, for people; the model never sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it took.
    #[serde(rename = "us")]
    pub took: Micros,
}

/// What a call cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Receipt {
    /// From the call's arrival to its end.
    #[serde(rename = "total_us")]
    pub total: Micros,
    /// Size of the content that the model got.
    pub content_bytes: usize,
    /// What a guest used; `None` for a native tool and a call that never ran.
    pub guest: Option<GuestReceipt>,
    /// What guests reached for outside their sandboxes, handlers' included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<Reached>,
}

/// What a guest used, and what it might have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GuestReceipt {
    /// What it used.
    #[serde(flatten)]
    pub usage: Usage,
    /// Its fuel limit.
    pub fuel_limit: u64,
    /// Its memory limit.
    pub memory_limit_bytes: u64,
    /// Its deadline.
    pub timeout_ms: u64,
    /// The limit that came nearest.
    pub nearest_limit: NearestLimit,
}

/// A limit and how much of it was used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearestLimit {
    /// `fuel`, `memory` or `time`.
    pub limit: &'static str,
    /// In percent, rounded up.
    pub used_percent: u64,
}

impl GuestReceipt {
    pub(super) fn new(usage: Usage, limits: &Limits) -> Self {
        let percent =
            |used: u128, limit: u128| u64::try_from((used * 100).div_ceil(limit.max(1))).unwrap_or(u64::MAX);
        let candidates = [
            ("fuel", percent(usage.fuel.into(), limits.fuel.into())),
            ("memory", percent(usage.peak_memory_bytes.into(), limits.memory_bytes.into())),
            ("time", percent(usage.wall.0.as_micros(), limits.timeout.as_micros())),
        ];
        let (limit, used_percent) =
            candidates.into_iter().max_by_key(|(_, percent)| *percent).unwrap_or(("time", 0));
        Self {
            usage,
            fuel_limit: limits.fuel,
            memory_limit_bytes: limits.memory_bytes,
            timeout_ms: u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
            nearest_limit: NearestLimit { limit, used_percent },
        }
    }
}

/// Collects the trail of one call.
#[derive(Debug)]
pub(super) struct Trail<'clock> {
    clock: &'clock dyn Clock,
    started: Duration,
    last: Duration,
    entries: Vec<TrailEntry>,
}

impl<'clock> Trail<'clock> {
    pub(super) fn start(clock: &'clock dyn Clock) -> Self {
        let now = clock.monotonic();
        Self { clock, started: now, last: now, entries: Vec::with_capacity(3) }
    }

    /// Notes a decision; its time is what passed since the one before.
    pub(super) fn note(
        &mut self,
        checkpoint: Checkpoint,
        decision: &'static str,
        by: impl Into<Cow<'static, str>>,
        reason: Option<String>,
    ) {
        let now = self.clock.monotonic();
        let took = Micros(now.saturating_sub(self.last));
        self.last = now;
        self.entries.push(TrailEntry { checkpoint, decision, by: by.into(), reason, took });
    }

    /// The entries and the time since the start.
    pub(super) fn finish(self) -> (Vec<TrailEntry>, Micros) {
        (self.entries, Micros(self.last.saturating_sub(self.started)))
    }

    /// The time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.clock.monotonic().saturating_sub(self.started)
    }

    /// The calendar's time of the call's arrival.
    pub(super) fn started_wall(&self) -> std::time::SystemTime {
        let since = self.clock.monotonic().saturating_sub(self.started);
        let now = self.clock.wall();
        now.checked_sub(since).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_limit_is_the_one_used_most() {
        let limits = Limits { timeout: Duration::from_millis(100), fuel: 1_000, memory_bytes: 1 << 20 };
        let usage = Usage {
            fuel: 900,
            peak_memory_bytes: 1 << 10,
            wall: Micros(Duration::from_millis(50)),
            ..Usage::default()
        };
        let nearest = GuestReceipt::new(usage, &limits).nearest_limit;
        assert_eq!((nearest.limit, nearest.used_percent), ("fuel", 90));
    }
}
