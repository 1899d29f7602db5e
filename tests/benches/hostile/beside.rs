//! Good calls beside the attacks: sixteen at once, without a pause, each answer compared with what was sent. What they met
//! leaves in a few numbers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use airlock_core::{Call, CallKind, Content, Surface};
use tokio::task::JoinHandle;

/// Good calls at once.
pub(crate) const AT_ONCE: usize = 16;

/// A good call that takes longer was disturbed. It takes a few milliseconds beside fifteen others on two cores; a machine
/// that does other work as well can keep a thread waiting for some hundred.
const DISTURBED: Duration = Duration::from_secs(1);

/// The calls, as long as they go on.
pub(crate) struct Beside {
    seen: Arc<Seen>,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    stopped: AtomicBool,
    calls: AtomicU64,
    slowest_us: AtomicU64,
    /// Calls by duration: bucket `n` has those below two to the `n` microseconds.
    durations: [AtomicU64; 32],
    problems: Mutex<Vec<String>>,
}

impl Beside {
    pub(crate) fn start(surface: &Surface) -> Self {
        let seen = Arc::new(Seen::default());
        let tasks = (0..AT_ONCE)
            .map(|caller| {
                let (seen, surface) = (Arc::clone(&seen), surface.clone());
                tokio::spawn(async move {
                    let mut number = 0_u64;
                    while !seen.stopped.load(Ordering::Relaxed) {
                        seen.call(&surface, &format!("{caller}: {number}")).await;
                        number += 1;
                        // A call is often over before it has waited for anything; the others want the thread too.
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        Self { seen, tasks }
    }

    /// How long the slowest call took since this was last asked.
    pub(crate) fn slowest(&self) -> Duration {
        Duration::from_micros(self.seen.slowest_us.swap(0, Ordering::Relaxed))
    }

    /// Ends the calls: what is to be said of them, and what was wrong.
    pub(crate) async fn stop(self) -> (String, Vec<String>) {
        self.seen.stopped.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
        let calls = self.seen.calls.load(Ordering::Relaxed);
        let below = |share: f64| {
            let mut left = (calls as f64 * share) as u64;
            let bucket = self.seen.durations.iter().position(|bucket| {
                let number = bucket.load(Ordering::Relaxed);
                let is_here = number > left;
                left = left.saturating_sub(number);
                is_here
            });
            Duration::from_micros(1 << bucket.unwrap_or(31))
        };
        let problems = std::mem::take(&mut *self.seen.problems.lock().unwrap());
        let said = format!(
            "good calls: {calls}, {} failed or disturbed; half took less than {:?}, 99.9 % less than {:?}",
            problems.len(),
            below(0.5),
            below(0.999)
        );
        (said, problems)
    }
}

impl Seen {
    async fn call(&self, surface: &Surface, text: &str) {
        let started = Instant::now();
        let outcome = surface.call(Call::from_json("echo", format!("{{\"text\": \"{text}\"}}"))).await;
        let took = started.elapsed();
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.slowest_us.fetch_max(took_us, Ordering::Relaxed);
        let bucket = (64 - took_us.leading_zeros() as usize).min(31);
        self.durations[bucket].fetch_add(1, Ordering::Relaxed);
        let is_right = outcome.kind == CallKind::Completed && outcome.content == [Content::text(text)];
        if !is_right || took > DISTURBED {
            let mut problems = self.problems.lock().unwrap();
            // The first ones tell as much as a million.
            if problems.len() < 20 {
                problems.push(format!("a good call ended as {} after {took:?}", outcome.kind.as_str()));
            }
        }
    }
}
