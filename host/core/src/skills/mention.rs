//! `$name` in a prompt: the prompt enters; names that somebody mentioned leave, and the prompt without the backslashes that kept
//! others from being one.

use std::collections::BTreeSet;

/// Skills that one prompt may mention.
pub(super) const MAX_MENTIONS: usize = 8;

/// What stands in a prompt behind dollar signs, each once and in its order; and the prompt with `\$` as `$`.
pub(super) fn mentions(prompt: &str) -> (Vec<String>, String) {
    let (mut found, mut seen, mut plain) = (Vec::new(), BTreeSet::new(), String::with_capacity(prompt.len()));
    let mut rest = prompt;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        let slashes = before.len() - before.trim_end_matches('\\').len();
        // Half of the backslashes escape the other half.
        let (kept, _) = before.split_at(before.len() - slashes.div_ceil(2));
        plain.push_str(kept);
        let after = after.strip_prefix('$').unwrap_or(after);
        let end = after.find(|letter: char| !letter.is_alphanumeric() && !"-_:".contains(letter));
        let (word, _) = after.split_at(end.unwrap_or(after.len()));
        plain.push('$');
        let name = word.trim_end_matches([':', '-', '_']).to_lowercase().replace(['_', ':'], "-");
        // `$PATH` is a variable of a shell.
        let is_variable = word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase);
        if slashes % 2 == 0 && !name.is_empty() && !is_variable && seen.insert(name.clone()) {
            found.push(name);
        }
        rest = after;
    }
    plain.push_str(rest);
    (found, plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dollar_before_a_word_mentions_it_unless_it_is_escaped() {
        for (prompt, names, plain) in [
            ("use $tidy and $Pdf-Tools.", vec!["tidy", "pdf-tools"], "use $tidy and $Pdf-Tools."),
            (r"not \$tidy", vec![], "not $tidy"),
            (r"a path \\$tidy", vec!["tidy"], r"a path \$tidy"),
            (r"\\\$tidy", vec![], r"\$tidy"),
            ("$tidy $TIDY $tidy: $pdf_tools", vec!["tidy", "pdf-tools"], "$tidy $TIDY $tidy: $pdf_tools"),
            ("$HOME costs 5$ or $ 5", vec![], "$HOME costs 5$ or $ 5"),
            ("$$tidy", vec!["tidy"], "$$tidy"),
            ("", vec![], ""),
        ] {
            assert_eq!(
                mentions(prompt),
                (names.iter().map(ToString::to_string).collect(), plain.to_owned()),
                "{prompt}"
            );
        }
    }
}
