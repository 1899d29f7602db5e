//! The facts that a test is about enter, an event as a host would attest it leaves. It never checks that they go together.

use serde_json::Value;

use crate::Content;
use crate::InstallRequest;
use crate::PersistRecord;
use crate::ToolAttempt;
use crate::ToolCompletion;
use crate::ToolOutcome;
use crate::ToolResult;

/// A call of the host's own tool `tool` that is about to be made. Its fields say more.
pub fn tool_attempt(tool: &str, params: Value) -> ToolAttempt {
    ToolAttempt {
        call_id: "call-1".to_owned(),
        tool: tool.to_owned(),
        owner: "core".to_owned(),
        side_effecting: false,
        via: None,
        params: params.into(),
    }
}

/// A call of the host's own tool `tool` that ended so after a millisecond.
pub fn tool_completion(tool: &str, params: Value, outcome: ToolOutcome) -> ToolCompletion {
    ToolCompletion {
        call_id: "call-1".to_owned(),
        tool: tool.to_owned(),
        owner: "core".to_owned(),
        outcome,
        duration_us: 1_000,
        params: params.into(),
    }
}

/// The record of a call of `tool` that completed with this text.
pub fn persist_record(tool: &str, params: Value, text: &str) -> PersistRecord {
    PersistRecord {
        call_id: "call-1".to_owned(),
        tool: tool.to_owned(),
        result: ToolResult { content: vec![Content::text(text)], details: None },
        is_error: false,
        kind: "completed".to_owned(),
        params: params.into(),
    }
}

/// The installation of a plugin `id` that asks for `permissions` and owns `contracts`, unsigned and from a file.
pub fn install_request(id: &str, permissions: Value, contracts: Value) -> InstallRequest {
    InstallRequest {
        kind: "plugin".to_owned(),
        id: id.to_owned(),
        version: "1.0.0".to_owned(),
        source: format!("{id}-1.0.0.airlock"),
        digest: format!("sha256:{}", "0".repeat(64)),
        signer: None,
        permissions: permissions.into(),
        contracts: contracts.into(),
    }
}
