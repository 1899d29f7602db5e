//! What a command could try enters; that it stays where it belongs and ends when it must is what leaves. Tests only.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use airlock_core::{NativeTool, RunContext, ToolError, ToolResult};
use serde_json::{Value, json};

use super::*;
use crate::tool::testing::{bound, call, message_of, native_call, run_in, text_of};

/// A folder with `secret` in it, and beside it a workspace and a folder for temporary ones; and commands for it.
struct Scene {
    folder: tempfile::TempDir,
    commands: Commands,
    run: RunContext,
}

impl Scene {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut CommandPolicy)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "the secret\n").unwrap();
        for name in ["workspace", "temporary"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let mut policy = CommandPolicy {
            confinement: Confinement::WhereAvailable,
            temporary: folder.path().join("temporary"),
            ..CommandPolicy::default()
        };
        change(&mut policy);
        let run = run_in(&folder.path().join("workspace"));
        Self { folder, commands: Commands::new(policy), run }
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    fn tool(&self, name: &str, run: &RunContext) -> Arc<dyn NativeTool> {
        bound(&self.commands.tools(), name, run)
    }

    fn try_exec(&self, arguments: Value) -> Result<ToolResult, ToolError> {
        call(&*self.tool("exec", &self.run), &self.run, arguments)
    }

    fn exec(&self, command: &str) -> ToolResult {
        self.try_exec(json!({ "command": command })).unwrap()
    }

    fn process(&self, arguments: Value) -> Result<ToolResult, ToolError> {
        call(&*self.tool("process", &self.run), &self.run, arguments)
    }

    /// Starts a command in the background and gives its id.
    fn background(&self, command: &str) -> String {
        let result = self.try_exec(json!({ "command": command, "background": true })).unwrap();
        result.details.unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// The process id that a command wrote into a file, once it did.
    fn pid_in(&self, name: &str) -> String {
        let file = self.workspace().join(name);
        wait_until(|| fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
        fs::read_to_string(&file).unwrap().trim().to_owned()
    }
}

#[track_caller]
fn wait_until(holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "it did not come to be in ten seconds");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is gone, or dead and only waits for whoever inherited it.
fn is_dead(pid: &str) -> bool {
    assert!(!pid.is_empty());
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

/// Says so where the kernel cannot confine, and the test has nothing to test.
fn cannot_confine() -> bool {
    if let Some(missing) = confine::missing() {
        use std::io::Write as _;
        // Written past the capture of the test harness, so that nobody takes this for a pass.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {missing}");
        return true;
    }
    false
}

#[test]
fn a_command_gives_what_it_printed_and_how_it_ended() {
    let scene = Scene::new();
    let result = scene.exec("echo out; echo err >&2; printf 'no end'; exit 3");
    assert_eq!(text_of(&result), "out\nerr\nno end\n[exit code 3]");
    let details = result.details.unwrap();
    assert_eq!((details["exit_code"].as_i64(), details["output_bytes"].as_u64()), (Some(3), Some(14)));
    assert_eq!(text_of(&scene.exec("kill -9 $$")), "[ended by signal 9]");
    assert_eq!(text_of(&scene.exec("printf 'a\\377\\033b'")), "a\u{fffd}\\u{1b}b\n[exit code 0]");
    let started = Instant::now();
    assert_eq!(text_of(&scene.exec("cat")), "[exit code 0]");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn the_environment_and_the_folder_are_given() {
    let scene = Scene::with(|policy| {
        policy.environment.insert("GIVEN".to_owned(), "yes".to_owned());
    });
    fs::create_dir(scene.workspace().join("inner")).unwrap();
    let names = scene.exec("env | cut -d= -f1 | sort | tr '\\n' ' '");
    let names: Vec<&str> = text_of(&names).lines().next().unwrap().split_whitespace().collect();
    assert_eq!(names, ["AIRLOCK_COMMAND", "GIVEN", "HOME", "LANG", "PATH", "PWD", "TERM", "TMPDIR"]);
    let inner = scene.try_exec(json!({ "command": "pwd", "cwd": "inner" })).unwrap();
    assert!(text_of(&inner).starts_with(scene.workspace().join("inner").to_str().unwrap()));
    let out = scene.try_exec(json!({ "command": "pwd", "cwd": ".." }));
    assert!(message_of(out).contains("leads out of the workspace"));
    let none = scene.try_exec(json!({ "command": "pwd", "cwd": "none" }));
    assert!(message_of(none).contains("does not exist"));
}

#[test]
fn temporary_folders_are_shared_by_a_session_and_go() {
    let scene = Scene::new();
    let exec = scene.tool("exec", &scene.run);
    let run = |command: &str| call(&*exec, &scene.run, json!({ "command": command })).unwrap();
    run("echo kept > $TMPDIR/file");
    assert_eq!(text_of(&run("cat $TMPDIR/file")), "kept\n[exit code 0]");
    let temporary = scene.folder.path().join("temporary");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
    drop(exec);
    wait_until(|| fs::read_dir(&temporary).unwrap().count() == 0);
}

#[test]
fn timeout_obeyed_and_violated() {
    let scene = Scene::new();
    let quick = scene.try_exec(json!({ "command": "sleep 0.05; echo done", "timeout_ms": 10_000 })).unwrap();
    assert_eq!(text_of(&quick), "done\n[exit code 0]");
    let command =
        "sleep 1000 & echo $! > grandchild; (sleep 1000 & echo $! > great) ; echo before; sleep 1000";
    let slow = scene.try_exec(json!({ "command": command, "timeout_ms": 500 })).unwrap();
    assert!(text_of(&slow).starts_with("before\n[timed out after "), "{}", text_of(&slow));
    assert_eq!(slow.details.unwrap()["timed_out"], json!(true));
    for name in ["grandchild", "great"] {
        let pid = scene.pid_in(name);
        wait_until(|| is_dead(&pid));
    }
}

#[test]
fn the_largest_timeout_holds_whatever_was_asked() {
    let scene = Scene::with(|policy| {
        (policy.default_timeout, policy.max_timeout) =
            (Duration::from_millis(200), Duration::from_millis(300));
    });
    for arguments in
        [json!({ "command": "sleep 1000" }), json!({ "command": "sleep 1000", "timeout_ms": u64::MAX })]
    {
        assert!(text_of(&scene.try_exec(arguments).unwrap()).starts_with("[timed out"));
    }
}

#[test]
fn what_a_command_leaves_running_is_killed() {
    let scene = Scene::new();
    let result = scene.exec("sleep 1000 & echo $! > left; echo ready");
    assert_eq!(text_of(&result), "ready\n[exit code 0]");
    let pid = scene.pid_in("left");
    wait_until(|| is_dead(&pid));
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_left_the_group_is_killed_too() {
    let scene = Scene::new();
    for command in [
        "setsid sleep 1000 & echo $! > left; sleep 0.2; echo ready",
        "bash -c 'set -m; sleep 1000 & echo $! > left'; echo ready",
        "(setsid sh -c 'sleep 1000 & echo $! > left; wait' &); sleep 0.3; echo ready",
    ] {
        let _ = fs::remove_file(scene.workspace().join("left"));
        assert!(text_of(&scene.exec(command)).ends_with("ready\n[exit code 0]"));
        let pid = scene.pid_in("left");
        wait_until(|| is_dead(&pid));
    }
}

#[test]
fn a_process_that_hides_holds_up_nobody() {
    let scene = Scene::new();
    let started = Instant::now();
    let result = scene.exec("setsid env -i sleep 1000 & echo $! > left; sleep 0.2; echo ready");
    assert_eq!(text_of(&result), "ready\n[exit code 0]");
    assert!(started.elapsed() < Duration::from_secs(10));
    // It lives on, as the documentation says; the test ends it.
    let pid = rustix::process::Pid::from_raw(scene.pid_in("left").parse().unwrap()).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

#[test]
fn a_dropped_call_kills_the_group() {
    let scene = Scene::new();
    let exec = scene.tool("exec", &scene.run);
    {
        let command = "sleep 1000 & echo $! > inner; echo $$ > leader; wait";
        let mut future = pin!(exec.execute(native_call(&scene.run, json!({ "command": command }))));
        let mut context = Context::from_waker(Waker::noop());
        // Nothing wakes it: a poll now and then is what starts it and finds that it runs.
        while !scene.workspace().join("leader").exists() {
            assert!(future.as_mut().poll(&mut context).is_pending());
            thread::sleep(Duration::from_millis(5));
        }
    }
    for name in ["inner", "leader"] {
        let pid = scene.pid_in(name);
        wait_until(|| is_dead(&pid));
    }
}

#[test]
fn output_is_bounded_and_counted() {
    let scene = Scene::new();
    let result = scene.exec("echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last");
    let text = text_of(&result);
    assert!(text.starts_with("first\nx") && text.ends_with("\nlast\n[exit code 0]"));
    assert!(text.contains("bytes left out") && text.chars().count() < 15_000);
    assert_eq!(result.details.unwrap()["output_bytes"], json!(5_000_012));
}

#[test]
fn background_commands_are_polled_written_to_and_killed() {
    let scene = Scene::new();
    let id = scene.background("while read line; do echo got $line; done; echo end");
    let wrote = scene.process(json!({ "action": "write", "id": id, "text": "one\n" })).unwrap();
    assert_eq!(text_of(&wrote), format!("wrote 4 bytes to `{id}`"));
    wait_until(|| text_of(&scene.process(json!({ "action": "list" })).unwrap()).contains("new output"));
    let poll = scene.process(json!({ "action": "poll", "id": id })).unwrap();
    assert!(text_of(&poll).starts_with("got one\n[running for"), "{}", text_of(&poll));
    scene.process(json!({ "action": "write", "id": id, "text": "two\n", "end_input": true })).unwrap();
    let poll = scene.process(json!({ "action": "poll", "id": id, "wait_ms": 10_000 })).unwrap();
    assert_eq!(text_of(&poll), "got two\nend\n[exit code 0]");
    assert!(
        message_of(scene.process(json!({ "action": "poll", "id": id }))).contains("no background command")
    );

    let id = scene.background("sleep 1000 & echo $! > child; echo started; wait");
    let pid = scene.pid_in("child");
    let killed = scene.process(json!({ "action": "kill", "id": id })).unwrap();
    assert_eq!(text_of(&killed), "started\n[killed with all that it started]");
    wait_until(|| is_dead(&pid));
    assert_eq!(
        text_of(&scene.process(json!({ "action": "list" })).unwrap()),
        "[this session has nothing in the background]"
    );
    assert!(message_of(scene.process(json!({ "action": "poll" }))).contains("needs the `id`"));
}

#[test]
fn input_that_nobody_reads_is_not_waited_for() {
    let scene = Scene::new();
    let id = scene.background("sleep 1000");
    let text = "x".repeat(500_000);
    let written = scene.process(json!({ "action": "write", "id": id, "text": text }));
    assert!(message_of(written).contains("does not read on at the moment"));
}

#[test]
fn another_session_sees_and_touches_nothing() {
    let scene = Scene::new();
    let id = scene.background("echo mine; sleep 1000");
    let other = |change: fn(&mut RunContext)| {
        let mut run = scene.run.clone();
        change(&mut run);
        run
    };
    for run in [
        other(|run| run.session = "another".to_owned()),
        other(|run| run.session_key = "another".to_owned()),
        other(|run| run.agent = "another".to_owned()),
    ] {
        let tool = scene.tool("process", &run);
        let list = call(&*tool, &run, json!({ "action": "list" })).unwrap();
        assert_eq!(text_of(&list), "[this session has nothing in the background]");
        for action in ["poll", "write", "kill"] {
            let answer = call(&*tool, &run, json!({ "action": action, "id": id, "text": "x" }));
            assert!(message_of(answer).contains("this session has no background command"));
        }
    }
    let next = other(|run| run.run = "the next turn".to_owned());
    let poll = call(&*scene.tool("process", &next), &next, json!({ "action": "list" })).unwrap();
    assert!(text_of(&poll).starts_with(&id));
}

#[test]
fn background_commands_obeyed_and_violated() {
    let scene = Scene::with(|policy| policy.max_background_per_session = 2);
    let first = scene.background("sleep 1000");
    scene.background("sleep 1000");
    let third = || scene.try_exec(json!({ "command": "true", "background": true }));
    assert!(message_of(third()).contains("2 commands run in the background already"));
    scene.process(json!({ "action": "kill", "id": first })).unwrap();
    assert!(third().is_ok());
    let scene = Scene::with(|policy| policy.max_background = 1);
    scene.background("sleep 1000");
    let second = scene.try_exec(json!({ "command": "true", "background": true }));
    assert!(message_of(second).contains("too many commands run in the background"));
}

#[test]
fn results_that_nobody_asks_for_are_forgotten() {
    let scene = Scene::new();
    let exec = scene.tool("exec", &scene.run);
    for number in 0..20 {
        call(&*exec, &scene.run, json!({ "command": "true", "background": true })).unwrap();
        let ended = |line: &str| line.contains("exit code 0");
        wait_until(|| {
            let list = scene.process(json!({ "action": "list" })).unwrap();
            text_of(&list).lines().filter(|line| ended(line)).count() == (number + 1).min(17)
                || text_of(&list).lines().all(ended)
        });
    }
    let list = scene.process(json!({ "action": "list" })).unwrap();
    let lines: Vec<&str> = text_of(&list).lines().collect();
    assert!((16..=17).contains(&lines.len()), "{lines:?}");
    assert!(lines.last().unwrap().starts_with("command-20:"));
}

#[test]
fn nothing_outlives_its_session_or_its_host() {
    let scene = Scene::new();
    scene.background("echo $$ > one; sleep 1000");
    let one = scene.pid_in("one");
    scene.commands.end_session(&scene.run);
    wait_until(|| is_dead(&one));

    scene.background("echo $$ > two; sleep 1000");
    let two = scene.pid_in("two");
    let exec = scene.tool("exec", &scene.run);
    scene.commands.shutdown();
    assert!(is_dead(&two));
    let late = call(&*exec, &scene.run, json!({ "command": "true" }));
    assert!(message_of(late).contains("shutting down"));

    let scene = Scene::new();
    scene.background("echo $$ > three; sleep 1000");
    let three = scene.pid_in("three");
    let Scene { commands, folder, .. } = scene;
    drop(commands);
    wait_until(|| is_dead(&three));
    drop(folder);
}

#[test]
fn a_confined_command_reads_and_changes_nothing_outside() {
    if cannot_confine() {
        return;
    }
    let scene = Scene::new();
    let secret = scene.folder.path().join("secret");
    let out = secret.display();
    std::os::unix::fs::symlink(&secret, scene.workspace().join("link")).unwrap();
    for command in [
        format!("cat {out}"),
        "cat link".to_owned(),
        "cat ../secret".to_owned(),
        format!("sh -c 'sh -c \"cat {out}\"'"),
        format!("echo x >> {out}"),
        format!(": > {out}"),
        format!("rm {out}"),
        format!("mv {out} ."),
        format!("ln {out} hard"),
        format!("cp /bin/sh {out}.copy"),
        format!("truncate -s 0 {out}"),
        "ls ..".to_owned(),
        "mkdir ../new".to_owned(),
        "cat /proc/self/environ".to_owned(),
        "mknod device c 1 3".to_owned(),
        "head -c 1 /dev/mem".to_owned(),
        format!("kill -0 {}", std::process::id()),
    ] {
        let result = scene.exec(&command);
        let code = result.details.as_ref().unwrap()["exit_code"].as_i64();
        assert!(code.is_some_and(|code| code > 0), "{command}: {}", text_of(&result));
        assert!(!text_of(&result).contains("the secret"), "{command}");
    }
    // The host itself is not confined.
    assert_eq!(fs::read_to_string(&secret).unwrap(), "the secret\n");
    assert_eq!(fs::read_dir(scene.folder.path()).unwrap().count(), 3);
}

#[test]
fn a_confined_command_can_do_its_work() {
    if cannot_confine() {
        return;
    }
    let scene = Scene::new();
    let result = scene.exec(
        "mkdir a && echo '#!/bin/sh\necho ran' > a/x && chmod +x a/x && a/x && mv a/x y && rm -r a && \
         cat /etc/passwd > /dev/null && echo x > $TMPDIR/x && mv $TMPDIR/x z && ls /usr > /dev/null && kill -0 $$",
    );
    assert_eq!(text_of(&result), "ran\n[exit code 0]");
    assert_eq!(result.details.unwrap()["confinement"], json!("landlock"));
    let allowed = scene.folder.path().join("allowed");
    fs::create_dir(&allowed).unwrap();
    let given = Scene::with(|policy| {
        policy.readable = vec![scene.folder.path().join("secret"), "/does/not/exist".into()];
        policy.writable = vec![allowed.clone()];
    });
    let (from, to) = (scene.folder.path().join("secret"), allowed.join("copy"));
    given.exec(&format!("cat {} > {}", from.display(), to.display()));
    assert_eq!(fs::read_to_string(to).unwrap(), "the secret\n");
    let no_change = given.exec(&format!("echo x >> {}", from.display()));
    assert_ne!(no_change.details.unwrap()["exit_code"], json!(0));
}

#[test]
fn the_network_is_refused_unless_it_is_allowed() {
    if cannot_confine() || !Path::new("/bin/bash").exists() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connects = |network| {
        let scene = Scene::with(|policy| (policy.network, policy.shell) = (network, "/bin/bash".into()));
        let result = scene.exec(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}"));
        result.details.unwrap()["exit_code"] == json!(0)
    };
    assert!(connects(Network::Allowed));
    assert!(!connects(Network::Refused));
}
