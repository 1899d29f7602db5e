//! A store without a file: the last rows and the grants, until the process ends. It never fails and never waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, ready};

use super::{AuditRow, Decided, Grant, GrantId, GrantKey, Reservation, Store, StoreError};

/// How many rows are kept: what happened lately, in a few megabytes, however long the process runs.
const MAX_ROWS: usize = 1_024;

/// Keeps the last 1,024 rows and all grants in memory. The default of a host that was given no other store. Cheap to
/// clone; all clones are one store.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    serial: Arc<AtomicU64>,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    rows: VecDeque<AuditRow>,
    written: u64,
    grants: BTreeMap<GrantKey, Grant>,
    is_closed: bool,
}

impl MemoryStore {
    /// The rows that are kept, oldest first.
    pub fn rows(&self) -> Vec<AuditRow> {
        self.with(|kept| kept.rows.iter().cloned().collect())
    }

    /// How many rows were written, those included that are not kept any more.
    pub fn written(&self) -> u64 {
        self.with(|kept| kept.written)
    }

    fn with<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> T {
        // No change can panic half-way, so what a poisoned lock guards is whole.
        change(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn push(&mut self, row: AuditRow) {
        if self.rows.len() == MAX_ROWS {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
        self.written += 1;
    }
}

impl Store for MemoryStore {
    fn reserve(&self) -> BoxFuture<'_, Result<Reservation, StoreError>> {
        let reserved = if self.with(|kept| kept.is_closed) {
            Err(StoreError::closed())
        } else {
            Ok(Reservation::new(self.serial.fetch_add(1, Ordering::Relaxed)))
        };
        ready(reserved).boxed()
    }

    fn write(&self, _: Reservation, row: AuditRow) {
        self.with(|kept| kept.push(row));
    }

    fn start(&self, _: &Reservation, row: AuditRow) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write_durably(row)
    }

    fn write_durably(&self, row: AuditRow) -> BoxFuture<'_, Result<(), StoreError>> {
        self.with(|kept| kept.push(row));
        ready(Ok(())).boxed()
    }

    fn find_grant(&self, key: &GrantKey) -> BoxFuture<'_, Result<Option<Grant>, StoreError>> {
        let found = self
            .with(|kept| kept.grants.get(key).or_else(|| kept.grants.get(&key.for_all_arguments())).cloned());
        ready(Ok(found)).boxed()
    }

    fn insert_grant(&self, key: GrantKey, decided: Decided) -> BoxFuture<'_, Result<Grant, StoreError>> {
        let grant = self.with(|kept| {
            if let Some(grant) = kept.grants.get(&key) {
                return grant.clone();
            }
            let digest = key.digest();
            let is_free = |id: &GrantId| kept.grants.values().all(|grant| grant.id != *id);
            let id = (GrantId::SHORT_CHARS..).map(|chars| GrantId::of(&digest, chars)).find(is_free);
            let id = id.unwrap_or_else(|| GrantId::of(&digest, usize::MAX));
            let grant = Grant { id, key: key.clone(), decided };
            kept.push(grant.given());
            kept.grants.insert(key, grant.clone());
            grant
        });
        ready(Ok(grant)).boxed()
    }

    fn grants(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>> {
        let mut grants: Vec<_> = self.with(|kept| kept.grants.values().cloned().collect());
        grants.sort_by_key(|grant| grant.decided.unix_ms);
        ready(Ok(grants)).boxed()
    }

    fn revoke_grant(
        &self,
        id: GrantId,
        decided: Decided,
    ) -> BoxFuture<'_, Result<Option<Grant>, StoreError>> {
        let revoked = self.with(|kept| {
            let key = kept.grants.iter().find(|(_, grant)| grant.id == id).map(|(key, _)| key.clone())?;
            let grant = kept.grants.remove(&key)?;
            kept.push(grant.revoked(&decided));
            Some(grant)
        });
        ready(Ok(revoked)).boxed()
    }

    fn flush(&self, _: Duration) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(Ok(())).boxed()
    }

    fn close(&self, _: Duration) -> BoxFuture<'_, Result<(), StoreError>> {
        self.with(|kept| kept.is_closed = true);
        ready(Ok(())).boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::audit::{AuditKind, Party, StoreErrorKind};
    use crate::id::{Digest, ToolName};

    fn now<T>(future: BoxFuture<'_, T>) -> T {
        future.now_or_never().expect("a store in memory never waits")
    }

    fn row(kind: AuditKind, body: &str) -> AuditRow {
        AuditRow { kind, unix_ms: 1, call_id: None, tool: None, body: body.to_owned() }
    }

    #[test]
    fn rows_stay_in_order_and_only_the_last_ones_stay() {
        let store = MemoryStore::default();
        for number in 0..MAX_ROWS + 10 {
            let reservation = now(store.reserve()).unwrap();
            now(store.start(&reservation, row(AuditKind::Started, &number.to_string()))).unwrap();
            store.write(reservation, row(AuditKind::Finished, &number.to_string()));
        }
        let rows = store.rows();
        assert_eq!((rows.len(), store.written()), (MAX_ROWS, 2 * (MAX_ROWS as u64 + 10)));
        let tail: Vec<_> = rows.iter().rev().take(2).map(|row| (row.kind, row.body.as_str())).collect();
        assert_eq!(tail, [(AuditKind::Finished, "1033"), (AuditKind::Started, "1033")]);
    }

    #[test]
    fn a_closed_store_honours_reservations_and_makes_none() {
        let store = MemoryStore::default();
        let reservation = now(store.reserve()).unwrap();
        now(store.close(Duration::ZERO)).unwrap();
        assert_eq!(now(store.reserve()).unwrap_err().kind(), StoreErrorKind::Closed);
        store.write(reservation, row(AuditKind::Finished, "{}"));
        assert_eq!(store.written(), 1);
    }

    #[test]
    fn a_grant_covers_its_arguments_or_all_and_ends_when_it_is_revoked() {
        let store = MemoryStore::default();
        let narrow = GrantKey {
            agent: "writer".into(),
            session_owner: "ada".into(),
            askers: BTreeSet::new(),
            owner: Party { id: "mail".into(), digest: Digest::of(b"1") },
            tool: ToolName::parse("send").unwrap(),
            arguments: Some(Digest::of(b"{}")),
        };
        let other = GrantKey { arguments: Some(Digest::of(b"[]")), ..narrow.clone() };
        let decided = Decided { by: "ada".into(), unix_ms: 5 };
        let grant = now(store.insert_grant(narrow.clone(), decided.clone())).unwrap();
        assert_eq!(now(store.insert_grant(narrow.clone(), decided.clone())).unwrap(), grant);
        assert_eq!(now(store.find_grant(&narrow)).unwrap().as_ref(), Some(&grant));
        assert_eq!(now(store.find_grant(&other)).unwrap(), None);
        let wide = now(store.insert_grant(narrow.for_all_arguments(), decided.clone())).unwrap();
        assert_eq!(now(store.find_grant(&other)).unwrap().as_ref(), Some(&wide));
        assert_eq!(now(store.grants()).unwrap().len(), 2);
        assert_eq!(now(store.revoke_grant(wide.id.clone(), decided.clone())).unwrap(), Some(wide.clone()));
        assert_eq!(now(store.revoke_grant(wide.id, decided)).unwrap(), None);
        assert_eq!(now(store.find_grant(&other)).unwrap(), None);
        assert_eq!(store.written(), 3);
    }
}
