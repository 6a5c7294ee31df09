//! Times as people write them: an instant, or so much from now.

use crate::address::quoted;
use crate::clock::Stamp;
use crate::error::{Error, Result};
use std::time::Duration;

/// An instant, or so long ago: `1h`.
pub fn past(text: &str) -> Result<Stamp> {
    instant(text, -1, "1h")
}

/// An instant, or so long from now: `10m`.
pub fn future(text: &str) -> Result<Stamp> {
    instant(text, 1, "10m")
}

/// A length of time: `500ms`, `30s`, `5m`, `1h`; `0` is none at all.
pub fn span(text: &str) -> Result<Duration> {
    let span = if text == "0" { Some(0) } else { micros(text) };
    span.and_then(|micros| u64::try_from(micros).ok()).map(Duration::from_micros).ok_or_else(|| Error::Usage {
        what: format!("{} is no length of time", quoted(text)),
        cure: "write 500ms, 30s, 5m, 1h or 2d, or 0".into(),
    })
}

/// A length of time as [`span`] reads it, in the largest unit that fits.
pub fn shown(span: Duration) -> String {
    const UNITS: [(u128, &str); 4] = [(3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
    let millis = span.as_millis();
    let unit = UNITS.iter().find(|(unit, _)| millis >= *unit && millis.is_multiple_of(*unit));
    unit.map_or_else(|| "0".into(), |(unit, name)| format!("{}{name}", millis / unit))
}

fn instant(text: &str, direction: i64, example: &str) -> Result<Stamp> {
    let from_now = micros(text).and_then(|span| Stamp::now().micros().checked_add(direction * span));
    from_now.map(Stamp::from_micros).or_else(|| Stamp::parse(text)).ok_or_else(|| Error::Usage {
        what: format!("{} is no time", quoted(text)),
        cure: format!("write {example}, 90s, 2h, 7d or 1w, or an instant such as 2026-11-21T10:30:00Z"),
    })
}

/// A span of at most a thousand years, in microseconds.
fn micros(text: &str) -> Option<i64> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    const SECOND: i64 = 1_000_000;
    let unit = match unit {
        "ms" => SECOND / 1000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3600 * SECOND,
        "d" => 86_400 * SECOND,
        "w" => 7 * 86_400 * SECOND,
        _ => return None,
    };
    let span = number.parse::<i64>().ok()?.checked_mul(unit)?;
    (span <= 1000 * 366 * 86_400 * SECOND).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_instants() {
        assert_eq!(micros("10m"), Some(600_000_000));
        assert_eq!(micros("7d"), Some(7 * 86_400_000_000));
        assert_eq!(["", "m", "10", "1.5h", "-1h", "99999999999999999999s", "9999999w"].map(micros), [None; 7]);
        assert_eq!(
            ["0", "500ms", "90s", "2h"].map(|text| shown(span(text).expect("a span"))),
            ["0", "500ms", "90s", "2h"]
        );
        assert!(span("10").is_err() && span("-1s").is_err());
        assert_eq!(past("2026-11-21T10:30:00Z").expect("an instant").to_string(), "2026-11-21T10:30:00.000000Z");
        assert!(past("1h").expect("a span") < Stamp::now() && future("1h").expect("a span") > Stamp::now());
    }
}
