//! What waits to be written: rows enter from any thread without waiting; the writer takes them in that order, in batches.
//!
//! The queue drops nothing while the store lives. It asks those who are about to begin something to wait while it is
//! full, and it takes every row of those who have begun.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use airlock_core::{AuditRow, Decided, Grant, GrantId, GrantKey, KeyValueError, StoreError};
use tokio::sync::{Notify, oneshot};

use crate::key_value::Change;

/// Largest batch in rows: one transaction of some milliseconds, for which another process waits at most.
const MAX_BATCH_ROWS: usize = 512;

/// How long a row nobody waits for may wait for others: a flush to the disk costs as much for one as for hundreds.
const LINGER: Duration = Duration::from_millis(10);

/// Most bytes of bodies that wait before the queue counts as full: records with whole contents have megabytes each.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// Something to be written.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) entry: Entry,
    /// Who waits for it.
    pub(crate) answer: Option<oneshot::Sender<Result<Written, StoreError>>>,
}

#[derive(Debug)]
pub(crate) enum Entry {
    Row(AuditRow),
    Started(u64, AuditRow),
    Ended(u64, AuditRow),
    GiveGrant(GrantKey, Decided),
    RevokeGrant(GrantId, Decided),
    KeyValue(Change),
}

/// What was written.
#[derive(Debug)]
pub(crate) enum Written {
    Row,
    Given(Grant),
    Revoked(Option<Grant>),
    /// The sum, where there is one; or why nothing was changed.
    KeyValue(Result<u64, KeyValueError>),
}

/// What the writer does next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Write these.
    Batch(Vec<Item>),
    /// Nothing more urgent is left than the head.
    Head,
    /// The store is gone, and nothing waits.
    Stop,
}

#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// For the writer: there may be something to do.
    work: Condvar,
    /// For those who flush: something was settled.
    settled: Condvar,
    /// For those who are about to begin: there may be room.
    pub(crate) room: Notify,
    max_rows: usize,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<Item>,
    /// Taken by the writer and not settled.
    in_hand: usize,
    bytes: usize,
    /// How many of the items somebody waits for.
    urgent: usize,
    /// When the first of the items came.
    since: Option<Instant>,
    handed_over: u64,
    settled: u64,
    flushing: usize,
    failure: Option<StoreError>,
    retry_at: Option<Instant>,
    is_closed: bool,
    is_stopping: bool,
    /// The writer is gone.
    is_dead: bool,
}

impl Queue {
    pub(crate) fn new(max_rows: usize) -> Self {
        Self {
            state: Mutex::default(),
            work: Condvar::new(),
            settled: Condvar::new(),
            room: Notify::new(),
            max_rows,
        }
    }

    /// Whether something may begin now. A full queue is worth waiting for, unless the disk has failed.
    pub(crate) fn has_room(&self) -> Result<bool, StoreError> {
        let state = self.lock();
        if state.is_closed || state.is_dead {
            return Err(state.failure.clone().unwrap_or_else(StoreError::closed));
        }
        let has_room = state.items.len() + state.in_hand < self.max_rows && state.bytes < MAX_WAITING_BYTES;
        match &state.failure {
            Some(failure) if !has_room => Err(failure.clone()),
            _ => Ok(has_room),
        }
    }

    pub(crate) fn push(&self, item: Item) {
        let mut state = self.lock();
        if state.is_dead {
            return;
        }
        state.handed_over += 1;
        state.bytes += item.bytes();
        state.urgent += usize::from(item.answer.is_some());
        state.since.get_or_insert_with(Instant::now);
        state.items.push_back(item);
        // A row that nobody waits for wakes the writer only to let it begin to linger, or if a batch is full.
        if state.items.len() == 1 || state.urgent > 0 || state.items.len() >= MAX_BATCH_ROWS {
            self.work.notify_one();
        }
    }

    /// Waits for something to do; `head_due` is when the head should be advanced, if it lags.
    pub(crate) fn next(&self, head_due: Option<Instant>) -> Next {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            if state.is_ready(now) {
                return Next::Batch(state.take());
            }
            if head_due.is_some_and(|due| due <= now || state.is_stopping) {
                return Next::Head;
            }
            if state.is_stopping && state.items.is_empty() {
                return Next::Stop;
            }
            let alarm = [head_due, state.ready_at()].into_iter().flatten().min();
            state = match alarm {
                Some(alarm) => {
                    let wait = alarm.saturating_duration_since(now);
                    self.work.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// What the writer had in hand is on disk.
    pub(crate) fn settle(&self, bytes: usize) {
        let mut state = self.lock();
        state.settled += state.in_hand as u64;
        state.in_hand = 0;
        state.bytes = state.bytes.saturating_sub(bytes);
        (state.failure, state.retry_at) = (None, None);
        drop(state);
        self.settled.notify_all();
        self.room.notify_waiters();
    }

    /// What the writer had in hand is not on disk. Those who waited were told; the rows go back to their places.
    pub(crate) fn give_back(
        &self,
        rows: Vec<Item>,
        answered_bytes: usize,
        failure: StoreError,
        pause: Duration,
    ) {
        let mut state = self.lock();
        state.settled += (state.in_hand - rows.len().min(state.in_hand)) as u64;
        state.in_hand = 0;
        state.bytes = state.bytes.saturating_sub(answered_bytes);
        for row in rows.into_iter().rev() {
            state.items.push_front(row);
        }
        if !state.items.is_empty() {
            state.since.get_or_insert_with(Instant::now);
        }
        state.failure = Some(failure);
        state.retry_at = Some(Instant::now() + pause);
        drop(state);
        self.settled.notify_all();
        self.room.notify_waiters();
    }

    /// Makes nobody begin any more.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.room.notify_waiters();
    }

    /// Lets the writer end when it has written everything, or failed once more.
    pub(crate) fn stop(&self) {
        self.lock().is_stopping = true;
        self.work.notify_all();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.lock().is_stopping
    }

    /// Blocks until everything that was handed over before is settled, at most `patience`.
    pub(crate) fn flush(&self, patience: Duration) -> Result<(), StoreError> {
        let until = Instant::now() + patience;
        let mut state = self.lock();
        let target = state.handed_over;
        state.flushing += 1;
        self.work.notify_all();
        while state.settled < target && !state.is_dead && Instant::now() < until {
            let wait = until.saturating_duration_since(Instant::now());
            state = self.settled.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.flushing -= 1;
        let missing = target.saturating_sub(state.settled);
        if missing == 0 {
            return Ok(());
        }
        let why = state
            .failure
            .as_ref()
            .map_or_else(|| "the disk did not keep up: give it more time".to_owned(), ToString::to_string);
        let rows =
            if missing == 1 { "1 audit row is".to_owned() } else { format!("{missing} audit rows are") };
        Err(StoreError::unavailable(format!("{rows} not on disk: {why}")))
    }

    /// The writer is gone: whoever waits is told, and nobody waits any more.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.is_dead = true;
        let lost = std::mem::take(&mut state.items);
        drop(state);
        drop(lost);
        self.settled.notify_all();
        self.room.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock can panic half-way, so what a poisoned lock guards is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_ready(&self, now: Instant) -> bool {
        !self.items.is_empty()
            && (self.urgent > 0 || self.is_stopping || self.ready_at().is_some_and(|ready| ready <= now))
    }

    /// When the items are ready to be written, if nothing more comes.
    fn ready_at(&self) -> Option<Instant> {
        let since = self.since.filter(|_| !self.items.is_empty())?;
        let at_once = self.flushing > 0 || self.items.len() >= MAX_BATCH_ROWS;
        Some(self.retry_at.unwrap_or(if at_once { since } else { since + LINGER }))
    }

    fn take(&mut self) -> Vec<Item> {
        let count = self.items.len().min(MAX_BATCH_ROWS);
        let batch: Vec<_> = self.items.drain(..count).collect();
        self.in_hand = count;
        self.urgent -= batch.iter().filter(|item| item.answer.is_some()).count();
        // What is left has waited for long enough.
        if self.items.is_empty() {
            self.since = None;
        }
        batch
    }
}

impl Item {
    /// How much memory it takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        match &self.entry {
            Entry::Row(row) | Entry::Started(_, row) | Entry::Ended(_, row) => row.body.len(),
            Entry::GiveGrant(..) | Entry::RevokeGrant(..) => 0,
            Entry::KeyValue(change) => change.bytes(),
        }
    }
}
