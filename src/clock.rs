//! What time it is, and how a time is written.

use chrono::{DateTime, SecondsFormat, Utc};
use std::fmt;

/// An instant in UTC, in whole microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Stamp(i64);

impl Stamp {
    /// Now. A build for tests reads `MAILBAG_TEST_NOW` (RFC 3339) instead, where it is set.
    pub fn now() -> Stamp {
        if cfg!(any(debug_assertions, feature = "faults"))
            && let Some(fixed) = std::env::var("MAILBAG_TEST_NOW").ok().and_then(|t| Stamp::parse(&t))
        {
            return fixed;
        }
        Stamp(Utc::now().timestamp_micros())
    }

    /// Now, or one microsecond after `self` if the clock stands or went back: strictly increasing.
    pub fn next(self) -> Stamp {
        Stamp::now().max(Stamp(self.0 + 1))
    }

    /// From microseconds since 1970.
    pub fn from_micros(micros: i64) -> Stamp {
        Stamp(micros)
    }

    /// Microseconds since 1970.
    pub fn micros(self) -> i64 {
        self.0
    }

    /// RFC 3339 with a zone, or ISO 8601 without one, read as UTC; `None` if it is neither.
    pub fn parse(text: &str) -> Option<Stamp> {
        let text = text.trim();
        if let Ok(t) = DateTime::parse_from_rfc3339(text) {
            return Some(Stamp(t.timestamp_micros()));
        }
        const WITHOUT_ZONE: [&str; 4] =
            ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y%m%dT%H%M%S%.f"];
        let bare = WITHOUT_ZONE.iter().find_map(|f| chrono::NaiveDateTime::parse_from_str(text, f).ok());
        bare.map(|t| Stamp(t.and_utc().timestamp_micros()))
    }

    /// `20261121T103000.123456Z`, as it stands in file names: 23 bytes, and in the order of time when sorted as text.
    pub fn file_name(self) -> String {
        self.date_time().format("%Y%m%dT%H%M%S%.6fZ").to_string()
    }

    /// `2026-11`, the month it is in.
    pub fn month(self) -> String {
        self.date_time().format("%Y-%m").to_string()
    }

    /// This instant as chrono has it.
    pub fn date_time(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0).unwrap_or_default()
    }
}

/// `2026-11-21T10:30:00.123456Z`
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.date_time().to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}
