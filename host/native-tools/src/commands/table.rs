//! What runs enters with its owner; only its owner gets it back. Ends everything when the host is done.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use airlock_core::{RunContext, ToolError, text};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::child::{Cause, Running, Shared, Spec, Started, start};
use super::confine;
use super::scratch::Scratch;
use super::{CommandPolicy, Confinement};
use crate::blocking::Threads;
use crate::problem::failed;
use crate::workspace::{NamedWorkspace, Workspaces};

/// How many background commands of one session are kept after their end, until somebody asks for their result.
const MAX_ENDED_PER_SESSION: usize = 16;

/// The same of all sessions together: a mebibyte or four of output.
const MAX_ENDED: usize = 256;

/// Longest command line that a list shows, in characters.
const MAX_SHOWN_CHARS: usize = 120;

/// How long `shutdown` waits for processes that were killed: they are gone in a millisecond, unless the kernel is stuck.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whose commands they are: one incarnation of one conversation of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    agent: String,
    session_key: String,
    session: String,
}

impl Owner {
    pub(crate) fn of(run: &RunContext) -> Self {
        Self { agent: run.agent.clone(), session_key: run.session_key.clone(), session: run.session.clone() }
    }
}

/// All commands of one host.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) policy: Arc<CommandPolicy>,
    pub(crate) threads: Threads,
    workspaces: Workspaces,
    foreground: Arc<Semaphore>,
    background: Arc<Semaphore>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    is_closed: bool,
    last_number: u64,
    /// All that run, in the foreground too.
    running: Vec<Weak<Shared>>,
    background: Vec<Background>,
    scratches: HashMap<Owner, Weak<Scratch>>,
}

/// A command in the background.
#[derive(Debug, Clone)]
pub(crate) struct Background {
    pub(crate) id: String,
    /// Its command line, shortened and safe to show.
    pub(crate) shown: String,
    pub(crate) running: Running,
    owner: Owner,
}

/// What a run's tools have of the table.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) workspace: NamedWorkspace,
    pub(crate) owner: Owner,
    pub(crate) is_confined: bool,
    /// Kept while the run's tools are, so that commands after one another share it.
    scratch: Arc<Mutex<Option<Arc<Scratch>>>>,
}

impl Table {
    pub(crate) fn new(policy: CommandPolicy) -> Self {
        let places = |most: usize| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self {
            foreground: places(policy.max_foreground),
            background: places(policy.max_background),
            policy: Arc::new(policy),
            threads: Threads::default(),
            workspaces: Workspaces::default(),
            inner: Mutex::default(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a run gets, or why nothing, as the end of a sentence that begins with a tool's name.
    pub(crate) fn bind(&self, run: &RunContext) -> Result<Bound, String> {
        let workspace = self.workspaces.open(run)?;
        let missing = confine::missing();
        if let Some(refusal) = refusal(missing.as_deref(), self.policy.confinement, run.sandboxed) {
            return Err(refusal);
        }
        let owner = Owner::of(run);
        Ok(Bound { workspace, owner, is_confined: missing.is_none(), scratch: Arc::default() })
    }

    /// The temporary folder of a run: its session's, if that has one.
    pub(crate) fn scratch(&self, bound: &Bound) -> Result<Arc<Scratch>, ToolError> {
        let mut own = bound.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scratch) = &*own {
            return Ok(Arc::clone(scratch));
        }
        let mut inner = self.inner();
        let shared = inner.scratches.get(&bound.owner).and_then(Weak::upgrade);
        let scratch = match shared {
            Some(scratch) => scratch,
            None => Arc::new(Scratch::make_in(&self.policy.temporary).map_err(|error| {
                let folder = self.policy.temporary.display();
                ToolError::Unavailable(format!("no temporary folder could be made in {folder}: {error}"))
            })?),
        };
        inner.scratches.retain(|_, scratch| scratch.strong_count() > 0);
        inner.scratches.insert(bound.owner.clone(), Arc::downgrade(&scratch));
        *own = Some(Arc::clone(&scratch));
        Ok(scratch)
    }

    /// Waits for a place among all that are waited for. Those in the background have their own, since they keep them.
    pub(crate) async fn foreground_place(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        Arc::clone(&self.foreground).acquire_owned().await.map_err(|_closed| closed())
    }

    /// A place for a background command of a session, which has only so many.
    pub(crate) fn background_place(&self, owner: &Owner) -> Result<OwnedSemaphorePermit, ToolError> {
        let running = self.of(owner).iter().filter(|background| background.running.end().is_none()).count();
        if running >= self.policy.max_background_per_session {
            return Err(failed(format!(
                "{running} commands run in the background already, which is the most; `process` lists and kills them"
            )));
        }
        Arc::clone(&self.background).try_acquire_owned().map_err(|error| match error {
            TryAcquireError::Closed => closed(),
            TryAcquireError::NoPermits => {
                failed("too many commands run in the background of this host; try again when one has ended")
            }
        })
    }

    /// Starts a command, and knows of it from then on.
    pub(crate) async fn start(&self, spec: Spec) -> Result<Started, ToolError> {
        let started = start(spec).await?;
        let mut inner = self.inner();
        inner.running.retain(|running| running.strong_count() > 0);
        inner.running.push(Arc::downgrade(&started.running.running.0));
        if inner.is_closed { Err(closed()) } else { Ok(started) }
    }

    /// Keeps a command in the background, under an id.
    pub(crate) fn keep(&self, owner: &Owner, command: &str, running: Running) -> String {
        let mut inner = self.inner();
        inner.last_number += 1;
        let id = format!("command-{}", inner.last_number);
        let shown = text::single_line(&text::shorten(command, MAX_SHOWN_CHARS)).into_owned();
        let owner = owner.clone();
        inner.background.push(Background { id: id.clone(), shown, running, owner: owner.clone() });
        inner.forget_oldest(MAX_ENDED_PER_SESSION, |background| background.owner == owner);
        inner.forget_oldest(MAX_ENDED, |_| true);
        id
    }

    /// What a session has in the background.
    pub(crate) fn of(&self, owner: &Owner) -> Vec<Background> {
        self.inner().background.iter().filter(|background| background.owner == *owner).cloned().collect()
    }

    /// One command of a session. That another session has one of this id does not show.
    pub(crate) fn find(&self, owner: &Owner, id: &str) -> Option<Background> {
        self.of(owner).into_iter().find(|background| background.id == id)
    }

    /// Forgets a command whose result was given.
    pub(crate) fn forget(&self, id: &str) {
        self.inner().background.retain(|background| background.id != id);
    }

    pub(crate) fn end_session(&self, owner: &Owner) {
        for background in self.of(owner) {
            background.running.kill(Cause::Killed);
            self.forget(&background.id);
        }
    }

    pub(crate) fn shutdown(&self) {
        self.foreground.close();
        self.background.close();
        let running: Vec<Running> = {
            let mut inner = self.inner();
            inner.is_closed = true;
            inner.background.clear();
            inner.running.drain(..).filter_map(|running| running.upgrade()).map(Running).collect()
        };
        running.iter().for_each(|running| running.kill(Cause::Killed));
        let deadline = Instant::now() + PATIENCE;
        for running in running {
            running.wait(deadline.saturating_duration_since(Instant::now()), || false);
        }
    }
}

impl Inner {
    /// Forgets the oldest commands among those `which`, until no more than `most` that have ended are left.
    fn forget_oldest(&mut self, most: usize, which: impl Fn(&Background) -> bool) {
        let is_meant = |background: &Background| which(background) && background.running.end().is_some();
        let ended = self.background.iter().filter(|background| is_meant(background)).count();
        let mut too_many = ended.saturating_sub(most);
        self.background.retain(|background| {
            let goes = too_many > 0 && is_meant(background);
            too_many -= usize::from(goes);
            !goes
        });
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for running in self.inner().running.drain(..).filter_map(|running| running.upgrade()) {
            Running(running).kill(Cause::Killed);
        }
    }
}

/// Why a run gets no commands, if they cannot be confined and must be.
fn refusal(missing: Option<&str>, confinement: Confinement, is_sandboxed: bool) -> Option<String> {
    let who = match confinement {
        _ if is_sandboxed => "the run is sandboxed",
        Confinement::Required => "the embedder requires it",
        Confinement::WhereAvailable => return None,
    };
    missing.map(|missing| format!("cannot be confined, and {who}: {missing}"))
}

fn closed() -> ToolError {
    ToolError::Unavailable("the host is shutting down; no command is started any more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_confinement_only_those_run_who_need_none() {
        let said = |confinement, is_sandboxed| refusal(Some("no Landlock"), confinement, is_sandboxed);
        assert_eq!(said(Confinement::WhereAvailable, false), None);
        assert_eq!(
            said(Confinement::Required, false).unwrap(),
            "cannot be confined, and the embedder requires it: no Landlock"
        );
        for confinement in [Confinement::Required, Confinement::WhereAvailable] {
            assert!(said(confinement, true).unwrap().contains("the run is sandboxed"));
            assert_eq!(refusal(None, confinement, true), None);
        }
    }
}
