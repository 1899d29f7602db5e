//! Edits while turns begin: each turn has one set of skills in its prompt, commands, reads and copy, and a change is read once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use airlock_core::{Clock, Config, Host, RunContext};
use serde_json::json;

use super::copies::files;
use super::{builder, call, managed, write};
use crate::support::text;

/// A clock whose looks are due whenever a test wants, while the calendar's time is the machine's.
#[derive(Debug, Clone, Default)]
struct Hurried(Arc<AtomicU64>);

impl Clock for Hurried {
    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// All skills of one edit say its number.
const NAMES: [&str; 3] = ["one", "two", "three"];

fn edit(folder: &Path, number: usize) {
    for name in NAMES {
        let said = format!("edit {number:03}");
        write(folder, name, &format!("description: {said}"), &format!("{said}\n"));
    }
}

/// Turns of one session until the storm is over, and the versions that they saw.
async fn session(host: Host, number: usize, copies: PathBuf, is_over: Arc<AtomicBool>) -> BTreeSet<u64> {
    let (mut versions, mut last) = (BTreeSet::new(), 0);
    while !is_over.load(Ordering::Relaxed) {
        let surface = host.assemble(RunContext::new(format!("agent{number}"))).await;
        let skills = Arc::clone(surface.skills().unwrap());
        assert!(skills.version() >= last, "nobody goes back");
        last = skills.version();
        versions.insert(last);
        let copied = files(&skills.copy_to(&copies, []).unwrap());
        assert_eq!(copied.len(), NAMES.len());
        assert_eq!(skills.skills().count(), NAMES.len());
        for skill in skills.skills() {
            // Prompt, command, read and copy say the same.
            let said = skill.description();
            assert_eq!(skill.body(), format!("{said}\n"));
            let told = format!("<name>{}</name><description>{said}<", skill.name());
            assert!(skills.catalogue().contains(&told));
            let outcome = call(&surface, "skill_read", &json!({ "name": skill.name() }).to_string()).await;
            assert_eq!(text(&outcome), skill.text());
            assert_eq!(copied[&format!("{}/SKILL.md", skill.name())], skill.text().as_bytes());
            let (command, _) = skills.command(&format!("/{}", skill.name())).unwrap();
            assert_eq!(command.skill.digest(), skill.digest());
        }
    }
    versions
}

/// Eight sessions on threads of their own, and an editor on another, with a look at every turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_storm_of_edits_leaves_each_turn_with_one_set() {
    const EDITS: usize = 200;
    let (folder, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    edit(folder.path(), 0);
    let host = builder([managed(folder.path())]).clock(Hurried::default()).build().await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let sessions: Vec<_> = (0..8)
        .map(|number| {
            let copies = copies.path().join(number.to_string());
            tokio::spawn(session(host.clone(), number, copies, Arc::clone(&is_over)))
        })
        .collect();
    let edited = folder.path().to_owned();
    let editor = std::thread::spawn(move || {
        for number in 1..=EDITS {
            edit(&edited, number);
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    tokio::task::spawn_blocking(|| editor.join().unwrap()).await.unwrap();
    is_over.store(true, Ordering::Relaxed);
    let mut versions = BTreeSet::new();
    for session in sessions {
        versions.extend(session.await.unwrap());
    }
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    let last = format!("edit {EDITS:03}");
    assert!(skills.skills().all(|skill| skill.description() == last), "the last edit is there");
    let (seen, refreshes) = (versions.len(), skills.version());
    eprintln!("{EDITS} edits of 3 files: {refreshes} refreshes, {seen} of them seen by 8 sessions");
    // Each edit changes three files, one after the other, and nobody saw more than there were.
    assert!(seen > EDITS / 20, "the storm was seen: {seen}");
    assert!(refreshes <= (3 * EDITS + 1) as u64, "a refresh for each change: {refreshes}");
    // Without an edit nothing is refreshed, however often it is looked at; a touched file is no edit.
    let touched = fs::File::options().append(true).open(folder.path().join("one/SKILL.md")).unwrap();
    touched.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(host.skills(&RunContext::new("writer")).unwrap().version(), skills.version());
}

#[tokio::test]
async fn an_edit_in_the_same_instant_as_a_look_is_seen_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "tidy", "description: edit 000", "");
    let host = builder([managed(folder.path())]).clock(Hurried::default()).build().await.unwrap();
    let said =
        || host.skills(&RunContext::new("writer")).unwrap().skill("tidy").unwrap().description().to_owned();
    // In place and of equal size, so that only the time of the file can tell, which goes on in steps.
    for edit in 0..300 {
        let expected = format!("edit {edit:03}");
        fs::write(&path, format!("---\nname: tidy\ndescription: {expected}\n---\n")).unwrap();
        assert_eq!(said(), expected);
    }
    let version = || host.skills(&RunContext::new("writer")).unwrap().version();
    assert_eq!(version(), 300, "one for each content");
    assert_eq!(version(), version());
}

#[tokio::test]
async fn a_turn_takes_the_snapshot_of_the_last_one_if_it_would_be_the_same() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "tidy", "description: x", "");
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let take = |agent: &str| host.skills(&RunContext::new(agent)).unwrap();
    let first = take("writer");
    assert!(Arc::ptr_eq(&first, &take("writer")) && !Arc::ptr_eq(&first, &take("reader")));
    let config = |text: &str| Config::from_toml(text.as_bytes(), "airlock.toml".as_ref()).unwrap();
    host.reload(config("[agents.writer]\nskills = []\n")).unwrap();
    assert_eq!(take("writer").skills().count(), 0, "a configuration is in force at once");
    assert_eq!((take("reader").skills().count(), first.skills().count()), (1, 1));
}
