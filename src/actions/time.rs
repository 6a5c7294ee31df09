//! Times as people write them: an instant, or so much from now.

use crate::address::quoted;
use crate::clock::{Stamp, span};
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
pub fn length(text: &str) -> Result<Duration> {
    span(text).ok_or_else(|| Error::Usage {
        what: format!("{} is no length of time", quoted(text)),
        cure: "write 500ms, 30s, 5m, 1h or 2d, or 0".into(),
    })
}

fn instant(text: &str, direction: i64, example: &str) -> Result<Stamp> {
    let micros = span(text).map(|span| span.as_micros() as i64);
    let from_now = micros.and_then(|span| Stamp::now().micros().checked_add(direction * span));
    from_now.map(Stamp::from_micros).or_else(|| Stamp::parse(text)).ok_or_else(|| Error::Usage {
        what: format!("{} is no time", quoted(text)),
        cure: format!("write {example}, 90s, 2h, 7d or 1w, or an instant such as 2026-11-21T10:30:00Z"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_instants() {
        assert_eq!(past("2026-11-21T10:30:00Z").expect("an instant").to_string(), "2026-11-21T10:30:00.000000Z");
        assert!(past("1h").expect("a span") < Stamp::now() && future("1h").expect("a span") > Stamp::now());
    }
}
