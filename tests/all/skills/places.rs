//! Where skills may lie, and what does not lead there: links out, pipes that appear, neighbours, and folders of others.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlock_core::{Config, RunContext, SkillRoot, SkillSnapshot, SkillSource};
use serde_json::json;

use super::{builder, managed, simple, write};
use crate::support::{package, root};

fn run(workspace: &Path) -> RunContext {
    let mut run = RunContext::new("writer");
    run.workspace = Some(workspace.display().to_string());
    run
}

fn names(skills: &SkillSnapshot) -> Vec<String> {
    skills.skills().map(|skill| skill.name().to_string()).collect()
}

fn said(skills: &SkillSnapshot) -> String {
    skills.diagnostics().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_root_that_is_a_link_out_of_the_workspace_is_not_followed() {
    let [workspace, other] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    simple(&other.path().join("skills"), "theirs");
    simple(&workspace.path().join("inside"), "ours");
    symlink(other.path().join("skills"), workspace.path().join("skills")).unwrap();
    symlink(other.path(), workspace.path().join(".agents")).unwrap();
    let host = builder([]).build().await.unwrap();
    let skills = host.skills(&run(workspace.path())).unwrap();
    assert!(names(&skills).is_empty(), "{:?}", names(&skills));
    assert_eq!(said(&skills).matches("is a link out of where it belongs").count(), 2, "{}", said(&skills));
    // One that stays inside is as good as a folder.
    fs::remove_file(workspace.path().join("skills")).unwrap();
    symlink("inside", workspace.path().join("skills")).unwrap();
    let host = builder([]).build().await.unwrap();
    assert_eq!(names(&host.skills(&run(workspace.path())).unwrap()), ["ours"]);
}

#[tokio::test]
async fn what_a_plugin_names_and_does_not_carry_is_told() {
    let [folder, other] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    simple(other.path(), "smuggled");
    let plugin = package(folder.path(), "helper", &[], None);
    let manifest = json!({ "id": "helper", "version": "1.0.0", "skills": ["gone", "out"] });
    fs::write(plugin.join("airlock.plugin.json"), manifest.to_string()).unwrap();
    symlink(other.path(), plugin.join("out")).unwrap();
    let host = builder([]).plugin_root(root(folder.path())).build().await.unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    assert!(names(&skills).is_empty());
    let said = said(&skills);
    assert!(said.contains("plugin:helper: its folder of skills cannot be read"), "{said}");
    assert!(said.contains("plugin:helper: its folder of skills is a link out"), "{said}");
}

#[tokio::test]
async fn a_neighbour_s_files_are_its_own() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path(), "a");
    write(folder.path(), "b", "description: x\ndisable-model-invocation: true", "for people only");
    fs::create_dir(folder.path().join("b/scripts")).unwrap();
    fs::write(folder.path().join("b/scripts/run.sh"), "run").unwrap();
    fs::create_dir(folder.path().join("a/docs")).unwrap();
    fs::write(folder.path().join("a/docs/one.md"), "one").unwrap();
    symlink("../b", folder.path().join("a/see-also")).unwrap();
    symlink("../b/scripts", folder.path().join("a/x")).unwrap();
    symlink("../b/SKILL.md", folder.path().join("a/b.md")).unwrap();
    symlink("docs", folder.path().join("a/more")).unwrap();
    symlink("docs/one.md", folder.path().join("a/same.md")).unwrap();
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    assert_eq!(names(&skills), ["a", "b"], "no link takes a skill away");
    let files: Vec<&String> = skills.skill("a").unwrap().files().keys().collect();
    assert!(files == ["docs/one.md", "same.md"] || files == ["more/one.md", "same.md"], "{files:?}");
    assert_eq!(skills.skill("b").unwrap().files().len(), 1);
    assert_eq!(said(&skills).matches("is a link out of its skill").count(), 3, "{}", said(&skills));
}

#[tokio::test]
async fn folders_are_as_strong_as_their_place_in_the_list() {
    let folders: [_; 3] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    for folder in &folders {
        simple(folder.path(), "tidy");
    }
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let dirs: Vec<String> = order.iter().map(|at| format!("{:?}", folders[*at].path())).collect();
        let config = format!("[skills]\nextra-dirs = [{}]", dirs.join(", "));
        let config = Config::from_toml(config.as_bytes(), "airlock.toml".as_ref()).unwrap();
        let host = builder([]).config(config).build().await.unwrap();
        let skills = host.skills(&RunContext::new("writer")).unwrap();
        let path = skills.skill("tidy").unwrap().path().to_owned();
        assert!(path.starts_with(folders[order[2]].path()), "the last one has the name: {}", path.display());
        assert_eq!(skills.shadowed().len(), 2);
    }
}

#[tokio::test]
async fn no_two_contents_have_one_version() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path(), "tidy");
    let workspaces: Vec<_> = (0..200).map(|_| tempfile::tempdir().unwrap()).collect();
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let mut versions = std::collections::BTreeMap::new();
    for round in 0..2 {
        for (number, workspace) in workspaces.iter().enumerate() {
            if round == 0 {
                simple(&workspace.path().join("skills"), &format!("own-{number}"));
            }
            let skills = host.skills(&run(workspace.path())).unwrap();
            let known = versions.insert(skills.version(), skills.fingerprint());
            assert!(known.is_none_or(|known| known == skills.fingerprint()));
        }
    }
    // Who has something is in the fingerprint, also if nobody is told of it.
    write(folder.path(), "quiet", "description: x\ndisable-model-invocation: true", "");
    let config = b"[agents.less]\nskills = [\"tidy\"]\n".as_slice();
    let config = Config::from_toml(config, "airlock.toml".as_ref()).unwrap();
    let host = builder([managed(folder.path())]).config(config).build().await.unwrap();
    let [more, less] = ["more", "less"].map(|agent| host.skills(&RunContext::new(agent)).unwrap());
    assert_eq!((more.version(), more.catalogue()), (less.version(), less.catalogue()));
    assert_ne!(more.fingerprint(), less.fingerprint());
}

/// What changes between a look and the reading leads nowhere and holds nobody up.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_or_a_pipe_that_appears_while_it_is_read_is_harmless() {
    let [workspace, outside] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let secret = outside.path().join("secret.md");
    fs::write(&secret, "the secret").unwrap();
    // Many, so that there is time between the look at a file and its reading.
    let skills_folder = workspace.path().join("skills");
    for number in 0..60 {
        let skill = simple(&skills_folder, &format!("s{number:02}"));
        fs::write(skill.with_file_name("x.md"), "x").unwrap();
    }
    let pipe = outside.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let is_over = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (is_over, skills_folder) = (Arc::clone(&is_over), skills_folder.clone());
        std::thread::spawn(move || {
            let mut swaps = 0;
            while !is_over.load(Ordering::Relaxed) {
                for number in [57, 58, 59] {
                    let skill = skills_folder.join(format!("s{number:02}"));
                    let (file, main) = (skill.join("x.md"), skill.join("SKILL.md"));
                    let whole = fs::read(&main).unwrap();
                    // A link to a file of somebody else, and to a pipe that nobody writes to.
                    for (target, path, content) in [(&secret, &file, b"x".to_vec()), (&pipe, &main, whole)] {
                        fs::remove_file(path).unwrap();
                        symlink(target, path).unwrap();
                        fs::remove_file(path).unwrap();
                        fs::write(path, content).unwrap();
                        swaps += 1;
                    }
                }
            }
            swaps
        })
    };
    let run = run(workspace.path());
    let looking = tokio::task::spawn_blocking(move || {
        for _ in 0..60 {
            // A host of its own, so that it looks and reads each time.
            let host = tokio::runtime::Handle::current().block_on(builder([]).build()).unwrap();
            let skills = host.skills(&run).unwrap();
            for skill in skills.skills() {
                let texts = skill.files().values().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                assert!(texts.chain([skill.text().to_owned()]).all(|text| !text.contains("the secret")));
            }
        }
    });
    tokio::time::timeout(Duration::from_secs(60), looking).await.expect("nobody waits for a pipe").unwrap();
    is_over.store(true, Ordering::Relaxed);
    assert!(swapping.join().unwrap() > 100);
}

#[tokio::test]
async fn an_order_about_a_skill_that_was_misspelt_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["tidy", "review"] {
        simple(folder.path(), name);
    }
    let config = "[skills.entries.tidi]\nenabled = false\n[skills.entries.elsewhere]\nenabled = false\n\
        [agents.writer]\nskills = [\"revew\", \"tidy\"]\n";
    let config = Config::from_toml(config.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let host = builder([managed(folder.path())]).config(config).build().await.unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    let said = said(&skills);
    assert!(
        said.contains("`skills.entries` has `tidi`, which is no skill here; did you mean `tidy`?"),
        "{said}"
    );
    assert!(said.contains("`agents.writer.skills` has `revew`") && !said.contains("elsewhere"), "{said}");
    let error = Config::from_toml(b"[skills.entries.\"Not One\"]\n", "airlock.toml".as_ref()).unwrap_err();
    assert!(error.to_string().contains("is no name of a skill"), "{error}");
}

#[tokio::test]
async fn skills_that_a_prompt_has_no_room_for_are_named_to_both() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..160 {
        simple(folder.path(), &format!("s{number:03}"));
    }
    let roots = [SkillRoot { source: SkillSource::Managed, path: folder.path().to_owned() }];
    let host = builder(roots).build().await.unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    // How many depends on how long the paths are.
    let left_out = skills.omitted().len();
    assert!((10..60).contains(&left_out), "{left_out}");
    let (told, first) = (160 - left_out, &skills.omitted()[0]);
    let note = format!("<note>{told} of 160 skills; there is no room for {first}, ");
    assert!(skills.catalogue().contains(&note) && skills.catalogue().chars().count() <= 18_000);
    let finding = format!("no room for {left_out} skills, of which the model is not told: {first}, ");
    assert!(said(&skills).contains(&finding), "{}", said(&skills));
    let called = host.explain("s155", RunContext::new("writer")).await;
    assert!(called.states.iter().any(|state| state.evidence.contains("has no room for it")), "{called:?}");
    let told = host.explain("s010", RunContext::new("writer")).await;
    assert!(told.states.iter().any(|state| state.evidence.contains("it is in the catalogue")), "{told:?}");
    let mounted = skills.catalogue_in("/skills/");
    assert!(mounted.contains("<location>/skills/s010/SKILL.md</location>"), "{mounted}");
}

#[tokio::test]
async fn whatever_is_passed_over_is_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path(), "good");
    let nested = simple(&folder.path().join("good"), "within");
    fs::create_dir(folder.path().join("other")).unwrap();
    fs::rename(simple(folder.path(), "cased"), folder.path().join("other/Skill.md")).unwrap();
    fs::create_dir(folder.path().join(std::ffi::OsStr::from_bytes(b"x\xff"))).unwrap();
    let deep = folder.path().join("1/2/3/4/5/6/7");
    simple(&deep, "too-deep");
    simple(&folder.path().join("1/2/3/4/5/6"), "deep-enough");
    let missing = format!("[skills]\nextra-dirs = [\"{}\"]", folder.path().join("nowhere").display());
    let config = Config::from_toml(missing.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let host = builder([managed(folder.path())]).config(config).build().await.unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    assert_eq!(names(&skills), ["deep-enough", "good"]);
    let said = said(&skills);
    for expected in [
        "`within/SKILL.md` lies in the skill, and is no skill of its own",
        "`Skill.md` is not `SKILL.md`",
        "a name that is no Unicode",
        "more than 7 deep",
        "extra: its folder of skills cannot be read",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(nested.exists());
}

#[tokio::test]
async fn one_skill_s_crowd_takes_no_room_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let crowded = simple(folder.path(), "aaa").with_file_name("files");
    fs::create_dir(&crowded).unwrap();
    for number in 0..3_000 {
        fs::write(crowded.join(number.to_string()), "").unwrap();
    }
    for number in 0..310 {
        simple(folder.path(), &format!("s{number:03}"));
    }
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    assert_eq!(skills.skills().count(), 300);
    let said = said(&skills);
    assert!(said.contains("aaa: beside `SKILL.md` it has more than 64 files"), "{said}");
    assert!(said.contains("311 skills, the limit is 300; left out: s299, s300"), "{said}");
}

#[tokio::test]
async fn what_others_can_write_is_not_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let [good, file, place, beside] =
        ["good", "file", "place", "beside"].map(|name| simple(folder.path(), name));
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    open(&file);
    open(place.parent().unwrap());
    let other = beside.with_file_name("other.md");
    fs::write(&other, "x").unwrap();
    open(&other);
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    assert_eq!(names(&skills), ["beside", "good"], "{}", good.display());
    assert!(skills.skill("beside").unwrap().files().is_empty());
    assert_eq!(skills.diagnostics().len(), 3, "{}", said(&skills));
}

#[tokio::test]
async fn one_folder_under_two_names_does_not_shadow_itself() {
    let folder = tempfile::tempdir().unwrap();
    simple(&folder.path().join("a"), "tidy");
    symlink("a", folder.path().join("b")).unwrap();
    let again = folder.path().join("a/../a");
    let host =
        builder([managed(&folder.path().join("a")), managed(&again), managed(&folder.path().join("b"))]);
    let skills = host.build().await.unwrap().skills(&RunContext::new("writer")).unwrap();
    assert_eq!((names(&skills), skills.shadowed().len()), (vec!["tidy".to_owned()], 0));
    // A link beside what it leads to is not the skill's place.
    symlink("tidy", folder.path().join("a/aaa")).unwrap();
    let host = builder([managed(&folder.path().join("a"))]).build().await.unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    assert!(skills.skill("tidy").unwrap().path().ends_with("a/tidy/SKILL.md"));
    assert!(skills.diagnostics().is_empty(), "{}", said(&skills));
}

#[tokio::test]
async fn a_folder_that_is_no_skill_is_explained_as_one() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "bad", "description: x\nmetadata:\n  airlock: 5", "");
    write(folder.path(), "lost", "description: x\nallowed-tools: ['zorp yarp']", "");
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let explain = async |name: &str| host.explain(name, RunContext::new("writer")).await;
    let bad = explain("bad").await;
    assert_eq!(bad.stopped_at, Some(airlock_core::State::Discovered), "{bad:?}");
    assert!(
        bad.reason.as_deref().unwrap().contains("a mapping of gates")
            || bad.reason.as_deref().unwrap().contains("map")
    );
    let lost = explain("LOST").await;
    assert_eq!((lost.subject.as_str(), lost.stopped_at), ("lost", Some(airlock_core::State::Executed)));
    assert!(lost.reason.unwrap().contains("leaves none"));
}
