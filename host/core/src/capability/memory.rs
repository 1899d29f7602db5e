//! A key-value store without a file: it is gone with the process, and bounded by what each plugin may have.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};

use super::{KeyValue, KeyValueError, MAX_KEYS};
use crate::id::PluginId;

/// Keeps values in memory. Cheap to clone; all clones are one store.
#[derive(Debug, Clone, Default)]
pub struct MemoryKeyValue(Arc<Mutex<BTreeMap<PluginId, Values>>>);

/// The values of one plugin.
#[derive(Debug, Default)]
struct Values {
    /// By bucket and key.
    entries: BTreeMap<(String, String), Vec<u8>>,
    /// What all of them have.
    bytes: u64,
}

impl MemoryKeyValue {
    fn with<T>(&self, plugin: &PluginId, act: impl FnOnce(&mut Values) -> T) -> T {
        // No change can panic half-way, so what a poisoned lock guards is whole.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        act(all.entry(plugin.clone()).or_default())
    }
}

fn place(bucket: &str, key: &str) -> (String, String) {
    (bucket.to_owned(), key.to_owned())
}

fn size((bucket, key): &(String, String), value: &[u8]) -> u64 {
    (bucket.len() + key.len() + value.len()) as u64
}

impl Values {
    fn get(&self, place: &(String, String)) -> Option<&[u8]> {
        self.entries.get(place).map(Vec::as_slice)
    }

    /// Writes, if everything is within the bounds then.
    fn set(&mut self, place: (String, String), value: Vec<u8>, max_bytes: u64) -> Result<(), KeyValueError> {
        let before = self.get(&place).map(|before| size(&place, before));
        let bytes = self.bytes.saturating_sub(before.unwrap_or_default()) + size(&place, &value);
        if bytes > max_bytes {
            return Err(KeyValueError::NoRoom { max_bytes });
        }
        if before.is_none() && self.entries.len() as u64 >= MAX_KEYS {
            return Err(KeyValueError::TooManyKeys);
        }
        self.bytes = bytes;
        self.entries.insert(place, value);
        Ok(())
    }

    fn delete(&mut self, place: &(String, String)) {
        if let Some(value) = self.entries.remove(place) {
            self.bytes = self.bytes.saturating_sub(size(place, &value));
        }
    }
}

impl KeyValue for MemoryKeyValue {
    fn get<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, KeyValueError>> {
        ready(Ok(self.with(plugin, |values| values.get(&place(bucket, key)).map(<[u8]>::to_vec)))).boxed()
    }

    fn set<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
        value: Vec<u8>,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<(), KeyValueError>> {
        ready(self.with(plugin, |values| values.set(place(bucket, key), value, max_bytes))).boxed()
    }

    fn delete<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<(), KeyValueError>> {
        self.with(plugin, |values| values.delete(&place(bucket, key)));
        ready(Ok(())).boxed()
    }

    fn keys<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<String>, KeyValueError>> {
        let from = match after {
            Some(after) => Bound::Excluded(place(bucket, after)),
            None => Bound::Included(place(bucket, "")),
        };
        let keys = self.with(plugin, |values| {
            let range = values.entries.range((from, Bound::Unbounded));
            let keys = range.take_while(|((found, _), _)| found == bucket).map(|((_, key), _)| key.clone());
            keys.take(limit as usize).collect()
        });
        ready(Ok(keys)).boxed()
    }

    fn increment<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
        by: u64,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<u64, KeyValueError>> {
        let sum = self.with(plugin, |values| {
            let place = place(bucket, key);
            let sum = super::key_value::sum(values.get(&place), by)?;
            values.set(place, sum.to_string().into_bytes(), max_bytes)?;
            Ok(sum)
        });
        ready(sum).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_and_buckets_are_apart_and_room_is_counted() {
        let (store, one, two) = (MemoryKeyValue::default(), plugin("one"), plugin("two"));
        let set = |plugin, bucket, key, value: &str, max| {
            store.set(plugin, bucket, key, value.as_bytes().to_vec(), max).now_or_never().unwrap()
        };
        let get = |plugin, bucket, key| store.get(plugin, bucket, key).now_or_never().unwrap().unwrap();
        set(&one, "b", "k", "12345", 7).unwrap();
        assert!(matches!(set(&one, "b", "l", "1", 9), Err(KeyValueError::NoRoom { max_bytes: 9 })));
        set(&one, "b", "k", "1234567", 9).unwrap();
        assert_eq!((get(&two, "b", "k"), get(&one, "c", "k")), (None, None));
        set(&one, "c", "k", "x", 99).unwrap();
        let keys = |after| store.keys(&one, "b", after, 10).now_or_never().unwrap().unwrap();
        assert_eq!((keys(None), keys(Some("k"))), (vec!["k".to_owned()], Vec::new()));
        store.delete(&one, "b", "k").now_or_never().unwrap().unwrap();
        assert_eq!(get(&one, "b", "k"), None);
    }

    #[test]
    fn keys_are_counted() {
        let (store, one) = (MemoryKeyValue::default(), plugin("one"));
        let set =
            |key: u64| store.set(&one, "b", &key.to_string(), Vec::new(), 1 << 20).now_or_never().unwrap();
        (0..MAX_KEYS).for_each(|key| set(key).unwrap());
        assert!(matches!(set(MAX_KEYS), Err(KeyValueError::TooManyKeys)));
        set(0).unwrap();
    }

    #[test]
    fn a_sum_is_a_number_or_an_error() {
        let (store, one) = (MemoryKeyValue::default(), plugin("one"));
        let add = |key, by| store.increment(&one, "b", key, by, 99).now_or_never().unwrap();
        assert_eq!((add("n", 5).unwrap(), add("n", 7).unwrap()), (5, 12));
        assert!(matches!(add("n", u64::MAX), Err(KeyValueError::NotANumber)));
        store.set(&one, "b", "text", b"x".to_vec(), 99).now_or_never().unwrap().unwrap();
        assert!(matches!(add("text", 1), Err(KeyValueError::NotANumber)));
    }

    fn plugin(id: &str) -> PluginId {
        PluginId::parse(id).unwrap()
    }
}
