//! Facts about a run enter, the run context that a host would attest leaves. It never checks that they go together.

use crate::RunContext;
use crate::Trigger;
use crate::bindings::airlock::plugin::types::ChannelRef;
use crate::bindings::airlock::plugin::types::Delivery;
use crate::bindings::airlock::plugin::types::ModelRef;
use crate::bindings::airlock::plugin::types::Requester;

/// A run like many others: agent `main`, started by a user who is not there to answer, without a workspace.
///
/// More is said by the methods that a native [`RunContext`] has, such as [`on_channel`](RunContext::on_channel), and by
/// its fields.
pub fn run_context() -> RunContext {
    RunContext {
        agent_id: "main".to_owned(),
        session_key: "agent:main".to_owned(),
        session_id: "session-1".to_owned(),
        run_id: "run-1".to_owned(),
        parent_run: None,
        trigger: Trigger::User,
        interactive: false,
        workspace: None,
        model: None,
        channel: None,
        delivery: None,
        requester: None,
        authenticated_providers: Vec::new(),
        client_capabilities: Vec::new(),
        sandboxed: false,
    }
}

/// For tests; a component has none of these.
impl RunContext {
    /// The same run, whose requester speaks through this channel.
    #[must_use]
    pub fn on_channel(mut self, name: &str) -> Self {
        self.channel =
            Some(ChannelRef { name: name.to_owned(), account: None, kind: None, group: None, thread: None });
        self
    }

    /// The same run, whose messages go to `recipient` on `channel` by default.
    #[must_use]
    pub fn delivering_to(mut self, channel: &str, recipient: &str) -> Self {
        let (channel, recipient) = (channel.to_owned(), recipient.to_owned());
        self.delivery = Some(Delivery { channel, account: None, recipient, thread: None });
        self
    }

    /// The same run, with a usable credential for `provider` as well.
    #[must_use]
    pub fn authenticated_with(mut self, provider: &str) -> Self {
        self.authenticated_providers.push(provider.to_owned());
        self
    }

    /// The same run, read by this model.
    #[must_use]
    pub fn read_by(mut self, provider: &str, model: &str) -> Self {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        self.model = Some(ModelRef { provider, model, context_tokens: None });
        self
    }

    /// The same run, asked for by this sender; the host may not know whether that is the owner.
    #[must_use]
    pub fn requested_by(mut self, sender: &str, is_owner: Option<bool>) -> Self {
        self.requester = Some(Requester { sender_id: sender.to_owned(), is_owner });
        self
    }

    /// The same run, in this workspace.
    #[must_use]
    pub fn in_workspace(mut self, workspace: &str) -> Self {
        self.workspace = Some(workspace.to_owned());
        self
    }
}
