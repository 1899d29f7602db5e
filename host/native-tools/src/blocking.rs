//! Work that blocks enters; its result leaves through a future that blocks nobody and needs no particular runtime.

use std::sync::Arc;
use std::thread;

use airlock_core::ToolError;
use tokio::sync::{Semaphore, oneshot};

/// How many calls of one set of tools may work at once: more would only queue for the same disk. A file system that
/// hangs, such as a network's, holds up this many threads and no more.
const MAX_THREADS: usize = 16;

/// Places for threads that work for one set of tools.
#[derive(Debug)]
pub(crate) struct Threads(Arc<Semaphore>);

impl Default for Threads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_THREADS)))
    }
}

impl Threads {
    /// Runs `work` on a thread of its own. If the future is dropped while it runs, it still runs to its end: it is small,
    /// and half of it would be worse. If it is dropped before, nothing runs.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let permit = Arc::clone(&self.0).acquire_owned().await;
        let permit =
            permit.map_err(|_closed| ToolError::Unavailable("the host is shutting down".to_owned()))?;
        let (send, receive) = oneshot::channel();
        let spawned = thread::Builder::new().name("airlock-file".to_owned()).spawn(move || {
            let result = work();
            drop(permit);
            // Nobody waits any more if the call was cancelled.
            let _ = send.send(result);
        });
        spawned.map_err(|error| {
            ToolError::Unavailable(format!("the host has no thread to spare ({error}); try again later"))
        })?;
        receive.await.unwrap_or_else(|_panicked| {
            let message = "the tool failed inside the host; it may have taken effect".to_owned();
            Err(ToolError::Failed { message, details: None })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;
    use crate::tool::testing::block_on;

    #[test]
    fn threads_obeyed() {
        let threads = Threads::default();
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = (0..3 * MAX_THREADS).map(|number| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            threads.run(move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(5));
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(number)
            })
        });
        let done: Result<Vec<_>, _> = block_on(join_all(work)).into_iter().collect();
        assert_eq!(done, Ok((0..3 * MAX_THREADS).collect()));
        assert!((2..=MAX_THREADS).contains(&most.load(Ordering::SeqCst)));
    }

    #[test]
    fn a_panic_is_an_error() {
        let result = block_on(Threads::default().run::<()>(|| panic!("a test's own")));
        assert!(matches!(result, Err(ToolError::Failed { .. })));
    }
}
