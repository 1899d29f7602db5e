//! Threads for guests: a guest that stays busy is on one of these, and cannot keep it from others.
//!
//! A guest that is still busy after two ticks becomes a *hog* and needs a permit for each further tick. There is one
//! thread more than there are permits, so a new, short call always finds a thread that no hog holds. For a while after a
//! hog, its plugin's guests need a permit from their first instruction on.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::http::MAX_LOOKUPS;
use crate::queue::Hogs;

/// Threads on which a file is read, a component compiled or a name looked up: two compilations, reads beside them, and as
/// many lookups as there are at once.
const BLOCKING_THREADS: usize = 8 + MAX_LOOKUPS;

/// Ticks that a guest may be busy before it queues with the hogs: nearly every tool call is over by then.
const FREE_TICKS: u32 = 2;

/// The sandbox's own runtime.
#[derive(Debug)]
pub(crate) struct Workers {
    /// `None` only while being dropped.
    runtime: Option<Runtime>,
    hogs: Arc<Semaphore>,
}

impl Workers {
    /// Starts one thread more than the machine has cores.
    pub(crate) fn start() -> std::io::Result<Self> {
        let cores = available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads(cores + 1)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("airlock-guest")
            .enable_time()
            .enable_io()
            .build()?;
        Ok(Self { runtime: Some(runtime), hogs: Arc::new(Semaphore::new(cores)) })
    }

    /// Runs a future on the workers. Dropping the answer stops it.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        self.task(|runtime| runtime.spawn(future))
    }

    /// Polls a guest once, on this thread: its answer if it is over, `None` if it must go on on the workers. Whatever it
    /// asks of the runtime meanwhile is the sandbox's, since the embedder's may have no timer, or not exist.
    pub(crate) async fn start_here<T>(
        &self,
        mut guest: Pin<&mut (impl Future<Output = T> + Send)>,
    ) -> Option<T> {
        std::future::poll_fn(|context| {
            let _inside = self.runtime.as_ref().map(Runtime::enter);
            Poll::Ready(match guest.as_mut().poll(context) {
                Poll::Ready(over) => Some(over),
                Poll::Pending => None,
            })
        })
        .await
    }

    /// Runs a blocking function beside the workers. It cannot be stopped, only no longer awaited.
    pub(crate) fn spawn_blocking<T: Send + 'static>(
        &self,
        function: impl FnOnce() -> T + Send + 'static,
    ) -> Task<T> {
        self.task(|runtime| runtime.spawn_blocking(function))
    }

    /// Runs a future to its end, whoever waits for it.
    pub(crate) fn detach<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            drop(runtime.spawn(future));
        }
    }

    fn task<T>(&self, spawn: impl FnOnce(&Runtime) -> JoinHandle<T>) -> Task<T> {
        Task(self.runtime.as_ref().map(spawn))
    }

    /// A new guest's place among the busy ones, of a plugin whose hogs are known.
    pub(crate) fn turn(&self, known: Arc<Hogs>) -> Turn {
        Turn { hogs: Arc::clone(&self.hogs), permit: Arc::default(), known, ticks: 0 }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A sandbox may be dropped on an embedder's async thread, where waiting is forbidden.
            runtime.shutdown_background();
        }
    }
}

/// Work on the workers, stopped when dropped.
#[derive(Debug)]
pub(crate) struct Task<T>(Option<JoinHandle<T>>);

impl<T> Future for Task<T> {
    /// `None` if it was stopped or panicked.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        match &mut self.0 {
            Some(handle) => pin!(handle).poll(context).map(Result::ok),
            None => Poll::Ready(None),
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.abort();
        }
    }
}

/// What a busy guest has to do at a tick.
#[derive(Debug)]
pub(crate) enum Tick<Wait> {
    /// Nothing: this may be the tail of a tick that had begun before it did.
    GoOn,
    /// Let others have the thread for once, or leave it if it is its caller's.
    Yield,
    /// Await its turn among the hogs.
    Queue(Wait),
}

/// One guest's right to stay busy.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    hogs: Arc<Semaphore>,
    permit: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    known: Arc<Hogs>,
    ticks: u32,
}

impl Turn {
    /// Called before the guest's first instruction: what it has to await, if its plugin is known for hogs. Many that start
    /// together would else have their free ticks one after another, and take all of a short deadline from their neighbours.
    pub(crate) fn begin(&mut self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let must_queue = self.known.must_queue();
        must_queue.then(|| {
            self.ticks = FREE_TICKS;
            self.permit()
        })
    }

    /// Called at each tick that finds the guest busy: what it has to do before it goes on.
    pub(crate) fn tick(&mut self) -> Tick<impl Future<Output = ()> + Send + use<>> {
        self.ticks = self.ticks.saturating_add(1);
        if self.ticks == 1 {
            return Tick::GoOn;
        }
        if self.ticks <= FREE_TICKS {
            return Tick::Yield;
        }
        self.known.note();
        let permit = self.permit();
        Tick::Queue(async move {
            // Without this the guest would keep its thread whenever a permit is free.
            tokio::task::yield_now().await;
            permit.await;
        })
    }

    /// Waits for a permit among the hogs.
    fn permit(&self) -> impl Future<Output = ()> + Send + use<> {
        let (hogs, permit) = (Arc::clone(&self.hogs), Arc::clone(&self.permit));
        async move {
            let granted = hogs.acquire_owned().await.ok();
            *permit.lock().unwrap_or_else(PoisonError::into_inner) = granted;
        }
    }

    /// Wraps a guest's future so that its permit goes back whenever it suspends: a hog that then waits in a host call
    /// holds up nobody.
    pub(crate) async fn hold<T>(self, guest: impl Future<Output = T>) -> T {
        let mut guest = pin!(guest);
        std::future::poll_fn(|context| {
            let polled = guest.as_mut().poll(context);
            self.permit.lock().unwrap_or_else(PoisonError::into_inner).take();
            polled
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_ends_when_it_is_dropped() {
        let workers = Workers::start().unwrap();
        let (ended, end) = tokio::sync::oneshot::channel::<()>();
        let task = workers.spawn(async move {
            let _ended = ended;
            std::future::pending::<()>().await;
        });
        drop(task);
        assert!(end.await.is_err());
        assert_eq!(workers.spawn(async { 7 }).await, Some(7));
        assert_eq!(workers.spawn_blocking(|| 8).await, Some(8));
    }

    #[tokio::test]
    async fn a_hog_gives_its_permit_back_when_it_suspends() {
        let workers = Workers::start().unwrap();
        let permits = workers.hogs.available_permits();
        let known = Arc::<Hogs>::default();
        let mut turn = workers.turn(Arc::clone(&known));
        assert!(turn.begin().is_none());
        assert!(matches!((turn.tick(), turn.tick()), (Tick::GoOn, Tick::Yield)));
        assert!(workers.turn(Arc::clone(&known)).begin().is_none(), "there was no hog yet");
        let Tick::Queue(wait) = turn.tick() else { panic!("a third tick makes a hog") };
        let (hogs, holder) = (Arc::clone(&workers.hogs), turn.clone());
        holder
            .hold(async move {
                wait.await;
                assert_eq!(hogs.available_permits(), permits - 1);
                tokio::task::yield_now().await;
                assert_eq!(hogs.available_permits(), permits);
            })
            .await;
        let mut next = workers.turn(Arc::clone(&known));
        next.begin().expect("a guest of the same plugin queues at once").await;
        assert_eq!(workers.hogs.available_permits(), permits - 1);
        assert!(matches!(next.tick(), Tick::Queue(_)), "it has no free ticks either");
        assert!(workers.turn(Arc::default()).begin().is_none(), "other plugins' guests do not");
    }
}
