//! One call's place in the records: it is kept free from the call's beginning, and filled whatever becomes of the call,
//! also when its future is dropped half-way.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{CallKind, Receipt, TrailEntry};
use crate::audit::{AuditKind, AuditRow, Reservation, StoreError};
use crate::config::AuditContents;
use crate::host::Shared;
use crate::id::{CallId, Digest};
use crate::result::{CallRecord, unix_ms};
use crate::run::RunContext;

/// A call that has a place in the records and has not filled it.
#[derive(Debug)]
pub(super) struct Ledger {
    host: Arc<Shared>,
    run: Arc<RunContext>,
    contents: AuditContents,
    /// Why there is no place: the store failed.
    reservation: Result<Option<Reservation>, StoreError>,
    /// Whether the call stops before its tool, by its caller's wish.
    pub(super) is_dry: bool,
    /// What is known of the call so far, for a call that nobody waits for any more.
    known: Option<Known>,
}

#[derive(Debug)]
struct Known {
    call_id: CallId,
    tool: String,
    owner: Option<String>,
    arguments: Digest,
}

impl Ledger {
    pub(super) async fn open(host: &Arc<Shared>, run: &Arc<RunContext>, contents: AuditContents) -> Self {
        let reservation = host.store().reserve().await.map(Some);
        Self {
            host: Arc::clone(host),
            run: Arc::clone(run),
            contents,
            reservation,
            is_dry: false,
            known: None,
        }
    }

    /// Notes which call it is.
    pub(super) fn know(&mut self, call_id: &CallId, tool: &str, owner: Option<&str>, arguments: &Value) {
        self.known = Some(Known {
            call_id: call_id.clone(),
            tool: tool.to_owned(),
            owner: owner.map(str::to_owned),
            arguments: digest_of(arguments),
        });
    }

    /// Puts on record, for good, that the call is about to run.
    pub(super) async fn started(&self, arguments: &Value) -> Result<(), StoreError> {
        let reservation = match &self.reservation {
            Ok(Some(reservation)) => reservation,
            Ok(None) => return Err(StoreError::closed()),
            Err(error) => return Err(error.clone()),
        };
        let body = self.who(json!({ "arguments": digest_of(arguments) }));
        self.host.store().start(reservation, self.row(AuditKind::Started, &body)).await
    }

    /// Puts the whole call on record. `says_little` leaves out reasons, which may quote what a redactor takes away.
    pub(super) fn finished(
        &mut self,
        record: &CallRecord,
        trail: &[TrailEntry],
        receipt: &Receipt,
        executed_arguments: &Value,
        says_little: bool,
    ) {
        let trail = trail.iter().map(|entry| {
            let mut entry = json!(entry);
            if let (true, Some(fields)) = (says_little, entry.as_object_mut()) {
                fields.remove("reason");
            }
            entry
        });
        let mut body = json!({
            "outcome": record.kind.as_str(),
            "arguments": digest_of(executed_arguments),
            "trail": trail.collect::<Vec<_>>(),
            "receipt": receipt,
        });
        if let (true, Some(fields)) = (self.is_dry, body.as_object_mut()) {
            fields.insert("dryRun".to_owned(), true.into());
        }
        if let (AuditContents::Full, Some(fields)) = (self.contents, body.as_object_mut()) {
            fields.insert("record".to_owned(), json!(record));
        }
        self.fill(body);
    }

    fn fill(&mut self, body: Value) {
        let Ok(reservation) = &mut self.reservation else { return };
        if let Some(reservation) = reservation.take() {
            let row = self.row(AuditKind::Finished, &self.who(body));
            self.host.store().write(reservation, row);
        }
    }

    /// A body with whose call it is.
    fn who(&self, mut body: Value) -> Value {
        if let Some(fields) = body.as_object_mut() {
            let owner = self.known.as_ref().and_then(|known| known.owner.clone());
            fields.insert("owner".to_owned(), json!(owner));
            fields.insert("agent".to_owned(), json!(self.run.agent));
            fields.insert("session".to_owned(), json!(self.run.session));
            fields.insert("run".to_owned(), json!(self.run.run));
        }
        body
    }

    fn row(&self, kind: AuditKind, body: &Value) -> AuditRow {
        AuditRow {
            kind,
            unix_ms: unix_ms(self.host.clock().wall()),
            call_id: self.known.as_ref().map(|known| known.call_id.clone()),
            tool: self.known.as_ref().map(|known| known.tool.clone()),
            body: body.to_string(),
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let arguments = self.known.as_ref().map(|known| known.arguments);
        let outcome = CallKind::Cancelled.as_str();
        self.fill(
            json!({ "outcome": outcome, "arguments": arguments, "reason": "nobody waited for its end" }),
        );
    }
}

/// A digest of arguments that does not depend on the order of members.
pub(super) fn digest_of(arguments: &Value) -> Digest {
    let mut text = String::new();
    canonical(arguments, &mut text);
    Digest::of(text.as_bytes())
}

/// The value as JSON with sorted members. Depth is bounded at acceptance.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                canonical(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(key, _)| key.as_str());
            text.push('{');
            for (place, (key, member)) in sorted.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                canonical(member, text);
            }
            text.push('}');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_members_changes_no_digest_and_anything_else_does() {
        let digest = |text: &str| digest_of(&serde_json::from_str(text).unwrap());
        assert_eq!(
            digest(r#"{"a":1,"b":{"c":[1,2],"d":null}}"#),
            digest(r#"{"b":{"d":null,"c":[1,2]},"a":1}"#)
        );
        for other in [r#"{"a":1.0}"#, r#"{"a":"1"}"#, r#"{"a":[1]}"#, r#"{"a":1,"b":null}"#, "{}"] {
            assert_ne!(digest(other), digest(r#"{"a":1}"#), "{other}");
        }
    }
}
