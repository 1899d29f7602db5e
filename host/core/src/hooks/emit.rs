//! Events of the embedder's own agent loop: one typed call each. Gates say whether to go on, modifiers give back what to go
//! on with, observers are told and nobody waits for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    AgentSummary, GateVerdict, Guards, Handler, HookEvent, HookName, HookOutcome, InstallRequest, Message,
    MessageReceipt, MessageVerdict, SessionEvent, SubagentEvent, TranscriptMessage, WriteVerdict,
};
use crate::host::Host;
use crate::run::RunContext;
use crate::text;

/// Longest reason that is passed on, in characters.
const MAX_REASON_CHARS: usize = 1_000;

/// Why something does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// A plugin's id, or the name of a native handler.
    pub by: String,
    /// Bounded and visible.
    pub reason: String,
}

impl Blocked {
    fn new(by: &impl ToString, reason: &str) -> Self {
        let reason = text::escape(&text::shorten(reason, MAX_REASON_CHARS)).into_owned();
        Self { by: by.to_string(), reason }
    }
}

/// Methods that tell observers.
macro_rules! observers {
    ($($(#[doc = $doc:literal])+ $method:ident($event:ident: $type:ty) = $variant:ident;)+) => {
        impl Host {
            $(
                $(#[doc = $doc])+
                ///
                /// Nobody waits for the observers but a shutdown; one that fails is noted.
                pub async fn $method(&self, $event: $type, run: Option<&Arc<RunContext>>) {
                    self.tell(HookEvent::$variant($event), run).await;
                }
            )+
        }
    };
}

observers! {
    /// Tells observers that a message came in.
    message_received(message: Message) = MessageReceived;
    /// Tells observers that a message went out, or did not.
    message_sent(receipt: MessageReceipt) = MessageSent;
    /// Tells observers that an agent's run is over.
    agent_end(summary: AgentSummary) = AgentEnd;
    /// Tells observers that a run started another.
    subagent_spawned(event: SubagentEvent) = SubagentSpawned;
    /// Tells observers that a run that another started is over.
    subagent_ended(event: SubagentEvent) = SubagentEnded;
}

/// Sessions whose end is told at a shutdown if nobody told it before: more than an agent has open at once.
const MAX_SESSIONS: usize = 10_000;

/// Sessions that began and did not end, with the runs in which they did.
pub(crate) type OpenSessions = BTreeMap<String, Option<Arc<RunContext>>>;

impl Host {
    /// Tells observers that a session began. A shutdown tells them of its end, if nobody did before.
    pub async fn session_start(&self, event: SessionEvent, run: Option<&Arc<RunContext>>) {
        self.shared().with_sessions(|sessions| {
            if sessions.len() < MAX_SESSIONS {
                sessions.insert(event.session.clone(), run.cloned());
            }
        });
        self.tell(HookEvent::SessionStart(event), run).await;
    }

    /// Tells observers that a session is over.
    pub async fn session_end(&self, event: SessionEvent, run: Option<&Arc<RunContext>>) {
        self.shared().with_sessions(|sessions| drop(sessions.remove(&event.session)));
        self.tell(HookEvent::SessionEnd(event), run).await;
    }

    /// Tells observers that all sessions are over.
    pub(crate) async fn end_sessions(&self) {
        for (session, run) in self.shared().with_sessions(std::mem::take) {
            let event = SessionEvent { session, reason: "shutdown".to_owned() };
            self.tell(HookEvent::SessionEnd(event), run.as_ref()).await;
        }
    }

    /// Asks whether an agent may run on this prompt.
    ///
    /// # Errors
    /// Who blocks it, and why; a handler that fails blocks, as does a guard that is missing.
    pub async fn before_agent_run(&self, prompt: &str, run: &Arc<RunContext>) -> Result<(), Blocked> {
        self.gate(HookEvent::BeforeAgentRun(prompt.to_owned()), Some(run)).await
    }

    /// Asks whether something may be installed.
    ///
    /// # Errors
    /// As [`Self::before_agent_run`].
    pub async fn before_install(&self, request: InstallRequest) -> Result<(), Blocked> {
        self.gate(HookEvent::BeforeInstall(request), None).await
    }

    /// Gives back the message to write to the transcript.
    ///
    /// # Errors
    /// Who withholds it, and why; a handler that fails withholds it.
    pub async fn before_message_write(
        &self,
        mut message: TranscriptMessage,
        run: &Arc<RunContext>,
    ) -> Result<TranscriptMessage, Blocked> {
        let hook = HookName::BeforeMessageWrite;
        let guards = self.guards().await;
        missing(&guards, hook)?;
        for handler in guards.handlers.of(hook) {
            match self.ask(handler, HookEvent::BeforeMessageWrite(message.clone()), Some(run)).await? {
                HookOutcome::Write(WriteVerdict::Block(reason)) => {
                    return Err(Blocked::new(&handler.owner, &reason));
                }
                HookOutcome::Write(WriteVerdict::Replace(changed)) => message = changed,
                _ => {}
            }
        }
        Ok(message)
    }

    /// Gives back the message to send. Where it goes stays as it is, whatever handlers say.
    ///
    /// # Errors
    /// Who cancels it, and why. A handler that fails is passed over.
    pub async fn message_sending(
        &self,
        mut message: Message,
        run: &Arc<RunContext>,
    ) -> Result<Message, Blocked> {
        let guards = self.guards().await;
        for handler in guards.handlers.of(HookName::MessageSending) {
            let asked = self.ask(handler, HookEvent::MessageSending(message.clone()), Some(run)).await;
            match asked {
                Ok(HookOutcome::Message(MessageVerdict::Cancel(reason))) => {
                    return Err(Blocked::new(&handler.owner, &reason));
                }
                Ok(HookOutcome::Message(MessageVerdict::Replace(change))) => {
                    message.body = change.body;
                    message.metadata = change.metadata;
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(message)
    }

    async fn gate(&self, event: HookEvent, run: Option<&Arc<RunContext>>) -> Result<(), Blocked> {
        let hook = event.hook();
        let guards = self.guards().await;
        missing(&guards, hook)?;
        for handler in guards.handlers.of(hook) {
            if let HookOutcome::Gate(GateVerdict::Block(reason)) =
                self.ask(handler, event.clone(), run).await?
            {
                return Err(Blocked::new(&handler.owner, &reason));
            }
        }
        Ok(())
    }

    /// Tells all observers of an event at once.
    pub(crate) async fn tell(&self, event: HookEvent, run: Option<&Arc<RunContext>>) {
        let guards = self.guards().await;
        self.shared().tell(guards.handlers.of(event.hook()).to_vec(), event, run.cloned());
    }

    /// Asks one handler; its failure is a block by it, for those who take it as one.
    async fn ask(
        &self,
        handler: &Handler,
        event: HookEvent,
        run: Option<&Arc<RunContext>>,
    ) -> Result<HookOutcome, Blocked> {
        let asked = self.shared().ask_aside(handler, event, run.cloned()).await;
        asked.map_err(|failed| Blocked::new(&handler.owner, &failed.0))
    }
}

/// A guard that is not there blocks what it would have judged.
fn missing(guards: &Guards, hook: HookName) -> Result<(), Blocked> {
    match guards.missing(hook, None) {
        Some(guard) => Err(Blocked::new(&guard.plugin, &guard.reason)),
        None => Ok(()),
    }
}
