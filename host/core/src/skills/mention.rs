//! `$name` in a prompt: the prompt enters; the skills that somebody mentioned leave, and the prompt without the backslashes that
//! kept others from being one. A word that is no skill's name is left as it is.

use std::collections::BTreeSet;

use super::name::SkillName;

/// Skills that one prompt may mention.
pub(super) const MAX_MENTIONS: usize = 8;

/// What stands in a prompt behind dollar signs and is a skill's name, each once and in its order; and the prompt with `\$` as `$`
/// before such a name.
pub(super) fn mentions(prompt: &str, is_skill: impl Fn(&SkillName) -> bool) -> (Vec<SkillName>, String) {
    let (mut found, mut seen, mut plain) = (Vec::new(), BTreeSet::new(), String::with_capacity(prompt.len()));
    let mut rest = prompt;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        let after = after.strip_prefix('$').unwrap_or(after);
        let end = after
            .find(|letter: char| !letter.is_alphanumeric() && !"-_:".contains(letter) && !is_mark(letter));
        let (word, _) = after.split_at(end.unwrap_or(after.len()));
        let name = name(word).filter(&is_skill);
        let slashes = before.len() - before.trim_end_matches('\\').len();
        // Half of the backslashes before a name escape the other half.
        let gone = if name.is_some() { slashes.div_ceil(2) } else { 0 };
        plain.push_str(before.get(..before.len() - gone).unwrap_or(before));
        plain.push('$');
        found.extend(name.filter(|name| slashes % 2 == 0 && seen.insert(name.clone())));
        rest = after;
    }
    plain.push_str(rest);
    (found, plain)
}

/// The name that a word stands for, in any case and with any of its joints; none for a shell's variable, which has capitals only.
fn name(word: &str) -> Option<SkillName> {
    let is_variable = word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase);
    let name = word.trim_end_matches([':', '-', '_']).to_lowercase().replace(['_', ':'], "-");
    SkillName::parse(&name).ok().filter(|_| !is_variable)
}

/// Whether a character belongs to the letter before it, as in texts that are decomposed.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}')
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
            (r"\$HOME costs \$5, and ^a\$ is no skill", vec![], r"\$HOME costs \$5, and ^a\$ is no skill"),
            ("$re\u{301}sume\u{301}", vec!["résumé"], "$re\u{301}sume\u{301}"),
            ("", vec![], ""),
        ] {
            let known = ["tidy", "pdf-tools", "résumé", "home"].map(|name| SkillName::parse(name).unwrap());
            let (found, said) = mentions(prompt, |name| known.contains(name));
            let found: Vec<&str> = found.iter().map(SkillName::as_str).collect();
            assert_eq!((found, said.as_str()), (names, plain), "{prompt}");
        }
    }
}
