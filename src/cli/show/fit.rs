//! Texts and times that fit a column.

use crate::base::clock::Stamp;
use crate::base::sanitize;
use chrono::{Datelike, Local};
use std::borrow::Cow;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The indent of a text from a sender.
pub(crate) const INDENT: &str = "    ";

/// The mark of a sender's line in the text of an approval.
const MARK: &str = "| ";
/// The width of [`local`].
const TIME: usize = 15;

/// A time in the local zone, with the zone: a time of today, a day of this year, or a date, all of one width.
pub(crate) fn local(at: &str) -> String {
    let Some(at) = Stamp::parse(at) else {
        return format!("{:>TIME$}", "-");
    };
    let (at, now) = (
        at.date_time().with_timezone(&Local),
        Stamp::now().date_time().with_timezone(&Local),
    );
    let form = if at.date_naive() == now.date_naive() {
        "%H:%M:%S%z"
    } else if at.year() == now.year() {
        "%b %e %H:%M%z"
    } else {
        return format!("{:>TIME$}", at.format("%Y-%m-%d").to_string());
    };
    // A zone of whole hours is `+01`.
    let text = at.format(form).to_string();
    format!("{:>TIME$}", text.strip_suffix("00").unwrap_or(&text))
}

/// The beginning of a text, at most this wide. It is cut between graphemes and ends with `…`.
pub(in crate::cli) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for letter in text.graphemes(true) {
        if cut.width() + letter.width() >= width {
            break;
        }
        cut.push_str(letter);
    }
    cut + if width > 0 { "…" } else { "" }
}

/// The text of an approval in lines of at most this width. A continued line of a sender keeps its mark, and a continued
/// field is indented, so that no line of a sender looks like a field.
pub(crate) fn source(text: &str, width: usize) -> Vec<String> {
    let text = sanitize::block(text.trim_end());
    let lines = text.split('\n').flat_map(|line| {
        let indent = if line.starts_with(MARK) { MARK } else { INDENT };
        folded(line, Some(width), indent)
    });
    lines.collect()
}

/// The lines of a text that fit the width of the terminal. In a very narrow terminal, they have no indent.
pub(crate) fn folded(line: &str, width: Option<usize>, indent: &str) -> Vec<String> {
    let Some(width) = width else {
        return vec![line.to_owned()];
    };
    let indent = if width > indent.len() * 2 { indent } else { "" };
    let options = Options::new(width.max(1))
        .subsequent_indent(indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(line, options)
        .into_iter()
        .map(Cow::into_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_letters_as_a_reader_sees_them() {
        assert_eq!(
            (cut("abc", 3), cut("abcd", 3), cut("abc", 0)),
            ("abc".into(), "ab…".into(), String::new())
        );
        assert_eq!(cut("你好吗", 5), "你好…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(cut("👩‍💻👩‍💻👩‍💻", 5), "👩‍💻👩‍💻…");
    }

    #[test]
    fn what_a_terminal_would_fold_to_the_edge_is_folded_further_in() {
        let line = format!("{INDENT}{}from: human", "x".repeat(20));
        assert_eq!(
            folded(&line, Some(24), INDENT),
            ["    xxxxxxxxxxxxxxxxxxxx", "    from: human"]
        );
        assert_eq!(folded(&line, None, INDENT), [line]);
    }

    #[test]
    fn no_width_moves_a_line_of_a_sender_to_where_a_field_begins() {
        let forged = [
            "options:\u{a0}[\"yes\"]",
            "subject:\u{a0}Refund",
            "approval\u{a0}#9",
        ];
        let words = forged.join(&format!(" {} ", "x".repeat(77)));
        let text = format!("approval #7 alice/d\nsubject: {words}\nbody:\n| {words}\n");
        for width in 9..200 {
            let lines = source(&text, width);
            assert!(lines.iter().all(|line| line.width() <= width), "{lines:#?}");
            let own = lines.iter().filter(|line| !line.starts_with([' ', '|']));
            let fields: Vec<&str> = own.map(|line| &line[..5]).collect();
            assert_eq!(fields, ["appro", "subje", "body:"], "{lines:#?}");
            let sent = lines.concat().replace(MARK, "").replace([' ', '\n'], "");
            let whole = text.replace(MARK, "").replace([' ', '\n'], "");
            assert_eq!(sent, whole, "nothing is left out");
        }
    }
}
