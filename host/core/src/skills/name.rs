//! A skill's name, as the Agent Skills specification has it: text enters, a name that cannot be anything else leaves.

use std::fmt;
use std::sync::Arc;

use icu_normalizer::ComposingNormalizerBorrowed;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

use crate::text;

/// Longest name, in characters; the specification's.
const MAX_NAME_CHARS: usize = 64;

/// Characters from which a name may be put together: Unicode has none of more than four parts that are words' letters.
const MAX_WRITTEN_CHARS: usize = 4 * MAX_NAME_CHARS;

/// Words of lower-case letters and digits of any script, joined by single hyphens; at most 64 characters. Names that are written
/// in other characters and read the same are one, by Unicode's normalisation form KC.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(Arc<str>);

impl SkillName {
    /// Reads a name.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(written: &str) -> Result<Self, String> {
        // Longer ones are not looked at: no form of them has 64 characters.
        let name = text::shorten(written.trim(), MAX_WRITTEN_CHARS);
        let name = ComposingNormalizerBorrowed::new_nfkc().normalize(&name);
        let is_word = |word: &str| !word.is_empty() && word.chars().all(char::is_alphanumeric);
        let is_lower = name.to_lowercase() == name;
        if name.chars().count() <= MAX_NAME_CHARS
            && is_lower
            && !name.contains(text::is_unsafe)
            && name.split('-').all(is_word)
        {
            return Ok(Self((*name).into()));
        }
        let shown = text::single_line(&text::shorten(&name, 80)).into_owned();
        Err(format!(
            "`{shown}` is no name of a skill: 1 to {MAX_NAME_CHARS} lower-case letters and digits, in words that single hyphens join"
        ))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for SkillName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SkillName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

crate::schemas::text_schema!(SkillName, "a skill's name");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_hyphens() {
        for good in ["a", "pdf-tools", "v2", "2fa", "übersicht", "文档", &"é".repeat(64)] {
            assert!(SkillName::parse(good).is_ok(), "{good}");
        }
        assert_eq!(SkillName::parse("ﬁle"), SkillName::parse("file"));
        assert_eq!(SkillName::parse(&"e\u{301}".repeat(64)), SkillName::parse(&"é".repeat(64)));
        for bad in [
            "",
            "-a",
            "a-",
            "a--b",
            "A",
            "a_b",
            "a b",
            "a/b",
            "..",
            "É",
            "a\u{202e}b",
            "a\u{1160}",
            "a\u{3164}",
            "😀",
            &"a".repeat(65),
            &"a".repeat(100_000),
        ] {
            assert!(SkillName::parse(bad).is_err(), "{bad}");
        }
    }
}
