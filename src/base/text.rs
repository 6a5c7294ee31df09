//! Texts that all output writes the same way: counts and times.

use super::{limits, sanitize};
use std::fmt::{Display, Write};
use std::path::Path;

/// A count with its noun: `1 copy`, `2 copies`. The noun is given in the singular.
pub fn count(n: impl Into<u128>, noun: &str) -> String {
    let n = n.into();
    if n == 1 {
        return format!("1 {noun}");
    }
    let before_y = noun
        .strip_suffix('y')
        .filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match before_y {
        Some(stem) => format!("{n} {stem}ies"),
        None if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{n} {noun}es"),
        None => format!("{n} {noun}s"),
    }
}

/// As [`count`], for a number of values in memory.
pub fn count_of(n: usize, noun: &str) -> String {
    count(n as u64, noun)
}

/// All items, separated by commas.
pub fn joined(items: impl IntoIterator<Item = impl Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// The first items of a list, and the number of the rest: `a, b, c, d, e and 3 more`.
pub fn listed(items: impl IntoIterator<Item = impl Display>) -> String {
    let mut items = items.into_iter();
    let first: Vec<String> = items
        .by_ref()
        .take(limits::IN_SENTENCE)
        .map(|item| item.to_string())
        .collect();
    match items.count() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The items of a list for a sentence, the first ones of a long list: `bob and carol`.
pub fn named(items: &[&str]) -> String {
    match items {
        [first @ .., last] if !first.is_empty() && items.len() <= limits::IN_SENTENCE => {
            format!("{} and {last}", first.join(", "))
        }
        items => listed(items),
    }
}

/// The number of tokens of a text, at four bytes each.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(limits::BYTES_PER_TOKEN)
}

/// A text for an error message: in quotes, with control characters escaped, truncated if long.
pub fn quoted(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Quotes a word of a command that mailbag shows. The sanitizer does not change it: a character that it would escape is
/// an escape of `bash`, `zsh` and `ksh`, as in `$'src/\u003cuser>'`.
pub fn shell_word(text: &str) -> String {
    if *sanitize::line(text) == *text {
        return posix_shell_word(text);
    }
    let mut word = "$'".to_owned();
    for c in text.chars() {
        match c {
            '\'' | '\\' => word.extend(['\\', c]),
            ' '..='~' if c != '<' => word.push(c),
            c => {
                let _ = match u32::from(c) {
                    code @ ..=0xffff => write!(word, "\\u{code:04x}"),
                    code => write!(word, "\\U{code:08x}"),
                };
            }
        }
    }
    word + "'"
}

/// Quotes a word for every shell.
pub fn posix_shell_word(text: &str) -> String {
    let is_plain = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "/._-+:@%=,".contains(c));
    if is_plain && !text.is_empty() {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A path as one word of a command line.
pub fn shell_path(path: &Path) -> String {
    shell_word(&path.to_string_lossy())
}

/// The word that [`posix_shell_word`] quoted.
pub fn unquoted_shell_word(word: &str) -> String {
    let inner = word
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    inner.map_or_else(|| word.to_owned(), |inner| inner.replace(r"'\''", "'"))
}

/// `2026-11-21T10:30:00Z`: a time of the log without its microseconds, which a reader does not need.
pub fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((second, fraction)) if fraction.ends_with('Z') => format!("{second}Z"),
        _ => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_shell_word_means_the_text_and_is_not_changed_by_the_sanitizer() {
        for (text, word) in [
            ("src/a.rs", "src/a.rs"),
            ("", "''"),
            ("yes; it's", r"'yes; it'\''s'"),
            ("src/<user>/it's\\", r"$'src/\u003cuser>/it\'s\\'"),
            ("a\u{202e}b\u{e0001}\n", r"$'a\u202eb\U000e0001\u000a'"),
        ] {
            assert_eq!(shell_word(text), word);
            assert_eq!(sanitize::line(word), word);
        }
    }

    #[test]
    fn a_count_has_the_right_plural() {
        let counts = [
            count(0_u64, "file"),
            count(1_u64, "copy"),
            count_of(2, "copy"),
            count_of(3, "day"),
        ];
        assert_eq!(counts, ["0 files", "1 copy", "2 copies", "3 days"]);
        assert_eq!(
            [
                count_of(2, "batch"),
                count_of(1, "inbox"),
                count_of(2, "inbox")
            ],
            ["2 batches", "1 inbox", "2 inboxes"]
        );
    }

    #[test]
    fn only_the_fraction_of_a_time_goes() {
        assert_eq!(
            to_the_second("2026-11-21T10:30:00.123456Z"),
            "2026-11-21T10:30:00Z"
        );
        assert_eq!(
            [to_the_second("2026-11-21T10:30:00Z"), to_the_second("soon")],
            ["2026-11-21T10:30:00Z", "soon"]
        );
    }
}
