//! A mark enters; what this instance found of other calls leaves: `clean`, or where it met a mark. Then it leaves its own mark
//! in every place that it can write: a static, a thread's own, the environment, files, the standard streams. Random bytes and
//! the clock's reading leave too, for the caller to compare.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use airlock_plugin::prelude::*;
use airlock_plugin::serde_json::json;

static MARKS: Mutex<Vec<String>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Where a file might be kept for the next call.
const FOLDERS: [&str; 6] = ["/tmp", "/var/tmp", "/dev/shm", ".", "/", "/proc/self/fd"];

/// Name of the file, below each.
const FILE: &str = "airlock-canary";

#[arguments]
struct Canary {
    /// What to leave.
    mark: String,
}

#[details]
struct Seen {
    /// Seeds of two hash maps: as random as what they are made from.
    random: Vec<String>,
    /// The clock's reading in nanoseconds since 1970.
    now: String,
    /// How long the call took so far by the steady clock, in nanoseconds.
    took: u64,
}

/// Looks for marks of other calls, then leaves one.
#[tool]
fn canary(arguments: Canary) -> Output<Seen> {
    let begun = Instant::now();
    let found = found();
    leave(&arguments.mark);
    let random = (0..2).map(|seed| format!("{:x}", RandomState::new().hash_one(seed))).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_nanos()).unwrap_or_default();
    let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let text = if found.is_empty() { "clean".to_owned() } else { json!(found).to_string() };
    Output::new(text, Seen { random, now: now.to_string(), took })
}

/// What others left, by place.
fn found() -> HashMap<String, String> {
    let mut found = HashMap::new();
    let mut note = |place: &str, what: String| drop(found.insert(place.to_owned(), what));
    if let Some(mark) = MARKS.lock().ok().and_then(|marks| marks.last().cloned()) {
        note("a static", mark);
    }
    if let Some(mark) = OWN.with_borrow(|marks| marks.last().cloned()) {
        note("a thread's own", mark);
    }
    for (name, value) in std::env::vars() {
        note("the environment", format!("{name}={value}"));
    }
    if std::env::args().next().is_some() {
        note("the arguments", std::env::args().collect());
    }
    for folder in FOLDERS {
        if let Ok(mark) = fs::read_to_string(Path::new(folder).join(FILE)) {
            note(folder, mark);
        }
        if let Ok(entries) = fs::read_dir(folder) {
            note(folder, format!("{} files", entries.count()));
        }
    }
    found
}

fn leave(mark: &str) {
    if let Ok(mut marks) = MARKS.lock() {
        marks.push(mark.to_owned());
    }
    OWN.with_borrow_mut(|marks| marks.push(mark.to_owned()));
    for folder in FOLDERS {
        // Nobody has granted a folder, so that each of these fails: the next call looks.
        drop(fs::write(Path::new(folder).join(FILE), mark));
    }
    // Much of the heap, so that a slot that is not cleared shows it.
    std::hint::black_box(mark.repeat(100_000));
}

plugin!(tools: [canary]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }

    #[test]
    fn natively_a_mark_is_found_again() {
        MARKS.lock().unwrap().push("left before".to_owned());
        assert_eq!(found()["a static"], "left before");
    }
}
