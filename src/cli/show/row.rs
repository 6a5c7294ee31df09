//! A message in one line of a terminal: number, local time, sender, type and subject, in colour, cut to the width.

pub(in crate::cli) use super::fit::{cut, local};
use super::output::{BOLD, CommandOutput, DIM, PLAIN, RED, YELLOW};
use crate::base::error::Result;
use crate::base::sanitize;
use crate::message::Priority;
use crate::query::view::MessageView;
use anstyle::Style;
use unicode_width::UnicodeWidthStr;

/// Prints the row of a message, cut at the width of the terminal. `who` is its sender, or its sender and recipients.
pub(crate) fn print(out: &mut CommandOutput, view: &MessageView<'_>, who: String) -> Result<()> {
    const WHO: usize = 16;
    const KIND: usize = 9;
    let waits = view.marks_response();
    let about = match view.priority {
        Priority::Urgent => RED,
        Priority::High => YELLOW,
        Priority::Low => DIM,
        Priority::Normal => PLAIN,
    };
    let closed = view.closed_mark();
    let cells: [(Style, String, usize); 5] = [
        (DIM, format!("{:>6}", view.number()), 0),
        (DIM, local(view.accepted_at), 0),
        (BOLD, who, WHO),
        (
            if waits { YELLOW } else { PLAIN },
            format!("{}{}{closed}", view.kind, if waits { "?" } else { "" }),
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
