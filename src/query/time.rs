//! Parses times as people write them: an instant, or a duration from now.

use crate::base::clock::{Stamp, span};
use crate::base::error::{Error, Result};
use crate::message::address::quoted;
use chrono::{Datelike, Days, Local, NaiveDate, NaiveDateTime, NaiveTime, Weekday};
use std::time::Duration;

/// A past time: an instant, a duration ago (`1h`), or a local day or time (`yesterday`, `2026-11-20`, `14:30`).
pub fn past(text: &str) -> Result<Stamp> {
    let day = local(
        text,
        Stamp::now().date_time().with_timezone(&Local).naive_local(),
    );
    let day = day.and_then(|day| day.and_local_timezone(Local).earliest());
    let day = day.map(|day| Ok(Stamp::from_micros(day.timestamp_micros())));
    day.unwrap_or_else(|| {
        instant(
            text,
            -1,
            "1h, yesterday, a date such as 2026-11-20, a time such as 14:30",
        )
    })
}

/// The start of a local day, or the last time that the local clock showed this time.
fn local(text: &str, now: NaiveDateTime) -> Option<NaiveDateTime> {
    let text = text.trim().to_ascii_lowercase();
    let clock = ["%H:%M", "%H:%M:%S"]
        .iter()
        .find_map(|form| NaiveTime::parse_from_str(&text, form).ok());
    if let Some(clock) = clock {
        let today = now.date().and_time(clock);
        return if today > now {
            today.checked_sub_days(Days::new(1))
        } else {
            Some(today)
        };
    }
    let back = match text.as_str() {
        "today" => 0,
        "yesterday" => 1,
        word => match word.parse::<Weekday>() {
            // A weekday means the last one before today.
            Ok(day) => u64::from((now.weekday().days_since(day) + 6) % 7 + 1),
            Err(_) => {
                return NaiveDate::parse_from_str(word, "%Y-%m-%d")
                    .ok()?
                    .and_hms_opt(0, 0, 0);
            }
        },
    };
    now.date()
        .checked_sub_days(Days::new(back))?
        .and_hms_opt(0, 0, 0)
}

/// A future time: an instant, or a duration from now (`10m`).
pub fn future(text: &str) -> Result<Stamp> {
    instant(text, 1, "10m")
}

/// A duration: `500ms`, `30s`, `5m`, `1h`, or `0`.
pub fn length(text: &str) -> Result<Duration> {
    span(text).ok_or_else(|| {
        Error::usage(
            format!("{} is not a duration", quoted(text)),
            "use a duration such as 500ms, 30s, 5m, 1h, 2d or 0",
        )
    })
}

fn instant(text: &str, direction: i64, example: &str) -> Result<Stamp> {
    let micros = span(text).map(|span| span.as_micros() as i64);
    let from_now = micros.and_then(|span| Stamp::now().micros().checked_add(direction * span));
    from_now
        .map(Stamp::from_micros)
        .or_else(|| Stamp::parse(text))
        .ok_or_else(|| {
            Error::usage(
                format!("{} is not a time", quoted(text)),
                format!(
                    "use {example}, 90s, 2h, 7d or 1w, or an instant such as 2026-11-21T10:30:00Z"
                ),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_local_and_in_the_past() {
        let day =
            |text: &str| NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").expect("a time");
        let now = day("2026-11-21 10:30");
        let all = [
            "today",
            "Yesterday",
            "2026-11-01",
            "10:00",
            "14:30",
            "saturday",
            "fri",
            "soon",
            "2026-13-01",
        ];
        let expected = [
            "2026-11-21 00:00",
            "2026-11-20 00:00",
            "2026-11-01 00:00",
            "2026-11-21 10:00",
            "2026-11-20 14:30",
        ];
        let expected = expected
            .into_iter()
            .chain(["2026-11-14 00:00", "2026-11-20 00:00"]);
        let expected: Vec<Option<NaiveDateTime>> = expected
            .map(|text| Some(day(text)))
            .chain([None, None])
            .collect();
        assert_eq!(all.map(|text| local(text, now)).to_vec(), expected);
    }

    #[test]
    fn spans_and_instants() {
        assert_eq!(
            past("2026-11-21T10:30:00Z")
                .expect("an instant")
                .to_string(),
            "2026-11-21T10:30:00.000000Z"
        );
        assert!(
            past("1h").expect("a span") < Stamp::now()
                && future("1h").expect("a span") > Stamp::now()
        );
    }
}
