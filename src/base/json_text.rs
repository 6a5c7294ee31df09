//! JSON text of other programs, repaired where a strict parser would reject it.

use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

/// The length of an escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// Decodes JSON text. Replaces bytes that are not UTF-8 and escapes of half a surrogate pair with U+FFFD.
///
/// JavaScript writes such an escape for a text that was cut inside an emoji.
pub fn decode(json: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(json);
    let halves = lone_halves(text.as_bytes());
    if halves.is_empty() {
        return text;
    }
    let mut repaired = text.into_owned();
    for at in halves {
        repaired.replace_range(at..at + ESCAPE, r"\ufffd");
    }
    Cow::Owned(repaired)
}

/// The places of escapes that are half of a surrogate pair without the other half.
fn lone_halves(text: &[u8]) -> Vec<usize> {
    let mut halves = Vec::new();
    let mut at = 0;
    while let Some(found) = text
        .get(at..)
        .and_then(|rest| rest.iter().position(|byte| *byte == b'\\'))
    {
        at += found;
        let Some(unit) = code_unit(&text[at..]) else {
            // A backslash that is escaped begins no other escape.
            at += 2;
            continue;
        };
        let next = code_unit(&text[at + ESCAPE..]);
        match (unit, next) {
            (0xd800..=0xdbff, Some(0xdc00..=0xdfff)) => at += ESCAPE,
            (0xd800..=0xdfff, _) => halves.push(at),
            _ => {}
        }
        at += ESCAPE;
    }
    halves
}

/// The code unit of the escape at the beginning of this text, if it is one.
fn code_unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// The value of an enum with this name.
pub fn parse_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    T::deserialize(Value::from(word)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_becomes_a_replacement_character() {
        for (json, text) in [
            (r#""cut \ud83d""#, "cut \u{fffd}"),
            (r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\uD83D\uDE00\\ud83d""#, "\u{1f600}\\ud83d"),
            (r#""\\\ud83d\n""#, "\\\u{fffd}\n"),
            (r#""plain \u00e4""#, "plain \u{e4}"),
        ] {
            let decoded: String = serde_json::from_str(&decode(json.as_bytes())).expect(json);
            assert_eq!(decoded, text, "{json}");
        }
    }

    #[test]
    fn invalid_bytes_and_invalid_json_pass() {
        assert_eq!(decode(b"\"a\xff\""), "\"a\u{fffd}\"");
        for text in [
            "",
            "\\",
            "\\u",
            "\\ud8",
            "\\u\u{e4}\u{e4}",
            "\\\u{e4}",
            "{\"a\":1}",
        ] {
            assert_eq!(decode(text.as_bytes()), text);
        }
    }
}
