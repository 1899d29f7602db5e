//! What a person is to be asked enters, the contract's approval request leaves. It never decides, and never shortens a
//! text: one that is too long is refused by the host, which blocks the call.

use std::fmt;

use serde_json::Value;

use crate::bindings::airlock::plugin::hook_types::ApprovalAsk;
use crate::bindings::airlock::plugin::hook_types::ApprovalDecision;
use crate::bindings::airlock::plugin::hook_types::ApprovalRequest;
use crate::bindings::airlock::plugin::hook_types::GrantScope;
use crate::bindings::airlock::plugin::hook_types::Severity;

/// A question to a person about one call, for [`ToolVerdict::ask`](crate::ToolVerdict::ask).
///
/// By default it is a warning, offers all three decisions, covers the very arguments of the call, and waits as long as
/// the host does.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "an approval asks nobody until `ToolVerdict::ask` has it"]
pub struct Approval {
    ask: ApprovalAsk,
}

impl Approval {
    /// Asks with a title of at most 80 characters and a description of at most 512. Longer ones block the call.
    pub fn new(title: impl fmt::Display, description: impl fmt::Display) -> Self {
        let request = ApprovalRequest {
            title: title.to_string(),
            description: description.to_string(),
            severity: Severity::Warning,
            timeout_ms: None,
            offered: Vec::new(),
            scope: GrantScope::Arguments,
        };
        Self { ask: ApprovalAsk { request, rewrite: None } }
    }

    /// How much depends on the answer.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.ask.request.severity = severity;
        self
    }

    /// Little depends on the answer.
    pub fn info(self) -> Self {
        self.severity(Severity::Info)
    }

    /// Much depends on the answer.
    pub fn critical(self) -> Self {
        self.severity(Severity::Critical)
    }

    /// Offers these decisions only. A person can always deny.
    pub fn offering(mut self, decisions: impl IntoIterator<Item = ApprovalDecision>) -> Self {
        self.ask.request.offered = decisions.into_iter().collect();
        self
    }

    /// An `allow-always` would cover every call of the tool, and not only calls with these arguments.
    pub fn for_every_call(mut self) -> Self {
        self.ask.request.scope = GrantScope::Tool;
        self
    }

    /// Waits so long for an answer; silence blocks.
    pub fn timeout_ms(mut self, milliseconds: u32) -> Self {
        self.ask.request.timeout_ms = Some(milliseconds);
        self
    }

    /// Rewrites the arguments first, as [`ToolVerdict::rewrite`](crate::ToolVerdict::rewrite) does; the person sees what
    /// comes of it.
    #[expect(clippy::needless_pass_by_value, reason = "`json!` at the call site makes a value")]
    pub fn rewriting(mut self, changes: Value) -> Self {
        self.ask.rewrite = Some(changes.to_string());
        self
    }

    pub(super) fn into_wit(self) -> ApprovalAsk {
        self.ask
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_least_that_is_asked() {
        let ApprovalAsk { request, rewrite } = Approval::new("Send", "Sends a mail.").into_wit();
        assert_eq!((request.title.as_str(), request.description.as_str()), ("Send", "Sends a mail."));
        assert_eq!((request.severity, request.scope), (Severity::Warning, GrantScope::Arguments));
        assert_eq!((request.timeout_ms, request.offered, rewrite), (None, Vec::new(), None));
    }

    #[test]
    fn everything_can_be_said() {
        let decisions = [ApprovalDecision::AllowOnce, ApprovalDecision::Deny];
        let approval = Approval::new("Send", "Sends a mail.")
            .critical()
            .offering(decisions)
            .for_every_call()
            .timeout_ms(3_000)
            .rewriting(json!({ "copy": "audit" }));
        let ApprovalAsk { request, rewrite } = approval.into_wit();
        assert_eq!((request.severity, request.scope), (Severity::Critical, GrantScope::Tool));
        assert_eq!((request.timeout_ms, request.offered), (Some(3_000), decisions.to_vec()));
        assert_eq!(rewrite.as_deref(), Some(r#"{"copy":"audit"}"#));
        assert_eq!(Approval::new("", "").info().into_wit().request.severity, Severity::Info);
    }
}
