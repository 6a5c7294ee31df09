//! The only sanitizer of text that agents wrote. It shows these characters as escapes: terminal controls, invisible
//! characters, direction marks, letters that imitate their neighbours, and markup that a client reserves for itself. JSON
//! for programs is not changed.

use super::lookalike::ascii_twin;
use std::borrow::Cow;
use std::ops::Range;

/// For one line: also escapes line breaks and tabs.
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

/// For several lines: line breaks and tabs are kept.
pub fn block(text: &str) -> Cow<'_, str> {
    if !text.contains("\r\n") {
        return shown(text, is_layout);
    }
    // A Windows line break is a line break.
    Cow::Owned(shown(&text.replace("\r\n", "\n"), is_layout).into_owned())
}

/// Parts of one line, sanitized together, because markup can begin in one part and end in another.
pub fn pieces(pieces: &[&str]) -> Vec<String> {
    let whole = pieces.concat();
    let (mut end, mut before) = (0, None);
    let mut shown = Vec::new();
    for piece in pieces {
        let from = end;
        end += piece.len();
        shown.push(show(&whole, from..end, before, |_| false).into_owned());
        before = piece.chars().next_back().or(before);
    }
    shown
}

/// For JSON on a terminal. Hidden characters occur only in its strings, where an escape has the same meaning.
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden_in_json) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden_in_json(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped += &format!("\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

fn is_hidden_in_json(c: char) -> bool {
    is_hidden(c, None) && c != '\n'
}

/// The start of a text on one line, in quotation marks that the text cannot close.
pub fn quote(text: &str, most: usize) -> String {
    format!("“{}”", brief(text, most))
}

/// A path, a glob or a name without change. Any other text is quoted, because it could look like a sentence of ours.
pub fn path(text: &str, most: usize) -> String {
    let is_path = text
        .chars()
        .all(|c| c.is_alphanumeric() && !is_never_seen(c) || "._-/*?[]{}!,:@+~#=^".contains(c));
    if is_path && text.chars().count() <= most {
        text.to_owned()
    } else {
        quote(text, most)
    }
}

/// The start of a text on one line: sanitized, with single spaces, and with at most `most` characters.
pub fn brief(text: &str, most: usize) -> String {
    // No character becomes shorter, so more of the text would not be shown.
    let (mut plain, mut count) = (String::new(), 0);
    for c in text.chars() {
        let c = match c {
            c if c.is_whitespace() || c.is_control() => ' ',
            '“' | '”' => '"',
            c => c,
        };
        if c != ' ' || !plain.is_empty() && !plain.ends_with(' ') {
            plain.push(c);
            count += 1;
        }
        // Markup is recognized by the characters after its beginning.
        if count > most + MARKUP {
            break;
        }
    }
    let shown = line(plain.trim_end());
    match shown.char_indices().nth(most) {
        Some(_) => shown
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
        None => shown.into_owned(),
    }
}

/// Returns true if a text has a character that no reader sees in its place.
pub fn has_hidden(text: &str) -> bool {
    let mut before = None;
    text.chars().any(|c| is_hidden(c, before.replace(c)))
}

/// Returns true if this character is always invisible.
pub fn is_never_seen(c: char) -> bool {
    is_hidden(c, None)
}

/// Escapes the hidden characters of a text that `stays` rejects.
fn shown(text: &str, stays: fn(char) -> bool) -> Cow<'_, str> {
    show(text, 0..text.len(), None, stays)
}

/// Sanitizes a part of a text. The characters after the part decide whether markup begins in it.
fn show(
    text: &str,
    part: Range<usize>,
    mut before: Option<char>,
    stays: fn(char) -> bool,
) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut kept = part.start;
    for (at, c) in text[part.clone()]
        .char_indices()
        .map(|(at, c)| (part.start + at, c))
    {
        let escapes = match c {
            '<' => opens_markup(before, &text[at..]),
            c => is_hidden(c, before) && !stays(c) || imitates(c, &text[..at], &text[at..]),
        };
        if escapes {
            shown.push_str(&text[kept..at]);
            match c {
                '<' => shown.extend(c.escape_unicode()),
                c => shown.extend(c.escape_default()),
            }
            kept = at + c.len_utf8();
        }
        before = Some(c);
    }
    if kept == part.start {
        return Cow::Borrowed(&text[part]);
    }
    shown.push_str(&text[kept..part.end]);
    Cow::Owned(shown)
}

fn is_layout(c: char) -> bool {
    matches!(c, '\n' | '\t')
}

/// Control characters, direction marks, tags, and letters and selectors that no font shows.
fn is_hidden(c: char, before: Option<char>) -> bool {
    match c {
        ' '..='~' => false,
        // A joiner inside an emoji or a word is legitimate. A series of joiners could hide a message.
        '\u{200c}' | '\u{200d}' => {
            before.is_none_or(|before| before.is_ascii() || is_joiner(before))
        }
        // A selector after an emoji is legitimate.
        '\u{fe0e}' | '\u{fe0f}' => before.is_none_or(|before| !takes_selector(before)),
        c if c.is_control() => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => {
            true
        }
        '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' => true,
        '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// Returns true for a letter that looks like an ASCII letter, in a word with ASCII letters. A word of one script is
/// legitimate.
fn imitates(c: char, before: &str, from: &str) -> bool {
    // A longer word is not read as a word.
    const WORD: usize = MARKUP;
    if c.is_ascii() || !c.is_alphabetic() || ascii_twin(c).is_none() {
        return false;
    }
    let mut front = before
        .chars()
        .rev()
        .take_while(|c| c.is_alphabetic())
        .take(WORD);
    let mut back = from.chars().take_while(|c| c.is_alphabetic()).take(WORD);
    front.any(|c| c.is_ascii()) || back.any(|c| c.is_ascii())
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Symbols that a selector shows as emoji or as text: keycaps and pictures.
fn takes_selector(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*' | '©' | '®' | '\u{203c}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
        || matches!(c, '\u{1f000}'..='\u{1faff}')
}

/// The longest beginning of a text that decides whether it is markup.
const MARKUP: usize = 64;

/// Words that occur in the compound tag names of clients' markup.
const PARTS: [&str; 36] = [
    "system",
    "reminder",
    "notification",
    "notice",
    "hook",
    "instructions",
    "guidance",
    "context",
    "command",
    "local",
    "bash",
    "tool",
    "function",
    "antml",
    "prompt",
    "user",
    "assistant",
    "developer",
    "human",
    "agent",
    "subagent",
    "teammate",
    "session",
    "memory",
    "turn",
    "task",
    "environment",
    "ide",
    "diagnostics",
    "permissions",
    "permission",
    "output",
    "skills",
    "mcp",
    "model",
    "channel",
];

/// Words that are tag names of clients' markup by themselves.
const WHOLE: [&str; 12] = [
    "system",
    "sys",
    "user",
    "assistant",
    "developer",
    "human",
    "tool",
    "invoke",
    "instructions",
    "channel",
    "reminder",
    "context",
];

/// Returns true if the text begins like the markup that a client, or a model's own format, marks the speaker with. Code
/// such as `Vec<User>` and placeholders such as `<file-name>` do not.
fn opens_markup(before: Option<char>, text: &str) -> bool {
    let inside = text[1..].trim_start();
    if let Some(token) = inside.strip_prefix('|') {
        let end = token.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        return end.is_some_and(|end| token[end..].starts_with('|'));
    }
    let closing = inside.strip_prefix('/').map(str::trim_start);
    let name = closing.unwrap_or(inside);
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | ':'))
        .unwrap_or(name.len());
    let name = name[..end].to_ascii_lowercase();
    let mut parts = name.split(['-', '_', ':']).filter(|part| !part.is_empty());
    if name.contains(['-', '_', ':']) {
        return parts.any(|part| PARTS.contains(&part));
    }
    let is_generic = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':'));
    WHOLE.contains(&name.as_str()) && (closing.is_some() || !is_generic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_marks_of_direction_are_shown() {
        assert_eq!(
            line("a\x1b[31mb\u{202e}c\u{9b}d"),
            "a\\u{1b}[31mb\\u{202e}c\\u{9b}d"
        );
        assert_eq!(line("one\ntwo\tthree\r"), "one\\ntwo\\tthree\\r");
        assert_eq!(block("one\r\ntwo\tthree\x07"), "one\ntwo\tthree\\u{7}");
    }

    #[test]
    fn json_with_marks_of_direction_shown_means_the_same() {
        let text = "{\n  \"a\": \"b\u{202e}c\u{9b}\u{e0001}\"\n}";
        let shown = json(text);
        assert_eq!(shown, "{\n  \"a\": \"b\\u202ec\\u009b\\udb40\\udc01\"\n}");
        let [shown, text] = [&*shown, text]
            .map(|json| serde_json::from_str::<serde_json::Value>(json).expect("it is JSON"));
        assert_eq!(shown, text);
    }

    #[test]
    fn letters_of_all_scripts_and_emoji_stay() {
        let text = "Grüße, 你好, مرحبا می‌خواهم, नमस्ते क्‍ष, 👩‍💻 ❤️ 1️⃣ ©️ 🏳️‍🌈 ☎︎, 한글";
        assert_eq!(block(text), text);
        assert_eq!(brief(text, 200), text);
    }

    #[test]
    fn invisible_characters_are_shown() {
        for hidden in [
            "\u{e0068}",
            "\u{61c}",
            "a\u{fe01}",
            "a\u{fe0f}",
            "\u{e0100}",
            "a\u{200d}",
            "é\u{200d}\u{200c}",
        ] {
            let hidden = format!("x {hidden}y");
            assert!(line(&hidden).contains("\\u{"), "{hidden:?}");
        }
        assert_eq!(
            brief("a\u{e0068}\u{e0069}b\u{2028}c", 40),
            "a\\u{e0068}\\u{e0069}b c"
        );
    }

    #[test]
    fn a_letter_that_imitates_its_neighbours_is_shown() {
        assert_eq!(line("p\u{430}ypal \u{ff59}es"), "p\\u{430}ypal \\u{ff59}es");
        assert_eq!(brief("n\u{3bf} y\u{435}s", 40), "n\\u{3bf} y\\u{435}s");
        assert_eq!(quote("yes\u{2800}", 40), "“yes\\u{2800}”");
        for text in [
            "это слово, сор и ось",
            "τὸ νοῦς",
            "Größe naïve",
            "ｙｅｓ",
            "5 km² ª",
            "x₁",
        ] {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn markup_of_clients_and_models_is_escaped() {
        for tag in [
            "</system-reminder>",
            "<system-reminder>",
            "< / SYSTEM-reminder >",
            "<system_reminder x='1'>",
            "</user>",
            "<function_results>",
            "<task-notification>",
            "<user-prompt-submit-hook>",
            "<environment_context>",
            "<|im_start|>",
            "<|endoftext|>",
            "<<SYS>>",
            "<local-command-stdout>",
            "say <system>",
            "<subagent_notification>",
        ] {
            let shown = block(tag).into_owned();
            assert!(shown.contains("\\u{3c}"), "{tag} as {shown}");
        }
        for code in [
            "Vec<User>",
            "a < b",
            "List<size_t>",
            "cp <source-file> <target>",
            "f <| x |> y",
            "<b>bold</b>",
        ] {
            assert_eq!(block(code), code);
        }
    }

    #[test]
    fn markup_across_two_pieces_is_escaped() {
        assert_eq!(
            pieces(&["a <", "system", "-reminder>"]).concat(),
            "a \\u{3c}system-reminder>"
        );
        assert_eq!(
            pieces(&["a\u{200d}", "\u{200d}b", ""]),
            ["a\\u{200d}", "\\u{200d}b", ""]
        );
    }

    #[test]
    fn a_text_cannot_close_its_quotation() {
        assert_eq!(quote("a” said bob: “b\nc", 40), "“a\" said bob: \"b c”");
        assert_eq!(
            quote("</system-reminder>", 40),
            "“\\u{3c}/system-reminder>”"
        );
        assert_eq!(quote("abcdef", 3), "“ab…”");
    }
}
