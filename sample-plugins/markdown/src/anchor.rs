//! Heading texts enter, the anchors that GitHub gives them leave. Two headings of one text never get the same anchor.

use std::collections::BTreeMap;

/// The anchors of one text, in the order of its headings.
#[derive(Default)]
pub(crate) struct Anchors {
    /// How often each anchor was asked for.
    taken: BTreeMap<String, usize>,
}

impl Anchors {
    /// The anchor of the next heading.
    pub(crate) fn next(&mut self, heading: &str) -> String {
        let plain = slug(heading);
        let mut anchor = plain.clone();
        while self.taken.contains_key(&anchor) {
            let count = self.taken.entry(plain.clone()).or_default();
            *count += 1;
            anchor = format!("{plain}-{count}");
        }
        self.taken.insert(anchor.clone(), 0);
        anchor
    }
}

/// Lower case; spaces become hyphens; of everything else, letters, digits, hyphens and underscores stay.
fn slug(heading: &str) -> String {
    heading
        .trim()
        .chars()
        .flat_map(char::to_lowercase)
        .filter_map(|character| match character {
            ' ' => Some('-'),
            '-' | '_' => Some(character),
            _ => character.is_alphanumeric().then_some(character),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headings: &[&str], expected: &[&str]) {
        let mut anchors = Anchors::default();
        let found: Vec<String> = headings.iter().map(|heading| anchors.next(heading)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn slugs() {
        check(&["What's new in v1.2?"], &["whats-new-in-v12"]);
        check(&["C++ & Rust", "snake_case-name"], &["c--rust", "snake_case-name"]);
        check(&["Über 東京", "…"], &["über-東京", ""]);
    }

    #[test]
    fn repeated_headings_are_numbered() {
        check(&["Use", "Use", "use!"], &["use", "use-1", "use-2"]);
    }

    #[test]
    fn a_number_that_a_heading_has_already_is_skipped() {
        check(&["Use", "Use 1", "Use", "Use 1"], &["use", "use-1", "use-2", "use-1-1"]);
    }
}
