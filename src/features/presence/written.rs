//! `roster.json`, written after the mail, at most once a second.

use super::roster::{self, AgentPresence, roster};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::disk::{Dir, Meta, SharedFileContent, layout};
use crate::room::registry::Registry;
use crate::room::sessions::SessionCalls;
use crate::router::projections::{
    ProjectedMessage, Projection, ProjectionReport, ProjectionView, ReconcileCause,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The router collects changes of the roster for this time before it writes the roster.
const ROSTER: Duration = Duration::from_secs(1);

/// The roster as it was written, and the time of the next write.
#[derive(Default)]
pub(super) struct RosterProjection {
    agents: Option<Vec<AgentPresence>>,
    /// The file as it was left.
    left: Option<Meta>,
    /// The log's last record, the registry and the setting that it was made from.
    made_from: Option<(u64, Arc<Registry>, Duration)>,
    /// The agents with a waiting or watching process at that time.
    held: BTreeSet<String>,
    /// The time when a change must be written.
    due: Option<Instant>,
    /// The time when an agent's presence next changes without an event.
    next: Option<Stamp>,
}

impl Projection for RosterProjection {
    fn apply(
        &mut self,
        batch: &[ProjectedMessage],
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) {
        if !self.is_current(view) {
            self.due.get_or_insert_with(|| Instant::now() + ROSTER);
        }
        if batch.is_empty() && self.next_due().is_some_and(|due| due <= Instant::now()) {
            self.show(view, report);
            if view.is_idle {
                report.may_have_work();
            } else {
                // An agent that seems stale may have sent one of the messages that are being routed.
                self.due = Some(Instant::now() + ROSTER);
            }
        }
    }

    fn reconcile(
        &mut self,
        cause: ReconcileCause,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<()> {
        match cause {
            // A single pass that routes nothing leaves the roster alone.
            ReconcileCause::Recovery | ReconcileCause::Holes => {}
            ReconcileCause::Sweep => {
                let has_changed = SessionCalls::of(view.room()).held() != &self.held;
                if !self.is_as_left(view.room()) || has_changed {
                    self.due = Some(Instant::now());
                }
            }
            ReconcileCause::End => self.show(view, report),
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Instant> {
        let next = self.next.map(|next| {
            let wait = (next.micros() - Stamp::now().micros()).max(0) as u64;
            Instant::now() + Duration::from_micros(wait)
        });
        [self.due, next].into_iter().flatten().min()
    }
}

impl RosterProjection {
    fn is_current(&self, view: &ProjectionView<'_>) -> bool {
        self.made_from
            .as_ref()
            .is_some_and(|(seq, registry, stale_after)| {
                *seq == view.state.seq
                    && *stale_after == view.settings().stale_after
                    && Arc::ptr_eq(registry, view.registry())
            })
    }

    /// Writes the roster, and reports a failed write.
    fn show(&mut self, view: &ProjectionView<'_>, report: &mut ProjectionReport<'_>) {
        let (room, state, calls) = (view.room(), view.state, SessionCalls::of(view.room()));
        let stale_after = view.settings().stale_after;
        let (roster, next) = roster(view.registry(), state, &calls, stale_after, Stamp::now());
        match self.write(room, roster) {
            Ok(()) => report.written(layout::ROSTER),
            Err(e) => report.failed(layout::ROSTER.to_owned(), &e),
        }
        self.made_from = Some((state.seq, view.registry().clone(), stale_after));
        (self.due, self.next) = (None, next);
        self.held.clone_from(calls.held());
    }

    /// Writes the file if it would change. Nothing is synced, because all of it follows from
    /// the log and the registry.
    fn write(&mut self, room: &Dir, roster: roster::Roster) -> Result<()> {
        if self.agents.as_ref() != Some(&roster.agents) {
            let mut text = serde_json::to_vec_pretty(&roster).expect("a roster has only text keys");
            text.push(b'\n');
            self.agents = None;
            let there = room.stat(layout::ROSTER)?;
            let text = SharedFileContent {
                head: &text,
                rest: None,
                is_durable: false,
            };
            self.left = room.put_shared(layout::ROSTER.as_ref(), text, there.as_ref())?;
            self.agents = self.left.map(|_| roster.agents);
        }
        Ok(())
    }

    /// Returns true if the file is unchanged. Otherwise the next write makes the file again.
    fn is_as_left(&mut self, room: &Dir) -> bool {
        let is_as_left =
            matches!(room.stat(layout::ROSTER), Ok(now) if now.is_some() && now == self.left);
        if !is_as_left {
            self.agents = None;
        }
        is_as_left
    }
}
