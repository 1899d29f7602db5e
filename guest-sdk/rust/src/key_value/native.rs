//! A stand-in for the host's store in native tests: a map for each thread, which is to say for each test. It never
//! enforces a bound or a grant; those need the host.

#![allow(clippy::unnecessary_wraps, reason = "the host may refuse, the stand-in takes everything")]

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::KeyValueError;

thread_local! {
    static VALUES: RefCell<BTreeMap<(String, String), Vec<u8>>> = RefCell::default();
}

#[derive(Debug)]
pub(crate) struct Bucket(String);

impl Bucket {
    pub(crate) fn open(name: &str) -> Result<Self, KeyValueError> {
        Ok(Self(name.to_owned()))
    }

    pub(crate) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KeyValueError> {
        Ok(VALUES.with_borrow(|values| values.get(&self.place(key)).cloned()))
    }

    pub(crate) fn set(&self, key: &str, value: &[u8]) -> Result<(), KeyValueError> {
        VALUES.with_borrow_mut(|values| values.insert(self.place(key), value.to_owned()));
        Ok(())
    }

    pub(crate) fn delete(&self, key: &str) -> Result<(), KeyValueError> {
        VALUES.with_borrow_mut(|values| values.remove(&self.place(key)));
        Ok(())
    }

    pub(crate) fn keys(&self) -> Result<Vec<String>, KeyValueError> {
        let is_here = |(bucket, _): &&(String, String)| *bucket == self.0;
        Ok(VALUES.with_borrow(|values| values.keys().filter(is_here).map(|(_, key)| key.clone()).collect()))
    }

    pub(crate) fn increment(&self, key: &str, by: u64) -> Result<u64, KeyValueError> {
        let number = match self.get(key)? {
            Some(value) => String::from_utf8(value).ok().and_then(|text| text.parse::<u64>().ok()),
            None => Some(0),
        };
        let sum = number.and_then(|number| number.checked_add(by));
        let sum = sum.ok_or_else(|| KeyValueError::Other("the value is no number".to_owned()))?;
        self.set(key, sum.to_string().as_bytes())?;
        Ok(sum)
    }

    fn place(&self, key: &str) -> (String, String) {
        (self.0.clone(), key.to_owned())
    }
}
