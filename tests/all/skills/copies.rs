//! Copies of skills for a sandbox: the snapshot's bytes, whole or not at all, whatever the sandbox did to the last one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use airlock_core::RunContext;

use super::{builder, managed, simple, write};

/// Every file below a folder by its path.
pub(super) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

#[tokio::test]
async fn a_copy_is_the_snapshot_and_is_made_anew_if_somebody_changed_it() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tidy = simple(folder.path(), "tidy");
    let script = tidy.with_file_name("scripts").join("run.sh");
    fs::create_dir(script.parent().unwrap()).unwrap();
    fs::write(&script, "#!/bin/sh\necho tidy\n").unwrap();
    write(folder.path(), "hidden", "description: x\ndisable-model-invocation: true", "");
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    let text = fs::read(&tidy).unwrap();
    fs::remove_dir_all(folder.path().join("tidy")).unwrap();

    let copy = skills.copy_to(place.path(), []).unwrap();
    assert!(copy.starts_with(place.path()));
    let expected = BTreeMap::from([
        ("tidy/SKILL.md".to_owned(), text),
        ("tidy/scripts/run.sh".to_owned(), b"#!/bin/sh\necho tidy\n".to_vec()),
    ]);
    assert_eq!(files(&copy), expected, "and not what the model is not told of");
    #[cfg(unix)]
    assert!(std::process::Command::new(copy.join("tidy/scripts/run.sh")).output().unwrap().status.success());

    let active = skills.copy_to(place.path(), [&**skills.skill("hidden").unwrap()]).unwrap();
    assert_ne!(active, copy);
    assert!(active.join("hidden/SKILL.md").is_file() && !copy.join("hidden").exists());

    // The same is there already, and is not written again.
    let written = |path: &Path| fs::metadata(path.join("tidy/SKILL.md")).unwrap().modified().unwrap();
    let before = written(&copy);
    assert_eq!((skills.copy_to(place.path(), []).unwrap(), written(&copy)), (copy.clone(), before));

    // Whatever a sandbox does to it.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("kept"), "kept").unwrap();
    let outside = elsewhere.path().to_owned();
    let changes: [&dyn Fn(); 6] = [
        &|| fs::write(copy.join("tidy/SKILL.md"), "evil").unwrap(),
        &|| fs::write(copy.join("tidy/more"), "evil").unwrap(),
        &|| fs::create_dir_all(copy.join("more/SKILL.md")).unwrap(),
        &|| fs::remove_file(copy.join("tidy/scripts/run.sh")).unwrap(),
        &|| {
            fs::remove_dir_all(copy.join("tidy")).unwrap();
            #[cfg(unix)]
            std::os::unix::fs::symlink(&outside, copy.join("tidy")).unwrap();
        },
        &|| {
            fs::remove_dir_all(&copy).unwrap();
            #[cfg(unix)]
            std::os::unix::fs::symlink(&outside, &copy).unwrap();
        },
    ];
    for change in changes {
        change();
        assert_eq!(skills.copy_to(place.path(), []).unwrap(), copy);
        assert_eq!(files(&copy), expected);
        assert!(fs::symlink_metadata(&copy).unwrap().is_dir());
    }
    assert_eq!(fs::read_to_string(elsewhere.path().join("kept")).unwrap(), "kept");
    let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "nothing unfinished: {left:?}");

    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let error = skills.copy_to(&file, []).unwrap_err();
    assert!(error.to_string().contains("skills cannot be copied to"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_turns_may_copy_at_once() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for number in 0..40 {
        simple(folder.path(), &format!("s{number}"));
    }
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let copy = skills.copy_to(place.path(), []).unwrap();
                assert_eq!(files(&copy).len(), 40);
            });
        }
    });
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}
