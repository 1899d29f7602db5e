//! A key-value store of a plugin's own: whether it has one and how much fits; and the seam to whoever keeps it.

use std::fmt;

use futures_util::future::BoxFuture;

use super::Refusal;
use crate::audit::StoreError;
use crate::id::PluginId;
use crate::manifest::KeyValueRequest;

/// Longest key, in bytes: a path or a digest with a prefix.
pub const MAX_KEY_BYTES: usize = 512;

/// Most keys that one plugin may have. A key costs some hundred bytes beside its text, so that a store full of short ones
/// would be mostly that.
pub const MAX_KEYS: u64 = 10_000;

/// Whether a plugin has a store, and how much fits.
#[derive(Debug, Clone)]
pub struct KeyValueCapability {
    plugin: PluginId,
    asked_bytes: Option<u64>,
    is_granted: bool,
}

impl KeyValueCapability {
    pub(super) fn new(plugin: &PluginId, asked: Option<&KeyValueRequest>, is_granted: bool) -> Self {
        let asked_bytes = asked.map(|asked| asked.max_bytes.get().min(MAX_STORE_BYTES));
        Self { plugin: plugin.clone(), asked_bytes, is_granted }
    }

    /// Whose it is.
    pub fn plugin(&self) -> &PluginId {
        &self.plugin
    }

    /// How many bytes of keys and values the store may hold.
    ///
    /// # Errors
    /// Who does not want that there is one.
    pub fn allows(&self) -> Result<u64, Refusal> {
        let Some(bytes) = self.asked_bytes else {
            let line = "`\"keyValue\": { \"maxBytes\": 65536 }` to `permissions`";
            return Err(Refusal::not_requested(&self.plugin, "a key-value store", line));
        };
        if !self.is_granted {
            return Err(Refusal::not_granted(&self.plugin, "a key-value store", "key-value = true"));
        }
        Ok(bytes)
    }
}

/// The most that one plugin may ask for, in bytes: state, and no archive.
const MAX_STORE_BYTES: u64 = 1 << 20;

/// Keeps the values of all plugins, each apart from the others. Every method does all of its work or none.
pub trait KeyValue: Send + Sync + fmt::Debug {
    /// The value of a key.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn get<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, KeyValueError>>;

    /// Writes a value, if names of buckets, keys and values of the plugin have at most `max_bytes` then, a name counting for
    /// each of its keys, and there are at most [`MAX_KEYS`].
    ///
    /// # Errors
    /// If there is no room, or the store cannot be written.
    fn set<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
        value: Vec<u8>,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<(), KeyValueError>>;

    /// Removes a key; one that is not there is no error.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn delete<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<(), KeyValueError>>;

    /// At most `limit` keys of a bucket after `after`, in byte order.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn keys<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<String>, KeyValueError>>;

    /// Adds to a number that is kept as decimal text, 0 if there is none, and gives the sum; no other write comes between.
    ///
    /// # Errors
    /// If the value is no number, the sum is out of range, there is no room, or the store cannot be written.
    fn increment<'a>(
        &'a self,
        plugin: &'a PluginId,
        bucket: &'a str,
        key: &'a str,
        by: u64,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<u64, KeyValueError>>;
}

/// The number that is kept as decimal text, and `by` more; nothing counts as 0.
///
/// # Errors
/// If the value is no number, or the sum is none that fits.
pub fn sum(value: Option<&[u8]>, by: u64) -> Result<u64, KeyValueError> {
    let read = |value: &[u8]| std::str::from_utf8(value).ok()?.parse::<u64>().ok();
    let number = value.map_or(Some(0), read);
    number.and_then(|number| number.checked_add(by)).ok_or(KeyValueError::NotANumber)
}

/// Why a key-value store did not do what it was asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum KeyValueError {
    /// Keys and values would be more than the plugin may have.
    NoRoom {
        /// How many bytes they may be.
        max_bytes: u64,
    },
    /// The plugin would have more than [`MAX_KEYS`].
    TooManyKeys,
    /// The value is no number, or the sum is none that fits.
    NotANumber,
    /// The store itself failed.
    Store(StoreError),
}

impl fmt::Display for KeyValueError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom { max_bytes } => {
                write!(formatter, "keys and values would be more than {max_bytes} bytes; delete some")
            }
            Self::TooManyKeys => {
                write!(
                    formatter,
                    "there would be more than {MAX_KEYS} keys; delete some, or keep more in one value"
                )
            }
            Self::NotANumber => formatter
                .write_str("the value is no whole number of 64 bits without a sign, or the sum is none"),
            Self::Store(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for KeyValueError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::AtLeast;

    #[test]
    fn both_must_have_it() {
        let id = PluginId::parse("notes").unwrap();
        let asked: AtLeast<1> = serde_json::from_str("100").unwrap();
        let asked = KeyValueRequest { max_bytes: asked };
        assert_eq!(KeyValueCapability::new(&id, Some(&asked), true).allows(), Ok(100));
        let refused =
            |asked, granted| KeyValueCapability::new(&id, asked, granted).allows().unwrap_err().to_string();
        assert!(refused(None, true).contains("does not ask for a key-value store"));
        assert!(
            refused(Some(&asked), false)
                .contains("adds `key-value = true` to [plugins.entries.notes.grants]")
        );
    }
}
