//! The store behind core's second trait: what plugins read comes from the disk at once; what they write goes through the
//! one queue, and is on the disk when they are told so. It never changes the log.

use airlock_core::{KeyValue, KeyValueError, PluginId, StoreError};
use futures_util::future::{BoxFuture, FutureExt as _};

use super::SqliteStore;
use crate::key_value::{self, Change, What};
use crate::queue::{Entry, Written};

impl SqliteStore {
    fn change<'a>(
        &'a self,
        plugin: &PluginId,
        bucket: &str,
        key: &str,
        what: What,
    ) -> BoxFuture<'a, Result<u64, KeyValueError>> {
        let (plugin, bucket, key) = (plugin.clone(), bucket.to_owned(), key.to_owned());
        let change = Change { plugin, bucket, key, what };
        let answer = self.ask(Entry::KeyValue(change), |written| match written {
            Written::KeyValue(result) => Some(result),
            _ => None,
        });
        answer.map(|answer| answer.unwrap_or_else(|error| Err(failed(error)))).boxed()
    }
}

fn failed(error: StoreError) -> KeyValueError {
    KeyValueError::Store(error)
}

impl KeyValue for SqliteStore {
    fn get<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, KeyValueError>> {
        self.read(|reader| key_value::get(reader, plugin, bucket, key))
            .map(|value| value.map_err(failed))
            .boxed()
    }

    fn set<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
        value: Vec<u8>,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<(), KeyValueError>> {
        let set = self.change(plugin, bucket, key, What::Set { value, max_bytes });
        set.map(|set| set.map(|_| ())).boxed()
    }

    fn delete<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<(), KeyValueError>> {
        self.change(plugin, bucket, key, What::Delete).map(|deleted| deleted.map(|_| ())).boxed()
    }

    fn keys<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<String>, KeyValueError>> {
        let keys = self.read(|reader| key_value::keys(reader, plugin, bucket, after, limit));
        keys.map(|keys| keys.map_err(failed)).boxed()
    }

    fn increment<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
        by: u64,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<u64, KeyValueError>> {
        self.change(plugin, bucket, key, What::Increment { by, max_bytes })
    }
}
