//! Names of things: text enters, a name that cannot be malformed leaves.
//!
//! Rules: ARCHITECTURE.md, "Names". Nothing here knows which names exist.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use sha2::Digest as _;

use crate::text;

/// Longest name of a tool or plugin, in characters.
pub const MAX_NAME_CHARS: usize = 64;

/// Other spellings of native tools; what a person or a model writes is mapped, and no plugin may take them.
const TOOL_ALIASES: &[(&str, &str)] = &[("bash", "exec"), ("apply-patch", "apply_patch")];

/// Words that policy entries and diagnostics use with a meaning of their own.
const RESERVED_PLUGIN_IDS: &[&str] = &["core", "node", "group", "plugin", "airlock"];

/// File names that Windows takes for devices, in any folder and with any extension.
const WINDOWS_DEVICES: &[&str] = &[
    "con", "prn", "aux", "nul", "com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8",
    "com9", "lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Why a text is not a name. Its `Display` says what is wrong and what a name looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameProblem(String);

impl NameProblem {
    pub(crate) fn new(message: String) -> Self {
        Self(message)
    }
}

impl fmt::Display for NameProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NameProblem {}

/// A tool's canonical name: `^[a-z][a-z0-9_-]{0,63}$` and no alias of a native tool.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// Reads a name that must already be canonical, as in a manifest or a registration.
    ///
    /// # Errors
    /// Says what is wrong with `text`, or which name the alias stands for.
    pub fn parse(text: &str) -> Result<Self, NameProblem> {
        check_shape("tool name", text, "_-")?;
        if let Some((_, canonical)) = TOOL_ALIASES.iter().find(|(alias, _)| *alias == text) {
            return Err(NameProblem(format!(
                "`{text}` is reserved as another spelling of `{canonical}`; choose another name"
            )));
        }
        Ok(Self(text.into()))
    }

    /// Reads what a person or a model wrote: trimmed, lower-cased, aliases replaced.
    ///
    /// # Errors
    /// Says what is wrong with `text`.
    pub fn canonicalise(text: &str) -> Result<Self, NameProblem> {
        let lower = text.trim().to_lowercase();
        let canonical =
            TOOL_ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, name)| name);
        Self::parse(canonical)
    }

    /// Whether the name is so common that others write it in several ways.
    pub(crate) fn has_aliases(&self) -> bool {
        TOOL_ALIASES.iter().any(|(_, name)| *name == self.as_str())
    }
}

/// A plugin's id: `^[a-z][a-z0-9-]{0,63}$`, no reserved word and no Windows device name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PluginId(Arc<str>);

impl PluginId {
    /// Reads an id.
    ///
    /// # Errors
    /// Says what is wrong with `text`.
    pub fn parse(text: &str) -> Result<Self, NameProblem> {
        check_shape("plugin id", text, "-")?;
        if RESERVED_PLUGIN_IDS.contains(&text) {
            return Err(NameProblem(format!("`{text}` is a reserved word; choose another plugin id")));
        }
        if WINDOWS_DEVICES.contains(&text) {
            return Err(NameProblem(format!(
                "`{text}` is a device name on Windows; choose another plugin id"
            )));
        }
        Ok(Self(text.into()))
    }
}

/// One call's identity, unique within a host: what hooks, approvals, records and progress refer to.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(Arc<str>);

/// Longest call id in bytes: providers' ids are under 64; four times that is generous and still bounded.
const MAX_CALL_ID_BYTES: usize = 256;

impl CallId {
    /// Reads an id, as a model provider gave it.
    ///
    /// # Errors
    /// If `text` is empty, longer than 256 bytes, or holds invisible or control characters.
    pub fn parse(text: &str) -> Result<Self, NameProblem> {
        if text.is_empty() || text.len() > MAX_CALL_ID_BYTES || text.chars().any(text::is_unsafe) {
            return Err(NameProblem(format!(
                "a call id is 1 to {MAX_CALL_ID_BYTES} bytes of visible characters, found {:?}",
                text::shorten(text, 40)
            )));
        }
        Ok(Self(text.into()))
    }

    /// The `number`-th id that a host makes by itself.
    pub(crate) fn numbered(number: u64) -> Self {
        Self(format!("call-{number}").into())
    }
}

fn check_shape(what: &str, text: &str, punctuation: &str) -> Result<(), NameProblem> {
    let shape = format!(
        "a {what} is 1 to {MAX_NAME_CHARS} characters, starts with a lower-case letter, then has lower-case letters, digits and {}",
        punctuation.chars().map(|mark| format!("`{mark}`")).collect::<Vec<_>>().join(" or ")
    );
    let fault = |cause: String| NameProblem(format!("{cause}: {shape}"));
    let mut characters = text.chars();
    match characters.next() {
        None => return Err(fault("the name is empty".into())),
        Some('a'..='z') => {}
        Some(first) => {
            return Err(fault(format!("{:?} starts with {first:?}", text::shorten(text, MAX_NAME_CHARS))));
        }
    }
    if let Some(other) = characters
        .find(|character| !matches!(character, 'a'..='z' | '0'..='9') && !punctuation.contains(*character))
    {
        return Err(fault(format!("{:?} contains {other:?}", text::shorten(text, MAX_NAME_CHARS))));
    }
    if text.len() > MAX_NAME_CHARS {
        return Err(fault(format!(
            "{:?} has {} characters",
            text::shorten(text, MAX_NAME_CHARS),
            text.len()
        )));
    }
    Ok(())
}

/// What the three names share: they are text, read with `parse` wherever they come from.
macro_rules! text_newtype {
    ($name:ident) => {
        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "`{}`", self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    };
}

text_newtype!(ToolName);
text_newtype!(PluginId);
text_newtype!(CallId);

/// A SHA-256 digest; shown and stored as `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// One digest over several parts, each framed by its length so that no two lists of parts collide.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = sha2::Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// A digest that was made before and stored as its 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads a digest as it is shown: `sha256:` and 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?.as_bytes();
        let mut bytes = [0; 32];
        let (pairs, []) = digits.as_chunks::<2>() else { return None };
        if pairs.len() != bytes.len() {
            return None;
        }
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = value(*high)? << 4 | value(*low)?;
        }
        Some(Self(bytes))
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 lower-case hex digits, as in a file name.
    pub fn to_hex(self) -> String {
        use fmt::Write as _;
        self.0.iter().fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| D::Error::custom("a digest is `sha256:` and 64 lower-case hex digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_names_have_one_shape() {
        for good in ["a", "web_fetch", "x-1", &"a".repeat(64)] {
            assert!(ToolName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "A", "1a", "_a", "a.b", "a b", "naïve", "a\u{202e}b", &"a".repeat(65), "drive/list"]
        {
            assert!(ToolName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_alias_is_reserved_in_a_manifest_and_mapped_from_a_model() {
        let problem = ToolName::parse("bash").unwrap_err().to_string();
        assert!(problem.contains("another spelling of `exec`"), "{problem}");
        assert_eq!(ToolName::canonicalise(" BASH ").unwrap().as_str(), "exec");
        assert_eq!(ToolName::canonicalise("Apply-Patch").unwrap().as_str(), "apply_patch");
    }

    #[test]
    fn plugin_ids_exclude_reserved_words_and_devices() {
        assert!(PluginId::parse("github").is_ok());
        for bad in ["core", "node", "con", "lpt1", "com0", "a_b", "Git", " git "] {
            assert!(PluginId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_problem_with_a_huge_name_stays_short() {
        let problem = ToolName::parse(&"é".repeat(100_000)).unwrap_err().to_string();
        assert!(problem.len() < 600, "{}", problem.len());
    }

    #[test]
    fn framed_digests_tell_the_same_bytes_split_differently_apart() {
        let one = Digest::of_parts([b"ab".as_slice(), b"c"]);
        let other = Digest::of_parts([b"a".as_slice(), b"bc"]);
        assert_ne!(one, other);
        assert_eq!(Digest::of(b"").to_string().len(), "sha256:".len() + 64);
    }

    #[test]
    fn a_digest_is_read_as_it_is_shown() {
        let shown = Digest::of(b"").to_string();
        assert_eq!(Digest::parse(&shown), Some(Digest::of(b"")));
        for bad in
            ["", "sha256:", &shown.to_uppercase(), &shown[1..], &format!("{shown}0"), &format!("{shown}00")]
        {
            assert_eq!(Digest::parse(bad), None, "{bad}");
        }
    }
}
