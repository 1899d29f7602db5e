//! Log lines of a plugin: a format string and its values enter, one line for the host's log leaves. It never writes to
//! standard output.
//!
//! ```
//! # use airlock_plugin::prelude::*;
//! let pages = 3;
//! log::info!("read {pages} pages");
//! ```
//!
//! The host keeps 1,000 lines of 4 KiB a call. Natively the lines go to standard error.

pub use crate::__debug as debug;
pub use crate::__error as error;
pub use crate::__info as info;
pub use crate::__trace as trace;
pub use crate::__warn as warn;
pub use crate::bindings::airlock::plugin::runtime::Level;

/// Logs one line. The macros of this module are shorter.
pub fn log(level: Level, message: &str) {
    crate::host::log(level, message);
}

/// Logs one line for whoever follows single steps of the plugin.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace {
    ($($format:tt)+) => { $crate::log::log($crate::log::Level::Trace, &::std::format!($($format)+)) };
}

/// Logs one line for whoever debugs the plugin.
#[doc(hidden)]
#[macro_export]
macro_rules! __debug {
    ($($format:tt)+) => { $crate::log::log($crate::log::Level::Debug, &::std::format!($($format)+)) };
}

/// Logs one line about the ordinary course of things.
#[doc(hidden)]
#[macro_export]
macro_rules! __info {
    ($($format:tt)+) => { $crate::log::log($crate::log::Level::Info, &::std::format!($($format)+)) };
}

/// Logs one line about something an operator may want to change.
#[doc(hidden)]
#[macro_export]
macro_rules! __warn {
    ($($format:tt)+) => { $crate::log::log($crate::log::Level::Warn, &::std::format!($($format)+)) };
}

/// Logs one line about something that went wrong.
#[doc(hidden)]
#[macro_export]
macro_rules! __error {
    ($($format:tt)+) => { $crate::log::log($crate::log::Level::Error, &::std::format!($($format)+)) };
}
