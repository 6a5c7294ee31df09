//! Times as people write them: an instant, or so much from now.

use crate::address::quoted;
use crate::clock::Stamp;
use crate::error::{Error, Result};

/// An instant, or so long ago: `1h`.
pub fn past(text: &str) -> Result<Stamp> {
    instant(text, -1, "1h")
}

/// An instant, or so long from now: `10m`.
pub fn future(text: &str) -> Result<Stamp> {
    instant(text, 1, "10m")
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
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    let span = number.parse::<i64>().ok()?.checked_mul(seconds)?;
    (span <= 1000 * 366 * 86_400).then_some(span * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_instants() {
        assert_eq!(micros("10m"), Some(600_000_000));
        assert_eq!(micros("7d"), Some(7 * 86_400_000_000));
        assert_eq!(["", "m", "10", "1.5h", "-1h", "99999999999999999999s", "9999999w"].map(micros), [None; 7]);
        assert_eq!(past("2026-11-21T10:30:00Z").expect("an instant").to_string(), "2026-11-21T10:30:00.000000Z");
        assert!(past("1h").expect("a span") < Stamp::now() && future("1h").expect("a span") > Stamp::now());
    }
}
