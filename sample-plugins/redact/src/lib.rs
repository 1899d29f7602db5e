//! A record or a message that is about to be stored enters, the same leaves with `[redacted]` in place of whatever looks like a
//! secret: in arguments, content and details, at any depth. It never changes what was executed or what a model was told.
//!
//! By itself it sees nothing, since it has no tools: `grants.hooks` of its entry says what it cleans. It runs last (priority
//! -100), so that what other handlers add is cleaned too. If it fails, the host withholds what it could not clean.

use airlock_plugin::prelude::*;
use airlock_plugin::serde_json;

mod json;
mod pattern;

use crate::pattern::MARKER;
use crate::pattern::Pattern;

/// What the operator configures.
#[config]
struct Settings {
    patterns: Vec<Pattern>,
}

/// Cleans the record of a call.
#[hook(tool_result_persist, priority = -100)]
fn clean_record(record: &PersistRecord) -> Result<Option<PersistChange>, Box<dyn std::error::Error>> {
    let settings: Settings = config()?;
    let mut change = record.to_change();
    let mut changed = settings.clean_json(&mut change.params)?;
    changed |= settings.clean_parts(&mut change.result.content, change.result.details.as_mut())?;
    Ok(changed.then_some(change))
}

/// Cleans a message of the transcript.
#[hook(before_message_write, priority = -100)]
fn clean_message(message: &TranscriptMessage) -> Result<WriteVerdict, Box<dyn std::error::Error>> {
    let settings: Settings = config()?;
    let mut clean = message.clone();
    let changed = settings.clean_parts(&mut clean.body, clean.details.as_mut())?;
    Ok(if changed { WriteVerdict::replace(clean) } else { WriteVerdict::pass() })
}

plugin!(hooks: [clean_record, clean_message]);

/// Each says whether there was anything to replace.
impl Settings {
    fn clean_text(&self, text: &mut String) -> bool {
        let clean = pattern::redact(text, &self.patterns);
        clean.map(|clean| *text = clean).is_some()
    }

    fn clean_json(&self, json: &mut String) -> Result<bool, serde_json::Error> {
        let clean = json::redact(json, |text| pattern::redact(text, &self.patterns))?;
        Ok(clean.map(|clean| *json = clean).is_some())
    }

    fn clean_parts(
        &self,
        content: &mut [Content],
        details: Option<&mut String>,
    ) -> Result<bool, serde_json::Error> {
        let mut changed = details.map_or(Ok(false), |details| self.clean_json(details))?;
        for part in content {
            changed |= match part {
                Content::Text(text) => self.clean_text(text),
                Content::Image(blob) | Content::Audio(blob) => self.clean_blob(blob),
            };
        }
        Ok(changed)
    }

    /// Bytes in which a secret can be read are of no use without it, so all of them go.
    fn clean_blob(&self, blob: &mut Blob) -> bool {
        let named = self.clean_text(&mut blob.mime_type);
        let held = pattern::redact(&String::from_utf8_lossy(&blob.data), &self.patterns).is_some();
        if held {
            blob.data = MARKER.as_bytes().to_vec();
        }
        named || held
    }
}

#[cfg(test)]
mod tests {
    use airlock_plugin::HookOutcome;
    use airlock_plugin::serde_json::Value;
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    const MANIFEST: &str = include_str!("../airlock.plugin.json");

    fn configure() {
        testing::set_config(json!({ "patterns": [{ "prefix": "sk-", "characters": "lowercase" }] }));
    }

    fn record(details: Option<&str>) -> PersistRecord {
        let params = json!({ "path": "a.txt", "text": "auth: sk-example", "sk-key": [["sk-deep"]] });
        let mut record = testing::persist_record("write", params, "wrote sk-example");
        record.result.content.push(Content::image("image/png", b"\x89 sk-example".to_vec()));
        record.result.content.push(Content::audio("audio/wav", vec![0xff, 0xfe]));
        record.result.details = details.map(str::to_owned);
        record
    }

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(MANIFEST), Ok(()));
    }

    #[test]
    fn nothing_of_a_secret_is_stored() {
        configure();
        let outcome =
            testing::emit::<Plugin, clean_record>(record(Some(r#"{"echo": {"line": "sk-example"}}"#)));
        let Ok(HookOutcome::Persist(change)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(
            change.params,
            r#"{"path":"a.txt","[redacted]":[["[redacted]"]],"text":"auth: [redacted]"}"#
        );
        assert_eq!(change.result.text(), "wrote [redacted]");
        assert_eq!(change.result.details.as_deref(), Some(r#"{"echo": {"line": "[redacted]"}}"#));
        let blobs = [
            Content::text("wrote [redacted]"),
            Content::image("image/png", b"[redacted]".to_vec()),
            Content::audio("audio/wav", vec![0xff, 0xfe]),
        ];
        assert_eq!(change.result.content, blobs);
    }

    #[test]
    fn what_is_clean_is_left_alone() {
        configure();
        let clean = testing::persist_record("write", json!({ "text": "fine" }), "wrote");
        assert_eq!(testing::emit::<Plugin, clean_record>(clean), Ok(HookOutcome::None));
    }

    #[test]
    fn what_cannot_be_read_fails_and_so_is_withheld() {
        configure();
        assert!(testing::emit::<Plugin, clean_record>(record(Some(r#"{"open"#))).is_err());
    }

    #[test]
    fn a_message_is_cleaned_like_a_record() {
        configure();
        let message = |text: &str, details: Option<&str>| TranscriptMessage {
            role: Role::Assistant,
            call_id: None,
            body: vec![Content::text(text)],
            details: details.map(str::to_owned),
        };
        let write = |message| testing::emit_in::<Plugin, clean_message>(message, None);
        assert_eq!(write(message("hello", None)), Ok(HookOutcome::Write(WriteVerdict::Pass)));
        let expected = message("[redacted]", Some(r#"["[redacted]"]"#));
        assert_eq!(
            write(message("sk-example", Some(r#"["sk-example"]"#))),
            Ok(HookOutcome::Write(WriteVerdict::Replace(expected)))
        );
    }

    #[test]
    fn the_schemas_default_is_a_configuration() {
        let manifest: Value = serde_json::from_str(MANIFEST).unwrap();
        testing::set_config(
            json!({ "patterns": manifest["configSchema"]["properties"]["patterns"]["default"] }),
        );
        let text = "token=ZZ-TEST-0001 and Bearer abcdefgh, but a task-force of two";
        let outcome = testing::emit::<Plugin, clean_record>(testing::persist_record("read", json!({}), text));
        let Ok(HookOutcome::Persist(change)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(change.result.text(), "[redacted] and [redacted], but a task-force of two");
    }
}
