//! One entry of the configuration and a call enter, the approval to ask for leaves. It never makes a text longer than the
//! contract allows.

use airlock_plugin::ApprovalDecision;
use airlock_plugin::prelude::*;

/// What a person is asked about one tool.
#[config]
pub(crate) struct Question {
    pub(crate) tool: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    severity: Importance,
    #[serde(default)]
    scope: Scope,
    #[serde(default)]
    offered: Vec<Decision>,
    timeout_ms: Option<u32>,
}

#[config]
#[derive(Clone, Copy, Default)]
#[serde(rename_all = "kebab-case")]
enum Importance {
    Info,
    #[default]
    Warning,
    Critical,
}

#[config]
#[derive(Clone, Copy, Default, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Scope {
    #[default]
    Arguments,
    Tool,
}

#[config]
#[derive(Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Decision {
    AllowOnce,
    AllowAlways,
    Deny,
}

impl Question {
    pub(crate) fn about(&self, attempt: &ToolAttempt) -> Approval {
        let ToolAttempt { tool, owner, side_effecting, .. } = attempt;
        // A tool's name has at most 64 characters, and so has its owner's.
        let title = self.title.clone().unwrap_or_else(|| format!("Call {tool}?"));
        let description = self.description.clone().unwrap_or_else(|| {
            let effect =
                if *side_effecting { "It may change something." } else { "It says that it changes nothing." };
            format!("An agent wants to call {tool} of {owner}. {effect}")
        });
        let severity = match self.severity {
            Importance::Info => Severity::Info,
            Importance::Warning => Severity::Warning,
            Importance::Critical => Severity::Critical,
        };
        let decisions = self.offered.iter().map(|decision| match decision {
            Decision::AllowOnce => ApprovalDecision::AllowOnce,
            Decision::AllowAlways => ApprovalDecision::AllowAlways,
            Decision::Deny => ApprovalDecision::Deny,
        });
        let mut approval = Approval::new(title, description).severity(severity).offering(decisions);
        if self.scope == Scope::Tool {
            approval = approval.for_every_call();
        }
        if let Some(timeout_ms) = self.timeout_ms {
            approval = approval.timeout_ms(timeout_ms);
        }
        approval
    }
}

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json;
    use airlock_plugin::serde_json::Value;
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    fn asked(question: Value, side_effecting: bool) -> Approval {
        let question: Question = serde_json::from_value(question).unwrap();
        let mut attempt = testing::tool_attempt("mail_send", json!({}));
        attempt.side_effecting = side_effecting;
        question.about(&attempt)
    }

    #[test]
    fn the_name_of_a_tool_is_enough() {
        let expected = Approval::new(
            "Call mail_send?",
            "An agent wants to call mail_send of core. It says that it changes nothing.",
        );
        assert_eq!(asked(json!({ "tool": "mail_send" }), false), expected);
        let expected = Approval::new(
            "Call mail_send?",
            "An agent wants to call mail_send of core. It may change something.",
        );
        assert_eq!(asked(json!({ "tool": "mail_send" }), true), expected);
    }

    #[test]
    fn everything_can_be_configured() {
        let question = json!({
            "tool": "mail_send", "title": "Send a mail?", "description": "It leaves the house.", "severity": "critical",
            "scope": "tool", "offered": ["allow-once", "deny"], "timeout_ms": 3000,
        });
        let expected = Approval::new("Send a mail?", "It leaves the house.")
            .critical()
            .for_every_call()
            .offering([ApprovalDecision::AllowOnce, ApprovalDecision::Deny])
            .timeout_ms(3_000);
        assert_eq!(asked(question, true), expected);
    }

    #[test]
    fn the_longest_names_fit() {
        let mut attempt = testing::tool_attempt(&"t".repeat(64), json!({}));
        attempt.owner = "o".repeat(64);
        let question: Question = serde_json::from_value(json!({ "tool": attempt.tool })).unwrap();
        let outcome = format!("{:?}", question.about(&attempt));
        assert!(outcome.contains(&format!("Call {}?", attempt.tool)), "{outcome}");
        assert!(format!("Call {}?", attempt.tool).chars().count() <= 80);
    }
}
