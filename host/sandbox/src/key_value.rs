//! `wasi:keyvalue` over core's seam: a guest's requests enter, bounded; what its plugin's own store answers leaves. It
//! never shows a guest the values of another plugin, nor where on the host they lie.

mod bindings;
mod requests;

use std::fmt::Display;
use std::sync::Arc;

use airlock_core::{Access, KeyValue, KeyValueError, MAX_KEY_BYTES, PluginId, Reached, Secrets, text};
use wasmtime::component::{HasSelf, Linker, Resource};

use crate::state::State;
use bindings::wasi::keyvalue::store::Error;
use bindings::wasi::keyvalue::{atomics, batch, store};

/// The version of `wasi:keyvalue` that is linked. It is a draft, so that no other version is compatible with it.
pub(crate) const VERSION: &str = "0.2.0-draft";

/// The interfaces of it that are linked.
pub(crate) const INTERFACES: &[&str] = &["store", "atomics", "batch"];

/// Longest name of a bucket, in bytes: a word or two. It is kept with every key.
const MAX_BUCKET_BYTES: usize = 64;

/// Longest value, in bytes: a quarter of the largest store, so that one value is never all of it.
const MAX_VALUE_BYTES: usize = 256 << 10;

/// Keys on one page of a list: 128 KiB of the longest keys.
const KEYS_PER_PAGE: u32 = 256;

/// Operations of one invocation, each key of a batch being one. A write is a flush to the disk, so that a thousand are
/// seconds of a disk that all plugins share.
const MAX_OPERATIONS: u32 = 1_000;

/// Buckets that one invocation may open: each is an entry on the call's receipt.
const MAX_BUCKETS: usize = 16;

/// Bytes of values that one batch may bring: what the largest store holds.
const MAX_BATCH_BYTES: usize = 1 << 20;

/// An open bucket of the plugin that opened it.
#[derive(Debug, Clone)]
#[expect(unreachable_pub, reason = "the generated code re-exports it")]
pub struct Bucket {
    plugin: PluginId,
    name: Arc<str>,
    /// How much all buckets of the plugin may hold.
    max_bytes: u64,
    values: Arc<dyn KeyValue>,
    secrets: Arc<Secrets>,
    /// The last key of each page that was listed; a cursor is a place in it.
    pages: Vec<String>,
}

/// What one invocation has done with its store so far.
#[derive(Debug, Default)]
pub(crate) struct Session {
    operations: u32,
    /// Names of buckets that are on the receipt.
    opened: Vec<String>,
    /// Whether a refusal is on the receipt, and whether a failure is: one of each says enough.
    is_refusal_noted: bool,
    is_failure_noted: bool,
    /// Whether an attempt to keep a secret is.
    is_leak_noted: bool,
}

/// Links the interfaces. Whether a component may import them is decided before, in `audit.rs`.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    store::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    atomics::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    batch::add_to_linker::<State, HasSelf<State>>(linker, |state| state)
}

impl State {
    /// Opens a bucket, if the plugin has a store.
    fn open_bucket(&mut self, name: &str) -> Result<Bucket, Error> {
        let Some(access) = &self.access else {
            // While it registers and makes tools, a plugin reaches nothing.
            return Err(Error::AccessDenied);
        };
        let Access { capabilities, key_value: values, secrets } = access;
        let (plugin, values) = (capabilities.key_value.plugin().clone(), Arc::clone(values));
        let secrets = Arc::clone(secrets);
        let capability = capabilities.key_value.clone();
        // First of all, since a refusal quotes what it refuses.
        if let Some(secret) = secrets.found_in(name.as_bytes()) {
            return Err(self.withheld(&plugin, secret));
        }
        let max_bytes = match capability.allows() {
            Ok(bytes) => bytes,
            Err(refusal) => {
                if !std::mem::replace(&mut self.key_value.is_refusal_noted, true) {
                    self.note(&plugin, name, false, Some(refusal.to_string()));
                }
                return Err(Error::AccessDenied);
            }
        };
        if name.len() > MAX_BUCKET_BYTES {
            return Err(too_long("the name of a bucket", name.len(), MAX_BUCKET_BYTES));
        }
        let opened = &mut self.key_value.opened;
        if !opened.iter().any(|known| known == name) {
            if opened.len() >= MAX_BUCKETS {
                return Err(other(format_args!(
                    "a call may open {MAX_BUCKETS} buckets; put more into one of them"
                )));
            }
            opened.push(name.to_owned());
            self.note(&plugin, name, true, None);
        }
        Ok(Bucket { plugin, name: name.into(), max_bytes, values, secrets, pages: Vec::new() })
    }

    /// The bucket behind a handle, for `operations` more.
    fn bucket(
        &mut self,
        handle: &Resource<Bucket>,
        operations: usize,
    ) -> wasmtime::Result<Result<Bucket, Error>> {
        self.count_host_call();
        let bucket = self.table.get(handle)?.clone();
        let operations = u32::try_from(operations).unwrap_or(u32::MAX);
        let session = &mut self.key_value;
        session.operations = session.operations.saturating_add(operations);
        if session.operations > MAX_OPERATIONS {
            return Ok(Err(other(format_args!(
                "a call may do {MAX_OPERATIONS} things with its key-value store; keep less, or more in one value"
            ))));
        }
        Ok(Ok(bucket))
    }

    /// What a guest is told about a failure, and what its operator is.
    fn failed(&mut self, bucket: &Bucket, error: &KeyValueError) -> Error {
        if !matches!(error, KeyValueError::NotANumber)
            && !std::mem::replace(&mut self.key_value.is_failure_noted, true)
        {
            let was_let_through = matches!(error, KeyValueError::Store(_));
            self.note(&bucket.plugin, &bucket.name, was_let_through, Some(error.to_string()));
        }
        match error {
            // Its text is for the operator, and may name files.
            KeyValueError::Store(_) => other("the host's store failed; the call's receipt has the reason"),
            error => other(error),
        }
    }

    /// Puts on record that the value of a secret was about to be kept, and says what the guest is told.
    fn withheld(&mut self, plugin: &PluginId, secret: &str) -> Error {
        if !std::mem::replace(&mut self.key_value.is_leak_noted, true) {
            let reason = "its value was about to be kept there";
            let target = format!("{secret} in its key-value store");
            self.meter.traces.lock().reached.push(Reached::new(plugin, "secret", &target).refused(reason));
        }
        other(format_args!("the value of the secret `{secret}` is in it, and is not kept"))
    }

    fn note(&self, plugin: &PluginId, bucket: &str, allowed: bool, reason: Option<String>) {
        let shown = text::single_line(text::prefix_within(bucket, MAX_BUCKET_BYTES));
        let mut reached = Reached::new(plugin, "key-value", &format!("bucket `{shown}`"));
        reached.allowed = allowed;
        if let Some(reason) = reason {
            reached.say(&reason);
        }
        self.meter.traces.lock().reached.push(reached);
    }
}

fn check_key(key: &str) -> Result<(), Error> {
    if key.len() > MAX_KEY_BYTES {
        return Err(too_long("a key", key.len(), MAX_KEY_BYTES));
    }
    Ok(())
}

fn check_value(value: &[u8]) -> Result<(), Error> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(too_long("a value", value.len(), MAX_VALUE_BYTES));
    }
    Ok(())
}

fn too_long(what: &str, bytes: usize, most: usize) -> Error {
    other(format_args!("{what} has {bytes} bytes, the limit is {most}"))
}

fn other(what: impl Display) -> Error {
    Error::Other(what.to_string())
}
