//! What a guest prints: captured up to a cap, counted beyond it. Printing never fails the guest and never fills memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Bytes kept from the beginning of a stream.
const HEAD_BYTES: usize = 48 << 10;

/// Bytes kept from its end: a guest's last words come last, and it could print a lot before them.
const TAIL_BYTES: usize = 16 << 10;

/// What one `check_write` permits, in bytes. `write_zeroes` allocates that much.
const PERMIT_BYTES: usize = 4 << 10;

/// Longest panic message kept, in bytes.
const MAX_PANIC_BYTES: usize = 2 << 10;

/// One captured stream. Clones write to the same place.
#[derive(Debug, Clone, Default)]
pub(crate) struct CapturedOutput(Arc<Mutex<Captured>>);

#[derive(Debug, Default)]
struct Captured {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl CapturedOutput {
    fn lock(&self) -> MutexGuard<'_, Captured> {
        // The lock guards plain bytes, which no panic leaves half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, bytes: &[u8]) {
        let mut captured = self.lock();
        captured.total = captured.total.saturating_add(bytes.len() as u64);
        let room = HEAD_BYTES.saturating_sub(captured.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        captured.head.extend_from_slice(head);
        let rest = rest.get(rest.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default();
        let excess = (captured.tail.len() + rest.len()).saturating_sub(TAIL_BYTES);
        captured.tail.drain(..excess);
        captured.tail.extend(rest);
    }

    /// Bytes written, and how many of them were not kept.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let captured = self.lock();
        let kept = (captured.head.len() + captured.tail.len()) as u64;
        (captured.total, captured.total.saturating_sub(kept))
    }

    /// The last panic message on the stream, without its frame: what was said, and where.
    pub(crate) fn panic_message(&self) -> Option<String> {
        let mut captured = self.lock();
        let mut bytes = std::mem::take(&mut captured.head);
        bytes.extend(captured.tail.drain(..));
        drop(captured);
        panic_message(&String::from_utf8_lossy(&bytes))
    }
}

/// Finds the message of the standard libraries' panic report: `thread … panicked at FILE:LINE:COLUMN:`, the message, then a note.
fn panic_message(output: &str) -> Option<String> {
    const PANICKED: &str = "panicked at ";
    const NOTE: &str = "\nnote: run with `RUST_BACKTRACE";
    const OUT_OF_MEMORY: &str = "memory allocation of ";
    if let Some((_, report)) = output.rsplit_once(PANICKED) {
        let report = report.split_once(NOTE).map_or(report, |(report, _)| report);
        let (place, message) = report.split_once(":\n").unwrap_or(("", report));
        let message = airlock_core::text::prefix_within(message.trim(), MAX_PANIC_BYTES);
        let place = airlock_core::text::shorten(place, 200);
        return Some(if place.is_empty() { message.to_owned() } else { format!("{message} ({place})") });
    }
    let line = output.lines().rev().find(|line| line.starts_with(OUT_OF_MEMORY))?;
    Some(airlock_core::text::prefix_within(line, MAX_PANIC_BYTES).to_owned())
}

impl IsTerminal for CapturedOutput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for CapturedOutput {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    /// Directly, since the default would buffer in the background and lose the end of a guest that traps.
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for CapturedOutput {
    fn poll_write(
        self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.append(bytes);
        std::task::Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(
        self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

#[async_trait::async_trait]
impl Pollable for CapturedOutput {
    async fn ready(&mut self) {}
}

impl OutputStream for CapturedOutput {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.append(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_obeyed_is_kept_whole() {
        let output = CapturedOutput::default();
        output.append(b"hello ");
        output.append(b"there");
        assert_eq!(output.counts(), (11, 0));
    }

    #[test]
    fn output_violated_keeps_the_head_and_the_tail() {
        let output = CapturedOutput::default();
        for _ in 0..1_000 {
            output.append(&[b'x'; 1_000]);
        }
        output.append(
            b"thread 'main' (1) panicked at src/lib.rs:1:2:\nlast words\nnote: run with `RUST_BACKTRACE=1`",
        );
        let (total, dropped) = output.counts();
        assert_eq!(total - dropped, (HEAD_BYTES + TAIL_BYTES) as u64);
        assert_eq!(output.panic_message().as_deref(), Some("last words (src/lib.rs:1:2)"));
    }

    #[test]
    fn panic_messages_survive_odd_reports() {
        let cases = [
            ("", None),
            ("ordinary output", None),
            (
                "thread '<unnamed>' (1) panicked at src/lib.rs:6:61:\nboom\nbang\nnote: run with `RUST_BACKTRACE=1` environment",
                Some("boom\nbang (src/lib.rs:6:61)"),
            ),
            ("panicked at \u{fffd}", Some("\u{fffd}")),
            ("memory allocation of 99 bytes failed\n", Some("memory allocation of 99 bytes failed")),
        ];
        for (output, expected) in cases {
            assert_eq!(panic_message(output).as_deref(), expected, "{output}");
        }
        let long = format!("panicked at a:1:1:\n{}", "漢".repeat(10_000));
        assert!(panic_message(&long).unwrap().len() <= MAX_PANIC_BYTES + 16);
    }
}
