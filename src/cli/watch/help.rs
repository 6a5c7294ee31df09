//! The help of the view: answers, keys and marks.

use super::lines::{DIM, fold};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

const FORMS: [(&str, &str); 16] = [
    ("1 yes, 1y", "decide item 1"),
    ("#12 yes", "by record number"),
    ("#12 use 8080", "reply to a question"),
    ("1 accept", "or decline: an offer"),
    ("#12 dismiss", "remove from the list"),
    (
        "@bob hello",
        "message, or the answer to bob's only question",
    ),
    ("@all hello", "message to all agents"),
    (" 1 yes", "always a message"),
    ("Tab", "complete"),
    ("Up, Down", "earlier lines"),
    ("PgUp, PgDn", "scroll; Home: older, End: newest"),
    ("Ctrl-u, Ctrl-c", "clear the line, quit"),
    ("!  x  -", "urgent, rejected, other item"),
    ("#12  [auth]", "record number, channel"),
    ("↓ 3 new", "3 new messages below"),
    ("…", "the text is longer"),
];

/// The help in lines of this width.
pub(super) fn lines(width: usize) -> Vec<Line<'static>> {
    let first = FORMS
        .iter()
        .map(|(form, _)| form.width())
        .max()
        .unwrap_or_default()
        + 2;
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut lines = Vec::new();
    for (form, what) in FORMS {
        for (at, part) in fold(what, width.saturating_sub(first))
            .into_iter()
            .enumerate()
        {
            let form = if at == 0 { form } else { "" };
            lines.push(Line::from(vec![
                Span::styled(format!("{form:<first$}"), bold),
                Span::raw(part),
            ]));
        }
    }
    lines.push(Line::from(Span::styled("? closes this help", DIM)));
    lines
}
