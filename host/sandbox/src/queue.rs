//! The queue in front of the instance pool: fair between plugins, bounded, and never a silent wait for ever.
//!
//! A plugin's calls first wait for one of the plugin's own places, then for one of all. So a plugin with a thousand
//! waiting calls has at most its own share in the common queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ticker::Ticker;

/// Calls of one plugin that may wait at once.
const MAX_WAITING: usize = 1_024;

/// How long a call waits before it is `busy`.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// How many calls a plugin must start on the workers after one that kept its caller's thread for a whole tick, and how
/// many must queue with the hogs after one that became one: so a hostile plugin can take a millisecond from its embedder,
/// and a few from its neighbours, once in so many calls and no more.
const CALLS_OWED: u32 = 64;

/// All slots of the pool.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    all: Arc<Semaphore>,
    per_plugin: usize,
}

impl Slots {
    pub(crate) fn new(concurrent_guests: u32, per_plugin: u32) -> Self {
        let size =
            |number: u32| usize::try_from(number).unwrap_or(usize::MAX).clamp(1, Semaphore::MAX_PERMITS);
        Self { all: Arc::new(Semaphore::new(size(concurrent_guests))), per_plugin: size(per_plugin) }
    }

    /// One plugin's share.
    pub(crate) fn for_plugin(&self) -> Queue {
        Queue {
            all: Arc::clone(&self.all),
            own: Arc::new(Semaphore::new(self.per_plugin)),
            waiting: Arc::default(),
            // The first call, which registers, is of code that nobody has seen run.
            owed: AtomicU32::new(1),
            hogs: Arc::default(),
        }
    }
}

/// One plugin's way to the pool.
#[derive(Debug)]
pub(crate) struct Queue {
    all: Arc<Semaphore>,
    own: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    /// Calls that must start on the workers before one may start on its caller's thread again.
    owed: AtomicU32,
    hogs: Arc<Hogs>,
}

/// Whether a plugin's calls have been hogs of late.
#[derive(Debug, Default)]
pub(crate) struct Hogs {
    /// Calls that must queue with the hogs from their first instruction on.
    owed: AtomicU32,
}

impl Hogs {
    /// A call became a hog.
    pub(crate) fn note(&self) {
        self.owed.store(CALLS_OWED, Ordering::Relaxed);
    }

    /// Whether the next call must queue at once; each that must pays off one that is owed.
    pub(crate) fn must_queue(&self) -> bool {
        self.owed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |owed| owed.checked_sub(1)).is_ok()
    }
}

/// A place in the pool; free again when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Queue {
    /// Whether the next call may start on the thread that makes it; each call that may not pays off one that is owed.
    pub(crate) fn may_start_here(&self) -> bool {
        let pay = |owed: u32| owed.checked_sub(1);
        self.owed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay).is_err()
    }

    /// What is known of the plugin's hogs.
    pub(crate) fn hogs(&self) -> Arc<Hogs> {
        Arc::clone(&self.hogs)
    }

    /// A call kept its caller's thread for a whole tick.
    pub(crate) fn took_a_tick(&self) {
        self.owed.store(CALLS_OWED, Ordering::Relaxed);
    }

    /// Waits for a place; `None` means busy.
    pub(crate) async fn slot(&self, ticker: &Ticker) -> Option<Slot> {
        if let (Ok(own), Ok(all)) =
            (Arc::clone(&self.own).try_acquire_owned(), Arc::clone(&self.all).try_acquire_owned())
        {
            return Some(Slot { _own: own, _all: all });
        }
        let _waiting = Waiting::enter(&self.waiting)?;
        let mut alarm = ticker.alarm(Instant::now() + MAX_WAIT);
        let place = Box::pin(async {
            let own = Arc::clone(&self.own).acquire_owned().await.ok()?;
            let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some(Slot { _own: own, _all: all })
        });
        match select(place, &mut alarm.fired).await {
            Either::Left((slot, _)) => slot,
            Either::Right(_) => None,
        }
    }
}

/// Counts one waiting call for as long as it waits, also when it is given up.
struct Waiting<'queue>(&'queue AtomicUsize);

impl<'queue> Waiting<'queue> {
    fn enter(waiting: &'queue AtomicUsize) -> Option<Self> {
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        let entered = Self(waiting);
        (before < MAX_WAITING).then_some(entered)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmtime::Engine;

    #[tokio::test]
    async fn one_plugin_cannot_take_all_slots() {
        let ticker = Ticker::start(&Engine::default()).unwrap();
        let slots = Slots::new(3, 2);
        let (greedy, modest) = (slots.for_plugin(), slots.for_plugin());
        let _held = (greedy.slot(&ticker).await.unwrap(), greedy.slot(&ticker).await.unwrap());
        let third = tokio::time::timeout(Duration::from_millis(20), greedy.slot(&ticker)).await;
        assert!(third.is_err(), "the greedy plugin must wait");
        assert!(modest.slot(&ticker).await.is_some());
        assert_eq!(greedy.waiting.load(Ordering::Relaxed), 0, "a wait that was given up is not counted");
    }

    #[test]
    fn a_busy_plugin_starts_elsewhere_for_a_while() {
        let queue = Slots::new(1, 1).for_plugin();
        assert!(!queue.may_start_here() && queue.may_start_here(), "only the first call is unknown");
        queue.took_a_tick();
        let here = (0..CALLS_OWED + 1).filter(|_| queue.may_start_here()).count();
        assert_eq!(here, 1);
    }

    #[tokio::test]
    async fn a_full_queue_is_busy_at_once() {
        let ticker = Ticker::start(&Engine::default()).unwrap();
        let queue = Slots::new(1, 1).for_plugin();
        let _held = queue.slot(&ticker).await.unwrap();
        queue.waiting.store(MAX_WAITING, Ordering::Relaxed);
        assert!(queue.slot(&ticker).await.is_none());
    }
}
