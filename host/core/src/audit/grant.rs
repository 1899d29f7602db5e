//! Standing approvals: what `allow-always` was said to enters; a grant that covers exactly that leaves.
//!
//! A grant dies with what it was given for: a changed owner or asker has another digest, and is asked about again.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{AuditKind, AuditRow};
use crate::id::{Digest, NameProblem, ToolName};
use crate::text;

/// Everything that an approval depends on. Change any of it, and the approval is about something else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantKey {
    /// The agent whose call it is.
    pub agent: String,
    /// Whose session it is.
    pub session_owner: String,
    /// Everybody who asked for the approval.
    pub askers: BTreeSet<Party>,
    /// Who brings the tool.
    pub owner: Party,
    /// The tool.
    pub tool: ToolName,
    /// Of the canonical arguments; `None` stands for all arguments.
    pub arguments: Option<Digest>,
}

impl GrantKey {
    /// One digest of the whole key, to look it up by.
    pub fn digest(&self) -> Digest {
        // How many askers there are comes first: without it the last asker and the owner could change places.
        let count = (self.askers.len() as u64).to_le_bytes();
        let mut parts: Vec<&[u8]> = vec![self.agent.as_bytes(), self.session_owner.as_bytes(), &count];
        for party in self.askers.iter().chain([&self.owner]) {
            parts.extend([party.id.as_bytes(), party.digest.as_bytes().as_slice()]);
        }
        parts.push(self.tool.as_str().as_bytes());
        parts.extend(self.arguments.as_ref().map(|digest| digest.as_bytes().as_slice()));
        Digest::of_parts(parts)
    }

    /// The key of the wider grant: the same, for all arguments.
    #[must_use]
    pub fn for_all_arguments(&self) -> Self {
        Self { arguments: None, ..self.clone() }
    }
}

/// Code that somebody decided about: who, and which version of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Party {
    /// A plugin's id, `core`, or a policy's name.
    pub id: String,
    /// Of its component, or of its descriptor if it is native.
    pub digest: Digest,
}

/// A standing approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// What a person types to revoke it.
    pub id: GrantId,
    /// What it covers.
    #[serde(flatten)]
    pub key: GrantKey,
    /// Who gave it, and when.
    #[serde(flatten)]
    pub decided: Decided,
}

/// Who decided, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decided {
    /// A person, as the approver names them.
    pub by: String,
    /// In milliseconds since 1970.
    pub unix_ms: u64,
}

impl Grant {
    /// The audit row that goes with giving it.
    pub fn given(&self) -> AuditRow {
        self.row("given", &self.decided)
    }

    /// The audit row that goes with taking it back.
    pub fn revoked(&self, decided: &Decided) -> AuditRow {
        self.row("revoked", decided)
    }

    fn row(&self, action: &str, decided: &Decided) -> AuditRow {
        let body = json!({
            "action": action,
            "by": decided.by,
            "grant": self.id.as_str(),
            "keyDigest": self.key.digest(),
            "key": self.key,
        });
        AuditRow {
            kind: AuditKind::Grant,
            unix_ms: decided.unix_ms,
            call_id: None,
            tool: Some(self.key.tool.to_string()),
            body: body.to_string(),
        }
    }
}

/// A short name of a grant: digits and lower-case letters without `i`, `l`, `o` and `u`, made from the key's digest.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct GrantId(String);

impl GrantId {
    /// How many characters an id has unless another grant has the same ones: 40 bits, quickly typed.
    pub const SHORT_CHARS: usize = 8;

    /// Most characters: all bits of a digest.
    const MAX_CHARS: usize = 52;

    const ALPHABET: &'static [u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// The id of the grant whose key has this digest, `chars` long. The same key always has the same id.
    pub fn of(key: &Digest, chars: usize) -> Self {
        let bit = |index: usize| {
            let byte = key.as_bytes().get(index / 8).copied().unwrap_or_default();
            usize::from(byte >> (7 - index % 8) & 1)
        };
        let digit = |place: usize| {
            let value = (0..5).fold(0, |value, offset| value << 1 | bit(place * 5 + offset));
            char::from(Self::ALPHABET.get(value).copied().unwrap_or_default())
        };
        Self((0..chars.min(Self::MAX_CHARS)).map(digit).collect())
    }

    /// Reads an id, as a person typed it.
    ///
    /// # Errors
    /// Says what an id looks like.
    pub fn parse(text: &str) -> Result<Self, NameProblem> {
        let id = text.trim().to_lowercase();
        let fits = (Self::SHORT_CHARS..=Self::MAX_CHARS).contains(&id.len());
        if !fits || !id.bytes().all(|byte| Self::ALPHABET.contains(&byte)) {
            return Err(NameProblem::new(format!(
                "{:?} is no id of a grant: it has {} or more digits and letters, as `airlock approvals list` shows it",
                text::shorten(text, 40),
                Self::SHORT_CHARS
            )));
        }
        Ok(Self(id))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GrantId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for GrantId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(id: &str) -> Party {
        Party { id: id.to_owned(), digest: Digest::of(id.as_bytes()) }
    }

    fn key() -> GrantKey {
        GrantKey {
            agent: "writer".into(),
            session_owner: "ada".into(),
            askers: BTreeSet::from([party("guard"), party("budget")]),
            owner: party("mail"),
            tool: ToolName::parse("send").unwrap(),
            arguments: Some(Digest::of(b"{}")),
        }
    }

    #[test]
    fn whatever_changes_in_a_key_changes_its_digest() {
        type Change = fn(&mut GrantKey);
        let changes: [Change; 8] = [
            |key| key.agent = "reader".into(),
            |key| key.session_owner = "bob".into(),
            |key| key.askers = BTreeSet::from([party("guard")]),
            |key| key.askers.clear(),
            |key| key.owner.digest = Digest::of(b"another version"),
            |key| key.owner.id = "post".into(),
            |key| key.tool = ToolName::parse("post").unwrap(),
            |key| key.arguments = None,
        ];
        let mut digests = BTreeSet::from([key().digest()]);
        for change in changes {
            let mut changed = key();
            change(&mut changed);
            assert!(digests.insert(changed.digest()), "{changed:?}");
        }
        // Who asked and who owns are not the same list in another order.
        let mut moved = key();
        moved.owner = moved.askers.pop_last().unwrap();
        moved.askers.insert(party("mail"));
        assert!(digests.insert(moved.digest()));
    }

    #[test]
    fn an_id_is_short_typed_in_any_case_and_grows_into_the_same_digest() {
        let digest = key().digest();
        let (short, long) = (GrantId::of(&digest, 8), GrantId::of(&digest, 9));
        assert!(long.as_str().starts_with(short.as_str()));
        assert_eq!(GrantId::parse(&format!(" {} ", short.as_str().to_uppercase())).unwrap(), short);
        assert_eq!(GrantId::of(&digest, 100).as_str().len(), 52);
        for bad in ["", "abc", "abcdefgu", "abcdefg-", &"a".repeat(53), "naïvenaïve"] {
            assert!(GrantId::parse(bad).unwrap_err().to_string().contains("approvals list"), "{bad}");
        }
    }

    #[test]
    fn its_row_names_it_and_has_the_whole_key() {
        let key = key();
        let decided = Decided { by: "ada".into(), unix_ms: 7 };
        let grant = Grant { id: GrantId::of(&key.digest(), 8), key, decided: decided.clone() };
        let row = grant.revoked(&decided);
        let body: serde_json::Value = serde_json::from_str(&row.body).unwrap();
        assert_eq!((row.kind, row.unix_ms, row.tool.as_deref()), (AuditKind::Grant, 7, Some("send")));
        assert_eq!(body["action"], "revoked");
        assert_eq!(body["grant"], grant.id.as_str());
        assert_eq!(body["key"]["askers"][0]["id"], "budget");
    }
}
