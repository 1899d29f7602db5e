//! A stream of bytes enters; its lines leave one by one, each bounded, however long it is in the stream.

use std::io::{self, BufRead};

/// How much of one line is kept, in bytes: code is far shorter, and minified code says nothing to a reader.
pub(crate) const MAX_LINE_BYTES: usize = 2_000;

/// One line without its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// At most [`MAX_LINE_BYTES`].
    pub(crate) bytes: Vec<u8>,
    /// How many it has in the stream, its end not counted.
    pub(crate) length: u64,
    pub(crate) has_newline: bool,
}

/// The next line, or nothing at the end.
pub(crate) fn next_line(stream: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Line::default();
    let mut is_empty = true;
    loop {
        let buffer = stream.fill_buf()?;
        if buffer.is_empty() {
            return Ok((!is_empty).then_some(line));
        }
        is_empty = false;
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        let room = MAX_LINE_BYTES.saturating_sub(line.bytes.len());
        line.bytes.extend(part.iter().take(room));
        line.length += part.len() as u64;
        let used = part.len() + usize::from(end.is_some());
        stream.consume(used);
        if end.is_some() {
            line.has_newline = true;
            return Ok(Some(line));
        }
    }
}

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// With `\n`, or not all alike: the text is taken as it is.
    AsTheyAre,
    /// All with `\r\n`: the text is changed with `\n`, and written with `\r\n`.
    CrLf,
}

impl LineEnds {
    /// How `text` ends its lines, and the text in which to look for what a model wrote.
    pub(crate) fn normalised(text: String) -> (Self, String) {
        let newlines = text.bytes().filter(|&byte| byte == b'\n').count();
        if newlines > 0 && text.matches("\r\n").count() == newlines {
            return (Self::CrLf, text.replace("\r\n", "\n"));
        }
        (Self::AsTheyAre, text)
    }

    /// What a model wrote, as it stands in a normalised text.
    pub(crate) fn normalise(self, written: &str) -> String {
        match self {
            Self::AsTheyAre => written.to_owned(),
            Self::CrLf => written.replace("\r\n", "\n"),
        }
    }

    /// A normalised text as it is written to the file.
    pub(crate) fn restored(self, text: String) -> String {
        match self {
            Self::AsTheyAre => text,
            Self::CrLf => text.replace('\n', "\r\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], capacity: usize) -> Vec<Line> {
        let mut stream = io::BufReader::with_capacity(capacity, bytes);
        std::iter::from_fn(|| next_line(&mut stream).unwrap()).collect()
    }

    #[test]
    fn lines_are_whole_whatever_the_buffer() {
        for capacity in [1, 2, 3, 100] {
            let found = lines(b"a\n\nbc\r\nd", capacity);
            let texts: Vec<&[u8]> = found.iter().map(|line| line.bytes.as_slice()).collect();
            assert_eq!(texts, [&b"a"[..], b"", b"bc\r", b"d"]);
            assert_eq!(
                found.iter().map(|line| line.has_newline).collect::<Vec<_>>(),
                [true, true, true, false]
            );
        }
        assert_eq!(lines(b"", 1), []);
    }

    #[test]
    fn line_length_obeyed() {
        let long = vec![b'x'; MAX_LINE_BYTES];
        assert_eq!(lines(&long, 64)[0].bytes, long);
    }

    #[test]
    fn line_length_violated() {
        let found = lines(&[vec![b'x'; 5 * MAX_LINE_BYTES], b"\ny".to_vec()].concat(), 64);
        assert_eq!((found[0].bytes.len(), found[0].length), (MAX_LINE_BYTES, 5 * MAX_LINE_BYTES as u64));
        assert_eq!(found[1].bytes, b"y");
    }

    #[test]
    fn only_uniform_ends_are_normalised() {
        let of = |text: &str| LineEnds::normalised(text.to_owned());
        assert_eq!(of("a\r\nb\r\n"), (LineEnds::CrLf, "a\nb\n".to_owned()));
        assert_eq!(of("a\r\nb\n"), (LineEnds::AsTheyAre, "a\r\nb\n".to_owned()));
        assert_eq!(of("a\rb"), (LineEnds::AsTheyAre, "a\rb".to_owned()));
        assert_eq!(LineEnds::CrLf.restored("a\nb".to_owned()), "a\r\nb");
    }
}
