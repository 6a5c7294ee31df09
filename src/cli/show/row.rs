//! A message in one line of a terminal: number, local time, sender, type and subject, in colour, cut to the width.

use super::output::{BOLD, DIM, Output, PLAIN, RED, YELLOW};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::query::view::View;
use anstyle::Style;
use chrono::{Datelike, Local};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Prints the row of a message, cut at the width of the terminal. `who` is its sender, or its sender and recipients.
pub(crate) fn print(out: &mut Output, view: &View<'_>, who: String) -> Result<()> {
    const WHO: usize = 16;
    const KIND: usize = 9;
    let waits = view.requires_response;
    let about = match view.priority {
        "urgent" => RED,
        "high" => YELLOW,
        "low" => DIM,
        _ => PLAIN,
    };
    let cells: [(Style, String, usize); 5] = [
        (DIM, format!("{:>6}", view.number()), 0),
        (DIM, local(view.accepted_at), 0),
        (BOLD, who, WHO),
        (
            if waits { YELLOW } else { PLAIN },
            format!("{}{}", view.kind, if waits { "?" } else { "" }),
            KIND,
        ),
        (about, view.about().into_owned(), 0),
    ];
    let mut left = out.width().unwrap_or(usize::MAX);
    let mut line = String::new();
    for (style, text, width) in cells {
        let text = cut(&sanitize::line(&text), left);
        line += &out.paint(style, &text);
        let blanks = width.saturating_sub(text.width()) + 2;
        left = left.saturating_sub(text.width() + blanks);
        line += &" ".repeat(if left > 0 { blanks } else { 0 });
    }
    out.line(line)
}

/// The accept time in the local zone: a time of today, a day of this year, or a date, all of one width.
pub(crate) fn local(at: &str) -> String {
    let Some(at) = Stamp::parse(at) else {
        return format!("{:>12}", "-");
    };
    let (at, now) = (
        at.date_time().with_timezone(&Local),
        Stamp::now().date_time().with_timezone(&Local),
    );
    let form = match () {
        () if at.date_naive() == now.date_naive() => "%H:%M:%S",
        () if at.year() == now.year() => "%b %e %H:%M",
        () => "%Y-%m-%d",
    };
    format!("{:>12}", at.format(form).to_string())
}

/// The beginning of a text that is no wider than this, cut between graphemes.
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

#[cfg(test)]
mod tests {
    use super::cut;

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
}
