//! Calls of one tool that must not run side by side: an admitted call enters; its turn leaves, or `busy`. Turns are taken in
//! the order of asking, after everybody was asked and right before the tool runs, so that nobody holds one while a person
//! or another guest is awaited.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ledger::digest_of;
use super::{AcceptedCall, CallError, CallKind};
use crate::hooks::within;
use crate::id::{Digest, ToolName};
use crate::manifest::Concurrency;
use crate::surface::Surface;

/// How long a call waits for its turn: as long as one call may take by default.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// How many calls wait for one turn: more would not come to theirs in time.
const MAX_WAITING: usize = 1_024;

/// Who runs and who waits, for all tools of a host that are not parallel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<BTreeMap<Lane, Arc<Semaphore>>>>);

/// A tool, and the value that its calls take turns for; `None` for all of them.
type Lane = (ToolName, Option<Digest>);

/// A call's turn, or its wait for one; the next one has it when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Turns,
    lane: Lane,
    permit: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// A place in the lane's queue, or `None` if it is full.
    fn queue(&self, lane: Lane) -> Option<(Turn, Arc<Semaphore>)> {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let semaphore = lanes.entry(lane.clone()).or_insert_with(|| Arc::new(Semaphore::new(1)));
        // One is the map's own, one is whoever runs.
        if Arc::strong_count(semaphore) > MAX_WAITING + 1 {
            return None;
        }
        Some((Turn { turns: self.clone(), lane, permit: None }, Arc::clone(semaphore)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut lanes = self.turns.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever waits has a share of its own.
        if lanes.get(&self.lane).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            lanes.remove(&self.lane);
        }
    }
}

/// Waits for the call's turn; a parallel tool needs none.
pub(super) async fn turn(surface: &Surface, call: &AcceptedCall<'_>) -> Result<Option<Turn>, CallError> {
    let name = &call.exposed.tool.name;
    let value = match &call.exposed.concurrency {
        Concurrency::Parallel => return Ok(None),
        Concurrency::Exclusive => None,
        Concurrency::Key(pointer) => {
            Some(digest_of(call.arguments.pointer(pointer.as_str()).unwrap_or(&Value::Null)))
        }
    };
    let busy = |why: String| {
        CallError::new(CallKind::Busy, format!("the tool `{name}` is busy: {why}; try again later"))
    };
    let host = surface.host();
    let Some((mut turn, semaphore)) = host.turns().queue((name.clone(), value)) else {
        return Err(busy(format!("{MAX_WAITING} calls wait for their turn already")));
    };
    match within(&**host.sandbox(), MAX_WAIT, semaphore.acquire_owned()).await {
        Some(Ok(permit)) => {
            turn.permit = Some(permit);
            Ok(Some(turn))
        }
        // Nobody closes a lane.
        Some(Err(_)) | None => {
            Err(busy(format!("its calls run one at a time, and none ended within {} s", MAX_WAIT.as_secs())))
        }
    }
}
