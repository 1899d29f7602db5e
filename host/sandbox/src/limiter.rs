//! The memory of one instance, all its memories and tables together.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::ResourceLimiter;

use crate::engine::MAX_TABLE_ELEMENTS;

/// The typed reason of a refused growth, found again in the error that ends the invocation.
#[derive(Debug)]
pub(crate) struct MemoryExceeded;

impl fmt::Display for MemoryExceeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the guest asked for more memory or table elements than it may have")
    }
}

impl std::error::Error for MemoryExceeded {}

/// Counts what the instance holds. `StoreLimits` would cap each memory by itself and not the sum.
#[derive(Debug)]
pub(crate) struct MemoryLimiter {
    limit_bytes: u64,
    held_bytes: u64,
    /// Granted by us and not yet taken by the pool; undone if the pool refuses.
    pending_bytes: u64,
    held_elements: usize,
    pending_elements: usize,
    /// Read from outside while the guest runs and after it is gone.
    peak_bytes: Arc<AtomicU64>,
}

impl MemoryLimiter {
    pub(crate) fn new(limit_bytes: u64, peak_bytes: Arc<AtomicU64>) -> Self {
        Self {
            limit_bytes,
            held_bytes: 0,
            pending_bytes: 0,
            held_elements: 0,
            pending_elements: 0,
            peak_bytes,
        }
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let growth = desired.saturating_sub(current) as u64;
        let held = self.held_bytes.saturating_add(growth);
        if held > self.limit_bytes {
            return Err(MemoryExceeded.into());
        }
        (self.held_bytes, self.pending_bytes) = (held, growth);
        self.peak_bytes.fetch_max(held, Ordering::Relaxed);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.held_bytes = self.held_bytes.saturating_sub(std::mem::take(&mut self.pending_bytes));
        Err(MemoryExceeded.into())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let growth = desired.saturating_sub(current);
        let held = self.held_elements.saturating_add(growth);
        if held > MAX_TABLE_ELEMENTS {
            return Err(MemoryExceeded.into());
        }
        (self.held_elements, self.pending_elements) = (held, growth);
        Ok(true)
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.held_elements = self.held_elements.saturating_sub(std::mem::take(&mut self.pending_elements));
        Err(MemoryExceeded.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_over_all_memories_counts() {
        let peak = Arc::new(AtomicU64::new(0));
        let mut limiter = MemoryLimiter::new(1_000, Arc::clone(&peak));
        assert!(limiter.memory_growing(0, 600, None).unwrap());
        assert!(limiter.memory_growing(0, 400, None).unwrap());
        let refused = limiter.memory_growing(400, 401, None).unwrap_err();
        assert!(refused.downcast_ref::<MemoryExceeded>().is_some());
        assert_eq!(peak.load(Ordering::Relaxed), 1_000);
    }

    #[test]
    fn what_the_pool_refuses_is_not_held() {
        let mut limiter = MemoryLimiter::new(1_000, Arc::default());
        assert!(limiter.memory_growing(0, 900, None).unwrap());
        assert!(limiter.memory_grow_failed(wasmtime::Error::msg("pool")).is_err());
        assert!(limiter.memory_growing(0, 1_000, None).unwrap());
    }

    #[test]
    fn table_elements_are_counted_together() {
        let mut limiter = MemoryLimiter::new(0, Arc::default());
        assert!(limiter.table_growing(0, MAX_TABLE_ELEMENTS, None).unwrap());
        assert!(limiter.table_growing(0, 1, None).is_err());
    }
}
