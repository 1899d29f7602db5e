//! An event enters, the fields of its line leave: names, kinds, counts and durations. It never lets out a text that a person, a
//! model or a tool wrote, and nobody's address.

use airlock_plugin::prelude::*;
use airlock_plugin::serde_json::Map;
use airlock_plugin::serde_json::Value;
use airlock_plugin::serde_json::json;

/// The fields of a line, by name.
pub(crate) type Line = Map<String, Value>;

pub(crate) fn of_completion(completion: &ToolCompletion) -> Line {
    let mut line = line([
        ("tool", json!(completion.tool)),
        ("owner", json!(completion.owner)),
        ("kind", json!(completion.outcome.kind())),
        ("duration_us", json!(completion.duration_us)),
        ("argument_bytes", json!(completion.params_text().len())),
    ]);
    if let ToolOutcome::Success(result) = &completion.outcome {
        line.extend(of_result(result));
    }
    line
}

pub(crate) fn of_message(message: &Message) -> Line {
    line([
        ("channel", json!(message.channel)),
        ("body_bytes", json!(message.body.len())),
        ("has_metadata", json!(message.metadata.is_some())),
    ])
}

pub(crate) fn of_receipt(receipt: &MessageReceipt) -> Line {
    let mut line = of_message(&receipt.message);
    line.insert("sent".to_owned(), json!(receipt.error.is_none()));
    line
}

pub(crate) fn of_session(event: &SessionEvent) -> Line {
    line([("session", json!(event.session_id))])
}

pub(crate) fn of_agent(summary: &AgentSummary) -> Line {
    line([
        ("run", json!(summary.run_id)),
        ("success", json!(summary.success)),
        ("duration_ms", json!(summary.duration_ms)),
    ])
}

pub(crate) fn of_child(event: &SubagentEvent) -> Line {
    line([("child", json!(event.child_session)), ("agent", json!(event.agent_id))])
}

fn of_result(result: &ToolResult) -> Line {
    let details = result.details.as_ref().map_or(0, String::len);
    line([
        ("parts", json!(result.content.len())),
        ("content_bytes", json!(result.content.iter().map(size).sum::<usize>())),
        ("details_bytes", json!(details)),
    ])
}

fn line<const COUNT: usize>(fields: [(&str, Value); COUNT]) -> Line {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn size(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Image(blob) | Content::Audio(blob) => blob.data.len(),
    }
}

#[cfg(test)]
mod tests {
    use airlock_plugin::testing;

    use super::*;

    const CONTENT: &str = "what nobody else may read";

    #[track_caller]
    fn check(line: Line, expected: &Value) {
        let line = Value::Object(line);
        assert_eq!(&line, expected);
        assert!(!line.to_string().contains(CONTENT), "{line}");
    }

    fn message() -> Message {
        Message {
            channel: "mail".to_owned(),
            sender: Some(CONTENT.to_owned()),
            recipient: Some(CONTENT.to_owned()),
            body: CONTENT.to_owned(),
            metadata: Some(json!({ "subject": CONTENT }).to_string()),
        }
    }

    #[test]
    fn a_call_has_sizes_and_a_duration() {
        let content = vec![Content::text(CONTENT), Content::image("image/png", vec![0; 10])];
        let result = ToolResult { content, details: Some(json!(CONTENT).to_string()) };
        let completion =
            testing::tool_completion("read", json!({ "path": CONTENT }), ToolOutcome::Success(result));
        check(
            of_completion(&completion),
            &json!({
                "tool": "read", "owner": "core", "kind": "completed", "duration_us": 1000, "argument_bytes": 36,
                "parts": 2, "content_bytes": 35, "details_bytes": 27,
            }),
        );
        let problem = ToolProblem { kind: "blocked".to_owned(), message: CONTENT.to_owned() };
        check(
            of_completion(&testing::tool_completion("read", json!({}), ToolOutcome::Blocked(problem))),
            &json!({ "tool": "read", "owner": "core", "kind": "blocked", "duration_us": 1000, "argument_bytes": 2 }),
        );
    }

    #[test]
    fn a_message_has_a_channel_and_a_size() {
        let expected = json!({ "channel": "mail", "body_bytes": 25, "has_metadata": true });
        check(of_message(&message()), &expected);
        let receipt = MessageReceipt { message: message(), error: Some(CONTENT.to_owned()) };
        let expected = json!({ "channel": "mail", "body_bytes": 25, "has_metadata": true, "sent": false });
        check(of_receipt(&receipt), &expected);
    }

    #[test]
    fn sessions_and_runs_have_their_names() {
        let event = SessionEvent { session_id: "session-1".to_owned(), reason: CONTENT.to_owned() };
        check(of_session(&event), &json!({ "session": "session-1" }));
        let error = Some(CONTENT.to_owned());
        let summary = AgentSummary { run_id: "run-1".to_owned(), success: false, error, duration_ms: 12 };
        check(of_agent(&summary), &json!({ "run": "run-1", "success": false, "duration_ms": 12 }));
        let (child_session, agent_id) = ("session-2".to_owned(), "helper".to_owned());
        let child = SubagentEvent { child_session, agent_id, outcome: Some(CONTENT.to_owned()) };
        check(of_child(&child), &json!({ "child": "session-2", "agent": "helper" }));
    }
}
