//! A command line and its confinement enter; a running group of processes leaves, with what it prints and how it ends.
//!
//! Two threads belong to each command: one collects its output and ends it when its time is up, one waits for it. A third
//! confines itself, starts the process and is gone, so that nothing of the host stays confined. Whatever happens, the
//! group is killed before its leader is reaped: until then no other process can have its number. Then what left the group
//! is looked for (`stragglers.rs`).

use std::collections::BTreeMap;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use airlock_core::ToolError;
use cap_std::fs::Dir;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::CommandPolicy;
use super::confine::confine_this_thread;
use super::output::{Output, Shown};
use super::scratch::Scratch;
use super::stragglers;
use crate::problem::failed;
use crate::workspace::Workspace;

/// How much is read at once: what a pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// How much is still read after the end, in bytes: the largest pipe. A process that left the group may write for ever.
const MAX_LEFT_BYTES: usize = 1 << 20;

/// What to run, and how.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) policy: Arc<CommandPolicy>,
    pub(crate) command: String,
    /// What skills of the run have for programs.
    pub(crate) skill_environment: BTreeMap<String, String>,
    pub(crate) workspace: Arc<Workspace>,
    /// Where it starts, inside the workspace.
    pub(crate) folder: Dir,
    /// The same as a path, for systems on which a descriptor has none.
    pub(crate) folder_path: PathBuf,
    pub(crate) scratch: Arc<Scratch>,
    pub(crate) is_confined: bool,
    /// Whether something will be written to its standard input.
    pub(crate) takes_input: bool,
    pub(crate) timeout: Duration,
    /// Its place among all that run at once.
    #[expect(dead_code, reason = "it is not read but held until the command is over")]
    pub(crate) place: OwnedSemaphorePermit,
}

/// A command that runs or has run. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Running(pub(super) Arc<Shared>);

/// A command and the news that it is over. It is killed if this is dropped before somebody keeps it.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) running: KillOnDrop,
    pub(crate) over: oneshot::Receiver<()>,
}

#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    started: Instant,
}

#[derive(Debug)]
struct State {
    /// The leader, until it is reaped: only so long is its number its own.
    leader: Option<Pid>,
    status: Option<ExitStatus>,
    cause: Option<Cause>,
    output: Output,
    input: Option<ChildStdin>,
    ran: Option<Duration>,
}

/// Why a command was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It took longer than it might.
    TimedOut,
    /// Nobody wants it any more.
    Killed,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) cause: Option<Cause>,
    pub(crate) ran: Duration,
}

/// Starts a command. If the future is dropped, what it started is killed.
pub(crate) async fn start(spec: Spec) -> Result<Started, ToolError> {
    let (send, receive) = oneshot::channel();
    let supervisor = thread::Builder::new().name("airlock-command".to_owned());
    let spawned = supervisor.spawn(move || supervise(spec, send));
    spawned.map_err(|error| {
        ToolError::Unavailable(format!("the host has no thread to spare ({error}); try again later"))
    })?;
    let started = receive.await.unwrap_or_else(|_| Err("its thread failed inside the host".to_owned()));
    started.map_err(|problem| failed(format!("the command was not started: {problem}")))
}

fn supervise(spec: Spec, started: oneshot::Sender<Result<Started, String>>) {
    let Launched { running, output, done } = match launch(&spec) {
        Ok(launched) => launched,
        Err(problem) => return drop(started.send(Err(problem))),
    };
    let (over_send, over) = oneshot::channel();
    // If nobody waits any more, then what is sent is dropped, and the command killed.
    let _ = started.send(Ok(Started { running: KillOnDrop::new(running.clone()), over }));
    running.collect(output, &done, Instant::now().checked_add(spec.timeout));
    // The place is free before anybody hears of the end.
    drop(spec);
    running.finish();
    let _ = over_send.send(());
}

/// A process that runs, somebody who waits for it, and the pipes to hear from both.
struct Launched {
    running: Running,
    output: PipeReader,
    /// Closed by the thread that waits, so that the other can wait for this and for output at once.
    done: PipeReader,
}

fn launch(spec: &Spec) -> Result<Launched, String> {
    let no_pipe = |error: io::Error| format!("the host has no pipe to spare: {error}");
    let (output, output_end) = io::pipe().map_err(no_pipe)?;
    // Only this end becomes non-blocking; the command's own is another.
    set_nonblocking(&output).map_err(|error| no_pipe(error.into()))?;
    let (done, done_end) = io::pipe().map_err(no_pipe)?;
    let mark = stragglers::mark();
    // There is somebody to wait for the process before there is a process.
    let (hand_over, handed_over) = mpsc::channel::<(Running, Child)>();
    let own_mark = mark.clone();
    let waiter = thread::Builder::new().name("airlock-wait".to_owned()).spawn(move || {
        if let Ok((running, mut child)) = handed_over.recv() {
            running.reap(&mut child);
            stragglers::kill(&own_mark);
        }
        drop(done_end);
    });
    waiter.map_err(|error| format!("the host has no thread to spare: {error}"))?;
    let mut child = launch_confined(spec, &mark, output_end)?;
    let input = child.stdin.take().filter(|input| set_nonblocking(input).is_ok());
    let running = Running(Arc::new(Shared {
        state: Mutex::new(State {
            leader: Some(Pid::from_child(&child)),
            status: None,
            cause: None,
            output: Output::default(),
            input,
            ran: None,
        }),
        changed: Condvar::new(),
        started: Instant::now(),
    }));
    hand_over.send((running.clone(), child)).map_err(|_| "its thread failed inside the host".to_owned())?;
    Ok(Launched { running, output, done })
}

/// Starts the process from a thread that is confined first, and ends with that.
fn launch_confined(spec: &Spec, mark: &str, output: io::PipeWriter) -> Result<Child, String> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("airlock-launch".to_owned());
        let launched = builder.spawn_scoped(scope, move || {
            let mut command = prepare(spec, mark, output).map_err(|error| error.to_string())?;
            if spec.is_confined {
                confine_this_thread(&spec.policy, &spec.workspace.folder, spec.scratch.path())?;
            }
            command.spawn().map_err(|error| {
                let shell = spec.policy.shell.display();
                format!("`{shell}` could not be run: {error}")
            })
        });
        let launched = launched.map_err(|error| format!("the host has no thread to spare: {error}"))?;
        launched.join().unwrap_or_else(|_| Err("its thread failed inside the host".to_owned()))
    })
}

fn prepare(spec: &Spec, mark: &str, output: io::PipeWriter) -> io::Result<Command> {
    let scratch = spec.scratch.path().to_string_lossy();
    let mut command = Command::new(&spec.policy.shell);
    command
        .arg("-c")
        .arg(&spec.command)
        .env_clear()
        .envs(spec.policy.environment(&spec.skill_environment, &scratch, mark))
        .current_dir(start_folder(spec))
        // A group of its own, so that all of it can be killed.
        .process_group(0)
        .stdin(if spec.takes_input { Stdio::piped() } else { Stdio::null() })
        // One pipe for both, so that lines stand in the order in which they were printed.
        .stdout(output.try_clone()?)
        .stderr(output);
    Ok(command)
}

/// The folder by its descriptor, which no link can be swapped for; by its path where descriptors have none.
fn start_folder(spec: &Spec) -> PathBuf {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::{AsFd as _, AsRawFd as _};
        let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", spec.folder.as_fd().as_raw_fd()));
        if by_descriptor.exists() {
            return by_descriptor;
        }
    }
    let _ = &spec.folder;
    spec.folder_path.clone()
}

fn set_nonblocking(pipe: &impl std::os::fd::AsFd) -> rustix::io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(pipe)?;
    rustix::fs::fcntl_setfl(pipe, flags | OFlags::NONBLOCK)
}

impl Running {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the whole group, if its leader is still there.
    pub(crate) fn kill(&self, cause: Cause) {
        let mut state = self.state();
        if let Some(leader) = state.leader {
            state.cause.get_or_insert(cause);
            // It can only fail because all are gone.
            let _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
    }

    /// Waits until the leader ends, kills what it left behind in its group, and reaps it.
    fn reap(&self, child: &mut Child) {
        let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let pid = Pid::from_child(child);
        let seen = loop {
            match rustix::process::waitid(WaitId::Pid(pid), exited) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        let mut state = self.state();
        // If somebody else in this process reaped it, its number may be another's.
        if seen.is_ok() {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
        state.leader = None;
        state.status = child.wait().ok();
    }

    /// Takes in what the command prints until it is over, and kills it at its deadline.
    fn collect(&self, mut output: PipeReader, done: &PipeReader, mut deadline: Option<Instant>) {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut is_open = true;
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                self.kill(Cause::TimedOut);
                deadline = None;
                continue;
            }
            let mut watched = vec![PollFd::new(done, PollFlags::IN)];
            if is_open {
                watched.push(PollFd::new(&output, PollFlags::IN));
            }
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            match rustix::event::poll(&mut watched, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => {
                    // Unwatched it must not run.
                    self.kill(Cause::Killed);
                    let _ = (&*done).read(&mut [0]);
                    break;
                }
            }
            let is_ready = |fd: Option<&PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
            let (is_done, is_readable) = (is_ready(watched.first()), is_ready(watched.get(1)));
            if is_readable {
                is_open = !matches!(self.take_in(&mut output, &mut chunk), Ok(0));
            }
            if is_done {
                break;
            }
        }
        let mut left = MAX_LEFT_BYTES;
        while is_open && left > 0 {
            match self.take_in(&mut output, &mut chunk) {
                Ok(0) | Err(_) => is_open = false,
                Ok(read) => left = left.saturating_sub(read),
            }
        }
    }

    fn take_in(&self, output: &mut PipeReader, chunk: &mut [u8]) -> io::Result<usize> {
        let read = output.read(chunk)?;
        self.state().output.push(chunk.get(..read).unwrap_or_default());
        Ok(read)
    }

    fn finish(&self) {
        let mut state = self.state();
        state.ran = Some(self.0.started.elapsed());
        state.input = None;
        self.0.changed.notify_all();
    }

    /// How it ended, if it did.
    pub(crate) fn end(&self) -> Option<End> {
        let state = self.state();
        let status = state.status;
        state.ran.map(|ran| End {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            cause: state.cause,
            ran,
        })
    }

    /// What it printed since this was last asked.
    pub(crate) fn take_output(&self) -> Shown {
        std::mem::take(&mut self.state().output).shown()
    }

    pub(crate) fn has_output(&self) -> bool {
        !self.state().output.is_empty()
    }

    pub(crate) fn age(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// Blocks until it is over, for a time, or until `is_given_up`.
    pub(crate) fn wait(&self, patience: Duration, is_given_up: impl Fn() -> bool) {
        let is_waiting = |state: &mut State| state.ran.is_none() && !is_given_up();
        let _ = self.0.changed.wait_timeout_while(self.state(), patience, is_waiting);
    }

    /// Lets those who wait look again.
    pub(crate) fn wake(&self) {
        let _state = self.state();
        self.0.changed.notify_all();
    }

    /// Writes to its standard input as much as it takes without waiting, and says how many bytes that were.
    pub(crate) fn write(&self, text: &str, is_last: bool) -> Result<usize, String> {
        let mut state = self.state();
        let Some(input) = &mut state.input else {
            return Err("its input is closed".to_owned());
        };
        let mut written = 0;
        while let Some(rest) = text.as_bytes().get(written..).filter(|rest| !rest.is_empty()) {
            match input.write(rest) {
                Ok(0) => break,
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(format!("it does not take input any more ({error})")),
            }
        }
        if is_last && written == text.len() {
            state.input = None;
        }
        Ok(written)
    }
}

/// Kills a command that nobody waits for any more.
#[derive(Debug)]
pub(crate) struct KillOnDrop {
    pub(crate) running: Running,
    is_kept: bool,
}

impl KillOnDrop {
    fn new(running: Running) -> Self {
        Self { running, is_kept: false }
    }

    /// The command, which is somebody else's from now on.
    pub(crate) fn keep(mut self) -> Running {
        self.is_kept = true;
        self.running.clone()
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if !self.is_kept {
            self.running.kill(Cause::Killed);
        }
    }
}
