//! The steps that pipelines are made of: a text enters each, a text leaves. A step never fails and depends on nothing but
//! its text.

use std::collections::BTreeSet;

/// One text transformation.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&str) -> String,
}

pub(crate) const UNIX_LINES: Step = Step { name: "unix-lines", run: unix_lines };
pub(crate) const TRIM_LINES: Step = Step { name: "trim-lines", run: trim_lines };
pub(crate) const SINGLE_BLANK_LINES: Step = Step { name: "single-blank-lines", run: single_blank_lines };
pub(crate) const SINGLE_SPACES: Step = Step { name: "single-spaces", run: single_spaces };
pub(crate) const FOLD_ACCENTS: Step = Step { name: "fold-accents", run: fold_accents };
pub(crate) const LOWER_CASE: Step = Step { name: "lower-case", run: str::to_lowercase };
pub(crate) const HYPHENATE: Step = Step { name: "hyphenate", run: hyphenate };
pub(crate) const CAPITALISE: Step = Step { name: "capitalise", run: capitalise };
pub(crate) const COUNT: Step = Step { name: "count", run: count };
pub(crate) const DROP_REPEATED_LINES: Step = Step { name: "drop-repeated-lines", run: drop_repeated_lines };
pub(crate) const NUMBER_LINES: Step = Step { name: "number-lines", run: number_lines };

fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Removes white space at the ends of lines; indentation stays.
fn trim_lines(text: &str) -> String {
    join(text.split('\n').map(str::trim_end))
}

/// Leaves one blank line where there are several, none at either end, and a line end after the last line.
fn single_blank_lines(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if !line.is_empty() || kept.last().is_some_and(|last| !last.is_empty()) {
            kept.push(line);
        }
    }
    if kept.last().is_some_and(|last| last.is_empty()) {
        kept.pop();
    }
    if kept.is_empty() { String::new() } else { join(kept) + "\n" }
}

/// Makes one space of any white space within a line.
fn single_spaces(text: &str) -> String {
    join(text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// Replaces accented Latin letters and ligatures by plain ones.
fn fold_accents(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        let plain = match character {
            'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => "a",
            'À' | 'Á' | 'Â' | 'Ã' | 'Ä' | 'Å' | 'Ā' | 'Ă' | 'Ą' => "A",
            'ç' | 'ć' | 'č' => "c",
            'Ç' | 'Ć' | 'Č' => "C",
            'ď' | 'đ' => "d",
            'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ę' | 'ě' => "e",
            'È' | 'É' | 'Ê' | 'Ë' | 'Ē' | 'Ę' | 'Ě' => "E",
            'ğ' => "g",
            'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' => "i",
            'Ì' | 'Í' | 'Î' | 'Ï' | 'Ī' | 'İ' => "I",
            'ł' => "l",
            'Ł' => "L",
            'ñ' | 'ń' | 'ň' => "n",
            'Ñ' | 'Ń' | 'Ň' => "N",
            'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ō' | 'ő' => "o",
            'Ò' | 'Ó' | 'Ô' | 'Õ' | 'Ö' | 'Ø' | 'Ō' | 'Ő' => "O",
            'ř' => "r",
            'Ř' => "R",
            'ś' | 'š' | 'ş' | 'ș' => "s",
            'Ś' | 'Š' | 'Ş' | 'Ș' => "S",
            'ť' | 'ț' => "t",
            'ù' | 'ú' | 'û' | 'ü' | 'ū' | 'ů' | 'ű' => "u",
            'Ù' | 'Ú' | 'Û' | 'Ü' | 'Ū' | 'Ů' | 'Ű' => "U",
            'ý' | 'ÿ' => "y",
            'Ý' => "Y",
            'ź' | 'ż' | 'ž' => "z",
            'Ź' | 'Ż' | 'Ž' => "Z",
            'ß' => "ss",
            'æ' => "ae",
            'Æ' => "AE",
            'œ' => "oe",
            'Œ' => "OE",
            other => {
                folded.push(other);
                continue;
            }
        };
        folded.push_str(plain);
    }
    folded
}

/// Joins runs of letters and digits by hyphens and drops everything else; apostrophes do not separate.
fn hyphenate(text: &str) -> String {
    let text = text.replace(['\'', '’'], "");
    let words: Vec<&str> =
        text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// Words that stay small inside a title.
const SMALL_WORDS: [&str; 19] = [
    "a", "an", "and", "as", "at", "but", "by", "for", "from", "in", "nor", "of", "on", "or", "the", "to",
    "up", "via", "with",
];

/// Capitalises the words of each line, except small ones between the first and the last.
fn capitalise(text: &str) -> String {
    join(text.split('\n').map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let last = words.len().saturating_sub(1);
        let titled = words.iter().enumerate().map(|(position, word)| {
            let lower = word.to_lowercase();
            if position != 0 && position != last && SMALL_WORDS.contains(&lower.as_str()) {
                lower
            } else {
                upper_first(word)
            }
        });
        titled.collect::<Vec<_>>().join(" ")
    }))
}

/// Leaves the rest as it is: `iOS` and `NASA` are words too.
fn upper_first(word: &str) -> String {
    if word.chars().skip(1).any(char::is_uppercase) {
        return word.to_owned();
    }
    let mut characters = word.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn count(text: &str) -> String {
    let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()).count();
    let words = text.split_whitespace().count();
    let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    format!(
        "characters: {}\nwords: {words}\nlines: {}\nparagraphs: {paragraphs}\nlongest line: {longest} characters",
        text.chars().count(),
        text.lines().count(),
    )
}

/// Keeps the first of equal lines; blank lines stay.
fn drop_repeated_lines(text: &str) -> String {
    let mut seen = BTreeSet::new();
    join(text.split('\n').filter(|line| line.is_empty() || seen.insert(*line)))
}

fn number_lines(text: &str) -> String {
    let width = text.lines().count().to_string().len();
    join(text.lines().enumerate().map(|(index, line)| format!("{:>width$}  {line}", index + 1)))
}

fn join<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> String {
    let mut text = String::new();
    for (index, line) in lines.into_iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text.push_str(line.as_ref());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(step: Step, text: &str, expected: &str) {
        assert_eq!((step.run)(text), expected, "{}", step.name);
    }

    #[test]
    fn white_space() {
        check(UNIX_LINES, "a\r\nb\rc\n", "a\nb\nc\n");
        check(TRIM_LINES, "  a \t\nb  ", "  a\nb");
        check(SINGLE_BLANK_LINES, "\n\na\n\n\n\nb\n\n", "a\n\nb\n");
        check(SINGLE_BLANK_LINES, "\n\n", "");
        check(SINGLE_SPACES, " a \t b \n c", "a b\nc");
    }

    #[test]
    fn slugs() {
        check(FOLD_ACCENTS, "Straße, Œuvre, naïve, 東京", "Strasse, OEuvre, naive, 東京");
        check(HYPHENATE, "--it's  a (test)!", "its-a-test");
        check(HYPHENATE, "…", "");
    }

    #[test]
    fn titles() {
        check(CAPITALISE, "the lord of the rings", "The Lord of the Rings");
        check(CAPITALISE, "what it is made of", "What It Is Made Of");
        check(CAPITALISE, "iOS and NASA\nélan of it", "iOS and NASA\nÉlan of It");
    }

    #[test]
    fn lines() {
        check(DROP_REPEATED_LINES, "a\n\nb\na\n\nb", "a\n\nb\n");
        let ten = "x\n".repeat(10);
        assert!(number_lines(&ten).starts_with(" 1  x\n 2  x\n"));
        assert!(number_lines(&ten).ends_with("\n10  x"));
        check(COUNT, "", "characters: 0\nwords: 0\nlines: 0\nparagraphs: 0\nlongest line: 0 characters");
        check(
            COUNT,
            "äb c\nd\n\ne",
            "characters: 9\nwords: 4\nlines: 4\nparagraphs: 2\nlongest line: 4 characters",
        );
    }
}
