//! How pages for people look: aligned columns, few colours, nothing that a plugin wrote unescaped.

use std::io::{self, Write};

use airlock_core::{Diagnostic, LogLevel, LogLine, Severity, text};
use anstyle::{AnsiColor, Color, Style};
use serde::Serialize;

/// Headings and names.
pub(crate) const STRONG: Style = Style::new().bold();
/// What matters less.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// What went well.
pub(crate) const GOOD: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green)));
/// What went wrong.
pub(crate) const ERROR: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red))).bold();
/// What may surprise.
pub(crate) const WARNING: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow))).bold();

/// Widest cell that still sets the width of its column, in characters; a longer one only pushes its own line.
const MAX_COLUMN_CHARS: usize = 40;

/// Standard output, with colours where it is a terminal.
pub(crate) fn standard_output() -> impl Write {
    anstream::stdout().lock()
}

/// Writes one JSON document, whole or not at all. Characters that a terminal would act on are escaped; parsed, the
/// document is the same.
pub(crate) fn json(document: &impl Serialize) -> io::Result<()> {
    write_json(&serde_json::to_string_pretty(document)?)
}

/// Writes one JSON document on one line, in the same way; for documents that follow one another without an end.
pub(crate) fn json_line(document: &impl Serialize) -> io::Result<()> {
    write_json(&serde_json::to_string(document)?)
}

fn write_json(plain: &str) -> io::Result<()> {
    let mut page = String::with_capacity(plain.len() + 1);
    for character in plain.chars() {
        if text::is_unsafe(character) && character != '\n' {
            let mut units = [0; 2];
            page.extend(character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            page.push(character);
        }
    }
    page.push('\n');
    let mut output = io::stdout().lock();
    output.write_all(page.as_bytes())?;
    output.flush()
}

/// Writes a line to standard error; one that nobody can read is no reason to fail.
pub(crate) fn note(line: impl std::fmt::Display) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// Writes what a plugin logged to standard error.
pub(crate) fn log_line(line: &LogLine) {
    let level = match line.level {
        LogLevel::Trace => "trace",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    };
    note(format_args!("{FAINT}{level}: {}{FAINT:#}", text::single_line(&line.message)));
}

/// Writes rows under headings; the last column is as long as it is.
pub(crate) fn table<const COLUMNS: usize>(
    output: &mut impl Write,
    headings: [&str; COLUMNS],
    rows: &[[String; COLUMNS]],
) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        let heading = headings.get(column).map_or(0, |heading| heading.chars().count());
        cells.filter(|width| *width <= MAX_COLUMN_CHARS).chain([heading]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let mut line = |cells: Vec<&str>, style: Style| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = padded.collect::<Vec<_>>().join("  ");
        writeln!(output, "{style}{}{style:#}", line.trim_end())
    };
    line(headings.to_vec(), FAINT)?;
    for row in rows {
        let cells: Vec<_> = row.iter().map(|cell| text::single_line(cell)).collect();
        line(cells.iter().map(AsRef::as_ref).collect(), Style::new())?;
    }
    Ok(())
}

/// Writes a diagnostic on three short lines.
pub(crate) fn diagnostic(output: &mut impl Write, diagnostic: &Diagnostic) -> io::Result<()> {
    let (style, word) = match diagnostic.severity() {
        Severity::Error => (ERROR, "error"),
        Severity::Warning => (WARNING, "warning"),
        Severity::Note => (FAINT, "note"),
    };
    let (code, message) = (diagnostic.code, &diagnostic.message);
    let subject = text::single_line(&diagnostic.subject);
    writeln!(
        output,
        "{style}{word}[{code}]{style:#} {STRONG}{subject}{STRONG:#}: {}",
        text::single_line(message)
    )?;
    if let Some(location) = &diagnostic.location {
        writeln!(output, "  {FAINT}at {}{FAINT:#}", text::single_line(&location.to_string()))?;
    }
    writeln!(output, "  hint: {}", text::single_line(&diagnostic.hint))
}

/// A description as one short line.
pub(crate) fn summary(description: &str) -> String {
    let first = description.lines().next().unwrap_or_default();
    text::shorten(&text::single_line(first), 100).into_owned()
}

/// A number with a comma at every thousand.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Bytes in the unit that reads best.
pub(crate) fn bytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let amount = bytes as f64;
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", amount / 1_024.0),
        _ => format!("{:.1} MiB", amount / 1_048_576.0),
    }
}

/// A duration in the unit that reads best.
pub(crate) fn duration(duration: std::time::Duration) -> String {
    let micros = duration.as_micros();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", duration.as_secs_f64() * 1_000.0),
        _ => format!("{:.2} s", duration.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_a_long_cell_pushes_only_its_own_line() {
        let mut page = Vec::new();
        let rows = [["a".into(), "x".into()], ["long".repeat(20), "y".into()], ["bbb".into(), "z".into()]];
        table(&mut page, ["NAME", "WHAT"], &rows).unwrap();
        let page = anstream::adapter::strip_bytes(&page).into_vec();
        let page = String::from_utf8(page).unwrap();
        let expected = format!("NAME  WHAT\na     x\n{}  y\nbbb   z\n", "long".repeat(20));
        assert_eq!(page, expected);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [grouped(0), grouped(999), grouped(1_000), grouped(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!([bytes(12), bytes(2_048), bytes(1_114_112)], ["12 B", "2.0 KiB", "1.1 MiB"]);
        assert_eq!(duration(std::time::Duration::from_micros(2_500)), "2.5 ms");
    }
}
