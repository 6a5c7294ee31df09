//! The conversations as a projection, and the notices about foreign lines.

use super::files::{ChannelFiles, ChannelWriteResult};
use super::foreign::{self, RemovedLines};
use super::paths;
use crate::base::error::Result;
use crate::message::id;
use crate::router::projections::{
    NoticeText, ProjectedMessage, Projection, ProjectionReport, ProjectionView, ReconcileCause,
};
use std::sync::Arc;

impl Projection for ChannelFiles {
    fn apply(
        &mut self,
        batch: &[ProjectedMessage],
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) {
        if !batch.is_empty() {
            for accepted in batch {
                self.queue(accepted);
            }
            let results = self.write(view.state, &|name| find(view, name));
            self.report_results(results, report);
            if let Err(e) = self.report_cuts(view, report) {
                report.failed(paths::CUT.to_owned(), &e);
            }
            self.show_rosters(view, report);
        }
    }

    fn reconcile(
        &mut self,
        cause: ReconcileCause,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<()> {
        if cause == ReconcileCause::Holes {
            self.suspect()?;
        }
        if cause != ReconcileCause::End {
            let results = self.check_all(view.state, &|name| find(view, name));
            self.report_results(results, report);
            self.show_rosters(view, report);
        }
        self.report_cuts(view, report)
    }
}

fn find(view: &ProjectionView<'_>, name: &str) -> Option<Arc<str>> {
    view.registry().find(name).map(|agent| agent.id.clone())
}

impl ChannelFiles {
    fn show_rosters(&mut self, view: &ProjectionView<'_>, report: &mut ProjectionReport<'_>) {
        match self.link_rosters(view.state) {
            Ok(()) => report.written(paths::CHANNELS),
            Err(e) => report.failed(paths::CHANNELS.to_owned(), &e),
        }
    }

    fn report_results(
        &mut self,
        results: Vec<ChannelWriteResult>,
        report: &mut ProjectionReport<'_>,
    ) {
        for ChannelWriteResult {
            channel,
            cut,
            error,
        } in results
        {
            let place = paths::channel(&channel);
            match error {
                None => report.written(place.display()),
                Some(e) => report.failed(place.display().to_string(), &e),
            }
            self.due.extend(cut);
        }
    }

    /// Reports each cut until the log has the notices about it. Then its note is removed.
    fn report_cuts(
        &mut self,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<()> {
        if !self.has_read_notes {
            self.due = foreign::read_notes(&self.room)?;
            self.has_read_notes = true;
        }
        for cut in std::mem::take(&mut self.due) {
            if !is_reported(&cut, view) {
                report_cut(&cut, view, report);
                self.due.push(cut);
                continue;
            }
            if let Err(e) = self
                .room
                .sub(paths::CUT)?
                .remove(paths::cut_out(&cut.channel, &cut.digest))
            {
                tracing::debug!("{e}; the next router removes it");
            }
        }
        Ok(())
    }
}

/// Returns true if the log has all notices about a cut.
fn is_reported(cut: &RemovedLines, view: &ProjectionView<'_>) -> bool {
    let about = about(cut);
    let notices = &view.state.notices;
    notices.contains(&about)
        && (known_writer(cut, view).is_none() || notices.contains(&about_for_writer(&about)))
}

/// Identifies the notice to the human.
fn about(cut: &RemovedLines) -> String {
    format!(
        "{}:{}",
        paths::conversation(&cut.channel).display(),
        cut.digest
    )
}

/// Identifies the notice to the writer of the lines.
fn about_for_writer(about: &str) -> String {
    format!("{about}:writer")
}

fn report_cut(cut: &RemovedLines, view: &ProjectionView<'_>, report: &mut ProjectionReport<'_>) {
    let file = paths::conversation(&cut.channel);
    let (lines, were) = if cut.lines == 1 {
        ("a line", "was")
    } else {
        ("lines", "were")
    };
    let is_all_delivered = cut.delivered == cut.lines;
    let not_sent = if is_all_delivered {
        "cut out"
    } else {
        "not sent"
    };
    let subject = format!("{lines} written into {} {were} {not_sent}", file.display());
    let writer = cut.writer.as_deref().unwrap_or("an unknown writer");
    let about = about(cut);
    let kept = cut.kept.display();
    let what = if cut.lines == 1 {
        "A line".to_owned()
    } else {
        format!("{} lines", cut.lines)
    };
    let mut how = format!(
        "Only the router writes that file, and shows sent messages there. {what} of {writer} {were} cut out of it and kept \
         as {kept}; {}",
        outcome(cut)
    );
    if !is_all_delivered {
        how += &format!(
            "\n\nTo send, drop a file: write\n\n    {}\n\ninto a new file in outbox/{}/ whose name ends in .json, or \
             several such messages, one a line, into one that ends in .ndjson.",
            cut.example,
            cut.writer.as_deref().unwrap_or("<you>"),
        );
    }
    if let Some(writer) = known_writer(cut, view) {
        let about = about_for_writer(&about);
        let notice = NoticeText::alert(writer, about, subject.clone(), how.clone());
        report.notices.add(view.state, notice);
    }
    report.notices.notify_human(view.state, about, subject, how);
}

/// Says whether the messages of the lines were delivered.
fn outcome(cut: &RemovedLines) -> String {
    match cut.lines - cut.delivered {
        0 if cut.lines == 1 => {
            "the message that it shows was delivered before, and need not be sent again.".into()
        }
        0 => {
            "the messages that they show were delivered before, and need not be sent again.".into()
        }
        1 if cut.lines == 1 => "no agent got it.".into(),
        n if n == cut.lines => "no agent got them.".into(),
        n => format!(
            "{} of the messages that they show were delivered before; no agent got the other {n}.",
            cut.delivered
        ),
    }
}

fn known_writer(cut: &RemovedLines, view: &ProjectionView<'_>) -> Option<Arc<str>> {
    let writer = cut
        .writer
        .as_deref()
        .filter(|writer| *writer != id::HUMAN)?;
    view.registry()
        .agent(writer)
        .filter(|agent| !agent.is_retired())
        .map(|agent| agent.id.clone())
}
