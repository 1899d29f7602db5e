//! What stops the program itself, as opposed to a call that ended badly: a message and an exit code.

use std::process::ExitCode;

use crate::page;

/// Wrong usage or configuration.
const USAGE: u8 = 2;

/// The host is at fault.
const HOST_FAULT: u8 = 5;

/// Nobody reads the output any more, which is how `| head` ends a program: what a shell calls `SIGPIPE`.
const CLOSED_PIPE: u8 = 128 + 13;

/// A message for standard error, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    exit: u8,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit: USAGE }
    }

    pub(crate) fn host(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit: HOST_FAULT }
    }

    pub(crate) fn report(&self) -> ExitCode {
        if self.exit == CLOSED_PIPE {
            return ExitCode::from(self.exit);
        }
        let style = page::ERROR;
        page::note(format_args!("{style}error:{style:#} {}", self.message));
        ExitCode::from(self.exit)
    }
}

impl From<airlock_core::Error> for Failure {
    fn from(error: airlock_core::Error) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let exit = if error.kind() == std::io::ErrorKind::BrokenPipe { CLOSED_PIPE } else { HOST_FAULT };
        Self { message: format!("writing the output failed: {error}"), exit }
    }
}
