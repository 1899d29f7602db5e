//! The one public error of this crate, for what stops an embedder; findings about plugins are diagnostics instead.
//!
//! How a *call* ends is not an error but an [`Outcome`](crate::Outcome).

use std::fmt;

/// What kind of thing went wrong, for code that has to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The embedder's or operator's configuration is wrong.
    Configuration,
}

/// Why a host could not be built or a request not be read.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

impl Error {
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Configuration, message: message.into() }
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
