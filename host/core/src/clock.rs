//! Time, handed in: the rest of core never asks the system.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

/// What the host takes for the time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;

    /// The calendar's time, for records.
    fn wall(&self) -> SystemTime;
}

/// The system's clocks.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}
