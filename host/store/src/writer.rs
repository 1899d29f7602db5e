//! The one thread that writes: batches of the queue enter; committed transactions and an advanced head leave.
//!
//! Whoever waits for a row learns of it after the commit that has it. Rows that nobody waits for survive a failing disk
//! in memory and are tried again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use airlock_core::StoreError;
use rusqlite::{Connection, TransactionBehavior};

use crate::append::{Appender, Call};
use crate::error::Error;
use crate::files::Files;
use crate::grants;
use crate::head::{self, Advance};
use crate::key_value;
use crate::queue::{Entry, Item, Next, Queue, Written};

/// How far the head may lag behind the log while rows keep coming: two flushes to the disk in this time at most.
const HEAD_LAG: Duration = Duration::from_millis(50);

/// The first pause after a failure; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause: a disk that was full for an hour is used within seconds of being freed.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Writer {
    queue: Arc<Queue>,
    connection: Connection,
    files: Files,
    instance: String,
    /// When the head should be advanced, if it lags.
    head_due: Option<Instant>,
    pause: Duration,
}

/// Tells the queue when the thread ends, however it ends.
struct End(Arc<Queue>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Writer {
    pub(crate) fn new(queue: Arc<Queue>, connection: Connection, files: Files, instance: String) -> Self {
        Self { queue, connection, files, instance, head_due: None, pause: FIRST_PAUSE }
    }

    pub(crate) fn run(mut self) {
        let _end = End(Arc::clone(&self.queue));
        loop {
            match self.queue.next(self.head_due) {
                Next::Batch(items) => {
                    let is_written = self.write(items);
                    if !is_written && self.queue.is_stopping() {
                        return;
                    }
                }
                Next::Head => self.advance_head(),
                Next::Stop => return self.tidy(),
            }
        }
    }

    fn write(&mut self, items: Vec<Item>) -> bool {
        let bytes = items.iter().map(Item::bytes).sum();
        match self.commit(&items) {
            Ok(written) => {
                let has_rows = written.iter().any(|written| !matches!(written, Written::KeyValue(_)));
                for (item, written) in items.into_iter().zip(written) {
                    if let Some(answer) = item.answer {
                        // Somebody who stopped waiting has what they asked for all the same.
                        let _ = answer.send(Ok(written));
                    }
                }
                self.pause = FIRST_PAUSE;
                if has_rows {
                    self.head_due.get_or_insert_with(|| Instant::now() + HEAD_LAG);
                }
                self.queue.settle(bytes);
                true
            }
            Err(error) => {
                let failure: StoreError = Error::sqlite(&self.files.database, &error).into();
                let mut rows = Vec::with_capacity(items.len());
                let mut answered_bytes = 0;
                for item in items {
                    match item.answer {
                        // It will be called failed, so it must not appear later.
                        Some(answer) => {
                            answered_bytes += Item { entry: item.entry, answer: None }.bytes();
                            let _ = answer.send(Err(failure.clone()));
                        }
                        None => rows.push(item),
                    }
                }
                self.queue.give_back(rows, answered_bytes, failure, self.pause);
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                false
            }
        }
    }

    fn commit(&mut self, items: &[Item]) -> rusqlite::Result<Vec<Written>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut appender = Appender::begin(&transaction)?;
        let instance = self.instance.as_str();
        let mut written = Vec::with_capacity(items.len());
        for item in items {
            written.push(match &item.entry {
                Entry::Row(row) => appender.append(instance, row).map(|()| Written::Row)?,
                Entry::Started(serial, row) => {
                    appender.append_started(Call { instance, serial: *serial }, row).map(|()| Written::Row)?
                }
                Entry::Ended(serial, row) => {
                    appender.append_ended(Call { instance, serial: *serial }, row).map(|()| Written::Row)?
                }
                Entry::GiveGrant(key, decided) => {
                    Written::Given(grants::insert(&mut appender, instance, key, decided)?)
                }
                Entry::RevokeGrant(id, decided) => {
                    Written::Revoked(grants::revoke(&mut appender, instance, id, decided)?)
                }
                Entry::KeyValue(change) => Written::KeyValue(key_value::apply(&transaction, change)?),
            });
        }
        transaction.commit()?;
        Ok(written)
    }

    /// Brings everything into the database's own file, as far as no reader is in the way, so that a copy of it is whole.
    fn tidy(&self) {
        let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
    }

    fn advance_head(&mut self) {
        // A head that lags is what a crash leaves, too: a failure here costs nothing but a later attempt.
        self.head_due = match head::advance(&self.files, &self.connection) {
            Ok(Advance::Done | Advance::Contradiction) => None,
            Ok(Advance::Later) | Err(_) if self.queue.is_stopping() => None,
            Ok(Advance::Later) | Err(_) => Some(Instant::now() + HEAD_LAG * 4),
        };
    }
}
