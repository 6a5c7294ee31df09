//! The clock, and the formats of times.

use crate::base::{limits, test_variable};
use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, SystemTime};

/// The valid accept times in microseconds since 1970. The last one leaves a year of valid file names, so that accept
/// times can still increase.
const CLOCK: std::ops::RangeInclusive<i64> = 1_000..=253_370_764_800_000_000;

/// An instant in UTC, in whole microseconds since 1970.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Stamp(i64);

thread_local!(static NOW: Cell<Option<Stamp>> = const { Cell::new(None) });

/// Sets the clock of this thread, for a test; it then advances by a microsecond whenever it is read. `None` is the
/// system's clock.
pub fn set(now: Option<Stamp>) {
    NOW.set(now);
}

/// Returns true if a test has set the clock of this thread.
pub fn is_set() -> bool {
    NOW.get().is_some()
}

impl Stamp {
    /// The current time, limited to [`CLOCK`]: a time outside this range becomes the nearest time in it. If
    /// `MAILBAG_TEST_NOW` (RFC 3339) is set, test builds return its value.
    pub fn now() -> Stamp {
        if let Some(now) = NOW.get() {
            NOW.set(Some(Stamp(now.0 + 1)));
            return now.within();
        }
        let fixed = test_variable("MAILBAG_TEST_NOW").and_then(|time| Stamp::parse(&time));
        fixed.map_or_else(|| Stamp::of(SystemTime::now()), Stamp::within)
    }

    fn of(time: SystemTime) -> Stamp {
        let since = time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Stamp(since.as_micros().try_into().unwrap_or(i64::MAX)).within()
    }

    fn within(self) -> Stamp {
        Stamp(self.0.clamp(*CLOCK.start(), *CLOCK.end()))
    }

    /// The current time, or `self` plus one microsecond if the clock has not advanced. The result always increases.
    pub fn next(self) -> Stamp {
        Stamp::now().max(Stamp(self.0 + 1))
    }

    /// This time plus a duration.
    pub fn after(self, span: Duration) -> Stamp {
        Stamp(
            self.0
                .saturating_add(span.as_micros().try_into().unwrap_or(i64::MAX)),
        )
    }

    /// Cuts the time of an event to now at most, and a time that is due a span after the event as well.
    pub fn cut(self, since: &mut i64, due: Option<&mut i64>) {
        let ahead = since.saturating_sub(self.0).max(0);
        *since -= ahead;
        if let Some(due) = due {
            *due = due.saturating_sub(ahead);
        }
    }

    /// The time since an earlier stamp; zero if that stamp is later.
    pub fn saturating_duration_since(self, earlier: Stamp) -> Duration {
        let micros = self.0.saturating_sub(earlier.0);
        Duration::from_micros(u64::try_from(micros).unwrap_or_default())
    }

    /// Returns true if this time, which was stored, is less than `span` before `now`. A time that is ahead of `now` was
    /// stored before the clock was set back: its age is unknown, so it is never within a span.
    pub fn is_within(self, span: Duration, now: Stamp) -> bool {
        self <= now.after(limits::CLOCKS_APART) && now < self.after(span)
    }

    /// Converts from microseconds since 1970.
    pub fn from_micros(micros: i64) -> Stamp {
        Stamp(micros)
    }

    /// Microseconds since 1970.
    pub fn micros(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339 with a zone, or ISO 8601 without one, which counts as UTC. `None` for any other text.
    pub fn parse(text: &str) -> Option<Stamp> {
        const WITHOUT_ZONE: [&str; 4] = [
            "%Y-%m-%dT%H:%M:%S%.f",
            "%Y-%m-%d %H:%M:%S%.f",
            "%Y-%m-%dT%H:%M",
            "%Y%m%dT%H%M%S%.f",
        ];
        let text = text.trim();
        if let Ok(t) = DateTime::parse_from_rfc3339(text) {
            return Some(Stamp(t.timestamp_micros()));
        }
        let bare = WITHOUT_ZONE
            .iter()
            .find_map(|f| chrono::NaiveDateTime::parse_from_str(text, f).ok());
        bare.map(|t| Stamp(t.and_utc().timestamp_micros()))
    }

    /// The form used in file names: `20261121T103000.123456Z`. It has 23 bytes, and sorts as text in the order of time.
    pub fn file_name(self) -> String {
        // Reading a form takes chrono several times as long, and every copy has such a name.
        let mut name = self.to_string();
        name.retain(|c| c != '-' && c != ':');
        name
    }

    /// Reads a text that [`Stamp::file_name`] wrote.
    pub fn read_file_name(text: &str) -> Option<Stamp> {
        let bytes = text.as_bytes();
        if bytes.len() != limits::STAMP || [bytes[8], bytes[15], bytes[22]] != *b"T.Z" {
            return None;
        }
        let date = NaiveDate::from_ymd_opt(
            digits(text, 0..4)? as i32,
            digits(text, 4..6)?,
            digits(text, 6..8)?,
        )?;
        let time = date.and_hms_micro_opt(
            digits(text, 9..11)?,
            digits(text, 11..13)?,
            digits(text, 13..15)?,
            digits(text, 16..22)?,
        )?;
        Some(Stamp(time.and_utc().timestamp_micros()))
    }

    /// The same time as a chrono value.
    pub fn date_time(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0).unwrap_or_default()
    }
}

/// The number at this place of a text. `None` if it is not all digits.
fn digits(text: &str, place: Range<usize>) -> Option<u32> {
    let digits = text.get(place)?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// Reads a duration of at most a thousand years: `500ms`, `30s`, `10m`, `2h`, `7d`, `1w`, or `0`.
pub fn span(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let millis: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        _ => return None,
    };
    let span = number.parse::<u64>().ok()?.checked_mul(millis)?;
    (span <= 1000 * 366 * 86_400_000).then_some(Duration::from_millis(span))
}

/// Writes a duration so that [`span`] can read it, in the largest unit that needs no fraction.
pub fn span_text(span: Duration) -> String {
    const UNITS: [(&str, u128); 5] = [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
        ("ms", 1),
    ];
    let millis = span.as_millis();
    let unit = UNITS
        .into_iter()
        .find(|(_, unit)| millis != 0 && millis.is_multiple_of(*unit));
    unit.map_or("0".into(), |(name, unit)| {
        format!("{}{name}", millis / unit)
    })
}

/// A duration in microseconds for people: from one hour on in its two largest units, such as `1h 59m`, and a second unit
/// of zero is left out.
pub fn rough_span(micros: i64) -> String {
    let seconds = micros.saturating_add(500_000) / 1_000_000;
    let (larger, smaller) = match seconds {
        ..60 => return format!("{}s", seconds.max(1)),
        60..3600 => return format!("{}m", seconds / 60),
        3600..86_400 => ((seconds / 3600, 'h'), (seconds % 3600 / 60, 'm')),
        _ => ((seconds / 86_400, 'd'), (seconds % 86_400 / 3600, 'h')),
    };
    match smaller {
        (0, _) => format!("{}{}", larger.0, larger.1),
        (rest, unit) => format!("{}{} {rest:02}{unit}", larger.0, larger.1),
    }
}

/// `2026-11-21T10:30:00.123456Z`
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            &self
                .date_time()
                .to_rfc3339_opts(SecondsFormat::Micros, true),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_in_a_file_name_reads_back_and_is_what_chrono_writes() {
        let (first, last) = CLOCK.into_inner();
        let between = (0..1000).map(|nth| first + (last - first) / 1000 * nth + nth);
        for stamp in between.chain([last]).map(Stamp) {
            let written = stamp.file_name();
            assert_eq!(
                written,
                stamp.date_time().format("%Y%m%dT%H%M%S%.6fZ").to_string()
            );
            assert_eq!(Stamp::read_file_name(&written), Some(stamp));
        }
    }

    #[test]
    fn what_is_not_a_stamp_of_a_file_name_is_not_read() {
        let wrong = [
            "",
            "20261121T103000.123456",
            "20261121T103000.123456z",
            "20261121-103000.123456Z",
            "20261321T103000.123456Z",
            "20261121T250000.123456Z",
            "20261121T1030+1.123456Z",
            "20261121T103000.12345 Z",
            "20261121T103000.1234567Z",
            "2026112€T03000.123456Z",
            "20261121T103000.1234€Z",
        ];
        assert_eq!(wrong.map(Stamp::read_file_name), [None; 11]);
    }

    #[test]
    fn a_clock_before_1970_or_after_9999_still_gives_names_in_order() {
        let year = Duration::from_secs(366 * 86_400);
        let times = [
            SystemTime::UNIX_EPOCH - year,
            SystemTime::UNIX_EPOCH,
            SystemTime::now(),
        ];
        let [before, first, now] = times.map(Stamp::of);
        let after = Stamp::of(SystemTime::UNIX_EPOCH + 9000 * year);
        assert_eq!(before, first);
        let late = after.next();
        let names = [
            before,
            now,
            now.next(),
            after,
            Stamp(late.0.max(after.0 + 1)),
        ]
        .map(Stamp::file_name);
        assert!(
            names.is_sorted() && names.iter().all(|name| name.len() == limits::STAMP),
            "{names:?}"
        );
    }

    #[test]
    fn a_span_for_people_has_at_most_two_units() {
        let minute = 60;
        let written = [
            (-5, "1s"),
            (0, "1s"),
            (59, "59s"),
            (90, "1m"),
            (60 * minute - 1, "59m"),
            (60 * minute, "1h"),
            (65 * minute, "1h 05m"),
            (119 * minute + 59, "1h 59m"),
            (24 * 60 * minute, "1d"),
            (47 * 60 * minute + 59 * minute, "1d 23h"),
            (400 * 24 * 60 * minute, "400d"),
        ];
        for (seconds, text) in written {
            assert_eq!(rough_span(seconds * 1_000_000), text);
        }
        assert_eq!(rough_span(59_600_000), "1m");
    }

    #[test]
    fn spans_are_a_number_and_a_unit() {
        assert_eq!(
            ["500ms", "10m", "0"].map(span),
            [Some(500), Some(600_000), Some(0)].map(|ms| ms.map(Duration::from_millis))
        );
        assert_eq!(
            [
                "",
                "m",
                "10",
                "1.5h",
                "-1h",
                "99999999999999999999s",
                "9999999w"
            ]
            .map(span),
            [None; 7]
        );
    }
}
