//! The store behind core's trait: calls enter from any thread; everything they hand over goes to the queue, and only
//! looking up a grant reads the disk.

use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use airlock_core::{AuditRow, Decided, Grant, GrantId, GrantKey, Reservation, Store, StoreError};
use futures_util::future::{BoxFuture, FutureExt as _, ready};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::{Error, ErrorKind};
use crate::files::Files;
use crate::grants;
use crate::head::{self, Advance};
use crate::instance::{self, Instance};
use crate::queue::{Entry, Item, Queue, Written};
use crate::schema;
use crate::writer::Writer;

/// How long opening waits for other processes that are opening, too.
const OPEN_PATIENCE: Duration = Duration::from_secs(10);

/// How a store behaves.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// How many rows may wait to be written before calls have to wait before they begin; 4,096 by default, which a disk
    /// takes in a fraction of a second and memory in a few megabytes.
    pub waiting_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { waiting_rows: 4_096 }
    }
}

/// An audit log, standing approvals and plugins' values in one file, which several processes may have open at once.
///
/// Cheap to clone; all clones are one store, for `HostBuilder::store` and `HostBuilder::key_value`. Dropping the last one
/// writes what still waits, unless the disk fails.
#[derive(Debug, Clone)]
pub struct SqliteStore(Arc<Opened>);

/// One opening of the file.
#[derive(Debug)]
struct Opened {
    queue: Arc<Queue>,
    serial: AtomicU64,
    reader: Mutex<Connection>,
    files: Files,
    writer: Option<JoinHandle<()>>,
    is_contradicted: bool,
    /// After the writer: as long as it writes, this opening is alive.
    instance: Instance,
}

impl SqliteStore {
    /// Opens the store at `database`, or makes it, and records calls that other processes left unfinished when they died.
    ///
    /// Blocks for a few writes to the disk.
    ///
    /// # Errors
    /// If the file cannot be used, belongs to something else or to a newer Airlock, or others may read it.
    pub fn open(database: &Path) -> Result<Self, Error> {
        Self::open_with(database, &Options::default())
    }

    /// Opens the store with settings of one's own.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(database: &Path, options: &Options) -> Result<Self, Error> {
        Self::open_prepared(database, options, |_| Ok(()))
    }

    /// `prepare` may change the writer's connection, for tests of failures.
    fn open_prepared(
        database: &Path,
        options: &Options,
        prepare: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<Self, Error> {
        let files = Files::beside(database);
        files.prepare()?;
        let Some(locked) = files.lock(OPEN_PATIENCE)? else {
            let message = format!(
                "the store {} is being opened by another process that does not finish: find it with `lsof` and end it",
                database.display()
            );
            return Err(Error::new(ErrorKind::Unavailable, message));
        };
        let mut connection = schema::open_for_writing(&files)?;
        head::begin(&files, &connection)?;
        let instance = Instance::enter(&files, &connection)?;
        instance::bury(&files, &mut connection, &instance)?;
        drop(locked);
        let is_contradicted = head::advance(&files, &connection)? == Advance::Contradiction;
        let reader = schema::open_for_reading(&files)?;
        prepare(&connection).map_err(|error| Error::sqlite(database, &error))?;
        let queue = Arc::new(Queue::new(options.waiting_rows));
        let writer = Writer::new(Arc::clone(&queue), connection, files.clone(), instance.id.clone());
        let writer = thread::Builder::new()
            .name("airlock-store".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| Error::io("start a thread for", database, &error))?;
        Ok(Self(Arc::new(Opened {
            queue,
            serial: AtomicU64::new(0),
            reader: Mutex::new(reader),
            files,
            writer: Some(writer),
            is_contradicted,
            instance,
        })))
    }

    /// This opening's id, which stands in every row that it writes.
    pub fn instance(&self) -> &str {
        &self.0.instance.id
    }

    /// Whether the log and its head contradicted each other when the store was opened: rows are missing or were changed,
    /// and [`Log::verify`](crate::Log::verify) says which. New rows are written all the same.
    pub fn is_contradicted(&self) -> bool {
        self.0.is_contradicted
    }

    /// Hands something over at once; the future only waits for the answer.
    fn ask<T: Send>(
        &self,
        entry: Entry,
        understand: impl FnOnce(Written) -> Option<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let (answer, answered) = oneshot::channel();
        self.0.queue.push(Item { entry, answer: Some(answer) });
        async move {
            let lost = || StoreError::unavailable("the audit store's writer has ended: start the host again");
            understand(answered.await.map_err(|_| lost())??).ok_or_else(lost)
        }
        .boxed()
    }

    /// Reads on the caller's thread: a lookup in the page cache takes microseconds, and no writer is in its way.
    fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let reader = self.0.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let result = query(&reader).map_err(|error| Error::sqlite(&self.0.files.database, &error).into());
        ready(result).boxed()
    }

    /// Waits on a thread of its own, since the disk may keep the writer for longer than the caller has patience.
    fn flush_within(&self, patience: Duration) -> BoxFuture<'_, Result<(), StoreError>> {
        let (answer, answered) = oneshot::channel();
        let queue = Arc::clone(&self.0.queue);
        let spawned = thread::Builder::new().name("airlock-store-flush".to_owned()).spawn(move || {
            let _ = answer.send(queue.flush(patience));
        });
        async move {
            let failed =
                |why: String| StoreError::unavailable(format!("nothing can wait for the audit store: {why}"));
            spawned.map_err(|error| failed(error.to_string()))?;
            answered.await.map_err(|error| failed(error.to_string()))?
        }
        .boxed()
    }
}

impl Store for SqliteStore {
    fn reserve(&self) -> BoxFuture<'_, Result<Reservation, StoreError>> {
        async {
            loop {
                let mut room = pin!(self.0.queue.room.notified());
                // From here on no notice is missed, whenever the row before the last is written.
                room.as_mut().enable();
                if self.0.queue.has_room()? {
                    return Ok(Reservation::new(self.0.serial.fetch_add(1, Ordering::Relaxed)));
                }
                room.await;
            }
        }
        .boxed()
    }

    fn write(&self, reservation: Reservation, row: AuditRow) {
        self.0.queue.push(Item { entry: Entry::Ended(reservation.serial(), row), answer: None });
    }

    fn start(&self, reservation: &Reservation, row: AuditRow) -> BoxFuture<'_, Result<(), StoreError>> {
        self.ask(Entry::Started(reservation.serial(), row), |_| Some(()))
    }

    fn write_durably(&self, row: AuditRow) -> BoxFuture<'_, Result<(), StoreError>> {
        self.ask(Entry::Row(row), |_| Some(()))
    }

    fn find_grant(&self, key: &GrantKey) -> BoxFuture<'_, Result<Option<Grant>, StoreError>> {
        self.read(|reader| grants::find(reader, key))
    }

    fn insert_grant(&self, key: GrantKey, decided: Decided) -> BoxFuture<'_, Result<Grant, StoreError>> {
        self.ask(Entry::GiveGrant(key, decided), |written| match written {
            Written::Given(grant) => Some(grant),
            _ => None,
        })
    }

    fn grants(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>> {
        self.read(grants::all)
    }

    fn revoke_grant(
        &self,
        id: GrantId,
        decided: Decided,
    ) -> BoxFuture<'_, Result<Option<Grant>, StoreError>> {
        self.ask(Entry::RevokeGrant(id, decided), |written| match written {
            Written::Revoked(grant) => Some(grant),
            _ => None,
        })
    }

    fn flush(&self, patience: Duration) -> BoxFuture<'_, Result<(), StoreError>> {
        self.flush_within(patience)
    }

    fn close(&self, patience: Duration) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.queue.close();
        self.flush_within(patience)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.queue.close();
        self.queue.stop();
        if let Some(writer) = self.writer.take() {
            // It ends after its last rows, or at its next failure.
            let _ = writer.join();
        }
    }
}

mod key_value;
#[cfg(test)]
mod tests;
