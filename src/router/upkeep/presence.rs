//! Who is there: the roster is written behind the mail, never on its way, and the human hears of who is stale.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::message::id;
use crate::room::registry::Registry;
use crate::room::sessions::Calls;
use crate::router::Router;
use crate::router::projections::roster::{self, Present, Written};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The roster, and when it has to be looked at again.
#[derive(Default)]
pub(crate) struct Watched {
    written: Written,
    /// The log's last record, the registry and the setting that it was made from.
    made_from: Option<(u64, Arc<Registry>, Duration)>,
    /// When a change has to be written at the latest.
    due: Option<Instant>,
    /// The agents that something held then.
    held: BTreeSet<String>,
    /// When somebody's presence changes by itself.
    next: Option<Stamp>,
}

impl Router {
    /// How long until the roster has to be looked at.
    pub fn until_roster(&self) -> Option<Duration> {
        let due = self.watched.due.map(|due| due.saturating_duration_since(Instant::now()));
        let wait = |next: Stamp| Duration::from_micros((next.micros() - Stamp::now().micros()).max(0) as u64);
        [due, self.watched.next.map(wait)].into_iter().flatten().min()
    }

    /// Notes whether anything happened that the roster does not show, and shows it when its time has come.
    pub fn keep_roster(&mut self) {
        let is_new = self.watched.made_from.as_ref().is_none_or(|(seq, registry, stale_after)| {
            *seq != self.state.seq
                || *stale_after != self.settings.stale_after
                || !Arc::ptr_eq(registry, &self.registry)
        });
        if is_new {
            self.watched.due.get_or_insert_with(|| Instant::now() + limits::ROSTER);
        }
        if self.until_roster().is_some_and(|wait| wait.is_zero()) {
            self.show_roster();
            match self.is_idle() {
                true => self.tell_of_stale(),
                // Who seems to be stale may be in what is being routed.
                false => self.watched.due = Some(Instant::now() + limits::ROSTER),
            }
        }
    }

    /// Writes the roster, if it would say something else than it does. It is only there to be looked at: that it can't be
    /// written stops nothing.
    pub fn show_roster(&mut self) {
        let (now, calls) = (Stamp::now(), Calls::of(&self.room.dir));
        let (roster, next) = roster::roster(&self.registry, (&self.state, &calls), self.settings.stale_after, now);
        if let Err(e) = self.watched.written.write(&self.room.dir, roster, &self.state) {
            tracing::debug!("{e}; the roster is written when something changes");
        }
        let from = (self.state.seq, self.registry.clone(), self.settings.stale_after);
        (self.watched.made_from, self.watched.due, self.watched.next) = (Some(from), None, next);
        self.watched.held.clone_from(calls.held());
    }

    /// Makes sure that the roster stands there, and knows who began or ended to wait or watch.
    pub(crate) fn look_at_roster(&mut self) {
        let has_changed = Calls::of(&self.room.dir).held() != &self.watched.held;
        if !self.watched.written.look(&self.room.dir) || has_changed {
            self.watched.due = Some(Instant::now());
        }
    }

    /// Tells the human of each agent that is stale, once until it is seen again.
    pub fn tell_of_stale(&mut self) {
        let calls = Calls::of(&self.room.dir);
        for stale in roster::stale(&self.registry, (&self.state, &calls), self.settings.stale_after, Stamp::now()) {
            // What it took a moment ago may not be in the log yet.
            if &*stale.id != id::HUMAN && !self.observed.is_of(&stale.id) {
                self.tell_of(&stale);
            }
        }
    }

    fn tell_of(&mut self, stale: &Present) {
        let seen = stale.last_seen.as_deref();
        let mail = match (stale.unread, &stale.oldest_unread) {
            (0, _) | (_, None) => "no unread mail, and the registry says that it is online".to_owned(),
            (1, Some(since)) => format!("1 unread message, since {since}"),
            (many, Some(since)) => format!("{many} unread messages, the oldest since {since}"),
        };
        let last = match seen {
            Some(seen) => format!("It was last seen at {seen}."),
            None => "It was never seen.".to_owned(),
        };
        let id = &stale.id;
        let body = format!(
            "{id} has {mail}. {last}\n\nYou are told once, until it is seen again. `mailbag who` shows everybody. If it \
             is away on purpose:\n\n    mailbag agent set {id} --status offline"
        );
        self.notify(format!("stale:{id}:{}", seen.unwrap_or("never")), format!("{id} is stale: it has {mail}"), body);
    }
}
