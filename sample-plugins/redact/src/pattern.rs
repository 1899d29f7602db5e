//! A text enters, the same text leaves with `[redacted]` in place of whatever looks like a secret. It knows shapes only, and
//! undoes no encoding.

use airlock_plugin::prelude::*;

/// What takes a secret's place.
pub(crate) const MARKER: &str = "[redacted]";

/// What a secret looks like: a prefix, then at least `min` of some characters.
#[config]
pub(crate) struct Pattern {
    prefix: String,
    characters: Characters,
    #[serde(default = "one")]
    min: usize,
}

#[config]
#[derive(Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Characters {
    Digits,
    Lowercase,
    Uppercase,
    Letters,
    Hex,
    Alphanumeric,
    Token,
}

fn one() -> usize {
    1
}

impl Characters {
    fn contain(self, character: char) -> bool {
        match self {
            Self::Digits => character.is_ascii_digit(),
            Self::Lowercase => character.is_ascii_lowercase(),
            Self::Uppercase => character.is_ascii_uppercase(),
            Self::Letters => character.is_ascii_alphabetic(),
            Self::Hex => character.is_ascii_hexdigit(),
            Self::Alphanumeric => character.is_ascii_alphanumeric(),
            Self::Token => character.is_ascii_alphanumeric() || "-._~+/=".contains(character),
        }
    }
}

impl Pattern {
    /// How many bytes at the start of `text` are a secret.
    fn length_at_start(&self, text: &str) -> Option<usize> {
        let rest = text.strip_prefix(self.prefix.as_str())?;
        // All classes are ASCII, so a character is a byte.
        let run = rest.chars().take_while(|character| self.characters.contain(*character)).count();
        (run >= self.min.max(1)).then_some(self.prefix.len() + run)
    }
}

/// The text without its secrets; nothing if it has none.
pub(crate) fn redact(text: &str, patterns: &[Pattern]) -> Option<String> {
    let mut clean = String::new();
    let (mut kept, mut position) = (0, 0);
    while let Some(rest) = text.get(position..).filter(|rest| !rest.is_empty()) {
        // Of several that start here the longest goes, so that nothing of it stays.
        match patterns.iter().filter_map(|pattern| pattern.length_at_start(rest)).max() {
            Some(length) => {
                clean.push_str(text.get(kept..position).unwrap_or_default());
                clean.push_str(MARKER);
                position += length;
                kept = position;
            }
            None => position += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    clean.push_str(text.get(kept..).unwrap_or_default());
    (kept > 0).then_some(clean)
}

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json;
    use airlock_plugin::serde_json::Value;
    use airlock_plugin::serde_json::json;

    use super::*;

    fn patterns(patterns: Value) -> Vec<Pattern> {
        serde_json::from_value(patterns).unwrap()
    }

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let patterns = patterns(json!([
            { "prefix": "sk-", "characters": "lowercase" },
            { "prefix": "sk-live-", "characters": "hex", "min": 4 },
            { "prefix": "", "characters": "digits", "min": 13 },
            { "prefix": "clé=", "characters": "token" },
        ]));
        assert_eq!(redact(text, &patterns).as_deref(), expected);
    }

    #[test]
    fn a_secret_is_replaced_wherever_it_stands() {
        check("auth: sk-example", Some("auth: [redacted]"));
        check("sk-a, sk-b and sk-c", Some("[redacted], [redacted] and [redacted]"));
        check("(sk-example)", Some("([redacted])"));
        check("→sk-ü sk-é", None);
        check("→sk-aü", Some("→[redacted]ü"));
        check("clé=a/b+c==", Some("[redacted]"));
    }

    #[test]
    fn what_only_begins_like_one_stays() {
        check("sk-", None);
        check("SK-EXAMPLE", None);
        check("", None);
        check("123456789012", None);
        check("no: 1234567890123!", Some("no: [redacted]!"));
    }

    #[test]
    fn the_longest_one_goes() {
        check("sk-live-00ff", Some("[redacted]"));
        check("sk-live-0", Some("[redacted]-0"));
    }

    #[test]
    fn every_class_has_its_characters() {
        for (class, inside, outside) in [
            ("digits", "09", "a"),
            ("lowercase", "az", "A"),
            ("uppercase", "AZ", "a"),
            ("letters", "aZ", "0"),
            ("hex", "09afAF", "g"),
            ("alphanumeric", "0aZ", "-"),
            ("token", "0aZ-._~+/=", " "),
        ] {
            let patterns = patterns(json!([{ "prefix": "x:", "characters": class }]));
            let text = format!("x:{inside}{outside}");
            assert_eq!(redact(&text, &patterns), Some(format!("{MARKER}{outside}")), "{class}");
        }
    }
}
