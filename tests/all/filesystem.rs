//! Granted folders, through a guest that knows only its standard library: what is granted works, nothing leads out, and
//! with nothing granted there is nothing.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use airlock_core::{CallKind, Config, Outcome, RunContext, Surface};
use serde_json::json;

use crate::support::{builder, call, text};

/// A surface over `wanderer` and `librarian` in a run with this workspace; `access` is granted to both.
async fn surface(workspace: Option<&Path>, access: Option<&str>) -> Surface {
    let grants = access.map_or(String::new(), |access| {
        let grant = format!("filesystem = [{{ path = \"workspace\", access = \"{access}\" }}]");
        format!("[plugins.entries.wanderer.grants]\n{grant}\n[plugins.entries.librarian.grants]\n{grant}\n")
    });
    let config = Config::from_toml(grants.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let host = builder(&["wanderer", "librarian"]).config(config).build().await.unwrap();
    let mut run = RunContext::new("tester");
    run.workspace = workspace.map(|path| path.to_str().unwrap().to_owned());
    host.assemble(run).await
}

async fn wander(surface: &Surface, verb: &str, path: &str, other: &str) -> Outcome {
    let arguments = json!({ "verb": verb, "path": path, "other": other }).to_string();
    let outcome = call(surface, "wander", &arguments).await;
    assert_eq!(outcome.kind, CallKind::Completed, "{verb} {path}: {}", text(&outcome));
    outcome
}

async fn told(surface: &Surface, verb: &str, path: &str, other: &str) -> String {
    text(&wander(surface, verb, path, other).await)
}

fn reached(outcome: &Outcome) -> Vec<String> {
    let entries = outcome.receipt.reached.iter().map(|reached| {
        let reason = reached.reason.as_deref().unwrap_or("-");
        format!("{} {} {} {} | {reason}", reached.plugin, reached.capability, reached.target, reached.allowed)
    });
    entries.collect()
}

#[track_caller]
fn assert_error(told: &str, kind: &str) {
    assert!(told.starts_with(&format!("error: {kind}")), "{told}");
}

#[tokio::test]
async fn a_granted_folder_is_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.md"), "plan").unwrap();
    let surface = surface(Some(folder.path()), Some("write")).await;
    let outcome = wander(&surface, "read", "/workspace/plan.md", "").await;
    assert_eq!(text(&outcome), "plan");
    assert_eq!(reached(&outcome), ["wanderer filesystem write `workspace` true | -"]);
    for (verb, path, other, expected) in [
        ("make", "/workspace/new", "", "made"),
        ("write", "/workspace/new/a", "text", "written"),
        ("append", "/workspace/new/a", " more", "appended"),
        ("stat", "/workspace/new/a", "", "9 bytes"),
        ("rename", "/workspace/new/a", "/workspace/new/b", "renamed"),
        ("hard-link", "/workspace/new/b", "/workspace/new/c", "linked"),
        ("list", "/workspace/new", "", "b c"),
        ("truncate", "/workspace/new/b", "", "cut"),
        ("remove", "/workspace/new/c", "", "removed"),
    ] {
        assert_eq!(told(&surface, verb, path, other).await, expected, "{verb}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("new/b")).unwrap(), "");
    // A plugin that asks to read is given no more, whatever it is granted.
    let outcome = call(&surface, "shelf_list", "{}").await;
    assert_eq!(
        (text(&outcome).as_str(), reached(&outcome).as_slice()),
        ("new/\nplan.md", ["librarian filesystem read `workspace` true | -".to_owned()].as_slice())
    );
    assert_eq!(text(&call(&surface, "shelf_read", r#"{"path": "plan.md"}"#).await), "plan");
}

#[tokio::test]
async fn read_only_means_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.md"), "plan").unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    let surface = surface(Some(folder.path()), Some("read")).await;
    let outcome = wander(&surface, "list", "/workspace", "").await;
    assert_eq!(
        (text(&outcome), reached(&outcome)),
        ("docs plan.md".to_owned(), vec!["wanderer filesystem read `workspace` true | -".to_owned()])
    );
    for (verb, path, other) in [
        ("write", "/workspace/plan.md", "no"),
        ("write", "/workspace/new", "no"),
        ("write", "/workspace/docs/new", "no"),
        ("append", "/workspace/plan.md", "no"),
        ("truncate", "/workspace/plan.md", ""),
        ("touch", "/workspace/plan.md", ""),
        ("make", "/workspace/new", ""),
        ("remove", "/workspace/plan.md", ""),
        ("rename", "/workspace/plan.md", "/workspace/other"),
        ("hard-link", "/workspace/plan.md", "/workspace/other"),
    ] {
        assert_error(&told(&surface, verb, path, other).await, "PermissionDenied");
    }
    assert_eq!(told(&surface, "read", "/workspace/plan.md", "").await, "plan");
    assert_eq!(told(&surface, "list", "/workspace", "").await, "docs plan.md");
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_leads_out() {
    use std::os::unix::fs::symlink;
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("workspace");
    fs::create_dir_all(folder.join("docs")).unwrap();
    fs::write(outer.path().join("secret"), "outside").unwrap();
    fs::write(folder.join("inside"), "inside").unwrap();
    symlink(outer.path().join("secret"), folder.join("absolute")).unwrap();
    symlink("../secret", folder.join("relative")).unwrap();
    symlink("..", folder.join("up")).unwrap();
    symlink("up/secret", folder.join("docs/chain")).unwrap();
    symlink("/dev/zero", folder.join("zero")).unwrap();
    symlink("loop", folder.join("loop")).unwrap();
    symlink("../inside", folder.join("docs/fine")).unwrap();
    let surface = surface(Some(&folder), Some("write")).await;
    let outside = outer.path().join("secret");
    for path in [
        "/workspace/absolute",
        "/workspace/relative",
        "/workspace/up/secret",
        "/workspace/docs/chain",
        "/workspace/../secret",
        "/workspace/docs/../../secret",
        "/workspace/zero",
        "/workspace/loop",
        "/etc/passwd",
        "../secret",
        outside.to_str().unwrap(),
    ] {
        for verb in ["read", "write", "append", "stat", "list", "remove-link", "truncate"] {
            let told = told(&surface, verb, path, "changed").await;
            assert!(told.starts_with("error: ") || told.starts_with("no such verb"), "{verb} {path}: {told}");
        }
        for verb in ["rename", "hard-link"] {
            let told = told(&surface, verb, "/workspace/inside", path).await;
            // A name of the workspace itself may be replaced; what it leads to is not touched.
            assert!(told.starts_with("error: ") || path.starts_with("/workspace"), "{verb} {path}: {told}");
            if told == "renamed" {
                fs::write(folder.join("inside"), "inside").unwrap();
            }
        }
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "outside");
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 2);
    assert_eq!(told(&surface, "read", "/workspace/docs/fine", "").await, "inside");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn pipes_and_sockets_are_not_opened_and_block_nobody() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink("pipe", folder.path().join("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    let surface = surface(Some(folder.path()), Some("write")).await;
    let begun = Instant::now();
    for path in ["/workspace/pipe", "/workspace/link", "/workspace/socket"] {
        for verb in ["read", "write", "append"] {
            assert_error(&told(&surface, verb, path, "x").await, "PermissionDenied");
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(told(&surface, "list", "/workspace", "").await, "link pipe socket");
}

#[tokio::test]
async fn without_a_grant_or_a_workspace_there_is_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.md"), "plan").unwrap();
    let ungranted = surface(Some(folder.path()), None).await;
    let outcome = wander(&ungranted, "read", "/workspace/plan.md", "").await;
    assert_error(&text(&outcome), "");
    assert_eq!(
        reached(&outcome),
        [
            "wanderer filesystem read `workspace` false | nobody granted `wanderer` read access to the folder `workspace`; an operator who wants that adds `filesystem = [{ path = \"workspace\", access = \"read\" }]` to [plugins.entries.wanderer.grants]"
        ]
    );
    // Who touches no file has nothing on the receipt.
    assert_eq!(reached(&wander(&ungranted, "clocks", "", "").await), [""; 0]);
    for (workspace, reason) in [
        (None, "the run has no workspace"),
        (
            Some(Path::new("relative")),
            "the run's workspace is no absolute path; who starts the run must name one",
        ),
        (
            Some(Path::new("/no/such/folder")),
            "the run's workspace cannot be opened: No such file or directory (os error 2)",
        ),
    ] {
        let surface = surface(workspace, Some("write")).await;
        let outcome = wander(&surface, "list", "/workspace", "").await;
        assert_error(&text(&outcome), "");
        assert_eq!(reached(&outcome), [format!("wanderer filesystem write `workspace` false | {reason}")]);
    }
}

#[tokio::test]
async fn a_standard_library_with_nothing_granted_has_clocks_and_randomness_only() {
    let surface = surface(None, None).await;
    for (verb, path) in [
        ("read", "/etc/passwd"),
        ("read", "plan.md"),
        ("list", "/"),
        ("list", "."),
        ("write", "/tmp/a"),
        ("connect", "127.0.0.1:80"),
        ("connect", "[::1]:80"),
        ("listen", "127.0.0.1:0"),
        ("send", "127.0.0.1:53"),
        ("resolve", "example.org:80"),
    ] {
        assert_error(&told(&surface, verb, path, "").await, "");
    }
    assert_eq!(told(&surface, "clocks", "", "").await, "true true");
    assert_eq!(told(&surface, "environment", "", "").await, "0 variables, 0 arguments");
    let random = told(&surface, "random", "", "").await;
    assert_ne!(random, told(&surface, "random", "", "").await, "each instance has seeds of its own");
}
