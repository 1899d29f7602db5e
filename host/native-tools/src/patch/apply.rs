//! A text and the hunks for it enter; the text with all of them leaves, or which one does not fit and what is there.
//!
//! Every line of a hunk must be in the text exactly. Only the place may differ from what its header says, and only if
//! there is a single place where it fits.

use super::{Hunk, quoted};

/// How many pairs of lines are compared for one patch: a tenth of a second. Hunks whose line numbers are right cost
/// one comparison a line.
const MAX_COMPARISONS: usize = 20_000_000;

/// How many places a message names.
const MAX_PLACES: usize = 5;

/// What is left of the comparisons that one patch may cost.
#[derive(Debug)]
pub(crate) struct Searches(usize);

impl Default for Searches {
    fn default() -> Self {
        Self(MAX_COMPARISONS)
    }
}

/// A text with its changes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) text: String,
    /// The hunks that fit elsewhere than they said, from 1, with the line where they did.
    pub(crate) moved: Vec<(usize, usize)>,
}

/// Applies hunks in their order.
pub(crate) fn apply(text: &str, hunks: &[Hunk], searches: &mut Searches) -> Result<Applied, String> {
    let is_open = !text.is_empty() && !text.ends_with('\n');
    let lines: Vec<&str> = match text.strip_suffix('\n').unwrap_or(text) {
        "" if text.is_empty() => Vec::new(),
        text => text.split('\n').collect(),
    };
    let file = File { lines, is_open };
    let mut applied = Applied { text: String::with_capacity(text.len()), moved: Vec::new() };
    let mut new: Vec<&str> = Vec::with_capacity(file.lines.len());
    let (mut done, mut shift, mut new_is_open) = (0, 0, is_open);
    for (index, hunk) in hunks.iter().enumerate() {
        let number = index + 1;
        let old: Vec<&str> = hunk.old().collect();
        let stated = hunk.old_start.map(|start| if old.is_empty() { start } else { start.saturating_sub(1) });
        let expected = stated.map(|stated| stated.saturating_add_signed(shift));
        let place = file.find(hunk, &old, expected, done, searches);
        let place = place.map_err(|problem| format!("hunk {number} {problem}"))?;
        if let Some(stated) = stated.filter(|&stated| stated != place) {
            applied.moved.push((number, place + 1));
            shift = place.cast_signed() - stated.cast_signed();
        }
        let end = place + old.len();
        new.extend(file.lines.get(done..place).unwrap_or_default());
        new.extend(hunk.new_lines());
        done = end;
        if end == file.lines.len() {
            new_is_open = hunk.new_is_open || (new_is_open && !hunk.old_is_open);
        }
    }
    new.extend(file.lines.get(done..).unwrap_or_default());
    for (index, line) in new.iter().enumerate() {
        applied.text.push_str(line);
        if index + 1 < new.len() || !new_is_open {
            applied.text.push('\n');
        }
    }
    Ok(applied)
}

/// The lines of a text, and whether the last has no line break.
struct File<'text> {
    lines: Vec<&'text str>,
    is_open: bool,
}

impl File<'_> {
    /// Where a hunk begins, counted from 0; or the end of a sentence that begins with the hunk.
    fn find(
        &self,
        hunk: &Hunk,
        old: &[&str],
        expected: Option<usize>,
        from: usize,
        searches: &mut Searches,
    ) -> Result<usize, String> {
        let Some(last) = self.lines.len().checked_sub(old.len()) else {
            let (has, needs) = (self.lines.len(), old.len());
            return Err(format!("does not fit: it needs {needs} lines, and the file has {has}"));
        };
        if let Some(expected) = expected.filter(|place| (from..=last).contains(place))
            && self.fits(hunk, old, expected, searches)?
        {
            return Ok(expected);
        }
        if old.is_empty() {
            return match expected {
                None if self.lines.is_empty() => Ok(0),
                _ => Err("only adds lines, and not at a line of the file; give it some lines around them"
                    .to_owned()),
            };
        }
        let mut places = Vec::new();
        for place in from..=last {
            if self.fits(hunk, old, place, searches)? {
                places.push(place);
                if places.len() > MAX_PLACES {
                    break;
                }
            }
        }
        match places.as_slice() {
            [place] => Ok(*place),
            [] => Err(self.misfit(old, expected, from)),
            many => {
                let lines: Vec<String> =
                    many.iter().take(MAX_PLACES).map(|place| (place + 1).to_string()).collect();
                let more = if many.len() > MAX_PLACES { " and more" } else { "" };
                Err(format!(
                    "fits more than once, at lines {}{more}; correct its line number, or give it more lines around",
                    lines.join(", ")
                ))
            }
        }
    }

    fn fits(&self, hunk: &Hunk, old: &[&str], place: usize, searches: &mut Searches) -> Result<bool, String> {
        let here = self.lines.get(place..place + old.len()).unwrap_or_default();
        let alike = here.iter().zip(old).take_while(|(here, old)| here == old).count();
        searches.0 = searches.0.checked_sub(alike + 1).ok_or_else(|| {
            "costs too much to find: correct the line numbers of the hunks, or apply them in parts".to_owned()
        })?;
        if alike < old.len() || here.len() < old.len() {
            return Ok(false);
        }
        let is_end = place + old.len() == self.lines.len();
        // A line without a line break can only be the last.
        let ends_fit = (!hunk.old_is_open || is_end && self.is_open) && (!hunk.new_is_open || is_end);
        Ok(ends_fit)
    }

    /// Says which line is not as the hunk has it.
    fn misfit(&self, old: &[&str], expected: Option<usize>, from: usize) -> String {
        let first = old.first().copied().unwrap_or_default();
        let rest = self.lines.get(from..).unwrap_or_default();
        let alike = rest.iter().position(|line| *line == first).map(|place| place + from);
        let is_expected_alike =
            expected.and_then(|place| self.lines.get(place)).is_some_and(|line| *line == first);
        let Some(anchor) = (if is_expected_alike { expected } else { alike.or(expected) }) else {
            return format!("does not fit: its first line {} is not in the file", quoted(first));
        };
        if from > 0 && anchor < from {
            return format!("does not fit behind the hunk before it, which ends at line {from}; order them");
        }
        for (number, old) in (anchor..).zip(old) {
            match self.lines.get(number) {
                Some(line) if line == old => {}
                Some(line) => {
                    let hint =
                        if line.trim() == old.trim() { ", which differs in white space only" } else { "" };
                    return format!(
                        "does not fit: line {} of the file is {}, the hunk has {}{hint}",
                        number + 1,
                        quoted(line),
                        quoted(old)
                    );
                }
                None => {
                    return format!(
                        "does not fit: the file ends with line {}, the hunk goes on with {}",
                        self.lines.len(),
                        quoted(old)
                    );
                }
            }
        }
        "does not fit: the file ends differently; mind `\\ No newline at end of file`".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::patch::parse;

    fn patched(text: &str, hunks: &str) -> Result<Applied, String> {
        let files = parse(&format!("--- a/x\n+++ b/x\n{hunks}")).unwrap();
        apply(text, &files[0].hunks, &mut Searches::default())
    }

    #[test]
    fn a_hunk_is_found_where_it_fits() {
        let at =
            |number: usize| patched("a\nb\nc\nd\n", &format!("@@ -{number},2 +{number},2 @@\n b\n-c\n+C\n"));
        assert_eq!(at(2).unwrap(), Applied { text: "a\nb\nC\nd\n".to_owned(), moved: vec![] });
        for wrong in [1, 3, 900] {
            assert_eq!(at(wrong).unwrap(), Applied { text: "a\nb\nC\nd\n".to_owned(), moved: vec![(1, 2)] });
        }
        assert_eq!(patched("a\nb\n", "@@\n-b\n+B\n").unwrap().text, "a\nB\n");
    }

    #[test]
    fn an_ambiguous_hunk_is_refused_unless_its_number_is_right() {
        let text = "x\ny\nx\ny\n";
        assert_eq!(patched(text, "@@ -3 +3 @@\n-x\n+X\n").unwrap().text, "x\ny\nX\ny\n");
        let ambiguous = patched(text, "@@ -2 +2 @@\n-x\n+X\n").unwrap_err();
        assert!(ambiguous.starts_with("hunk 1 fits more than once, at lines 1, 3;"), "{ambiguous}");
        // Behind the first hunk there is only one place left.
        assert_eq!(patched(text, "@@ -1 +1 @@\n-x\n+X\n@@\n-x\n+Z\n").unwrap().text, "X\ny\nZ\ny\n");
    }

    #[test]
    fn a_misfit_says_what_is_there() {
        let refused = |hunks: &str| patched("a\n  b\nc\n", hunks).unwrap_err();
        assert_eq!(
            refused("@@ -1,2 +1,2 @@\n a\n-b\n+B\n"),
            "hunk 1 does not fit: line 2 of the file is `  b`, the hunk has `b`, which differs in white space only"
        );
        assert_eq!(refused("@@\n-z\n+y\n"), "hunk 1 does not fit: its first line `z` is not in the file");
        assert_eq!(
            refused("@@ -3,2 +3,2 @@\n c\n-d\n"),
            "hunk 1 does not fit: the file ends with line 3, the hunk goes on with `d`"
        );
        assert!(refused("@@ -1,4 +1,4 @@\n a\n b\n c\n-d\n").contains("needs 4 lines, and the file has 3"));
        assert!(refused("@@ -9,0 +9 @@\n+x\n").contains("only adds lines"));
        assert!(refused("@@ -3 +3 @@\n-c\n\\ No newline at end of file\n+C\n").contains("No newline"));
        assert!(refused("@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n").contains("order them"));
    }

    #[test]
    fn the_last_line_break_is_kept_taken_or_given() {
        let note = "\\ No newline at end of file\n";
        assert_eq!(patched("a", &format!("@@ -1 +1 @@\n-a\n{note}+b\n")).unwrap().text, "b\n");
        assert_eq!(patched("a\n", &format!("@@ -1 +1 @@\n-a\n+b\n{note}")).unwrap().text, "b");
        assert_eq!(patched("a", "@@ -1 +1 @@\n-a\n+b\n").unwrap().text, "b");
        assert_eq!(patched("", "@@ -0,0 +1 @@\n+a\n").unwrap().text, "a\n");
        assert_eq!(patched("a\n", "@@ -1 +0,0 @@\n-a\n").unwrap().text, "");
        assert_eq!(patched("\n", "@@ -1 +1 @@\n-\n+a\n").unwrap().text, "a\n");
    }

    #[test]
    fn comparisons_violated() {
        let text = "a\n".repeat(100_000);
        let hunk = format!("@@ -1 +1 @@\n{}-b\n", " a\n".repeat(1_000));
        assert!(patched(&text, &hunk).unwrap_err().contains("costs too much to find"));
    }

    proptest! {
        #[test]
        fn a_diff_applied_gives_the_new_text(
            old in proptest::collection::vec("(-|\\+| |@|a|b|--|\\+\\+ b| |\\\\){0,3}\r?", 0..12),
            new in proptest::collection::vec("(-|\\+| |@|a|b|-- a|\\+\\+| |\\\\){0,3}\r?", 0..12),
            old_is_open in any::<bool>(), new_is_open in any::<bool>(), context in 0_usize..4,
        ) {
            let text = |lines: &[String], is_open: bool| {
                let end = if is_open || lines.is_empty() { "" } else { "\n" };
                // The crate that makes the diff takes a lone carriage return for the end of a line.
                let text = lines.join("\n") + end;
                text.trim_end_matches('\r').to_owned()
            };
            let (old, new) = (text(&old, old_is_open), text(&new, new_is_open));
            let diff = similar::TextDiff::from_lines(&old, &new);
            let diff = diff.unified_diff().context_radius(context).header("a/x", "b/x").to_string();
            prop_assume!(!diff.is_empty() && crate::lines::LineEnds::normalised(diff.clone()).1 == diff);
            let files = parse(&diff).map_err(TestCaseError::fail)?;
            let applied = apply(&old, &files[0].hunks, &mut Searches::default()).map_err(TestCaseError::fail)?;
            prop_assert_eq!(applied, Applied { text: new, moved: vec![] });
        }
    }
}
