//! Text from agents as it may stand on a terminal: what would move the cursor, change colours or turn the reading
//! direction is shown instead of sent.

use std::borrow::Cow;

/// For a place within a line: line ends and tabs are shown as well.
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

/// For text of several lines: line ends and tabs stay.
pub fn block(text: &str) -> Cow<'_, str> {
    shown(text, |c| matches!(c, '\n' | '\t'))
}

/// For JSON: what is to be hidden stands only in its texts, where an escape means the same.
pub fn json(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| is_hidden(c) && c != '\n';
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    Cow::Owned(text.chars().map(|c| if hidden(c) { escape(c) } else { String::from(c) }).collect())
}

fn shown(text: &str, stays: fn(char) -> bool) -> Cow<'_, str> {
    let hidden = |c: char| is_hidden(c) && !stays(c);
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    // A line end of Windows' kind is a line end.
    let text = if stays('\n') { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    let show = |c: char| if hidden(c) { c.escape_default().collect() } else { String::from(c) };
    Cow::Owned(text.chars().map(show).collect())
}

/// Control characters, marks of direction, invisible letters, and tags that no font shows.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        // A joiner within an emoji or a word of many scripts is no trick.
        && c != '\u{200d}'
        && c != '\u{200c}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_marks_of_direction_are_shown() {
        assert_eq!(line("a\x1b[31mb\u{202e}c\u{9b}d"), "a\\u{1b}[31mb\\u{202e}c\\u{9b}d");
        assert_eq!(line("one\ntwo\tthree\r"), "one\\ntwo\\tthree\\r");
        assert_eq!(block("one\r\ntwo\tthree\x07"), "one\ntwo\tthree\\u{7}");
    }

    #[test]
    fn json_with_marks_of_direction_shown_means_the_same() {
        let text = "{\n  \"a\": \"b\u{202e}c\u{9b}\u{e0001}\"\n}";
        let shown = json(text);
        assert_eq!(shown, "{\n  \"a\": \"b\\u202ec\\u009b\\udb40\\udc01\"\n}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
        assert_eq!(read(&shown), read(text));
    }

    #[test]
    fn letters_of_all_scripts_stay() {
        let text = "Grüße, 你好, مرحبا, नमस्ते, 👩‍💻";
        assert!(matches!(block(text), Cow::Borrowed(same) if same == text));
    }
}
