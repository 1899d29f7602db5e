//! Two hundred commands enter; the process has as many descriptors, threads and zombies afterwards as before. It counts
//! what belongs to the whole process, so it is alone in its own.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test binary")]

use std::fs;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use airlock_core::{Binding, CallId, NativeCall, ProgressSink, RunContext};
use airlock_native_tools::{CommandPolicy, Commands, Confinement};
use serde_json::json;

/// Waits for a future on this thread, without a runtime: the tools must not need one.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Descriptors, threads, and children that are alive or not reaped.
fn held() -> (usize, usize, usize) {
    let count = |folder: &str| fs::read_dir(folder).unwrap().count();
    let own = format!(" {} ", std::process::id());
    let children = fs::read_dir("/proc").unwrap().filter(|entry| {
        let stat = fs::read_to_string(entry.as_ref().unwrap().path().join("stat")).unwrap_or_default();
        // After the name, which is in brackets, come the state and the parent.
        stat.rsplit(')').next().is_some_and(|rest| rest.get(2..).is_some_and(|rest| rest.starts_with(&own)))
    });
    (count("/proc/self/fd"), count("/proc/self/task"), children.count())
}

#[test]
fn commands_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let commands = Commands::new(CommandPolicy {
        confinement: Confinement::WhereAvailable,
        temporary: folder.path().to_owned(),
        ..CommandPolicy::default()
    });
    let mut run = RunContext::new("coder");
    run.workspace = Some(folder.path().to_str().unwrap().to_owned());
    let tools = commands.tools();
    let exec = match tools.first().unwrap().bind(&run).unwrap() {
        Binding::Made(tool) => tool,
        other => panic!("{other:?}"),
    };
    let call = |arguments: serde_json::Value| NativeCall {
        call_id: CallId::parse("call-1").unwrap(),
        arguments,
        run: Arc::new(run.clone()),
        progress: ProgressSink::default(),
    };
    let run_one = |number: usize| {
        let command = match number % 4 {
            0 => "true",
            1 => "head -c 100000 /dev/zero",
            2 => "sleep 1000 & echo started",
            _ => "sleep 1000",
        };
        let arguments = json!({ "command": command, "timeout_ms": if number % 4 == 3 { 5 } else { 60_000 } });
        block_on(exec.execute(call(arguments))).unwrap();
    };
    let settled = |expected: (usize, usize, usize)| {
        let deadline = Instant::now() + Duration::from_secs(10);
        while held() != expected {
            assert!(Instant::now() < deadline, "{:?} are left of {expected:?}", held());
            thread::sleep(Duration::from_millis(5));
        }
    };
    let before = held();
    run_one(0);
    settled(before);
    for number in 0..200 {
        run_one(number);
        // A call that is dropped before its end, and in the midst of its start.
        drop(exec.execute(call(json!({ "command": "sleep 1000" }))));
        let mut dropped = exec.execute(call(json!({ "command": "sleep 1000" })));
        let _ = dropped.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    settled(before);
    commands.shutdown();
    drop((exec, tools, commands));
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs::read_dir(folder.path()).unwrap().count() > 0 {
        assert!(Instant::now() < deadline, "a temporary folder is left");
        thread::sleep(Duration::from_millis(5));
    }
}
