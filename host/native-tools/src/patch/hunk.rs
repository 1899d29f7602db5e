//! The lines from a `@@` on enter; one hunk leaves, and how many lines it took.

/// A change at one place of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// The line at which it says to begin, from 1, if it says.
    pub(crate) old_start: Option<usize>,
    pub(crate) lines: Vec<HunkLine>,
    /// Whether the last old line is the file's last and has no line break.
    pub(crate) old_is_open: bool,
    /// The same of the last new line.
    pub(crate) new_is_open: bool,
}

/// One line of a hunk, without its mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HunkLine {
    Keep(String),
    Remove(String),
    Add(String),
}

/// What the header of a hunk says.
#[derive(Debug, PartialEq, Eq)]
struct Numbers {
    old_start: usize,
    old_count: usize,
    new_count: usize,
}

impl Hunk {
    /// Reads a hunk; `None` if there are no lines in it.
    pub(crate) fn parse(lines: &[&str]) -> (Option<Self>, usize) {
        let Some((header, body)) = lines.split_first() else { return (None, 0) };
        let numbers = numbers(header);
        let mut hunk =
            Self { old_start: numbers.as_ref().map(|numbers| numbers.old_start), ..Self::default() };
        let counted = numbers.and_then(|numbers| length_by_counts(body, &numbers));
        let length = counted.unwrap_or_else(|| length_by_shape(body));
        for line in body.iter().take(length) {
            hunk.push(line);
        }
        ((!hunk.lines.is_empty()).then_some(hunk), length + 1)
    }

    fn push(&mut self, line: &str) {
        let rest = || line.get(1..).unwrap_or_default().to_owned();
        match line.as_bytes().first() {
            Some(b'+') => self.lines.push(HunkLine::Add(rest())),
            Some(b'-') => self.lines.push(HunkLine::Remove(rest())),
            Some(b'\\') => match self.lines.last() {
                Some(HunkLine::Remove(_)) => self.old_is_open = true,
                Some(HunkLine::Add(_)) => self.new_is_open = true,
                Some(HunkLine::Keep(_)) => (self.old_is_open, self.new_is_open) = (true, true),
                None => {}
            },
            // Editors take white space from the ends of lines, the mark of an empty one too.
            _ => self.lines.push(HunkLine::Keep(rest())),
        }
    }

    /// The lines that must be in the file.
    pub(crate) fn old(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Remove(text) => Some(text.as_str()),
            HunkLine::Add(_) => None,
        })
    }

    /// The lines that are there afterwards.
    pub(crate) fn new_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Add(text) => Some(text.as_str()),
            HunkLine::Remove(_) => None,
        })
    }
}

/// Whether the next file of a patch begins here.
pub(super) fn begins_file(lines: &[&str]) -> bool {
    let starts = |number: usize, mark: &str| lines.get(number).is_some_and(|line| line.starts_with(mark));
    starts(0, "diff --git ") || starts(0, "--- ") && starts(1, "+++ ")
}

/// How many lines the counts of the header take, if they fit the lines and something else follows.
fn length_by_counts(lines: &[&str], numbers: &Numbers) -> Option<usize> {
    let (mut old, mut new) = (numbers.old_count, numbers.new_count);
    let mut length = 0;
    while old > 0 || new > 0 {
        match lines.get(length)?.as_bytes().first() {
            Some(b'+') => new = new.checked_sub(1)?,
            Some(b'-') => old = old.checked_sub(1)?,
            Some(b' ') | None => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
            Some(b'\\') => {}
            Some(_) => return None,
        }
        length += 1;
    }
    if lines.get(length).is_some_and(|line| line.starts_with('\\')) {
        length += 1;
    }
    let rest = lines.get(length..).unwrap_or_default();
    let goes_on =
        rest.first().is_some_and(|line| line.starts_with([' ', '+', '-']) && line.trim_end() != "--");
    (!goes_on || begins_file(rest)).then_some(length)
}

/// How many lines look like lines of a hunk.
fn length_by_shape(lines: &[&str]) -> usize {
    let is_end = |number: usize, line: &str| {
        let looks_right = line.is_empty() || line.starts_with([' ', '+', '-', '\\']);
        !looks_right || begins_file(lines.get(number..).unwrap_or_default())
    };
    let length = lines.iter().enumerate().position(|(number, line)| is_end(number, line));
    let body = lines.get(..length.unwrap_or(lines.len())).unwrap_or_default();
    // Empty lines at the end stand between this and what follows.
    body.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1)
}

/// Reads `@@ -1,2 +3,4 @@`; a count that is missing is 1.
fn numbers(header: &str) -> Option<Numbers> {
    let mut words = header.strip_prefix("@@")?.split_whitespace();
    let range = |word: &str, mark: char| {
        let word = word.strip_prefix(mark)?;
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let (old_start, old_count) = range(words.next()?, '-')?;
    let (_, new_count) = range(words.next()?, '+')?;
    Some(Numbers { old_start, old_count, new_count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patch: &str, expected: &str, used: usize) {
        let lines: Vec<&str> = patch.split('\n').collect();
        let (hunk, found) = Hunk::parse(&lines);
        let marks = hunk.unwrap().lines.into_iter().map(|line| match line {
            HunkLine::Keep(text) => format!(" {text}"),
            HunkLine::Remove(text) => format!("-{text}"),
            HunkLine::Add(text) => format!("+{text}"),
        });
        assert_eq!((marks.collect::<Vec<_>>().join("|"), found), (expected.to_owned(), used));
    }

    #[test]
    fn right_counts_decide_where_shapes_cannot() {
        check("@@ -1,2 +1,2 @@\n--- a\n+++ b\n c", "--- a|+++ b| c", 4);
        check("@@ -1 +1 @@ fn x()\n-a\n+b\n--- a/x\n+++ b/x", "-a|+b", 3);
        check("@@ -1,3 +1,2 @@\n a\n\n-b\n-- ", " a| |-b", 4);
    }

    #[test]
    fn wrong_or_missing_counts_are_no_obstacle() {
        check("@@ -1,9 +1,9 @@\n a\n-b\n\n@@ -20 +20 @@", " a|-b", 3);
        check("@@ -1 +1 @@\n a\n-b\n+c\n d", " a|-b|+c| d", 5);
        check("@@\n-a\n+b", "-a|+b", 3);
        check("@@ fn main() @@\n-a\n--- a/x\n+++ b/x", "-a", 2);
        assert_eq!(Hunk::parse(&["@@ -1 +1 @@", "diff --git a/x b/x"]).0, None);
    }

    #[test]
    fn a_missing_line_break_belongs_to_the_line_before() {
        let hunk = |patch: &str| Hunk::parse(&patch.split('\n').collect::<Vec<_>>()).0.unwrap();
        let note = "\\ No newline at end of file";
        let one = hunk(&format!("@@ -1 +1 @@\n-a\n{note}\n+b"));
        assert_eq!((one.old_is_open, one.new_is_open), (true, false));
        let both = hunk(&format!("@@ -1 +1,2 @@\n+b\n a\n{note}"));
        assert_eq!((both.old_is_open, both.new_is_open), (true, true));
    }
}
