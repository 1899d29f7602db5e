//! One file's text enters; what the house rules say against it leaves. It never reads another file.

use std::path::Path;

use super::Finding;

/// A hard look is due long before; this is where a file must be split.
const MAX_LINES: usize = 500;

/// The only places that may speak of code the compiler cannot check: the compile cache, and generated guest bindings.
const UNCHECKED_CODE: [&str; 2] = ["host/sandbox/src/cache.rs", "guest-sdk/rust/src/bindings.rs"];

// Written in two parts, so that this file passes its own checks.
const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const UNCHECKED: &str = concat!("un", "safe");
const HOMES: [&str; 2] = [concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Folders of this machine that no tracked file may name.
pub(super) struct Machine {
    folders: Vec<String>,
}

impl Machine {
    /// The checkout and the home folder.
    pub(super) fn here(root: &Path) -> Self {
        let home = std::env::home_dir().unwrap_or_default();
        Self::with([root, &home])
    }

    fn with<const COUNT: usize>(folders: [&Path; COUNT]) -> Self {
        let folders = folders.iter().map(|folder| folder.to_string_lossy().trim_end_matches('/').to_owned());
        let folders = folders.filter(|folder| folder.len() > 1).chain(HOMES.map(str::to_owned));
        Self { folders: folders.collect() }
    }

    fn is_named_in(&self, line: &str) -> bool {
        self.folders.iter().any(|folder| {
            line.match_indices(folder.as_str()).any(|(start, found)| {
                let before = line.get(..start).and_then(|text| text.chars().next_back());
                let after = line.get(start + found.len()..).and_then(|text| text.chars().next());
                // Part of a longer path or of an address is not a path of this machine.
                let starts = before
                    .is_none_or(|character| !character.is_alphanumeric() && !"._-/~".contains(character));
                let ends = folder.ends_with('/') || after.is_none_or(|character| !is_word(character));
                starts && ends
            })
        })
    }
}

pub(super) fn check(file: &str, text: &str, machine: &Machine) -> Vec<Finding> {
    let rust = file.ends_with(".rs");
    // Locks, licences and recorded compiler messages are not ours to format.
    let foreign = file.ends_with(".lock") || file.ends_with(".stderr") || file.starts_with("LICENSE");
    let mut findings = Vec::new();
    if rust {
        check_rust_file(file, text, &mut findings);
    }
    for (index, line) in text.lines().enumerate() {
        let mut found = |what: &str| findings.push(Finding::new(file, index + 1, what));
        if machine.is_named_in(line) {
            found("an absolute path of one machine: write it relative to the repository");
        }
        if foreign {
            continue;
        }
        if line.ends_with([' ', '\t']) {
            found("white space at the end of the line: remove it");
        }
        for note in NOTES {
            if has_word(line, note) {
                found(&format!("`{note}`: do it now, or say what is missing in an issue"));
            }
        }
        if rust {
            check_rust_line(file, line, &mut found);
        }
    }
    findings
}

fn check_rust_file(file: &str, text: &str, findings: &mut Vec<Finding>) {
    if !text.starts_with("//!") {
        findings.push(Finding::new(
            file,
            1,
            "the file does not start with `//!`: say what enters, what leaves",
        ));
    }
    if file == "mod.rs" || file.ends_with("/mod.rs") {
        findings.push(Finding::new(file, 1, "a `mod.rs`: name the file after its module, beside the folder"));
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        let what = format!("{lines} lines, at most {MAX_LINES} are allowed: split it by ideas");
        findings.push(Finding::new(file, lines, what));
    }
}

fn check_rust_line(file: &str, line: &str, found: &mut impl FnMut(&str)) {
    if line.contains('\t') {
        found("a tab: indent with spaces");
    }
    let code = line.trim_start();
    if code.starts_with("#[ignore") {
        found("an ignored test: make it pass, or assert what happens and say why");
    }
    if code.starts_with("#[should_panic") {
        found("a test that expects any panic: assert the error it is about");
    }
    if is_unchecked(code) && !UNCHECKED_CODE.contains(&file) {
        found(&format!("`{UNCHECKED}` outside {}: find a checked way", UNCHECKED_CODE.join(" and ")));
    }
}

/// Whether a line opens code that the compiler does not check, or lifts the lint against it. The bare word in a text does
/// neither.
fn is_unchecked(code: &str) -> bool {
    const FOLLOWERS: [&str; 7] = ["{", "fn ", "impl ", "impl<", "trait ", "extern ", "("];
    !code.starts_with("//")
        && code.match_indices(UNCHECKED).any(|(start, word)| {
            let before = code.get(..start).and_then(|text| text.chars().next_back());
            let rest = code.get(start + word.len()..).unwrap_or_default();
            !before.is_some_and(is_word)
                && (rest.starts_with("_code")
                    || FOLLOWERS.iter().any(|next| rest.trim_start().starts_with(next)))
        })
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let before = line.get(..start).and_then(|text| text.chars().next_back());
        let after = line.get(start + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_texts(file: &str, text: &str, expected: &[(usize, &str)]) {
        let machine = Machine::with([Path::new("/checkout/airlock"), Path::new("/")]);
        let found = check(file, text, &machine);
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, expected.iter().map(|(line, _)| *line).collect::<Vec<_>>(), "{found:?}");
        for (finding, (_, part)) in found.iter().zip(expected) {
            assert!(finding.text.contains(part), "{finding}");
        }
    }

    #[test]
    fn rust_files() {
        check_texts("a.rs", "//! Good.\nfn main() {}\n", &[]);
        check_texts("a.rs", "fn main() {}\n", &[(1, "//!")]);
        check_texts("a/mod.rs", "//! Good.\n", &[(1, "mod.rs")]);
        check_texts("a.rs", &"//!\n".repeat(501), &[(501, "501 lines")]);
        check_texts(
            "a.rs",
            "//!\n\tfn a() {}\n    #[ignore]\n#[should_panic(expected = \"x\")]\n",
            &[(2, "tab"), (3, "ignored"), (4, "panic")],
        );
    }

    #[test]
    fn unchecked_code() {
        let text = format!(
            "//!\n{UNCHECKED} {{ }}\n#[allow({UNCHECKED}_code)]\n// {UNCHECKED} {{\n\"it is {UNCHECKED}.\"\nis_{UNCHECKED}(x)\n"
        );
        check_texts("host/core/src/a.rs", &text, &[(2, "checked way"), (3, "checked way")]);
        check_texts("host/sandbox/src/cache.rs", &text, &[]);
    }

    #[test]
    fn every_text_file() {
        let note = NOTES.first().unwrap();
        check_texts("a.md", "fine\ntrailing \n", &[(2, "white space")]);
        check_texts("a.toml", &format!("# {note}: later\n# {note}S\n"), &[(1, "do it now")]);
        check_texts("a.stderr", "trailing \n", &[]);
    }

    #[test]
    fn paths_of_one_machine() {
        let home = HOMES.first().unwrap();
        let text = format!(
            "in {home}ann/x\n\"/checkout/airlock/a\"\n/checkout/airlocked\nhttps://a.example{home}x\n./a{home}b\n"
        );
        check_texts("a.md", &text, &[(1, "absolute path"), (2, "absolute path")]);
    }
}
