//! One call's place in the records: it is kept free from the call's beginning, and filled whatever becomes of the call,
//! also when its future is dropped half-way.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::via::Via;
use super::{CallKind, Identity, Receipt, TrailEntry};
use crate::audit::{AuditKind, AuditRow, Reservation, StoreError};
use crate::capability::{Reached, Witnesses};
use crate::config::AuditContents;
use crate::host::Shared;
use crate::id::{CallId, Digest};
use crate::plugin::Traces;
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
    /// What its guests leave behind.
    pub(super) witnesses: Witnesses,
    /// What is known of the call so far, for a call that nobody waits for any more.
    known: Option<Known>,
}

#[derive(Debug)]
struct Known {
    call_id: CallId,
    tool: String,
    owner: Option<String>,
    arguments: Value,
    via: Option<Via>,
    digest: Option<Digest>,
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
            witnesses: Witnesses::default(),
            known: None,
        }
    }

    /// Notes which call it is.
    pub(super) fn know(&mut self, identity: &Identity) {
        let Identity { id, tool, owner, arguments, via } = identity;
        self.known = Some(Known {
            call_id: id.clone(),
            tool: tool.clone(),
            owner: owner.clone(),
            arguments: arguments.clone(),
            via: via.clone(),
            digest: None,
        });
    }

    /// Puts on record, for good, that the call is about to run.
    pub(super) async fn started(&mut self, arguments: &Value) -> Result<(), StoreError> {
        let arguments = self.learn(arguments);
        let reservation = match &self.reservation {
            Ok(Some(reservation)) => reservation,
            Ok(None) => return Err(StoreError::closed()),
            Err(error) => return Err(error.clone()),
        };
        let body = self.body(arguments);
        self.host.store().start(reservation, self.row(AuditKind::Started, &body)).await
    }

    /// Everything that guests left behind. What comes later is lost.
    pub(super) fn traces(&mut self) -> Traces {
        std::mem::take(&mut self.witnesses).take(&self.host.secrets())
    }

    /// Puts the whole call on record. `says_little` leaves out reasons and what was reached for, which may quote what a
    /// redactor takes away.
    pub(super) fn finished(
        &mut self,
        record: &CallRecord,
        trail: &[TrailEntry],
        receipt: &Receipt,
        executed_arguments: &Value,
        says_little: bool,
    ) {
        let arguments = self.learn(executed_arguments);
        let trail: Vec<Step<'_>> = trail
            .iter()
            .map(|entry| Step { reason: entry.reason.as_deref().filter(|_| !says_little), entry })
            .collect();
        let mut body = self.body(arguments);
        body.outcome = Some(record.kind.as_str());
        body.trail = Some(&trail);
        let in_private = says_little && !receipt.reached.is_empty();
        let receipt_in_private = in_private.then(|| Receipt {
            reached: receipt.reached.iter().map(Reached::in_private).collect(),
            ..receipt.clone()
        });
        body.receipt = Some(receipt_in_private.as_ref().unwrap_or(receipt));
        body.dry_run = self.is_dry;
        body.record = Some(record).filter(|_| self.contents == AuditContents::Full);
        let row = self.row(AuditKind::Finished, &body);
        self.fill(row);
    }

    /// The digest of the arguments as they are now; what did not change is not digested twice.
    fn learn(&mut self, arguments: &Value) -> Option<Digest> {
        let known = self.known.as_mut()?;
        if known.arguments != *arguments {
            known.arguments.clone_from(arguments);
            known.digest = None;
        }
        Some(*known.digest.get_or_insert_with(|| digest_of(&known.arguments)))
    }

    fn fill(&mut self, row: AuditRow) {
        let Ok(reservation) = &mut self.reservation else { return };
        if let Some(reservation) = reservation.take() {
            self.host.store().write(reservation, row);
        }
    }

    /// A body that says whose call it is.
    fn body(&self, arguments: Option<Digest>) -> Body<'_> {
        Body {
            outcome: None,
            arguments,
            owner: self.known.as_ref().and_then(|known| known.owner.as_deref()),
            via: self.known.as_ref().and_then(|known| known.via.as_ref()),
            agent: &self.run.agent,
            session: &self.run.session,
            run: &self.run.run,
            reason: None,
            dry_run: false,
            trail: None,
            receipt: None,
            reached: None,
            record: None,
        }
    }

    fn row(&self, kind: AuditKind, body: &Body<'_>) -> AuditRow {
        AuditRow {
            kind,
            unix_ms: unix_ms(self.host.clock().wall()),
            call_id: self.known.as_ref().map(|known| known.call_id.clone()),
            tool: self.known.as_ref().map(|known| known.tool.clone()),
            // A body of texts and numbers can always be written.
            body: serde_json::to_string(body).unwrap_or_default(),
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        if !matches!(self.reservation, Ok(Some(_))) {
            return;
        }
        let arguments = self.known.as_ref().map(|known| digest_of(&known.arguments));
        // Nobody knows whether a redactor would have looked at it.
        let reached: Vec<Reached> = self.traces().reached.iter().map(Reached::in_private).collect();
        let mut body = self.body(arguments);
        body.reached = Some(reached).filter(|reached| !reached.is_empty());
        body.outcome = Some(CallKind::Cancelled.as_str());
        body.reason = Some("nobody waited for its end");
        let row = self.row(AuditKind::Finished, &body);
        self.fill(row);
    }
}

/// What a row says about a call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    arguments: Option<Digest>,
    owner: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<&'a Via>,
    agent: &'a str,
    session: &'a str,
    run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    trail: Option<&'a [Step<'a>]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<&'a Receipt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<Vec<Reached>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a CallRecord>,
}

/// One decision, with its reason where that may be kept.
struct Step<'a> {
    entry: &'a TrailEntry,
    reason: Option<&'a str>,
}

impl Serialize for Step<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut step = serializer.serialize_struct("Step", 5)?;
        step.serialize_field("checkpoint", &self.entry.checkpoint)?;
        step.serialize_field("decision", self.entry.decision)?;
        step.serialize_field("by", &self.entry.by)?;
        if let Some(reason) = self.reason {
            step.serialize_field("reason", reason)?;
        }
        step.serialize_field("us", &self.entry.took)?;
        step.end()
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
