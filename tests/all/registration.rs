//! Discovered → registered: the code and the manifest must agree, both ways, and nobody guesses.

use airlock_core::RunContext;

use crate::support::{builder, call, component, package, root, surface, text};

#[tokio::test]
async fn undeclared_and_unregistered_names_are_both_reported_and_the_others_stay() {
    let surface = surface(&["undeclared"]).await;
    let names: Vec<_> = surface.tools().map(|exposed| exposed.tool.name.as_str()).collect();
    assert_eq!(names, ["declared_one"]);
    let codes: Vec<_> =
        surface.diagnostics().iter().map(|found| format!("{} {}", found.code, found.subject)).collect();
    assert_eq!(codes, ["tool-undeclared smuggled", "contract-unfulfilled never_registered"]);
    let outcome = call(&surface, "smuggled", "{}").await;
    assert_eq!(outcome.kind.as_str(), "not-exposed");
}

#[tokio::test]
async fn a_plugin_that_breaks_in_register_has_no_tools_and_harms_no_other() {
    let surface = surface(&["bad-register", "echo"]).await;
    let names: Vec<_> = surface.tools().map(|exposed| exposed.tool.name.as_str()).collect();
    assert_eq!(names, ["echo"]);
    let failed = &surface.diagnostics()[0];
    assert_eq!(failed.code.as_str(), "register-failed");
    assert!(failed.message.contains("panicked: the plugin broke while it registered"), "{}", failed.message);
    let removed = &surface.removed()[0];
    assert_eq!((removed.name.as_str(), removed.reason.as_str()), ("never_there", failed.message.as_str()));
}

#[tokio::test]
async fn registration_is_closed_once_register_returned() {
    let surface = surface(&["late-register"]).await;
    assert_eq!(text(&call(&surface, "late_register", "{}").await), "closed");
    assert_eq!(surface.tools().count(), 1);
}

#[tokio::test]
async fn a_plugin_that_no_name_needs_is_never_loaded() {
    let folder = tempfile::tempdir().unwrap();
    package(folder.path(), "unneeded", &[], Some(b"this would not even load"));
    let host = builder(&["echo"]).plugin_root(root(folder.path())).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    assert_eq!(surface.tools().count(), 1);
    assert_eq!(surface.diagnostics(), []);
    let looked_at = host.inspect().await;
    assert!(looked_at.iter().any(|status| status.loaded.is_err()), "looking at it does load it");
}

#[tokio::test]
async fn the_same_component_under_two_manifests_is_two_plugins() {
    let folder = tempfile::tempdir().unwrap();
    for id in ["first", "second"] {
        package(folder.path(), id, &["echo"], Some(&component("echo")));
    }
    let host = builder(&[]).plugin_root(root(folder.path())).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    assert_eq!(surface.tools().count(), 0, "between equals neither gets the name");
    let reasons: Vec<_> = surface.removed().iter().map(|removal| removal.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "`first` (config) and `second` (config) declare the tool `echo`; neither gets it",
            "`second` (config) and `first` (config) declare the tool `echo`; neither gets it",
        ]
    );
}
