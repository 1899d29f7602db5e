//! Words of texts and names: anything enters; lower-case stems leave, without the words that are everywhere.

/// Words that say nothing about a tool.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "get",
    "getting", "given", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "of",
    "on", "one", "or", "our", "please", "so", "some", "that", "the", "their", "them", "then", "there",
    "these", "this", "to", "tool", "up", "use", "using", "want", "was", "we", "what", "when", "which",
    "will", "with", "would", "you", "your",
];

/// Words that mean nearly the same when they are about what a tool does.
const RELATED: &[&[&str]] = &[
    &["create", "add", "new", "make", "open"],
    &["delete", "remove", "erase", "drop", "clear"],
    &["edit", "update", "change", "modify", "rename"],
    &["find", "search", "query", "look", "locate"],
    &["list", "show", "all", "display"],
    &["read", "fetch", "view", "download"],
    &["write", "save", "store", "record"],
    &["send", "post", "deliver", "notify", "message"],
    &["run", "execute", "start", "launch"],
    &["stop", "cancel", "kill", "end"],
    &["email", "mail", "inbox"],
    &["picture", "image", "photo"],
    &["folder", "directory"],
    &["meeting", "calendar", "event", "appointment", "schedule"],
    &["ticket", "issue", "bug"],
    &["client", "customer", "contact"],
    &["money", "payment", "invoice", "charge"],
    &["translate", "language"],
    &["regex", "expression", "pattern", "grep"],
    &["currency", "dollar", "euro", "exchange"],
];

/// The stems of a text in its order.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in text.chars() {
        // `listNotes` is two words, as is `list_notes`.
        if !character.is_alphanumeric() || (character.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase();
    }
    let meaningful = words.iter().filter(|word| !word.is_empty() && !STOP_WORDS.contains(&word.as_str()));
    meaningful.map(|word| stem(word)).collect()
}

/// Stems that mean nearly the same as this one.
pub(super) fn related(term: &str) -> impl Iterator<Item = String> {
    let group = RELATED.iter().find(|group| group.iter().any(|word| stem(word) == term));
    group.into_iter().flat_map(|group| group.iter()).map(|word| stem(word)).filter(move |other| other != term)
}

/// What forms of one English word have in common; other words are left as they are.
fn stem(word: &str) -> String {
    let mut stem = word;
    if stem.len() > 4 && stem.ends_with("ies") {
        return format!("{}y", stem.strip_suffix("ies").unwrap_or(stem));
    }
    let is_plural = stem.len() > 3 && !["ss", "us", "is"].iter().any(|end| stem.ends_with(end));
    if is_plural && let Some(singular) = stem.strip_suffix('s') {
        stem = singular;
    }
    for end in ["ing", "ed"] {
        if let Some(rest) = stem.strip_suffix(end).filter(|rest| rest.len() > 2) {
            stem = rest;
            let mut last = stem.chars().rev();
            // `running` comes from `run`.
            if last.next() == last.next() && !stem.ends_with("ss") && !stem.ends_with("ll") {
                let mut shorter = stem.chars();
                shorter.next_back();
                stem = shorter.as_str();
            }
            break;
        }
    }
    stem.strip_suffix('e').filter(|rest| rest.len() > 2).unwrap_or(stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_term_and_names_are_words() {
        for (one, other) in [
            ("create", "creating"),
            ("deleted", "delete"),
            ("running", "runs"),
            ("queries", "query"),
            ("pass", "passes the"),
            ("send_message", "sendMessages"),
            ("Calls", "call"),
        ] {
            assert_eq!(terms(one).first(), terms(other).first(), "{one} {other}");
        }
        assert_eq!(
            terms("HTTPServer listNotes v2 für-dich"),
            ["httpserver", "list", "not", "v2", "für", "dich"]
        );
        assert!(terms("what is the … ").is_empty());
        assert!(related("delet").any(|other| other == "remov"));
    }
}
