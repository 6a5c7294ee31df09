//! The worklog: a Markdown file for people, in the repository, enabled by `worklog = true`. It begins with the status
//! of the agents and the newest decisions. Then follow the entries, one line for one record, the newest last.
//!
//! Entries are only appended, in the order of the log. If the beginning changes, the router replaces the whole file
//! in one step with the entries unchanged, so that no reader sees a part of it. The pause after a replacement grows
//! with its duration, so that a long file costs no more time than a short one.
//!
//! If the file was changed, the router makes all entries again from the log, and compares. A file with foreign text
//! is kept under another name. Entries of a part of the log that was moved away are not compared. Nothing is synced.

use super::entry::{self, WorklogEntry};
use super::foreign::{self, ExistingWorklog, WorklogContent};
use super::note::{WORKLOG_NOTE, WorklogNote};
use super::of;
use super::place::{WorklogTarget, worklog_path};
use crate::base::error::{ErrorContext, Result};
use crate::base::limits;
use crate::disk::{DraftFile, SharedFileContent, layout};
use crate::log;
use crate::log::LogPosition;
use crate::router::projections::pacing::WritePacing;
use crate::router::projections::{
    ProjectedMessage, Projection, ProjectionReport, ProjectionView, ReconcileCause,
};
use std::collections::VecDeque;
use std::io::BufWriter;
use std::time::Instant;

/// The entries of a worklog that is made again. In [`layout::SPOOL`].
const WORKLOG_DRAFT: &str = ".tmp-worklog";
/// A worklog of at most this size is current whenever a router ends. The status block of a larger one may be older.
const WORKLOG_SMALL: u64 = 1 << 20;
/// The largest number of log bytes without an entry that the router reads again after its start.
const WORKLOG_BEHIND: u64 = 256 << 10;

/// New entries are written in pieces of this size, in bytes.
const GATHERED: usize = 1 << 20;

/// The worklog as it was written.
#[derive(Default)]
pub(super) struct Worklog {
    /// The content of the file. `None` if unknown.
    note: Option<WorklogNote>,
    /// The end of the log when the note was last saved.
    saved: Option<LogPosition>,
    /// The path in the settings, if the worklog is on.
    path: Option<String>,
    pacing: WritePacing,
    /// The earliest time of the next replacement of its beginning.
    next_head: Option<Instant>,
}

impl Projection for Worklog {
    fn apply(
        &mut self,
        _: &[ProjectedMessage],
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) {
        if self.is_on(view, report) && self.pacing.is_outdated(view) && self.pacing.can_write() {
            self.show(view, report, false);
        }
    }

    fn reconcile(
        &mut self,
        cause: ReconcileCause,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<()> {
        if !self.is_on(view, report) {
            return Ok(());
        }
        if cause == ReconcileCause::Holes {
            self.note = None;
            // Cached data may be lost.
            let _ = view
                .room()
                .sub(layout::SPOOL)
                .and_then(|spool| spool.remove(WORKLOG_NOTE));
        }
        if cause == ReconcileCause::End || !self.is_as_left(view) {
            self.show(view, report, cause == ReconcileCause::End);
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Instant> {
        self.pacing.due
    }
}

impl Worklog {
    /// Returns true if the worklog is on. If it was turned off or has another path, the knowledge of the file is
    /// cleared.
    fn is_on(&mut self, view: &ProjectionView<'_>, report: &mut ProjectionReport<'_>) -> bool {
        let settings = view.settings();
        let path = settings.worklog.as_ref();
        if self.path.as_ref() != path {
            if let Some(path) = &self.path {
                report.written(shown(path));
            }
            *self = Worklog {
                path: path.cloned(),
                ..Worklog::default()
            };
        }
        self.path.is_some() && view.state.seq > 0
    }

    fn is_as_left(&mut self, view: &ProjectionView<'_>) -> bool {
        let Ok(target) = WorklogTarget::of(view) else {
            return false;
        };
        self.know(&target);
        let now = target.dir.stat(&target.name).ok().flatten();
        self.note
            .as_ref()
            .is_some_and(|note| note.is_as_left(now.as_ref()))
    }

    /// Reads the note of an earlier router.
    fn know(&mut self, target: &WorklogTarget<'_>) {
        if self.note.is_none() {
            self.note = WorklogNote::read(target.room, target.path)
                .filter(|note| note.upto.seq <= target.state.seq);
            self.saved = self.note.as_ref().map(|note| note.upto.end);
        }
    }

    fn show(
        &mut self,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
        is_last: bool,
    ) {
        let begun = Instant::now();
        self.pacing.begin(view);
        let done = WorklogTarget::of(view).and_then(|target| {
            self.know(&target);
            let now = target.dir.stat(&target.name)?;
            match self
                .note
                .take()
                .filter(|note| note.is_as_left(now.as_ref()))
            {
                Some(note) => self.extend(&target, note, is_last),
                None => self.make_again(&target, report),
            }
        });
        self.pacing.end(begun);
        let path = shown(worklog_path(view));
        match done {
            Ok(()) => report.written(&path),
            Err(e) => report.failed(path, &e),
        }
    }

    /// Adds the entries of new records, and replaces the beginning if it changed.
    fn extend(
        &mut self,
        target: &WorklogTarget<'_>,
        mut note: WorklogNote,
        is_last: bool,
    ) -> Result<()> {
        let (mut lines, mut decisions) = (
            String::new(),
            VecDeque::from(std::mem::take(&mut note.decisions)),
        );
        let before = note.size();
        let mut size = before;
        // The log is read only if it has new entries.
        let from = if of(target.state).last_entry <= note.upto.seq {
            target.state.end
        } else {
            note.upto.end
        };
        entry::entries(target.room, from, target.state.end, |entry| {
            lines.push_str(&entry.line);
            size += entry.line.len() as u64;
            index(&mut decisions, entry);
            if lines.len() < GATHERED {
                return Ok(());
            }
            target
                .dir
                .add_to(&target.name, std::mem::take(&mut lines).as_bytes())
        })?;
        note.decisions = decisions.into();
        if !lines.is_empty() {
            target.dir.add_to(&target.name, lines.as_bytes())?;
        }
        let (head, hash) = target.head(&note.decisions);
        let is_new = hash != note.head;
        let may = self.next_head.is_none_or(|next| next <= Instant::now());
        let replaces = is_new && (may || is_last && note.size() <= WORKLOG_SMALL);
        if replaces {
            let begun = Instant::now();
            let Some(mut file) = target.dir.look_regular(&target.name)? else {
                return self.retry();
            };
            let there = file.meta().doing("look at", target.dir.at(&target.name))?;
            let rest = Some((&mut file, note.entries_at));
            let text = SharedFileContent {
                head: &head,
                rest,
                is_durable: true,
            };
            if there.size != size
                || target
                    .dir
                    .put_shared(&target.name, text, Some(&there))?
                    .is_none()
            {
                return self.retry();
            }
            size = size - note.entries_at + head.len() as u64;
            (note.entries_at, note.head) = (head.len() as u64, hash);
            self.next_head = Some(Instant::now() + begun.elapsed() * limits::WORKLOG_PAUSE);
        } else if is_new {
            self.pacing.due = self.next_head;
        }
        note.upto = target.state.tip();
        let is_behind = self.saved.is_none_or(|saved| {
            saved.segment != note.upto.end.segment
                || note.upto.end.offset - saved.offset > WORKLOG_BEHIND
        });
        let size = (replaces || size != before).then_some(size);
        self.set_note(target, note, size, is_behind)
    }

    /// Makes the file from the whole log.
    fn make_again(
        &mut self,
        target: &WorklogTarget<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<()> {
        let mut there = ExistingWorklog::open(&target.dir, &target.name)?;
        let spool = target.room.sub(layout::SPOOL)?;
        spool.remove(WORKLOG_DRAFT)?;
        let mut draft = BufWriter::new(DraftFile::new(&spool, WORKLOG_DRAFT)?);
        let first = entry::first_record(target.room)?;
        if first > 1 {
            foreign::write_older(there.as_mut(), first, &mut draft)?;
        }
        let mut decisions = VecDeque::new();
        entry::entries(target.room, log::START, target.state.end, |entry| {
            foreign::put(&mut draft, entry.line.as_bytes())?;
            index(&mut decisions, entry);
            Ok(())
        })?;
        foreign::flush(&mut draft)?;
        let mut entries = draft.get_ref().look()?;
        let found = there.as_mut().map_or(Ok(WorklogContent::Ours), |there| {
            there.compare(target.id, &mut entries)
        })?;
        if found == WorklogContent::Foreign && !foreign::keep_aside(target, there.as_mut(), report)?
        {
            // The record of the notice is a change, so this is repeated after it.
            return Ok(());
        }
        let decisions: Vec<String> = decisions.into();
        let (head, hash) = target.head(&decisions);
        let text = SharedFileContent {
            head: &head,
            rest: Some((&mut entries, 0)),
            is_durable: true,
        };
        let before = there.as_ref().map(|there| &there.meta);
        let Some(meta) = target.dir.put_shared(&target.name, text, before)? else {
            return self.retry();
        };
        let mut note = WorklogNote::new(target.path, &meta, target.state.tip());
        (note.entries_at, note.head) = (head.len() as u64, hash);
        note.decisions = decisions;
        self.set_note(target, note, Some(meta.size), true)
    }

    /// Sets the note about the file. `size` is its size if it was written. A different size means that another
    /// program has written to it.
    fn set_note(
        &mut self,
        target: &WorklogTarget<'_>,
        mut note: WorklogNote,
        size: Option<u64>,
        is_behind: bool,
    ) -> Result<()> {
        if let Some(size) = size {
            match target
                .dir
                .stat(&target.name)?
                .filter(|meta| meta.size == size)
            {
                Some(meta) => note.set_left(&meta),
                None => return self.retry(),
            }
        }
        if size.is_some() || is_behind {
            match note.save(target.room) {
                Ok(()) => self.saved = Some(note.upto.end),
                Err(e) => tracing::debug!("{e}; the next router compares the worklog with the log"),
            }
        }
        self.note = Some(note);
        Ok(())
    }

    /// Schedules another try, because another program changed the file at this moment.
    fn retry(&mut self) -> Result<()> {
        self.pacing.retry();
        Ok(())
    }
}

/// The path from the room.
fn shown(path: &str) -> String {
    format!("{}{path}", layout::OUTSIDE)
}

/// Adds a decision to the index.
fn index(decisions: &mut VecDeque<String>, WorklogEntry { line, is_decision }: WorklogEntry) {
    if is_decision {
        decisions.push_back(line);
        if decisions.len() > limits::WORKLOG_DECISIONS {
            decisions.pop_front();
        }
    }
}
