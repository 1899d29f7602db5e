//! Each function of `wasi:keyvalue`: a guest's request enters; after the bounds are checked, the store's answer leaves.

use wasmtime::component::Resource;

use super::bindings::wasi::keyvalue::store::{Error, KeyResponse};
use super::bindings::wasi::keyvalue::{atomics, batch, store};
use super::{Bucket, KEYS_PER_PAGE, MAX_BATCH_BYTES, check_key, check_value, other};
use crate::state::State;

/// A key and its value, if it has one.
type Found = Option<(String, Vec<u8>)>;

impl store::Host for State {
    async fn open(&mut self, identifier: String) -> wasmtime::Result<Result<Resource<Bucket>, Error>> {
        self.count_host_call();
        match self.open_bucket(&identifier) {
            Ok(bucket) => Ok(Ok(self.table.push(bucket)?)),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl store::HostBucket for State {
    async fn get(
        &mut self,
        handle: Resource<Bucket>,
        key: String,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        match self.bucket(&handle, 1)? {
            Ok(bucket) => Ok(self.read(&bucket, &key).await),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn set(
        &mut self,
        handle: Resource<Bucket>,
        key: String,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Error>> {
        match self.bucket(&handle, 1)? {
            Ok(bucket) => Ok(self.write(&bucket, &key, value).await),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn delete(&mut self, handle: Resource<Bucket>, key: String) -> wasmtime::Result<Result<(), Error>> {
        match self.bucket(&handle, 1)? {
            Ok(bucket) => Ok(self.remove(&bucket, &key).await),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn exists(
        &mut self,
        handle: Resource<Bucket>,
        key: String,
    ) -> wasmtime::Result<Result<bool, Error>> {
        match self.bucket(&handle, 1)? {
            Ok(bucket) => Ok(self.read(&bucket, &key).await.map(|value| value.is_some())),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn list_keys(
        &mut self,
        handle: Resource<Bucket>,
        cursor: Option<u64>,
    ) -> wasmtime::Result<Result<KeyResponse, Error>> {
        let bucket = match self.bucket(&handle, 1)? {
            Ok(bucket) => bucket,
            Err(error) => return Ok(Err(error)),
        };
        let after = match cursor {
            None => None,
            Some(cursor) => match usize::try_from(cursor).ok().and_then(|place| bucket.pages.get(place)) {
                Some(key) => Some(key.as_str()),
                None => return Ok(Err(other("this bucket gave no such cursor; begin again without one"))),
            },
        };
        // One more than a page tells whether there is another.
        let found = bucket.values.keys(&bucket.plugin, &bucket.name, after, KEYS_PER_PAGE + 1).await;
        let mut keys = match found {
            Ok(keys) => keys,
            Err(error) => return Ok(Err(self.failed(&bucket, &error))),
        };
        let has_more = keys.len() > KEYS_PER_PAGE as usize;
        keys.truncate(KEYS_PER_PAGE as usize);
        let cursor = match keys.last() {
            Some(last) if has_more => {
                let pages = &mut self.table.get_mut(&handle)?.pages;
                pages.push(last.clone());
                Some(pages.len() as u64 - 1)
            }
            _ => None,
        };
        Ok(Ok(KeyResponse { keys, cursor }))
    }

    async fn drop(&mut self, handle: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(handle)?;
        Ok(())
    }
}

impl atomics::Host for State {
    async fn increment(
        &mut self,
        handle: Resource<Bucket>,
        key: String,
        delta: u64,
    ) -> wasmtime::Result<Result<u64, Error>> {
        match self.bucket(&handle, 1)? {
            Ok(bucket) => Ok(self.add(&bucket, &key, delta).await),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl batch::Host for State {
    async fn get_many(
        &mut self,
        handle: Resource<Bucket>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<Vec<Found>, Error>> {
        match self.bucket(&handle, keys.len())? {
            Ok(bucket) => Ok(self.read_many(&bucket, keys).await),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn set_many(
        &mut self,
        handle: Resource<Bucket>,
        pairs: Vec<(String, Vec<u8>)>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let bucket = match self.bucket(&handle, pairs.len())? {
            Ok(bucket) => bucket,
            Err(error) => return Ok(Err(error)),
        };
        // Each pair is written or not; the interface says that a batch as a whole may end half-way.
        for (key, value) in pairs {
            if let Err(error) = self.write(&bucket, &key, value).await {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    async fn delete_many(
        &mut self,
        handle: Resource<Bucket>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let bucket = match self.bucket(&handle, keys.len())? {
            Ok(bucket) => bucket,
            Err(error) => return Ok(Err(error)),
        };
        for key in keys {
            if let Err(error) = self.remove(&bucket, &key).await {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }
}

impl State {
    async fn read(&mut self, bucket: &Bucket, key: &str) -> Result<Option<Vec<u8>>, Error> {
        check_key(key)?;
        let value = bucket.values.get(&bucket.plugin, &bucket.name, key).await;
        value.map_err(|error| self.failed(bucket, &error))
    }

    async fn read_many(&mut self, bucket: &Bucket, keys: Vec<String>) -> Result<Vec<Found>, Error> {
        let (mut found, mut bytes) = (Vec::with_capacity(keys.len()), 0);
        for key in keys {
            let value = self.read(bucket, &key).await?;
            bytes += key.len() + value.as_ref().map_or(0, Vec::len);
            if bytes > MAX_BATCH_BYTES {
                return Err(other(format_args!(
                    "the values of one batch may have {MAX_BATCH_BYTES} bytes; ask for fewer keys"
                )));
            }
            found.push(value.map(|value| (key, value)));
        }
        Ok(found)
    }

    async fn write(&mut self, bucket: &Bucket, key: &str, value: Vec<u8>) -> Result<(), Error> {
        check_key(key)?;
        check_value(&value)?;
        self.check_secrets(bucket, key.as_bytes())?;
        self.check_secrets(bucket, &value)?;
        let written = bucket.values.set(&bucket.plugin, &bucket.name, key, value, bucket.max_bytes).await;
        written.map_err(|error| self.failed(bucket, &error))
    }

    /// Whether what is to be kept is without the values of secrets.
    fn check_secrets(&mut self, bucket: &Bucket, kept: &[u8]) -> Result<(), Error> {
        let found = bucket.secrets.found_in(kept);
        found.map_or(Ok(()), |secret| Err(self.withheld(&bucket.plugin, secret)))
    }

    async fn remove(&mut self, bucket: &Bucket, key: &str) -> Result<(), Error> {
        check_key(key)?;
        let removed = bucket.values.delete(&bucket.plugin, &bucket.name, key).await;
        removed.map_err(|error| self.failed(bucket, &error))
    }

    async fn add(&mut self, bucket: &Bucket, key: &str, delta: u64) -> Result<u64, Error> {
        check_key(key)?;
        self.check_secrets(bucket, key.as_bytes())?;
        let sum = bucket.values.increment(&bucket.plugin, &bucket.name, key, delta, bucket.max_bytes).await;
        sum.map_err(|error| self.failed(bucket, &error))
    }
}
