//! Loop protection, where an operator switches it on: a model that makes the same call again and again, and learns nothing
//! new from it, is stopped. It counts within one run and keeps digests only.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::execute::Executed;
use super::gate::{self, Judge};
use super::ledger::digest_of;
use super::receipt::{Checkpoint, Trail};
use super::{AcceptedCall, Identity};
use crate::audit::Party;
use crate::id::Digest;
use crate::run::RunContext;
use crate::surface::Surface;

/// How often the same call may have had the same outcome, one after another, before the next one is blocked. A model that
/// polls something does so on purpose, and twenty times is no purpose any more.
const MAX_REPETITIONS: usize = 20;

/// How many calls of a run are remembered: more than can be repeated.
const MAX_CALLS: usize = 30;

/// How many runs are remembered, the last ones.
const MAX_RUNS: usize = 1_024;

/// What was called lately, by run.
#[derive(Debug, Default)]
pub(crate) struct Repetitions(Mutex<Runs>);

#[derive(Debug, Default)]
struct Runs {
    calls: BTreeMap<(String, String), VecDeque<(Digest, Digest)>>,
    order: VecDeque<(String, String)>,
}

fn key(run: &RunContext) -> (String, String) {
    (run.session.clone(), run.run.clone())
}

fn call_digest(tool: &str, arguments: &serde_json::Value) -> Digest {
    Digest::of_parts([tool.as_bytes(), digest_of(arguments).as_bytes().as_slice()])
}

impl Repetitions {
    /// How often, one after another, the last calls of the run were this one with one outcome.
    fn count(&self, run: &RunContext, call: Digest) -> usize {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(calls) = runs.calls.get(&key(run)) else { return 0 };
        let Some((_, outcome)) = calls.back() else { return 0 };
        calls.iter().rev().take_while(|known| **known == (call, *outcome)).count()
    }

    fn remember(&self, run: &RunContext, call: Digest, outcome: Digest) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(run);
        if !runs.calls.contains_key(&key) {
            if runs.order.len() == MAX_RUNS
                && let Some(oldest) = runs.order.pop_front()
            {
                runs.calls.remove(&oldest);
            }
            runs.order.push_back(key.clone());
        }
        let calls = runs.calls.entry(key).or_default();
        if calls.len() == MAX_CALLS {
            calls.pop_front();
        }
        calls.push_back((call, outcome));
    }
}

/// Blocks a call that was made too often already, with the same outcome each time.
pub(super) fn judge<'surface>(
    surface: &Surface,
    call: AcceptedCall<'surface>,
    trail: &mut Trail<'_>,
) -> Result<AcceptedCall<'surface>, Box<Executed>> {
    let digest = call_digest(call.exposed.tool.name.as_str(), &call.written);
    if surface.host().repetitions().count(surface.run(), digest) < MAX_REPETITIONS {
        return Ok(call);
    }
    let name = "loop-protection";
    let party = Party { id: name.to_owned(), digest: Digest::of(name.as_bytes()) };
    let judge = Judge { checkpoint: Checkpoint::TrustedPolicy, party: &party, is_frozen: false };
    let reason = format!("the same call had the same outcome {MAX_REPETITIONS} times; do something else");
    Err(gate::block(&judge, &call, &reason, trail))
}

/// Remembers how a call ended. One that was made too often had no new outcome, and stays blocked until something else is
/// called.
pub(super) fn remember(
    surface: &Surface,
    written: &serde_json::Value,
    identity: &Identity,
    executed: &Executed,
) {
    let outcome = match &executed.end {
        Ok(result) => serde_json::to_string(result).unwrap_or_default(),
        Err(error) => format!("{} {}", error.kind.as_str(), error.message),
    };
    let (call, repetitions) = (call_digest(&identity.tool, written), surface.host().repetitions());
    if repetitions.count(surface.run(), call) < MAX_REPETITIONS {
        repetitions.remember(surface.run(), call, Digest::of(outcome.as_bytes()));
    }
}
