//! The system's errors and strangers' names enter; sentences that a model can act on leave.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use airlock_core::{ToolError, text};

/// Longest name or piece of text that a message quotes, in characters: a path with its folders fits.
pub(crate) const MAX_QUOTED_CHARS: usize = 300;

/// A failure with this text.
pub(crate) fn failed(message: impl Into<String>) -> ToolError {
    ToolError::Failed { message: message.into(), details: None }
}

/// Why the system would not `act` on `shown`, and what to do about it.
pub(crate) fn io_problem(act: &str, shown: &str, error: &io::Error) -> ToolError {
    if leads_out(error) {
        return failed(format!("`{shown}` leads out of the workspace; only what is inside it can be used"));
    }
    failed(match error.kind() {
        io::ErrorKind::NotFound => format!("`{shown}` does not exist; `ls` shows what does"),
        io::ErrorKind::NotADirectory => format!("a part of `{shown}` is a file and not a folder"),
        io::ErrorKind::PermissionDenied => format!("the host is not allowed to {act} `{shown}`"),
        _ if is_loop(error) => format!("`{shown}` is or holds a link that leads back to itself"),
        io::ErrorKind::InvalidFilename => format!("`{shown}` has a name that is too long"),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("there is no space left to {act} `{shown}`; nothing was changed")
        }
        _ => format!("the host could not {act} `{shown}`: {error}"),
    })
}

/// Whether a path was refused because it leaves the folder that it is resolved in. It is the library's own error and
/// not the system's, which tells it from a lack of permission.
pub(crate) fn leads_out(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Whether links lead in a circle; the standard library's own word for it is not stable.
fn is_loop(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// A number with its noun: `1 line`, `2 lines`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A path, safe to show: what is invisible or no UTF-8 is escaped.
pub(crate) fn shown(path: &Path) -> String {
    shown_name(path.as_os_str())
}

/// As [`shown`], for one name.
pub(crate) fn shown_name(name: &OsStr) -> String {
    let line = match name.to_str() {
        Some(name) => text::single_line(name).into_owned(),
        None => text::single_line(&decoded(name.as_encoded_bytes())).into_owned(),
    };
    text::shorten(&line, MAX_QUOTED_CHARS).into_owned()
}

/// Bytes as text, with `\xNN` for every byte that is no UTF-8.
pub(crate) fn decoded(bytes: &[u8]) -> String {
    let mut decoded = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        decoded.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(decoded, "\\x{byte:02x}");
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_deceive_are_shown_escaped() {
        assert_eq!(shown(Path::new("a/\u{202e}txt\n")), "a/\\u{202e}txt ");
        assert_eq!(decoded(b"a\xffb\xc3"), "a\\xffb\\xc3");
        assert_eq!(shown(Path::new(&"a".repeat(1_000))).chars().count(), MAX_QUOTED_CHARS);
    }

    #[test]
    fn a_lack_of_permission_is_no_escape() {
        let denied = io::Error::from_raw_os_error(13);
        assert!(!leads_out(&denied));
        assert!(leads_out(&io::Error::new(io::ErrorKind::PermissionDenied, "a path led outside")));
        let ToolError::Failed { message, .. } = io_problem("read", "a", &denied) else { panic!() };
        assert_eq!(message, "the host is not allowed to read `a`");
    }
}
