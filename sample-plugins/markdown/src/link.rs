//! A link's target and the files that exist enter; whether it leads somewhere leaves. It never looks at another host or
//! into another file.

use std::collections::BTreeSet;

use crate::document::Document;

/// What is known about a link.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It leads to another host or scheme.
    Elsewhere,
    Alive,
    /// Why it leads nowhere.
    Dead(String),
}

/// The files that exist and the place of the text among them.
pub(crate) struct Files {
    /// Files and the folders that hold them.
    paths: BTreeSet<String>,
    /// The folder of the text, as segments.
    folder: Vec<String>,
}

impl Files {
    /// `files` and `path` are relative to one root; either may start with `./` or `/`.
    pub(crate) fn new(files: &[String], path: &str) -> Self {
        let mut paths = BTreeSet::from([String::new()]);
        for file in files {
            let segments = resolve(&[], file).unwrap_or_default();
            for end in 1..=segments.len() {
                paths.insert(segments.iter().take(end).map(String::as_str).collect::<Vec<_>>().join("/"));
            }
        }
        let mut folder = resolve(&[], path).unwrap_or_default();
        folder.pop();
        Self { paths, folder }
    }
}

pub(crate) fn check(target: &str, document: &Document, files: &Files) -> Verdict {
    if has_scheme(target) || target.starts_with("//") {
        return Verdict::Elsewhere;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    if !path.is_empty() {
        return check_path(&decode(path), files);
    }
    let anchor = decode(anchor);
    // Every document has these two, whatever it says.
    if anchor.is_empty() || anchor == "top" || document.anchors.contains(&anchor) {
        return Verdict::Alive;
    }
    let lower = anchor.to_lowercase();
    if document.anchors.contains(&lower) {
        return Verdict::Dead(format!("no heading has this anchor; write `#{lower}`"));
    }
    Verdict::Dead("no heading has this anchor".to_owned())
}

fn check_path(path: &str, files: &Files) -> Verdict {
    let start: &[String] = if path.starts_with('/') { &[] } else { &files.folder };
    let Some(segments) = resolve(start, path) else {
        return Verdict::Dead("it leaves the folder that holds all files".to_owned());
    };
    let resolved = segments.join("/");
    if files.paths.contains(&resolved) {
        return Verdict::Alive;
    }
    let other_case = files.paths.iter().find(|known| known.eq_ignore_ascii_case(&resolved));
    Verdict::Dead(match other_case {
        Some(known) => format!("no file `{resolved}`; there is `{known}`, and letter case counts"),
        None => format!("no file `{resolved}`"),
    })
}

/// The segments of `path` seen from `start`, or `None` if it leads out of the root.
fn resolve(start: &[String], path: &str) -> Option<Vec<String>> {
    let mut segments = start.to_vec();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            name => segments.push(name.to_owned()),
        }
    }
    Some(segments)
}

/// Whether the target starts with a URL scheme, such as `https:` or `mailto:`.
fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
}

/// Resolves `%20` and its like; what is not valid stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if let (b'%', [high, low, tail @ ..]) = (first, after) {
            if let (Some(high), Some(low)) = (char::from(*high).to_digit(16), char::from(*low).to_digit(16)) {
                bytes.extend(u8::try_from(high * 16 + low));
                rest = tail;
                continue;
            }
        }
        bytes.push(*first);
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn verdict(target: &str) -> Verdict {
        let document = Document::parse("# Über uns\n\n# Plain\n");
        let files = ["README.md", "docs/a b.md", "docs/deep/c.md", "./assets/logo.png"].map(str::to_owned);
        check(target, &document, &Files::new(&files, "docs/index.md"))
    }

    #[track_caller]
    fn check_dead(target: &str, expected: &str) {
        assert_eq!(verdict(target), Verdict::Dead(expected.to_owned()), "{target}");
    }

    #[test]
    fn other_hosts_are_not_judged() {
        for target in ["https://example.com/x", "mailto:a@example.com", "//example.com", "data:text/plain,x"]
        {
            assert_eq!(verdict(target), Verdict::Elsewhere, "{target}");
        }
    }

    #[test]
    fn paths_start_from_the_text() {
        for target in [
            "a%20b.md",
            "a b.md",
            "./deep/c.md#any",
            "deep",
            "deep/",
            "../README.md?raw=1",
            "/README.md",
            ".",
        ] {
            assert_eq!(verdict(target), Verdict::Alive, "{target}");
        }
        check_dead("README.md", "no file `docs/README.md`");
        check_dead("../../etc/passwd", "it leaves the folder that holds all files");
        check_dead("../readme.md", "no file `readme.md`; there is `README.md`, and letter case counts");
    }

    #[test]
    fn anchors_are_those_of_the_text() {
        for target in ["#", "#top", "#plain", "#%C3%BCber-uns", "#über-uns"] {
            assert_eq!(verdict(target), Verdict::Alive, "{target}");
        }
        check_dead("#Plain", "no heading has this anchor; write `#plain`");
        check_dead("#gone", "no heading has this anchor");
    }

    #[test]
    fn broken_percent_signs_stay() {
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode("%zz%41"), "%zzA");
        assert_eq!(decode("%ff"), "%ff");
    }
}
