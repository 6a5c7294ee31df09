//! Deadlines that have passed. A deadline takes effect only after the waiting mail of the agents that can meet it.

use super::{MailIntake, PendingWork, RoomConfig};
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::features;
use crate::log::find;
use crate::log::state::RoomState;
use crate::router::seam::{Cx, Due, DueNotice};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time that the outcome of a deadline waits for unreadable mail of the agents that can meet it.
const DEADLINE_GRACE: Duration = Duration::from_secs(10);
/// The time until the features are asked again if nothing will be due.
const NOTHING_DUE: Duration = Duration::from_secs(3600);
/// The longest time between two tries of a deadline.
const RETRY_MOST: Duration = Duration::from_secs(2);

/// An object with a deadline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum DeadlineOf {
    /// A notice of a feature, by its subject.
    Notice(String),
    /// A message that expires, by its record.
    Message(u64),
}

/// Deadlines that have passed and have no result in the log yet.
#[derive(Default)]
pub(crate) struct DueDeadlines {
    due: BTreeMap<DeadlineOf, DueDeadline>,
    /// The time when the features are asked for due notices. `None` is the present time.
    ask: Option<Instant>,
}

struct DueDeadline {
    at: Stamp,
    /// The agents with mail that is routed first.
    hear: Vec<Arc<str>>,
    /// The time when their outboxes were queued.
    since: Instant,
    /// The time of the next try.
    next: Instant,
}

/// Mail that is not judged yet.
pub(crate) struct WaitingMail<'a> {
    pub(crate) intake: &'a MailIntake,
    pub(crate) pending: &'a PendingWork,
    /// The senders of the messages in the batch.
    pub(crate) batch: &'a HashSet<Arc<str>>,
}

impl DueDeadlines {
    /// Returns true if a deadline must take effect now, or if the features must be asked.
    pub(crate) fn is_due(&self, state: &RoomState) -> bool {
        let (now, time) = (Instant::now(), Stamp::now());
        let mut next = self.due.iter().filter(|(_, due)| due.next <= now);
        let is_due = |(of, _): (&DeadlineOf, &DueDeadline)| match of {
            DeadlineOf::Notice(_) => true,
            DeadlineOf::Message(seq) => state.expiries.due(time).any(|(_, one)| one == *seq),
        };
        self.must_ask() || next.any(is_due)
    }

    fn must_ask(&self) -> bool {
        self.ask.is_none_or(|ask| ask <= Instant::now())
    }

    /// The time until the next deadline or try.
    pub(crate) fn until_next(&self, state: &RoomState) -> Option<Duration> {
        let (now, time) = (Instant::now(), Stamp::now());
        let is_new = |seq: u64| !self.due.contains_key(&DeadlineOf::Message(seq));
        let mut messages = state.expiries.times();
        let new = messages.find(|(_, seq)| is_new(*seq));
        let new = new.map(|(at, _)| at.saturating_duration_since(time));
        let again = self.due.values().map(|due| due.next);
        let again = again.chain([self.ask.unwrap_or(now)]);
        again
            .map(|at| at.saturating_duration_since(now))
            .chain(new)
            .min()
    }

    /// Lets the features be asked again, because something changed that is not in the log, or failed.
    pub(crate) fn ask_again(&mut self) {
        self.ask = None;
    }

    /// Queues the outboxes of the agents that can meet due deadlines.
    pub(crate) fn queue_outboxes(&mut self, cx: Cx<'_>, intake: &mut MailIntake) {
        let messages = cx.state().expiries.due(cx.now);
        let messages: BTreeMap<u64, Stamp> = messages.map(|(at, seq)| (seq, at)).collect();
        self.due.retain(|of, _| match of {
            DeadlineOf::Message(seq) => messages.contains_key(seq),
            DeadlineOf::Notice(_) => true,
        });
        for (seq, at) in messages {
            let of = DeadlineOf::Message(seq);
            if !self.due.contains_key(&of) {
                let hear = parties(seq, cx.config);
                self.add(of, at, hear, intake);
            }
        }
        if self.must_ask() || self.has_notice_to_try() {
            self.ask(cx, intake);
        }
    }

    fn has_notice_to_try(&self) -> bool {
        let now = Instant::now();
        let mut due = self.due.iter();
        due.any(|(of, due)| matches!(of, DeadlineOf::Notice(_)) && due.next <= now)
    }

    /// Asks the features for due notices, and queues the outboxes of the agents that can prevent a new one.
    pub(crate) fn ask(&mut self, cx: Cx<'_>, intake: &mut MailIntake) -> Vec<DueNotice> {
        let mut all = Due::default();
        for feature in features::ALL {
            let due = feature.due(cx);
            all.now.extend(due.now);
            if let Some(next) = due.next {
                all.ask_at(next);
            }
        }
        let abouts: HashSet<&str> = all.now.iter().map(|one| &*one.notice.about).collect();
        self.due.retain(|of, _| match of {
            DeadlineOf::Message(_) => true,
            DeadlineOf::Notice(about) => abouts.contains(&**about),
        });
        for one in &all.now {
            let of = DeadlineOf::Notice(one.notice.about.clone());
            if !self.due.contains_key(&of) {
                self.add(of, one.at, one.hear.clone(), intake);
            }
        }
        let wait = all.next.map_or(NOTHING_DUE, |next| {
            let left = next.saturating_duration_since(cx.now);
            left.clamp(limits::RETRY_FIRST, limits::DUE_CHECK)
        });
        self.ask = Some(Instant::now() + wait);
        all.now
    }

    fn add(&mut self, of: DeadlineOf, at: Stamp, hear: Vec<Arc<str>>, intake: &mut MailIntake) {
        for agent in &hear {
            intake.outboxes().scan(agent);
        }
        let now = Instant::now();
        let due = DueDeadline {
            at,
            hear,
            since: now,
            next: now,
        };
        self.due.insert(of, due);
    }

    /// Returns true if this deadline can take effect: the mail of the agents that can meet it was routed. The time for
    /// this is bounded, so that no agent can prevent the effect.
    pub(crate) fn is_ready(&self, of: &DeadlineOf, mail: &WaitingMail<'_>) -> bool {
        let Some(due) = self.due.get(of).filter(|due| due.next <= Instant::now()) else {
            return false;
        };
        let WaitingMail {
            intake,
            pending,
            batch,
        } = mail;
        let has_failed = due.hear.iter().any(|agent| pending.has_mail_of(agent));
        let waits =
            intake.has_mail_of(&due.hear) || due.hear.iter().any(|agent| batch.contains(agent));
        let is_read = due.since.elapsed() >= DEADLINE_GRACE || !waits;
        is_read && (!has_failed || due.at.after(DEADLINE_GRACE) <= Stamp::now())
    }

    /// Delays the next try of a deadline. Its record may have failed, or a copy is leased.
    pub(crate) fn delay(&mut self, of: &DeadlineOf) {
        if let Some(due) = self.due.get_mut(of) {
            due.delay();
        }
    }

    /// Delays the next try of all deadlines, because the batch with their effects failed.
    pub(crate) fn delay_all(&mut self) {
        for due in self.due.values_mut() {
            due.delay();
        }
    }

    /// Delays the next try of all notices of features.
    pub(crate) fn delay_notices(&mut self) {
        for (of, due) in &mut self.due {
            if matches!(of, DeadlineOf::Notice(_)) {
                due.delay();
            }
        }
    }
}

impl DueDeadline {
    fn delay(&mut self) {
        let wait = self.since.elapsed().clamp(limits::RETRY_FIRST, RETRY_MOST);
        self.next = self.next.max(Instant::now() + wait);
    }
}

/// The agents that can prevent the expiry of a message by waiting mail: its sender and its recipients.
fn parties(seq: u64, config: &RoomConfig) -> Vec<Arc<str>> {
    let record = find::record_by_seq(config.dir(), seq).ok().flatten();
    let agents = record.iter().flat_map(|record| {
        let recipients = record.recipients().map(|(agent, _)| agent);
        recipients.chain(record.from())
    });
    let hear: BTreeSet<Arc<str>> = agents.map(|agent| config.current_name(agent)).collect();
    hear.into_iter().collect()
}
