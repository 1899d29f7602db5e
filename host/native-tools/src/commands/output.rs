//! What a command prints enters, however much; its first and last part leave, and how much was between them.

use std::collections::VecDeque;

use airlock_core::text;

/// How much of the beginning is kept, in bytes: it says what ran and what went wrong first.
const HEAD_BYTES: usize = 4_000;

/// How much of the end is kept, in bytes: the summary and the last error stand there. Both together are what a model
/// whose context is not known to be large gets of a result.
const TAIL_BYTES: usize = 10_000;

/// Bounded output.
#[derive(Debug, Default)]
pub(crate) struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// Output as a model reads it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) total_bytes: u64,
    pub(crate) omitted_bytes: u64,
}

impl Output {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        let last = rest.get(rest.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default();
        self.tail.extend(last);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL_BYTES));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The text of it; characters that cannot be seen are escaped, and what is no UTF-8 is replaced.
    pub(crate) fn shown(mut self) -> Shown {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let omitted_bytes = self.total.saturating_sub(kept);
        let tail = self.tail.make_contiguous();
        let text = if omitted_bytes == 0 {
            self.head.extend_from_slice(tail);
            readable(&self.head)
        } else {
            let (head, tail) = (readable(whole_start(&self.head)), readable(whole_end(tail)));
            // Escapes are longer than what they stand for.
            let (head, tail) = (first(&head, HEAD_BYTES), last(&tail, TAIL_BYTES));
            format!("{head}\n[… {omitted_bytes} bytes left out …]\n{tail}")
        };
        let max_chars = HEAD_BYTES + TAIL_BYTES + 100;
        Shown { text: text::shorten(&text, max_chars).into_owned(), total_bytes: self.total, omitted_bytes }
    }
}

fn readable(bytes: &[u8]) -> String {
    text::escape(&String::from_utf8_lossy(bytes).replace("\r\n", "\n")).into_owned()
}

/// Bytes without the start of a character that was cut.
fn whole_start(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.get(..error.valid_up_to()).unwrap_or(bytes),
        _ => bytes,
    }
}

/// Bytes without the end of a character that was cut: at most three bytes that only go on with one.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let goes_on = bytes.iter().take(3).take_while(|&&byte| byte & 0b1100_0000 == 0b1000_0000).count();
    bytes.get(goes_on..).unwrap_or(bytes)
}

fn first(text: &str, max_chars: usize) -> &str {
    text.char_indices().nth(max_chars).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

fn last(text: &str, max_chars: usize) -> &str {
    let start = text.char_indices().rev().nth(max_chars.saturating_sub(1)).map_or(0, |(start, _)| start);
    text.get(start..).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(parts: &[&[u8]]) -> Shown {
        let mut output = Output::default();
        parts.iter().for_each(|part| output.push(part));
        output.shown()
    }

    #[test]
    fn output_obeyed() {
        let all = vec![b'x'; HEAD_BYTES + TAIL_BYTES];
        let shown = shown(&[&all]);
        assert_eq!((shown.text.len(), shown.omitted_bytes), (all.len(), 0));
    }

    #[test]
    fn output_violated() {
        let shown = shown(&[b"first\n", &vec![b'x'; 1_000_000], b"\nlast"]);
        assert_eq!(shown.total_bytes, 1_000_011);
        assert_eq!(shown.omitted_bytes, 1_000_011 - 14_000);
        assert!(shown.text.starts_with("first\nx"));
        assert!(shown.text.contains("x\n[… 986011 bytes left out …]\nx"));
        assert!(shown.text.ends_with("x\nlast"));
    }

    #[test]
    fn what_is_no_text_is_made_visible() {
        assert_eq!(shown(&[b"a\xffb\x1b[1m\r\n"]).text, "a\u{fffd}b\\u{1b}[1m\n");
        let escapes = shown(&[&vec![0x1b; 1_000_000]]);
        assert!(escapes.text.chars().count() < 15_000);
        assert!(escapes.text.ends_with("\\u{1b}"));
        let cut = shown(&["é".repeat(100_001).as_bytes()]);
        assert!(!cut.text.contains('\u{fffd}'));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same(text in "[a-zé\u{202e}\n]{0,30}", times in 1_usize..2_000, step in 1_usize..5_000) {
            let bytes = text.repeat(times).into_bytes();
            let parts: Vec<&[u8]> = bytes.chunks(step).collect();
            let whole = shown(&[&bytes]);
            prop_assert_eq!(&whole, &shown(&parts));
            prop_assert!(whole.text.chars().count() <= 14_100);
            prop_assert_eq!(whole.total_bytes, bytes.len() as u64);
        }
    }
}
