//! What every target asserts: a message enters, and a panic leaves if it breaks a promise. It never reads a document.

use std::path::Path;

use airlock_core::{Error, text};

/// Longest message in bytes. A person reads it in a terminal, so that whatever it quotes must have been shortened.
const MAX_MESSAGE_BYTES: usize = 8 * 1024;

/// Asserts that an error about the file at `path` can be shown, and says which file it is about.
///
/// # Panics
/// If it does not.
pub fn check_error(error: &Error, path: &Path) {
    let message = error.to_string();
    check_message(&message);
    assert!(message.starts_with(&path.display().to_string()), "does not begin with the path: {message}");
}

/// Asserts that a message says something, is short and cannot deceive a reader.
///
/// # Panics
/// If it is not so.
pub fn check_message(message: &str) {
    assert!(!message.trim().is_empty(), "says nothing: {message:?}");
    check_shown(message);
}

/// Asserts that a text that may be empty, as a pointer to a whole value is, can be shown.
///
/// # Panics
/// If it cannot.
pub fn check_shown(shown: &str) {
    let unsafe_character = shown.chars().find(|character| text::is_unsafe(*character));
    assert_eq!(unsafe_character, None, "an unsafe character: {shown:?}");
    assert!(shown.len() <= MAX_MESSAGE_BYTES, "{} bytes: {}", shown.len(), text::shorten(shown, 400));
}
