//! A message in one line of a terminal: number, local time, sender, type and subject, in colour, cut to the width.

use super::output::{BOLD, DIM, Output, PLAIN, RED, YELLOW};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::query::history::LoggedMessage;
use crate::query::inbox::Mail;
use anstyle::Style;
use chrono::{Datelike, Local};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The cells of the line.
pub(crate) struct Row {
    seq: Option<u64>,
    at: String,
    who: String,
    kind: String,
    waits: bool,
    priority: String,
    about: String,
}

impl Row {
    /// The row of an unread message.
    pub(crate) fn of_mail(mail: &Mail) -> Row {
        let about = mail.problem.as_ref().map(|problem| format!("{}: {problem}", mail.file.display()));
        let about = about.or_else(|| mail.subject.clone()).or_else(|| mail.preview.clone()).unwrap_or_default();
        Row {
            seq: mail.seq,
            at: mail.accepted_at.clone(),
            who: mail.from.clone(),
            kind: mail.kind.clone(),
            waits: mail.requires_response,
            priority: mail.priority.clone(),
            about,
        }
    }

    /// The row of a message of the log, with its recipients.
    pub(crate) fn of_past(past: &LoggedMessage, to: &str) -> Row {
        Row {
            seq: Some(past.seq),
            at: past.accepted_at.clone(),
            who: format!("{} → {to}", past.from),
            kind: past.kind.clone(),
            waits: past.requires_response,
            priority: past.priority.clone(),
            about: past.subject.as_ref().or(past.preview.as_ref()).cloned().unwrap_or_default(),
        }
    }

    /// Prints the row, cut at the width of the terminal.
    pub(crate) fn print(&self, out: &mut Output) -> Result<()> {
        const WHO: usize = 16;
        const KIND: usize = 9;
        let seq = self.seq.map_or_else(|| "-".to_owned(), |seq| format!("#{seq}"));
        let kind = format!("{}{}", self.kind, if self.waits { "?" } else { "" });
        let about = match self.priority.as_str() {
            "urgent" => RED,
            "high" => YELLOW,
            "low" => DIM,
            _ => PLAIN,
        };
        let cells: [(Style, String, usize); 5] = [
            (DIM, format!("{seq:>6}"), 0),
            (DIM, local(&self.at), 0),
            (BOLD, self.who.clone(), WHO),
            (if self.waits { YELLOW } else { PLAIN }, kind, KIND),
            (about, self.about.clone(), 0),
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
}

/// The accept time in the local zone: a time of today, a day of this year, or a date, all of one width.
fn local(at: &str) -> String {
    let Some(at) = Stamp::parse(at) else { return format!("{:>12}", "-") };
    let (at, now) = (at.date_time().with_timezone(&Local), Stamp::now().date_time().with_timezone(&Local));
    let form = match () {
        () if at.date_naive() == now.date_naive() => "%H:%M:%S",
        () if at.year() == now.year() => "%b %e %H:%M",
        () => "%Y-%m-%d",
    };
    format!("{:>12}", at.format(form).to_string())
}

/// The beginning of a text that is no wider than this, cut between graphemes.
fn cut(text: &str, width: usize) -> String {
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
        assert_eq!((cut("abc", 3), cut("abcd", 3), cut("abc", 0)), ("abc".into(), "ab…".into(), String::new()));
        assert_eq!(cut("你好吗", 5), "你好…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(cut("👩‍💻👩‍💻👩‍💻", 5), "👩‍💻👩‍💻…");
    }
}
