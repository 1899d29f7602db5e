//! A store of the plugin's own, which outlives its calls: keys and bytes enter, bytes leave. It never sees another
//! plugin's.
//!
//! ```
//! # use airlock_plugin::prelude::*;
//! use airlock_plugin::key_value;
//!
//! /// Counts its calls.
//! #[tool]
//! fn count() -> Result<String, ToolError> {
//!     let calls = key_value::open("calls")?.increment("count", 1)?;
//!     Ok(format!("call {calls}"))
//! }
//! # assert_eq!(airlock_plugin::testing::call::<count>(Default::default()).unwrap().text(), "call 1");
//! ```
//!
//! The manifest says `"permissions": { "keyValue": { "maxBytes": 65536 } }`, and the plugin's operator
//! `key-value = true` among its grants; without that [`open`] gives [`KeyValueError::AccessDenied`]. What was written is
//! on disk when the function returns, where the host has a store with a file. Natively, in tests, each thread has a
//! store of its own.

#[cfg(target_arch = "wasm32")]
mod component;
#[cfg(not(target_arch = "wasm32"))]
mod native;

use std::fmt;

#[cfg(target_arch = "wasm32")]
use component as host;
#[cfg(not(target_arch = "wasm32"))]
use native as host;

use crate::ToolError;

/// A named part of the plugin's store.
#[derive(Debug)]
pub struct Bucket(host::Bucket);

/// Opens a bucket, which needs no making: one that was never written to is empty.
///
/// # Errors
///
/// [`KeyValueError::AccessDenied`] if the operator did not grant the plugin a store; else if the name is too long, or a
/// call opens too many.
pub fn open(name: &str) -> Result<Bucket, KeyValueError> {
    host::Bucket::open(name).map(Bucket)
}

impl Bucket {
    /// The value of a key.
    ///
    /// # Errors
    ///
    /// If the host's store cannot be read, or a call asks too often.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KeyValueError> {
        self.0.get(key)
    }

    /// The value of a key, as text.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and if the value is no text.
    pub fn get_text(&self, key: &str) -> Result<Option<String>, KeyValueError> {
        let text = self.get(key)?.map(String::from_utf8).transpose();
        text.map_err(|_| KeyValueError::Other(format!("the value of `{key}` is no text")))
    }

    /// Writes a value, over one that is there.
    ///
    /// # Errors
    ///
    /// If there is no room, key or value are too long, or the host's store cannot be written. Nothing has changed then.
    pub fn set(&self, key: &str, value: impl AsRef<[u8]>) -> Result<(), KeyValueError> {
        self.0.set(key, value.as_ref())
    }

    /// Removes a key; one that is not there is no error.
    ///
    /// # Errors
    ///
    /// If the host's store cannot be written.
    pub fn delete(&self, key: &str) -> Result<(), KeyValueError> {
        self.0.delete(key)
    }

    /// Every key, in byte order.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn keys(&self) -> Result<Vec<String>, KeyValueError> {
        self.0.keys()
    }

    /// Adds to a number, 0 if there is none, and gives the sum; no other call's write comes between.
    ///
    /// # Errors
    ///
    /// If the value is no number in decimal text, or as for [`set`](Self::set).
    pub fn increment(&self, key: &str, by: u64) -> Result<u64, KeyValueError> {
        self.0.increment(key, by)
    }
}

/// Why the store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyValueError {
    /// The operator did not grant the plugin a store.
    AccessDenied,
    /// Anything else, in the host's words.
    Other(String),
}

impl fmt::Display for KeyValueError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AccessDenied => formatter.write_str(
                "this plugin was not granted a key-value store; its operator adds `key-value = true` to its grants",
            ),
            Self::Other(message) => formatter.write_str(message),
        }
    }
}

impl std::error::Error for KeyValueError {}

impl From<KeyValueError> for ToolError {
    fn from(error: KeyValueError) -> Self {
        match error {
            KeyValueError::AccessDenied => Self::unavailable(error),
            KeyValueError::Other(message) => Self::failed(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_keeps_what_it_was_given() {
        let (notes, other) = (open("notes").unwrap(), open("other").unwrap());
        notes.set("b", "salt").unwrap();
        notes.set("a", [1, 255]).unwrap();
        assert_eq!(notes.get_text("b").unwrap().as_deref(), Some("salt"));
        assert!(notes.get_text("a").is_err());
        assert_eq!(
            (notes.keys().unwrap(), other.keys().unwrap()),
            (vec!["a".to_owned(), "b".to_owned()], vec![])
        );
        notes.delete("b").unwrap();
        assert_eq!(notes.get("b").unwrap(), None);
        assert_eq!((other.increment("n", 2).unwrap(), other.increment("n", 3).unwrap()), (2, 5));
        assert!(notes.increment("a", 1).is_err());
    }
}
