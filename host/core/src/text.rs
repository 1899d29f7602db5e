//! Text that a stranger wrote, made safe to show: any text enters, bounded and visible text leaves.
//!
//! Never cuts inside a character and never changes text that is short and clean.

use std::borrow::Cow;

/// What `shorten` and `bound` put where text was cut, so that a reader sees that something is missing.
const ELLIPSIS: char = '…';

/// At most `max_chars` characters, the last one an ellipsis if anything was cut. For names and previews in messages.
pub fn shorten(text: &str, max_chars: usize) -> Cow<'_, str> {
    let Some((cut, _)) = text.char_indices().nth(max_chars) else { return Cow::Borrowed(text) };
    let kept = text.get(..cut).unwrap_or_default();
    let mut short: String = kept.chars().take(max_chars.saturating_sub(1)).collect();
    short.push(ELLIPSIS);
    Cow::Owned(short)
}

/// The longest prefix of `text` of at most `max_bytes` bytes that ends at a character boundary.
pub fn prefix_within(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default()
}

/// Whether a character could hide, reorder or overwrite what a person reads: C0 and C1 controls, bidirectional
/// controls, zero-width and other invisible format characters, and tags.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{00ad}'
                | '\u{034f}'
                | '\u{061c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{0600}'..='\u{0605}'
                | '\u{06dd}'
                | '\u{070f}'
                | '\u{08e2}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                // All but the last, which asks for an emoji's picture.
                | '\u{fe00}'..='\u{fe0e}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Escapes what [`is_unsafe`] names as `\u{…}`; line breaks and tabs stay, for they are ordinary in descriptions.
pub fn escape(text: &str) -> Cow<'_, str> {
    let hides = |character: char| is_unsafe(character) && !matches!(character, '\n' | '\t');
    if !text.contains(hides) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if hides(character) {
            escaped.extend(character.escape_unicode());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// One line that is safe for a terminal: everything unsafe is escaped, line breaks and tabs included.
pub fn single_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' | '\t' => line.push(' '),
            character if is_unsafe(character) => line.extend(character.escape_unicode()),
            character => line.push(character),
        }
    }
    Cow::Owned(line)
}

/// The candidate closest to what somebody wrote, if one is close enough to be what they meant.
pub fn suggest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One slip in four letters, two in eight; words that merely share a prefix are farther apart.
    const CLOSE: f64 = 0.75;
    // Distance costs the product of the lengths; a name is short, so anything longer is not a slip of one.
    const MAX_COMPARED_CHARS: usize = 128;
    if written.chars().nth(MAX_COMPARED_CHARS).is_some() {
        return None;
    }
    let written = written.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            (strsim::normalized_damerau_levenshtein(&written, &candidate.to_lowercase()), candidate)
        })
        .filter(|(closeness, candidate)| *closeness >= CLOSE || is_extension(&written, candidate))
        .max_by(|one, other| one.0.total_cmp(&other.0).then_with(|| other.1.cmp(one.1)))
        .map(|(_, candidate)| candidate)
}

/// `search` for `github_search`: a whole word of a longer name is a likely slip, whatever the distance.
fn is_extension(written: &str, candidate: &str) -> bool {
    written.len() >= 4 && candidate.split(['_', '-']).any(|word| word == written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortening_never_cuts_inside_a_character() {
        for unit in ["é", "漢", "👨‍👩‍👧", "a"] {
            for length in 0..12 {
                let text = unit.repeat(length);
                for limit in 1..12 {
                    let short = shorten(&text, limit);
                    assert!(short.chars().count() <= limit.max(text.chars().count().min(limit)));
                    assert!(prefix_within(&text, limit).len() <= limit);
                }
            }
        }
        assert_eq!(shorten("héllo", 3), "hé…");
        assert_eq!(shorten("hé", 3), "hé");
    }

    #[test]
    fn what_could_deceive_a_reader_is_escaped() {
        assert_eq!(escape("pay \u{202e}eciruoj"), "pay \\u{202e}eciruoj");
        assert_eq!(escape("a\nb"), "a\nb");
        assert_eq!(single_line("a\nb\u{1b}[31m"), "a b\\u{1b}[31m");
    }

    #[test]
    fn suggestions_are_close_or_none() {
        assert_eq!(suggest("optionl", ["optional", "ownerOnly"]), Some("optional"));
        assert_eq!(suggest("search", ["github_search", "read"]), Some("github_search"));
        assert_eq!(suggest("zebra", ["optional", "ownerOnly"]), None);
        assert_eq!(suggest(&"a".repeat(1_000_000), ["aaa"]), None);
    }
}
