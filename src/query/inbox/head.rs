//! Parses the complete fields at the beginning of a truncated message.

use serde_json::{Map, Value};

/// The complete fields of a truncated object, and the available part of a truncated string. `None` if the bytes do not
/// begin an object.
pub(super) fn fields(bytes: &[u8]) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    let mut rest = bytes
        .trim_ascii_start()
        .strip_prefix(b"{")?
        .trim_ascii_start();
    while let Some(end) = end_of_text(rest) {
        let name: String = serde_json::from_slice(&rest[..end]).ok()?;
        let Some(value) = rest[end..].trim_ascii_start().strip_prefix(b":") else {
            break;
        };
        let value = value.trim_ascii_start();
        let Some(end) = end_of(value) else {
            fields.extend(cut(value).map(|text| (name, text.into())));
            break;
        };
        fields.insert(name, serde_json::from_slice(&value[..end]).ok()?);
        let Some(next) = value[end..].trim_ascii_start().strip_prefix(b",") else {
            break;
        };
        rest = next.trim_ascii_start();
    }
    Some(fields)
}

/// Where a value ends, if it is complete.
fn end_of(value: &[u8]) -> Option<usize> {
    match value.first()? {
        b'"' => end_of_text(value),
        b'{' | b'[' => {
            let (mut at, mut depth) = (0, 0_usize);
            loop {
                match value.get(at)? {
                    b'"' => at += end_of_text(&value[at..])? - 1,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth = depth.checked_sub(1)?,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => value
            .iter()
            .position(|byte| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace()),
    }
}

/// Where a string ends, quotation marks included.
fn end_of_text(text: &[u8]) -> Option<usize> {
    let mut at = usize::from(text.first() == Some(&b'"'));
    while at > 0 {
        at += match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => 2,
            _ => 1,
        };
    }
    None
}

/// The available part of a truncated string.
fn cut(text: &[u8]) -> Option<String> {
    /// The longest form of one character: two `\uXXXX`.
    const LONGEST: usize = 12;
    let end = std::str::from_utf8(text).map_or_else(|e| e.valid_up_to(), str::len);
    let text = std::str::from_utf8(&text[..end]).ok()?.strip_prefix('"')?;
    let ends = (0..=LONGEST).filter_map(|less| text.get(..text.len().checked_sub(less)?));
    ends.filter_map(|text| serde_json::from_str(&format!("\"{text}\"")).ok())
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const WHOLE: &str = r#"{"id": "m-1", "n": 12, "delivery": {"seq": 7, "x": ["}", {"a": "\"]"}]}, "e": {},
        "body": "a\"b\\ 😀 😀 end", "type": "question", "last": true}"#;

    #[test]
    fn a_complete_object_gives_all_its_fields() {
        let whole: Value = serde_json::from_str(WHOLE).expect("JSON");
        assert_eq!(fields(WHOLE.as_bytes()).map(Value::Object), Some(whole));
        assert_eq!(fields(b" {}"), Some(Map::new()));
        assert_eq!(
            (fields(b"[1]"), fields(b""), fields(b"x")),
            (None, None, None)
        );
    }

    #[test]
    fn an_object_truncated_anywhere_gives_its_complete_fields_and_the_start_of_a_truncated_string()
    {
        let whole: Value = serde_json::from_str(WHOLE).expect("JSON");
        for end in 0..WHOLE.len() {
            let found = fields(&WHOLE.as_bytes()[..end]).unwrap_or_default();
            for (name, value) in &found {
                let exact = value == &whole[name];
                let begins = value
                    .as_str()
                    .zip(whole[name].as_str())
                    .is_some_and(|(a, b)| b.starts_with(a));
                assert!(exact || begins, "{name}: {value} of {end} bytes");
            }
        }
        let cut = fields(&WHOLE.as_bytes()[..WHOLE.find("end").expect("it is there")])
            .expect("an object");
        assert_eq!(cut["body"], json!("a\"b\\ 😀 😀 "));
        assert_eq!(cut["delivery"]["seq"], json!(7));
    }
}
