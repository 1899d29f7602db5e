//! The store in a component: each request goes to the host's `wasi:keyvalue`, and its answer leaves. It never keeps
//! anything.

use super::KeyValueError;
use crate::bindings::key_value::wasi::keyvalue::atomics;
use crate::bindings::key_value::wasi::keyvalue::store;

#[derive(Debug)]
pub(crate) struct Bucket(store::Bucket);

impl Bucket {
    pub(crate) fn open(name: &str) -> Result<Self, KeyValueError> {
        Ok(Self(store::open(name)?))
    }

    pub(crate) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KeyValueError> {
        Ok(self.0.get(key)?)
    }

    pub(crate) fn set(&self, key: &str, value: &[u8]) -> Result<(), KeyValueError> {
        Ok(self.0.set(key, value)?)
    }

    pub(crate) fn delete(&self, key: &str) -> Result<(), KeyValueError> {
        Ok(self.0.delete(key)?)
    }

    pub(crate) fn keys(&self) -> Result<Vec<String>, KeyValueError> {
        let (mut keys, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.0.list_keys(cursor)?;
            keys.extend(page.keys);
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(keys);
            }
        }
    }

    pub(crate) fn increment(&self, key: &str, by: u64) -> Result<u64, KeyValueError> {
        Ok(atomics::increment(&self.0, key, by)?)
    }
}

impl From<store::Error> for KeyValueError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::AccessDenied => Self::AccessDenied,
            store::Error::NoSuchStore => Self::Other("the host knows no bucket of that name".to_owned()),
            store::Error::Other(message) => Self::Other(message),
        }
    }
}
