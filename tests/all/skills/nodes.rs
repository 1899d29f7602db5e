//! Skills of nodes: there while their node is connected, never in the place of a local one, and bounded.

use std::sync::Arc;

use airlock_core::{Node, NodeName, RunContext, SkillSnapshot, Surroundings};

use super::{builder, call, managed, names, simple};
use crate::support::text;

/// A node's machine, which has what this one has not.
#[derive(Debug)]
struct Mac;

impl Surroundings for Mac {
    fn system(&self) -> &str {
        "macos"
    }
    fn has_program(&self, name: &str) -> bool {
        name == "xcodebuild"
    }
    fn has_variable(&self, _: &str) -> bool {
        false
    }
}

fn node(name: &str) -> Node {
    Node::new(NodeName::parse(name).unwrap())
}

fn skill(name: &str, head: &str) -> String {
    format!("---\nname: {name}\ndescription: Of a node\n{head}\n---\nOn the node.\n")
}

fn listed(skills: &SkillSnapshot) -> Vec<String> {
    skills.skills().map(|skill| format!("{} {}", skill.name(), skill.path().display())).collect()
}

#[tokio::test]
async fn they_come_and_go_with_their_node_and_a_turn_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path(), "tidy");
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let run = || RunContext::new("writer");
    let before = host.assemble(run()).await;
    let ci = host.connect(&node("ci").skill(skill("tidy", "")).skill(skill("build", ""))).unwrap();
    assert!(ci.diagnostics().is_empty(), "{:?}", ci.diagnostics());
    assert_eq!(names(&before), ["tidy"], "a turn that runs keeps what it has");
    let during = host.assemble(run()).await;
    assert_eq!(names(&during), ["build", "ci-tidy", "tidy"]);
    let skills = during.skills().unwrap();
    assert_eq!(skills.skill("tidy").unwrap().source().to_string(), "managed");
    assert_eq!(skills.skill("ci-tidy").unwrap().source().to_string(), "node:ci");
    assert!(skills.catalogue().contains(
        "<name>ci-tidy</name><description>Of a node</description><location>node://ci/skills/tidy/SKILL.md</location>"
    ));
    assert!(skills.version() > before.skills().unwrap().version());
    // A second node with the same skill: the first by name has it.
    let lab = host.connect(&node("lab").skill(skill("build", ""))).unwrap();
    let both = host.skills(&run()).unwrap();
    assert_eq!(
        both.skills().map(|skill| skill.name().to_string()).collect::<Vec<_>>(),
        ["build", "ci-tidy", "lab-build", "tidy"]
    );
    let error = host.connect(&node("lab")).unwrap_err();
    assert!(error.to_string().contains("`lab` is connected already"), "{error}");
    drop(ci);
    assert_eq!(names(&host.assemble(run()).await), ["build", "tidy"], "the other has the name now");
    drop(lab);
    let after = host.assemble(run()).await;
    assert_eq!(names(&after), ["tidy"]);
    assert_eq!(text(&call(&during, "skill_read", r#"{"name": "build"}"#).await), skill("build", ""));
    // Nobody came or went: the same version.
    assert_eq!(host.skills(&run()).unwrap().version(), after.skills().unwrap().version());
}

#[tokio::test]
async fn what_they_need_is_asked_of_their_own_machine() {
    let folder = tempfile::tempdir().unwrap();
    let gates =
        "metadata:\n  airlock:\n    os: macos\n    requires:\n      bins: [xcodebuild]\n      env: [HOME]";
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let _mac = host.connect(&node("mac").surroundings(Mac).skill(skill("archive", gates))).unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    let archive = &skills.listed()[0];
    assert_eq!(archive.shut_gates, ["the variable `HOME` is not set, or empty"]);
}

#[tokio::test]
async fn a_bad_file_of_a_node_hides_no_other_and_all_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let padded = |name: &str, bytes: usize| {
        let whole = skill(name, "");
        format!("{whole}{}", "x".repeat(bytes - whole.len()))
    };
    let dispatch = "metadata:\n  airlock:\n    command-dispatch: tool\n    command-tool: exec";
    let mut ci = node("ci")
        .skill("no head")
        .skill(skill("good", ""))
        .skill(skill("good", "license: MIT"))
        .skill(skill("runs", dispatch))
        .skill(vec![0xff, 0xfe, b'-', 0])
        .skill(padded("most", 64 * 1024))
        .skill(padded("more", 64 * 1024 + 1));
    let connection = host.connect(&ci).unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    assert_eq!(
        listed(&skills),
        [
            "good node://ci/skills/good/SKILL.md",
            "most node://ci/skills/most/SKILL.md",
            "runs node://ci/skills/runs/SKILL.md"
        ]
    );
    assert!(skills.skill("good").unwrap().license().is_none(), "the first is taken");
    assert!(skills.commands().iter().all(|command| command.tool.is_none()), "no node's command calls a tool");
    let said: Vec<String> = connection.diagnostics().iter().map(ToString::to_string).collect();
    for expected in [
        "does not begin with `---`",
        "two skills `good`",
        "the command of the skill `runs` calls a tool",
        "UTF-16",
        "has 65537 bytes, the limit is 65536",
    ] {
        assert!(said.iter().any(|said| said.contains(expected)), "{expected}: {said:?}");
    }
    assert!(connection.diagnostics().iter().all(|finding| skills.diagnostics().contains(finding)));
    drop(connection);

    // Many large ones, and more than are looked at.
    ci = node("ci");
    for number in 0..20 {
        ci = ci.skill(padded(&format!("large-{number:02}"), 64 * 1024));
    }
    for number in 0..50 {
        ci = ci.skill(skill(&format!("small-{number:02}"), ""));
    }
    let connection = host.connect(&ci).unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    assert_eq!(skills.skills().filter(|skill| skill.name().as_str().starts_with("large")).count(), 8);
    let said: Vec<String> = connection.diagnostics().iter().map(ToString::to_string).collect();
    assert!(said.iter().any(|said| said.contains("more than 524288 bytes")), "{said:?}");
    assert!(said.iter().any(|said| said.contains("has 70 skills, of which the first 64")), "{said:?}");
}

#[tokio::test]
async fn a_name_that_does_not_fit_is_shadowed_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let long = "a".repeat(64);
    simple(folder.path(), &long);
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let _ci = host.connect(&node("ci").skill(skill(&long, ""))).unwrap();
    let skills = host.skills(&RunContext::new("writer")).unwrap();
    assert_eq!(skills.skills().count(), 1);
    let shadowed: Vec<_> =
        skills.shadowed().iter().map(|one| (one.source.to_string(), one.by.clone())).collect();
    assert_eq!(shadowed, [("node:ci".to_owned(), skills.skill(&long).unwrap().path().to_owned())]);
    for bad in ["", "CI", "a b", "ci-", "büro", &"a".repeat(33)] {
        assert!(NodeName::parse(bad).is_err(), "{bad}");
    }
    let without = airlock_core::Host::builder().sandbox(crate::scripted::Scripted).build().await.unwrap();
    assert!(without.connect(&node("ci")).is_err() && without.skills(&RunContext::new("writer")).is_none());
}

/// Nodes come and go while turns begin: every turn has what one moment had.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_come_and_go_leave_each_turn_with_one_set() {
    let folder = tempfile::tempdir().unwrap();
    simple(folder.path(), "tidy");
    let host = Arc::new(builder([managed(folder.path())]).build().await.unwrap());
    let flapping = {
        let host = Arc::clone(&host);
        tokio::task::spawn_blocking(move || {
            for _ in 0..300 {
                drop(host.connect(&node("ci").skill(skill("one", "")).skill(skill("two", ""))).unwrap());
            }
        })
    };
    let mut last = 0;
    while !flapping.is_finished() {
        let skills = host.skills(&RunContext::new("writer")).unwrap();
        assert!([1, 3].contains(&skills.skills().count()), "both or none");
        assert!(skills.version() >= last);
        last = skills.version();
        tokio::task::yield_now().await;
    }
    flapping.await.unwrap();
    assert_eq!(host.skills(&RunContext::new("writer")).unwrap().skills().count(), 1);
}
