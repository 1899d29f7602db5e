//! Questions that wait for an answer from elsewhere: a chat, a web page, another process. A call puts a question on the
//! desk and waits; whoever finds it there answers by its id, once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, oneshot};

use crate::call::{ApprovalAnswer, ApprovalQuestion, Approver};
use crate::hooks::ApprovalDecision;

/// How many answered or withdrawn questions are remembered, to tell "too late" from "never heard of".
const REMEMBERED: usize = 1_024;

/// An [`Approver`] that keeps questions until somebody answers. Cheap to clone; all clones are one desk.
#[derive(Debug, Clone, Default)]
pub struct ApprovalDesk(Arc<Desk>);

#[derive(Debug, Default)]
struct Desk {
    next: AtomicU64,
    kept: Mutex<Kept>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    pending: BTreeMap<u64, Pending>,
    over: VecDeque<u64>,
}

#[derive(Debug)]
struct Pending {
    question: ApprovalQuestion,
    answer: oneshot::Sender<ApprovalAnswer>,
    is_seen: bool,
}

/// A question on the desk, by its id there.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingApproval {
    /// What [`ApprovalDesk::answer`] takes; no other question of this desk ever has it.
    pub id: u64,
    /// The question.
    pub question: ApprovalQuestion,
}

/// Why an answer does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerError {
    /// Somebody answered before, or the call does not wait any more.
    AlreadyDecided,
    /// No question of this desk has that id.
    Unknown,
    /// The question does not offer that.
    NotOffered,
}

impl std::fmt::Display for AnswerError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::AlreadyDecided => {
                "the question is decided already, or nobody waits for its answer any more"
            }
            Self::Unknown => "there is no question with this id",
            Self::NotOffered => "the question does not offer this answer",
        })
    }
}

impl std::error::Error for AnswerError {}

impl ApprovalDesk {
    /// Every question that waits, oldest first.
    pub fn pending(&self) -> Vec<PendingApproval> {
        let kept = self.lock();
        let pending = kept.pending.iter();
        pending.map(|(id, pending)| PendingApproval { id: *id, question: pending.question.clone() }).collect()
    }

    /// Waits for a question that no call of this function has given yet.
    pub async fn next(&self) -> PendingApproval {
        loop {
            let arrived = self.0.arrived.notified();
            let unseen =
                self.lock().pending.iter_mut().find(|(_, pending)| !pending.is_seen).map(|(id, pending)| {
                    pending.is_seen = true;
                    PendingApproval { id: *id, question: pending.question.clone() }
                });
            if let Some(unseen) = unseen {
                return unseen;
            }
            arrived.await;
        }
    }

    /// Answers a question. `by` says whose answer it is, for the record.
    ///
    /// # Errors
    /// If it is decided, unknown, or does not offer that; nothing changes then.
    pub fn answer(
        &self,
        id: u64,
        decision: ApprovalDecision,
        by: impl Into<String>,
    ) -> Result<(), AnswerError> {
        let mut kept = self.lock();
        let Some(pending) = kept.pending.get(&id) else {
            let is_over = kept.over.contains(&id);
            return Err(if is_over { AnswerError::AlreadyDecided } else { AnswerError::Unknown });
        };
        if !pending.question.offered.contains(&decision) {
            return Err(AnswerError::NotOffered);
        }
        let Some(pending) = kept.close(id) else { return Err(AnswerError::Unknown) };
        let answer = ApprovalAnswer { decision, by: by.into() };
        pending.answer.send(answer).map_err(|_| AnswerError::AlreadyDecided)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // The lock guards plain data, which no panic leaves half-changed.
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Takes a question off the desk and remembers that it was there.
    fn close(&mut self, id: u64) -> Option<Pending> {
        let pending = self.pending.remove(&id)?;
        if self.over.len() == REMEMBERED {
            self.over.pop_front();
        }
        self.over.push_back(id);
        Some(pending)
    }
}

/// Takes a question off the desk when nobody waits for its answer any more.
struct Withdrawal(ApprovalDesk, u64);

impl Drop for Withdrawal {
    fn drop(&mut self) {
        self.0.lock().close(self.1);
    }
}

impl Approver for ApprovalDesk {
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<ApprovalAnswer, String>> {
        Box::pin(async move {
            let id = self.0.next.fetch_add(1, Ordering::Relaxed);
            let (answer, answered) = oneshot::channel();
            self.lock().pending.insert(id, Pending { question, answer, is_seen: false });
            let _withdrawal = Withdrawal(self.clone(), id);
            self.0.arrived.notify_waiters();
            answered.await.map_err(|_| "the desk was closed".to_owned())
        })
    }
}
