//! JSON text enters, the same text leaves with the secrets in its strings, names and numbers replaced. What is no secret
//! stays letter for letter, so that a number keeps every digit. It never judges whether the text is JSON: the host does.

use airlock_plugin::serde_json;

use crate::pattern::MARKER;

/// The document without its secrets; nothing if it has none. `redact` says what a text becomes.
///
/// # Errors
///
/// A string that cannot be read: what it hides cannot be told.
pub(crate) fn redact(
    json: &str,
    redact: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, serde_json::Error> {
    let mut clean = String::with_capacity(json.len());
    let (mut changed, mut names) = (false, 0_u32);
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        let (token, after) = rest.split_at(length);
        rest = after;
        let replaced = match first {
            '"' => redact(&serde_json::from_str::<String>(token)?),
            '-' | '0'..='9' => redact(token).map(|_| MARKER.to_owned()),
            _ => None,
        };
        let Some(mut text) = replaced else {
            clean.push_str(token);
            continue;
        };
        changed = true;
        if first == '"' && after.trim_start().starts_with(':') {
            names += 1;
            // Two names of one object must stay two.
            if names > 1 {
                text = format!("{text} {names}");
            }
        }
        clean.push_str(&serde_json::to_string(&text)?);
    }
    Ok(changed.then_some(clean))
}

/// How many bytes of `text` belong together: a string with its quotes, a number, or one character.
fn token_length(text: &str, first: char) -> usize {
    match first {
        '"' => string_length(text),
        '-' | '0'..='9' => text
            .find(|character: char| !matches!(character, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
            .unwrap_or(text.len()),
        other => other.len_utf8(),
    }
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (position, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return position + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json::Value;

    use super::*;

    /// Takes `sk` for a secret, and every 4711.
    fn marked(text: &str) -> Option<String> {
        let clean = text.replace("sk", MARKER).replace("4711", MARKER);
        (clean != text).then_some(clean)
    }

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let clean = redact(json, marked).unwrap();
        assert_eq!(clean.as_deref(), expected);
        if let Some(clean) = clean {
            serde_json::from_str::<Value>(&clean).unwrap();
        }
    }

    #[test]
    fn strings_names_and_numbers_at_any_depth() {
        check(r#"{"a": ["sk", {"b": "x sk"}]}"#, Some(r#"{"a": ["[redacted]", {"b": "x [redacted]"}]}"#));
        check(r#"{"sk" : 1}"#, Some(r#"{"[redacted]" : 1}"#));
        check(r#"[4711, -4711.5e3]"#, Some(r#"["[redacted]", "[redacted]"]"#));
        check(r#""sk""#, Some(r#""[redacted]""#));
    }

    #[test]
    fn what_is_no_secret_stays_letter_for_letter() {
        check(r#"{"a": 123456789012345678901234567890.10, "b": "\u00e9\n"}"#, None);
        let text = r#"[1.10, "\u0041", "sk", 1e999, true, null]"#;
        check("[1.10,\"sk\"]", Some("[1.10,\"[redacted]\"]"));
        assert_eq!(redact(text, marked).unwrap().unwrap(), text.replace("sk", MARKER));
    }

    #[test]
    fn an_escape_hides_nothing() {
        check(r#"["\u0073k"]"#, Some(r#"["[redacted]"]"#));
        check(r#"["\"sk\\"]"#, Some(r#"["\"[redacted]\\"]"#));
    }

    #[test]
    fn two_names_stay_two() {
        check(r#"{"sk": 1, "a": {"4711": 2}}"#, Some(r#"{"[redacted]": 1, "a": {"[redacted] 2": 2}}"#));
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        assert!(redact(r#"["\q"]"#, marked).is_err());
        assert!(redact(r#"["open"#, marked).is_err());
    }
}
