//! The complete text of an approval, shown before the person decides.

use super::{KeyResult, WatchView};
use crate::base::error::Result;
use crate::cli::show::frame::source;
use crate::query::displayed::DisplayedApproval;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

/// An approval that the person reads, from the first line to the last.
pub(super) struct ApprovalReader {
    displayed: DisplayedApproval,
    /// The first line on the screen.
    top: usize,
    /// The number of lines on the screen, and in all. Zero before the first drawing.
    page: usize,
    all: usize,
    /// The number of lines from the first one that were all on the screen.
    seen: usize,
}

impl ApprovalReader {
    /// Returns true if all lines were on the screen.
    pub(super) fn is_complete(&self) -> bool {
        self.page > 0 && self.seen >= self.all
    }

    // Several keys before the next drawing do not pass over lines.
    fn turn_to(&mut self, top: usize) -> KeyResult {
        self.top = top.min(self.seen).min(self.all.saturating_sub(self.page));
        KeyResult::Shown
    }

    pub(super) fn next_page(&mut self) -> KeyResult {
        self.turn_to(self.top + self.page)
    }

    pub(super) fn previous_page(&mut self) -> KeyResult {
        self.turn_to(self.top.saturating_sub(self.page))
    }

    /// How to go on.
    pub(super) fn hint(&self) -> String {
        let (from, to) = (self.top + 1, (self.top + self.page).min(self.all));
        format!(
            "#{}, lines {from} to {to} of {}; Enter shows more, Esc closes",
            self.displayed.seq, self.all
        )
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let folded = source(&self.displayed.text, usize::from(area.width));
        if folded.len() != self.all {
            // The width has changed, and with it the lines.
            self.seen = if self.is_complete() { usize::MAX } else { 0 };
        }
        (self.page, self.all) = (usize::from(area.height), folded.len());
        self.turn_to(self.top);
        self.seen = self.seen.max(self.top + self.page);
        let shown = folded.into_iter().skip(self.top).take(self.page);
        frame.render_widget(
            Paragraph::new(shown.map(Line::from).collect::<Vec<_>>()),
            area,
        );
    }
}

impl WatchView {
    /// Shows the approval with this number and digest. Returns true if its last line was shown before.
    pub(super) fn read_whole(&mut self, seq: u64, digest: &str) -> Result<bool> {
        if let Some(reading) = self
            .reading
            .as_mut()
            .filter(|reading| reading.displayed.digest == digest)
        {
            let is_complete = reading.is_complete();
            if !is_complete {
                reading.next_page();
            }
            return Ok(is_complete);
        }
        let displayed = DisplayedApproval::of_record(&self.room, seq, digest)?;
        self.reading = Some(ApprovalReader {
            displayed,
            top: 0,
            page: 0,
            all: 0,
            seen: 0,
        });
        Ok(false)
    }
}
