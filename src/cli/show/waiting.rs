//! What the commands that wait share: times on the command line, and how a wait ends that brought nothing.

use crate::base::clock::span_text;
use crate::base::error::{Error, Result};
use crate::cli::Exit;
use crate::commands::wait::Waiter;
use crate::query::time;
use std::time::Duration;

/// A length of time on the command line.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    time::length(text).map_err(|e| e.to_string())
}

/// The error of a wait that brought nothing.
pub(crate) fn too_late(what: &str, timeout: Duration, cure: impl Into<String>) -> Error {
    let what = match timeout.is_zero() {
        true => what.to_owned(),
        false => format!("{what} within {}", span_text(timeout)),
    };
    Error::Timeout { what, cure: cure.into() }
}

/// Ends as the signal asks for, having ended the router of this process.
pub(crate) fn end_by(signal: i32, waiter: Waiter) -> Result<Exit> {
    waiter.end_by(signal).map(|()| Exit::Ok)
}
