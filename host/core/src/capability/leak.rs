//! Values of secrets and what strangers wrote enter; the name of a secret that is in it leaves, or the text without it. It
//! finds a value as it is, in base64 and in hexadecimal at any place of a longer text, and behind percent-encoding and the
//! escapes of JSON. A cipher, or a value in pieces, is not found: whoever may use a secret on a host trusts that host.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use memchr::memmem::find;
use zeroize::{Zeroize as _, Zeroizing};

use super::secrets::{Secret, Secrets};

/// How often escapes are undone: an answer in JSON is often a text in another JSON.
const ROUNDS: usize = 2;

/// Bytes that one byte of a value takes at most, behind two rounds of escapes: `\u0061` with each of its six escaped again.
const WIDEST: usize = 36;

/// The ways to write a value that are looked for as they are.
pub(super) fn forms(value: &str) -> Vec<Zeroizing<Vec<u8>>> {
    let mut forms = vec![Zeroizing::new(value.as_bytes().to_vec())];
    if value.contains(' ') {
        forms.push(Zeroizing::new(value.replace(' ', "+").into_bytes()));
    }
    let hexadecimal: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    forms.push(Zeroizing::new(hexadecimal.to_ascii_uppercase().into_bytes()));
    forms.push(Zeroizing::new(hexadecimal.into_bytes()));
    for before in 0..3 {
        // What stands before the value moves its bits; only characters that the value alone decides are looked for.
        let mut shifted = Zeroizing::new(vec![0; before]);
        shifted.extend_from_slice(value.as_bytes());
        let (first, end) = ((before * 8).div_ceil(6), shifted.len() * 8 / 6);
        for alphabet in [STANDARD, URL_SAFE] {
            let mut encoded = alphabet.encode(&*shifted);
            let decided = encoded.as_bytes().get(first..end).unwrap_or_default().to_vec();
            encoded.zeroize();
            if !forms.iter().any(|form| **form == decided) {
                forms.push(Zeroizing::new(decided));
            }
        }
    }
    forms
}

impl Secrets {
    /// The name of a secret whose value is in what somebody wrote, in one of the ways that this file lists.
    pub fn found_in(&self, text: &[u8]) -> Option<&str> {
        if self.is_empty() { None } else { self.found_behind(text, ROUNDS) }
    }

    /// The same, behind at most so many rounds of escapes. Each kind is undone alone: a value may look like one of the
    /// other kind.
    fn found_behind(&self, text: &[u8], rounds: usize) -> Option<&str> {
        let behind = |escape: Escape| self.found_behind(&unescaped(text, escape)?, rounds - 1);
        let found = self.written_in(text);
        if rounds == 0 { found } else { found.or_else(|| Escape::BOTH.into_iter().find_map(behind)) }
    }

    /// The name of a secret that is written in the text without escapes.
    fn written_in(&self, text: &[u8]) -> Option<&str> {
        let is_in = |secret: &Secret| secret.forms().iter().any(|form| find(text, form).is_some());
        self.iter().find(|(_, secret)| is_in(secret)).map(|(name, _)| name)
    }

    /// How many bytes a value can be long, however it is written: who looks into a stream keeps one less.
    pub fn longest_form(&self) -> usize {
        self.iter().map(|(_, secret)| secret.expose().len() * WIDEST).max().unwrap_or_default()
    }

    /// The text with names in the place of values; withheld as a whole where a value is in it behind escapes.
    pub fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(found) = self.found_in(text.as_bytes()) else { return Cow::Borrowed(text) };
        let mut masked = text.to_owned();
        for (name, secret) in self.iter() {
            for form in secret.forms() {
                if let Ok(form) = std::str::from_utf8(form)
                    && masked.contains(form)
                {
                    masked = masked.replace(form, &format!("[the secret {name}]"));
                }
            }
        }
        if self.found_in(masked.as_bytes()).is_some() {
            masked = format!("[withheld: it held the secret {found}]");
        }
        Cow::Owned(masked)
    }
}

/// A way to write a character as others.
#[derive(Debug, Clone, Copy)]
enum Escape {
    /// As URLs do.
    Percent,
    /// As JSON does.
    Backslash,
}

impl Escape {
    const BOTH: [Self; 2] = [Self::Percent, Self::Backslash];

    fn begins_with(self) -> u8 {
        match self {
            Self::Percent => b'%',
            Self::Backslash => b'\\',
        }
    }
}

/// The text with one round of escapes undone; `None` if it has none.
fn unescaped(text: &[u8], escape: Escape) -> Option<Vec<u8>> {
    memchr::memchr(escape.begins_with(), text)?;
    let mut plain = Vec::with_capacity(text.len());
    let (mut rest, mut changed) = (text, false);
    while let Some((&first, after)) = rest.split_first() {
        let undone = match (escape, after) {
            _ if first != escape.begins_with() => None,
            (Escape::Percent, [high, low, after @ ..]) => number(&[*high, *low]).map(|byte| (byte, after)),
            (Escape::Backslash, [b'u', digits @ ..]) => {
                digits.split_at_checked(4).and_then(|(digits, after)| Some((number(digits)?, after)))
            }
            (Escape::Backslash, [escaped, after @ ..]) => Some((*escaped, after)),
            _ => None,
        };
        let (byte, after) = undone.unwrap_or((first, after));
        changed |= undone.is_some();
        plain.push(byte);
        rest = after;
    }
    changed.then_some(plain)
}

/// The character that hexadecimal digits stand for, if it is one that a secret can have.
fn number(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u8::try_from(u32::from_str_radix(text, 16).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "sk-\"1\\2/3%41~%4~Z9+x";

    fn secrets() -> Secrets {
        Secrets::from_values([("token", VALUE), ("other", "another value")])
    }

    #[test]
    fn a_value_is_found_however_it_is_written() {
        let json = serde_json::to_string(VALUE).unwrap();
        let twice = serde_json::to_string(&json).unwrap();
        let percent: String = VALUE.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let unicode: String = VALUE.chars().map(|char| format!("\\u{:04x}", u32::from(char))).collect();
        let hexadecimal: String = VALUE.bytes().map(|byte| format!("{byte:02X}")).collect();
        let mut written = vec![VALUE.to_owned(), json, twice, percent, unicode, hexadecimal];
        for before in 0..7 {
            for after in 0..4 {
                let longer = format!("{}{VALUE}{}", "u".repeat(before), "\u{7f}".repeat(after));
                written.push(STANDARD.encode(&longer));
                written.push(URL_SAFE.encode(&longer));
            }
        }
        for text in written {
            let text = format!("before {text} after");
            assert_eq!(secrets().found_in(text.as_bytes()), Some("token"), "{text}");
            let masked = secrets().masked(&text).into_owned();
            assert!(secrets().found_in(masked.as_bytes()).is_none(), "{masked}");
            assert!(masked.contains("the secret token"), "{masked}");
        }
        assert_eq!(secrets().found_in(b"q=another+value"), Some("other"));
    }

    #[test]
    fn what_only_looks_like_one_is_left_alone() {
        for text in ["", "sk-", "100% \\ \\u12 %zz %", &VALUE.to_lowercase(), "another-value"] {
            assert_eq!(secrets().found_in(text.as_bytes()), None, "{text}");
            assert_eq!(secrets().masked(text), text);
        }
        assert_eq!(Secrets::default().found_in(VALUE.as_bytes()), None);
    }

    #[test]
    fn no_way_to_write_it_is_longer_than_what_a_stream_keeps() {
        let escaped =
            |text: &str| text.chars().map(|char| format!("\\u{:04x}", u32::from(char))).collect::<String>();
        let twice = escaped(&escaped(VALUE));
        assert_eq!(secrets().found_in(twice.as_bytes()), Some("token"));
        assert!(twice.len() <= secrets().longest_form());
    }
}
