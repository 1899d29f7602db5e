//! Edits while turns begin: each turn has one set of skills in its prompt, commands, reads and copy, and a change is read once.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use airlock_core::{Clock, Config, RunContext};
use serde_json::json;

use super::copies::files;
use super::{builder, call, managed, write};
use crate::support::text;

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_edits_leaves_each_turn_with_one_set() {
    const EDITS: usize = 60;
    let (folder, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // All skills of one edit say its number.
    let edit = |number: usize| {
        for name in ["one", "two", "three"] {
            write(
                folder.path(),
                name,
                &format!("description: edit {number:03}"),
                &format!("edit {number:03}\n"),
            );
        }
    };
    edit(0);
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let host = &host;
    let (is_over, copies) = (AtomicBool::new(false), copies.path());
    let sessions = (0..8).map(|session| {
        let is_over = &is_over;
        async move {
            let mut versions = BTreeSet::new();
            while !is_over.load(Ordering::Relaxed) {
                let surface = host.assemble(RunContext::new(format!("agent{session}"))).await;
                let skills = Arc::clone(surface.skills().unwrap());
                versions.insert(skills.version());
                let copied = files(&skills.copy_to(copies, []).unwrap());
                assert_eq!(copied.len(), 3);
                for skill in skills.skills() {
                    // Prompt, command, read and copy say the same.
                    let said = skill.description();
                    assert_eq!(skill.body(), format!("{said}\n"));
                    assert!(
                        skills
                            .catalogue()
                            .contains(&format!("<name>{}</name><description>{said}<", skill.name()))
                    );
                    let outcome =
                        call(&surface, "skill_read", &json!({ "name": skill.name() }).to_string()).await;
                    assert_eq!(text(&outcome), skill.text());
                    assert_eq!(copied[&format!("{}/SKILL.md", skill.name())], skill.text().as_bytes());
                    let command = skills.commands().into_iter().find(|one| one.skill.name() == skill.name());
                    assert_eq!(command.unwrap().skill.digest(), skill.digest());
                }
                tokio::task::yield_now().await;
            }
            versions
        }
    });
    let editing = async {
        for number in 1..=EDITS {
            edit(number);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        is_over.store(true, Ordering::Relaxed);
    };
    let (versions, ()) = tokio::join!(futures_util::future::join_all(sessions), editing);
    let last = host.assemble(RunContext::new("writer")).await;
    let skills = last.skills().unwrap();
    assert!(
        skills.skills().all(|skill| skill.description() == format!("edit {EDITS:03}")),
        "the last edit is there"
    );
    // Looks are 250 ms apart, so that of 60 edits in more than a second a handful was seen; and nobody saw more than there were.
    let seen = versions.iter().flatten().max().copied().unwrap();
    assert!((3..=EDITS as u64 + 1).contains(&seen) && skills.version() >= seen, "{versions:?}");
    // Without an edit nothing is refreshed, however often it is looked at; a touched file is no edit.
    let version = skills.version();
    fs::File::options()
        .append(true)
        .open(folder.path().join("one/SKILL.md"))
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(host.assemble(RunContext::new("writer")).await.skills().unwrap().version(), version);
}

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
