//! Entries as lines: folded to a width and coloured for the screen, or one line each for a pipe.

use crate::base::clock::Stamp;
use crate::base::sanitize;
use crate::cli::show::frame::{INDENT, folded};
use crate::message::DEFAULT_CHANNEL;
use crate::message::record::EventKind;
use crate::query::timeline::{TimelineEntry, shade};
use crate::query::view::MessageView;
use chrono::{DateTime, Local};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// Of a message longer than this only the beginning is shown.
const SHOWN_BYTES: usize = 16 << 10;
const SHOWN_LINES: usize = 100;
/// Maximum number of recipients by name.
const NAMES: usize = 3;
/// Colours of 256 that can be read on black and on white, without red, which means trouble.
const SENDERS: [u8; 12] = [32, 34, 37, 65, 68, 97, 99, 130, 133, 136, 166, 169];

/// The styles of senders and problems, with colour where it is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    pub(super) colour: bool,
}

impl Palette {
    pub(super) fn sender(self, name: &str) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if self.colour {
            bold.fg(Color::Indexed(SENDERS[shade(name, SENDERS.len())]))
        } else {
            bold
        }
    }

    pub(super) fn trouble(self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if self.colour {
            bold.fg(Color::Red)
        } else {
            bold
        }
    }

    pub(super) fn hint(self) -> Style {
        if self.colour {
            Style::new().fg(Color::Yellow)
        } else {
            Style::new()
        }
    }
}

pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);

/// When it was accepted, where the person is.
pub(super) fn local(entry: &TimelineEntry) -> DateTime<Local> {
    Stamp::parse(&entry.message.accepted_at)
        .unwrap_or_default()
        .date_time()
        .with_timezone(&Local)
}

/// An entry on the screen: a head with sender, recipients and type, and the text below it.
pub(super) fn entry(entry: &TimelineEntry, width: usize, palette: Palette) -> Vec<Line<'static>> {
    let mut lines = WrappedWords::new(width);
    let view = MessageView::from(&entry.message);
    let is_urgent = entry.is_urgent();
    let mark = match entry.event {
        EventKind::Rejected => "x",
        _ if is_urgent => "!",
        _ => " ",
    };
    lines.push(mark, palette.trouble());
    lines.push(&local(entry).format("%H:%M:%S").to_string(), DIM);
    lines.push(entry.sender(), palette.sender(entry.sender()));
    if let Some(rejected) = &entry.rejected {
        lines.push("rejected", palette.trouble());
        lines.push(&rejected.name, Style::new());
    } else {
        lines.push(&format!("→ {}", view.to(NAMES)), Style::new());
        if view.kind != "message" {
            lines.push(view.kind, Style::new().add_modifier(Modifier::ITALIC));
        }
    }
    if !view.priority.is_normal() {
        lines.push(
            view.priority.as_str(),
            if is_urgent {
                palette.trouble()
            } else {
                palette.hint()
            },
        );
    }
    if view.channel != DEFAULT_CHANNEL && !entry.message.recipients.is_empty() {
        lines.push(&format!("[{}]", view.channel), DIM);
    }
    lines.push(&view.number(), DIM);
    let mut lines = lines.done();
    let aside = entry.is_aside() || entry.event == EventKind::Notice;
    for (text, style) in text(entry, view.body) {
        let style = if aside { style.patch(DIM) } else { style };
        let folded = fold(&text, width.saturating_sub(INDENT.len()));
        lines.extend(folded.into_iter().map(|line| {
            Line::from(Span::styled(
                format!("{INDENT}{line}").trim_end().to_owned(),
                style,
            ))
        }));
    }
    lines
}

/// The text of an entry in pieces.
fn text(entry: &TimelineEntry, body: Option<&str>) -> Vec<(String, Style)> {
    if let Some(rejected) = &entry.rejected {
        let problems = rejected.problems.iter().take(3);
        let show = format!("mailbag rejected show {}", entry.message.seq);
        return problems
            .map(|problem| (problem.to_string(), Style::new()))
            .chain([(show, DIM)])
            .collect();
    }
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let change = entry.message.change.clone();
    let subject = entry.message.subject.clone();
    [
        (change, Style::new()),
        (subject, bold),
        (body.map(str::to_owned), Style::new()),
    ]
    .into_iter()
    .filter_map(|(text, style)| Some((text?, style)))
    .collect()
}

/// A text of several lines, made visible, no line wider than `width`.
pub(super) fn fold(text: &str, width: usize) -> Vec<String> {
    let text = text.trim_end();
    let mut cut = text.len().min(SHOWN_BYTES);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    // One more than is shown, to see whether there is more.
    let mut lines = fold_lines(&text[..cut], width, SHOWN_LINES + 1, "");
    if cut < text.len() || lines.len() > SHOWN_LINES {
        lines.truncate(SHOWN_LINES);
        lines.push("…".into());
    }
    lines
}

/// A report with text of senders in it. Continued lines are indented, so that none begins with such a text.
pub(super) fn fold_indented(text: &str, width: usize) -> Vec<String> {
    fold_lines(text.trim_end(), width, SHOWN_LINES, INDENT)
}

fn fold_lines(text: &str, width: usize, most: usize, indent: &str) -> Vec<String> {
    let shown = sanitize::block(text).replace('\t', INDENT);
    let lines = shown.split('\n').take(most);
    lines
        .flat_map(|line| folded(line, Some(width), indent))
        .collect()
}

/// Styled words that go on in the next line where one is full.
struct WrappedWords {
    width: usize,
    used: usize,
    spans: Vec<Span<'static>>,
    lines: Vec<Line<'static>>,
}

impl WrappedWords {
    fn new(width: usize) -> WrappedWords {
        WrappedWords {
            width,
            used: 0,
            spans: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Words of others, made visible; blanks between them are one.
    fn push(&mut self, text: &str, style: Style) {
        let text = sanitize::line(text);
        for word in text.split(' ') {
            // One that is wider than any line is broken as a body is.
            for piece in fold(word, self.width.saturating_sub(INDENT.len() + 1)) {
                self.place(piece, style);
            }
        }
    }

    fn place(&mut self, word: String, style: Style) {
        if self.used + word.width() > self.width && self.used > 0 {
            self.lines.push(Line::from(std::mem::take(&mut self.spans)));
            self.used = INDENT.len();
            self.spans.push(Span::raw(INDENT));
        }
        self.used += word.width() + 1;
        self.spans.push(Span::styled(word, style));
        self.spans.push(Span::raw(" "));
    }

    fn done(mut self) -> Vec<Line<'static>> {
        self.lines.push(Line::from(self.spans));
        self.lines
    }
}

/// An entry in one line, for a pipe.
pub(super) fn plain(entry: &TimelineEntry) -> String {
    let view = MessageView::from(&entry.message);
    let rest = match &entry.rejected {
        Some(rejected) => {
            let why: Vec<String> = rejected.problems.iter().map(ToString::to_string).collect();
            format!(
                "{}  rejected  {}: {}",
                rejected.agent,
                rejected.name,
                why.join("; ")
            )
        }
        None => {
            let channel = match view.channel {
                DEFAULT_CHANNEL => String::new(),
                channel => format!("  [{channel}]"),
            };
            let text: Vec<&str> = view
                .change
                .as_deref()
                .into_iter()
                .chain(view.subject)
                .chain(view.body)
                .collect();
            let (to, kind, priority) = (view.to(NAMES), view.kind, view.priority.as_str());
            format!(
                "{} → {to}{channel}  {kind}  {priority}  {}",
                view.from,
                text.join(": ")
            )
        }
    };
    format!(
        "{}  {:>6}  {}",
        view.time(),
        view.number(),
        sanitize::line(rest.trim_end())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_folded_at_blanks_and_no_line_is_wider() {
        assert_eq!(fold("one two three", 8), ["one two", "three"]);
        assert_eq!(fold("a\n\n  b c", 80), ["a", "", "  b c"]);
        assert_eq!(fold("0123456789", 4), ["0123", "4567", "89"]);
        assert_eq!(fold("你好你好", 5), ["你好", "你好"]);
        assert_eq!(fold("\tx\x1b[2J", 80), ["    x\\u{1b}[2J"]);
        assert!(fold(&"word ".repeat(200), 0).len() <= SHOWN_LINES + 1);
    }

    #[test]
    fn a_text_without_end_is_cut_and_says_so() {
        let lines = fold(&"line\n".repeat(100_000), 80);
        assert_eq!(
            (lines.len(), lines.last().map(String::as_str)),
            (SHOWN_LINES + 1, Some("…"))
        );
        let lines = fold(&"x".repeat(1 << 20), 1000);
        assert_eq!(lines.last().map(String::as_str), Some("…"));
        assert_eq!(fold("short", 80), ["short"]);
    }
}
