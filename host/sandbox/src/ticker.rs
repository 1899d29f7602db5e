//! Time for guests: one thread that advances the engine's epoch every millisecond and fires deadlines.
//!
//! Deadlines do not depend on the embedder's runtime or on the workers, which may all be busy. The thread sleeps while
//! nothing runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use wasmtime::Engine;

/// How often busy guests are interrupted. With ten milliseconds, 64 busy guests would miss the bar of deadline + 20 ms.
const TICK: Duration = Duration::from_millis(1);

/// How long the thread goes on ticking after the last guest, so that a series of calls need not wake it each time.
const LINGER_TICKS: u32 = 100;

/// The handle; dropping the last one ends the thread.
#[derive(Debug)]
pub(crate) struct Ticker(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    deadlines: Mutex<Deadlines>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Deadlines {
    pending: BTreeMap<(Instant, u64), oneshot::Sender<()>>,
    next: u64,
    is_idle: bool,
    is_closed: bool,
}

impl Ticker {
    /// Starts the thread.
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (engine, thread_shared) = (engine.weak(), Arc::clone(&shared));
        thread::Builder::new().name("airlock-ticker".to_owned()).spawn(move || {
            thread_shared.run(|| {
                // Deadlines are kept also after the last plugin of an engine is gone.
                if let Some(engine) = engine.upgrade() {
                    engine.increment_epoch();
                }
            });
        })?;
        Ok(Self(shared))
    }

    /// Fires once at `at`; dropping the alarm takes it back.
    pub(crate) fn alarm(&self, at: Instant) -> Alarm {
        let (fire, fired) = oneshot::channel();
        let mut deadlines = self.0.lock();
        let key = (at, deadlines.next);
        deadlines.next = deadlines.next.wrapping_add(1);
        deadlines.pending.insert(key, fire);
        let must_wake = std::mem::take(&mut deadlines.is_idle);
        drop(deadlines);
        if must_wake {
            self.0.wake.notify_one();
        }
        Alarm { fired, key, ticker: Arc::clone(&self.0) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.wake.notify_one();
    }
}

/// A pending deadline.
#[derive(Debug)]
pub(crate) struct Alarm {
    pub(crate) fired: oneshot::Receiver<()>,
    key: (Instant, u64),
    ticker: Arc<Shared>,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.ticker.lock().pending.remove(&self.key);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Deadlines> {
        // The lock guards plain data, which no panic leaves half-changed.
        self.deadlines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, tick: impl Fn()) {
        let mut quiet_ticks = 0;
        loop {
            thread::sleep(TICK);
            tick();
            let mut deadlines = self.lock();
            let due = Instant::now();
            while let Some(first) = deadlines.pending.first_entry() {
                if first.key().0 > due {
                    break;
                }
                // Whoever set it may have gone meanwhile.
                let _ = first.remove().send(());
            }
            quiet_ticks = if deadlines.pending.is_empty() { quiet_ticks + 1 } else { 0 };
            if quiet_ticks > LINGER_TICKS {
                deadlines.is_idle = true;
                while deadlines.is_idle && !deadlines.is_closed {
                    deadlines = self.wake.wait(deadlines).unwrap_or_else(PoisonError::into_inner);
                }
                quiet_ticks = 0;
            }
            if deadlines.is_closed {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn alarms_fire_in_time_also_after_a_pause() {
        let ticker = Ticker::start(&Engine::default()).unwrap();
        for pause in [0, 250] {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let start = Instant::now();
            let mut later = ticker.alarm(start + Duration::from_secs(60));
            ticker.alarm(start + Duration::from_millis(20)).fired.try_recv().unwrap_err();
            let mut soon = ticker.alarm(start + Duration::from_millis(20));
            (&mut soon.fired).await.unwrap();
            assert!(start.elapsed() >= Duration::from_millis(20));
            assert!(later.fired.try_recv().is_err());
        }
    }
}
