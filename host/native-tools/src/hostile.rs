//! What a model or a workspace could try against the file tools enters; that it gets nowhere is what leaves. Tests only.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::tool::testing::{bound, call, call_in, message_of, run_in, text_of};

const SECRET: &str = "the secret\n";

/// A folder with `secret` in it, and beside it a workspace.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), SECRET).unwrap();
        fs::create_dir_all(folder.path().join("workspace/inside")).unwrap();
        fs::write(folder.path().join("workspace/inside/file"), SECRET).unwrap();
        Self { folder }
    }

    fn workspace(&self) -> std::path::PathBuf {
        self.folder.path().join("workspace")
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        symlink(target, self.workspace().join(name)).unwrap();
    }

    /// What every tool answers to a path that it must not use. Then nothing outside has changed, and nothing is new.
    #[track_caller]
    fn all_refuse(&self, path: &str, expected: &str) {
        let patch = |name: &str| format!("--- {name}\n+++ {name}\n@@ -1 +1 @@\n-the secret\n+gone\n");
        let before = fs::read_dir(self.workspace()).unwrap().count();
        for (tool, arguments) in [
            ("read", json!({ "path": path })),
            ("ls", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "gone\n" })),
            ("edit", json!({ "path": path, "edits": [{ "old_text": "secret", "new_text": "gone" }] })),
            ("apply_patch", json!({ "patch": patch(path) })),
            ("apply_patch", json!({ "patch": format!("--- {path}\n+++ /dev/null\n") })),
        ] {
            let message = message_of(call_in(&self.workspace(), tool, arguments));
            assert!(message.contains(expected), "{tool} {path}: {message}");
            assert!(!message.contains("the secret"), "{tool} {path}: {message}");
        }
        assert_eq!(fs::read_to_string(self.folder.path().join("secret")).unwrap(), SECRET);
        assert_eq!(fs::read_dir(self.workspace()).unwrap().count(), before);
        assert_eq!(fs::read_dir(self.folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn no_path_leads_out() {
    let scene = Scene::new();
    let absolute = scene.folder.path().join("secret");
    scene.all_refuse("../secret", "leads out of the workspace");
    scene.all_refuse("inside/../../secret", "leads out of the workspace");
    scene.all_refuse(absolute.to_str().unwrap(), "outside the workspace");
    let through = format!("{}/../secret", scene.workspace().display());
    scene.all_refuse(&through, "leads out of the workspace");
}

#[test]
fn no_link_leads_out() {
    let scene = Scene::new();
    scene.link("../secret", "file");
    scene.link("..", "folder");
    scene.link(scene.folder.path().join("secret"), "absolute");
    scene.link("inside", "step");
    scene.link("step/../../secret", "winding");
    for path in ["file", "folder/secret", "absolute", "winding", "step/../../secret"] {
        scene.all_refuse(path, "leads out of the workspace");
    }
    scene.link("../new", "dangling");
    let write = call_in(&scene.workspace(), "write", json!({ "path": "dangling", "content": "x" }));
    assert!(message_of(write).contains("leads out of the workspace"));
    assert!(!scene.folder.path().join("new").exists());
}

#[test]
fn links_inside_are_followed_and_stay_links() {
    let scene = Scene::new();
    scene.link("inside/file", "link");
    let workspace = scene.workspace();
    let read = call_in(&workspace, "read", json!({ "path": "link" })).unwrap();
    assert!(text_of(&read).contains("the secret"));
    call_in(&workspace, "write", json!({ "path": "link", "content": "new\n" })).unwrap();
    let edits = json!([{ "old_text": "new", "new_text": "newer" }]);
    call_in(&workspace, "edit", json!({ "path": "link", "edits": edits })).unwrap();
    assert!(fs::symlink_metadata(workspace.join("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(workspace.join("inside/file")).unwrap(), "newer\n");
    let both = "--- link\n+++ link\n@@ @@\n-newer\n+a\n--- inside/file\n+++ inside/file\n@@ @@\n-newer\n+b\n";
    assert!(message_of(call_in(&workspace, "apply_patch", json!({ "patch": both }))).contains("twice"));
}

#[test]
fn links_that_lead_nowhere_are_named() {
    let scene = Scene::new();
    scene.link("two", "one");
    scene.link("one", "two");
    scene.link("none", "dangling");
    scene.all_refuse("one", "leads back to itself");
    scene.all_refuse("one/x", "leads back to itself");
    let message = |tool: &str, arguments: Value| message_of(call_in(&scene.workspace(), tool, arguments));
    assert!(message("read", json!({ "path": "dangling" })).contains("does not exist"));
    assert!(
        message("write", json!({ "path": "dangling", "content": "x" })).contains("a link to something that")
    );
    let listed = call_in(&scene.workspace(), "ls", json!({ "depth": 8 })).unwrap();
    assert!(text_of(&listed).contains("dangling -> none\n"));
}

#[test]
fn special_files_are_never_opened_and_never_block() {
    let scene = Scene::new();
    let fifo = scene.workspace().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let _socket = UnixListener::bind(scene.workspace().join("socket")).unwrap();
    let started = Instant::now();
    for (name, kind) in [("fifo", "a FIFO"), ("socket", "a socket")] {
        scene.all_refuse(name, kind);
        scene.link(name, &format!("to-{name}"));
        scene.all_refuse(&format!("to-{name}"), kind);
    }
    // A device can only be made by root; elsewhere the way to one leads out.
    let device = scene.workspace().join("device");
    if Command::new("mknod").arg(&device).args(["c", "1", "3"]).output().unwrap().status.success() {
        scene.all_refuse("device", "a device");
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    let listed = call_in(&scene.workspace(), "ls", json!({})).unwrap();
    assert!(text_of(&listed).contains("fifo  (a FIFO)\n"));
    fs::create_dir(scene.workspace().join("folder")).unwrap();
    let write = call_in(&scene.workspace(), "write", json!({ "path": "folder", "content": "" }));
    assert!(message_of(write).contains("is a folder"));
}

#[test]
fn a_link_swapped_in_while_tools_work_leads_nowhere() {
    let scene = Scene::new();
    let (workspace, stop) = (scene.workspace(), AtomicBool::new(false));
    let run = run_in(&workspace);
    let tools = crate::files();
    let [read, write] = ["read", "write"].map(|name| bound(&tools, name, &run));
    fs::create_dir(workspace.join("swap")).unwrap();
    fs::write(workspace.join("swap/secret"), "harmless\n").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // `swap` is in turn a folder and a link to the folder outside; the writer may make one in between.
            let (swap, away) = (workspace.join("swap"), workspace.join("away"));
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::rename(&swap, &away);
                let _ = symlink("..", &swap);
                let _ = fs::remove_file(&swap);
                let _ = fs::rename(&away, &swap);
                let _ = fs::remove_dir_all(&away);
            }
        });
        for _ in 0..500 {
            if let Ok(result) = call(&*read, &run, json!({ "path": "swap/secret" })) {
                assert!(!text_of(&result).contains("the secret"));
            }
            let _ = call(&*write, &run, json!({ "path": "swap/secret", "content": "harmless\n" }));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(scene.folder.path().join("secret")).unwrap(), SECRET);
}

#[test]
fn a_workspace_that_is_deleted_meanwhile_is_an_error_and_no_more() {
    let scene = Scene::new();
    let run = run_in(&scene.workspace());
    let tools = crate::files();
    let [read, write, ls] = ["read", "write", "ls"].map(|name| bound(&tools, name, &run));
    fs::remove_dir_all(scene.workspace()).unwrap();
    assert!(message_of(call(&*read, &run, json!({ "path": "inside/file" }))).contains("does not exist"));
    assert!(call(&*write, &run, json!({ "path": "new/file", "content": "" })).is_err());
    let listed = call(&*ls, &run, json!({}));
    assert!(listed.is_err() || text_of(&listed.unwrap()).contains("empty"));
}

#[test]
fn changes_of_many_calls_at_once_are_all_there() {
    let scene = Scene::new();
    let workspace = scene.workspace();
    let lines: String = (0..20).map(|number| format!("line {number};\n")).collect();
    fs::write(workspace.join("shared"), lines).unwrap();
    let run = run_in(&workspace);
    let tools = crate::files();
    std::thread::scope(|scope| {
        for number in 0..20 {
            let (run, tools) = (&run, &tools);
            scope.spawn(move || {
                let edit = bound(tools, "edit", run);
                let old = format!("line {number};");
                let edits = json!([{ "old_text": old, "new_text": format!("edited {number};") }]);
                call(&*edit, run, json!({ "path": "shared", "edits": edits })).unwrap();
            });
        }
    });
    let file = BufReader::new(fs::File::open(workspace.join("shared")).unwrap());
    assert!(file.lines().all(|line| line.unwrap().starts_with("edited")));
}
