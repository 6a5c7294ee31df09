//! Shared by the commands that wait: durations on the command line, and the end of a wait without a result.

use crate::base::clock::span_text;
use crate::base::error::{Error, Result};
use crate::commands::wait::InboxWaiter;
use crate::query::time;
use std::time::Duration;

/// A duration on the command line.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    time::length(text).map_err(|e| e.to_string())
}

/// The error of a wait without a result.
pub(crate) fn too_late(what: &str, timeout: Duration, fix: impl Into<String>) -> Error {
    let what = if timeout.is_zero() {
        what.to_owned()
    } else {
        format!("{what} within {}", span_text(timeout))
    };
    Error::timeout(what, fix)
}

/// Ends the process as the signal asks, after the router of this process has ended.
pub(crate) fn end_by(signal: i32, waiter: InboxWaiter) -> Result<()> {
    waiter.end_by(signal)
}
