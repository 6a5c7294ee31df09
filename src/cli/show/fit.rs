//! Texts and times that fit a column.

use crate::base::clock::Stamp;
use chrono::{Datelike, Local};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

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
