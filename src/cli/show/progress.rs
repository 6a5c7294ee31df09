//! The progress of a long command, in one line of standard error that the next report replaces.

use crate::base::sanitize;
use crate::base::test_sizes;
use std::io::Write;
use std::time::{Duration, Instant};

/// Time between reports.
const INTERVAL: Duration = Duration::from_millis(200);

/// Reports of a long command: the first one after a second. The end of the value removes the line.
pub(crate) struct ProgressLine {
    is_enabled: bool,
    next: Instant,
    is_shown: bool,
}

impl ProgressLine {
    pub(super) fn new(is_enabled: bool) -> ProgressLine {
        ProgressLine {
            is_enabled,
            next: Instant::now() + test_sizes::progress_delay(),
            is_shown: false,
        }
    }

    /// Shows this text if a report is due.
    pub(crate) fn report(&mut self, text: impl FnOnce() -> String) {
        if self.is_enabled && Instant::now() >= self.next {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", sanitize::line(&text()));
            (self.next, self.is_shown) = (Instant::now() + INTERVAL, true);
        }
    }

    /// Removes the line and ends the reports, because other output follows.
    pub(crate) fn end(&mut self) {
        self.is_enabled = false;
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.end();
    }
}
