//! Deadlines: unread mail that expires, and questions without a reply.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::text::listed;
use crate::base::{limits, sanitize};
use crate::disk::layout;
use crate::log;
use crate::log::state::{EXPIRED, OVERDUE, OVERDUE_AT_LAST, State, Timed};
use crate::message::record::Record;
use crate::message::status::Status;
use crate::message::title::title_of_fields;
use crate::message::{ESCALATION, id};
use crate::room::registry::Agent;
use crate::router::parts::{
    Config, Journal, Notice, Notices, Pending, Progress, Receipts, Storage,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the pending list shows when expired mail cannot be moved out of an inbox.
const EXPIRED_MAIL: &str = "inbox";

/// When the router looks again at messages whose time came, after something was in the way.
#[derive(Default)]
pub(in crate::router) struct Deadlines {
    again: Option<Instant>,
}

/// What keeps deadlines.
pub(in crate::router) struct Keep<'a> {
    pub(in crate::router) config: &'a Config,
    pub(in crate::router) storage: &'a mut Storage,
    pub(in crate::router) journal: &'a mut Journal,
    pub(in crate::router) progress: &'a Progress,
    pub(in crate::router) receipts: &'a mut Receipts,
    pub(in crate::router) notices: &'a mut Notices,
    pub(in crate::router) pending: &'a mut Pending,
}

impl Deadlines {
    /// How long until the next message's time comes.
    pub(in crate::router) fn until_next(&self, state: &State) -> Option<Duration> {
        let next = state.timers.next()?;
        let wait = Duration::from_micros((next.micros() - Stamp::now().micros()).max(0) as u64);
        let again = self
            .again
            .map(|again| again.saturating_duration_since(Instant::now()));
        Some(again.map_or(wait, |again| wait.max(again)))
    }

    /// Does what is due: moves expired mail out of inboxes, and notifies who has to know. The log has it with the next
    /// batch; after a kill before that it is done again. Failures here are temporary.
    pub(in crate::router) fn keep(&mut self, mut keep: Keep<'_>) {
        if self
            .until_next(keep.journal.state())
            .is_none_or(|wait| !wait.is_zero())
        {
            return;
        }
        let now = Stamp::now();
        for timed in keep.journal.state().timers.due(now) {
            if let Err(e) = keep.one(&timed, now) {
                keep.pending.failed(EXPIRED_MAIL, e.to_string());
            }
        }
        // A message stays due until the log has it.
        let is_still_due = keep
            .journal
            .state()
            .timers
            .next()
            .is_some_and(|next| next <= now);
        self.again = is_still_due.then(|| Instant::now() + limits::RETRY_FIRST);
    }
}

impl Keep<'_> {
    fn one(&mut self, timed: &Timed, now: Stamp) -> Result<()> {
        let is_over = timed.expires.is_some_and(|at| at <= now.micros());
        let unread = if is_over { self.expire(timed)? } else { None };
        // The human is in no list of missing answers.
        let is_missing = |agent: &&Arc<str>| {
            ***agent == *id::HUMAN
                || timed
                    .wanted
                    .as_ref()
                    .is_some_and(|wanted| wanted.of.contains(agent))
        };
        let mut expired: Vec<Arc<str>> = unread
            .iter()
            .flatten()
            .filter(is_missing)
            .cloned()
            .collect();
        if !timed.urgent {
            expired.clear();
        }
        let is_due = timed
            .wanted
            .as_ref()
            .is_some_and(|wanted| wanted.due <= now.micros());
        if is_due || !expired.is_empty() {
            self.escalate(timed, &expired)?;
        }
        if let Some(unread) = unread {
            self.report_expiry(timed, &unread, &expired)?;
            self.pending.clear(EXPIRED_MAIL);
        }
        Ok(())
    }

    /// Moves unread copies out of the inboxes, and returns the owners of expired copies. `None` if a copy has to be
    /// delivered first.
    fn expire(&mut self, timed: &Timed) -> Result<Option<Vec<Arc<str>>>> {
        let name = layout::delivered(Stamp::from_micros(timed.at), &timed.from, &timed.id);
        let mut unread = Vec::new();
        let record = self.record_of(timed)?;
        let state = self.journal.state();
        let all = record
            .iter()
            .flat_map(Record::recipients)
            .map(|(agent, _)| self.now(agent));
        let all: BTreeSet<Arc<str>> = all.collect();
        for agent in &all {
            if state.mailboxes.is_unread(agent, timed.seq) {
                // An expired copy that could not be delivered yet is delivered first, and expires then.
                if self.progress.is_stuck(timed.seq) {
                    return Ok(None);
                }
                self.storage.expire(agent, name.as_ref())?;
                self.receipts
                    .classify(self.config.dir(), state, agent, timed.seq, name.as_ref());
                if self.receipts.has_expired(agent, timed.seq) {
                    unread.push(agent.clone());
                }
            } else if state.mailboxes.status(agent, timed.seq) == Some(Status::Expired) {
                // The log has the expiry, and the notice of it failed.
                unread.push(agent.clone());
            }
        }
        Ok(Some(unread))
    }

    /// Notifies the sender of a message that expired unread, or the human if an urgent message's sender is gone.
    fn report_expiry(
        &mut self,
        timed: &Timed,
        unread: &[Arc<str>],
        escalated: &[Arc<str>],
    ) -> Result<()> {
        let mut to = self.now(&timed.from);
        let is_gone = self
            .config
            .registry()
            .agent(&to)
            .is_none_or(Agent::is_retired);
        if unread.is_empty() || is_gone && escalated.is_empty() {
            self.journal.forget_expiry(timed.seq);
            return Ok(());
        }
        if is_gone {
            to = id::HUMAN.into();
        }
        let (who, record) = (listed(unread), self.record_of(timed)?);
        let body = format!(
            "{}/{} was not read in its time by {who}. It is in their `expired/` now.",
            timed.from, timed.id
        );
        let subject = format!("expired unread: {}", title(timed, record.as_ref()));
        let more = about_mail(timed, unread);
        let about = format!("{EXPIRED} {}", timed.seq);
        self.add(Notice {
            about,
            to,
            kind: "notification",
            subject,
            body,
            more,
        });
        Ok(())
    }

    /// The agent that has this name now.
    fn now(&self, agent: &Arc<str>) -> Arc<str> {
        self.config
            .registry()
            .now(agent)
            .map_or_else(|| agent.clone(), |agent| agent.id.clone())
    }

    /// Notifies the supervisors of the agents that have not replied, and after the same time again the human. Of urgent mail
    /// that expired unread, all of them at the same time: its recipients cannot reply in time any longer.
    fn escalate(&mut self, timed: &Timed, expired: &[Arc<str>]) -> Result<()> {
        let wanted = timed.wanted.as_ref();
        let mut missing: Vec<Arc<str>> = wanted.map(|wanted| wanted.of.clone()).unwrap_or_default();
        missing.extend(
            expired
                .iter()
                .filter(|agent| ***agent == *id::HUMAN)
                .cloned(),
        );
        let is_new = wanted.is_some_and(|wanted| !wanted.notified);
        let mut notified = if is_new {
            self.supervisors(timed, &missing)
        } else {
            BTreeMap::new()
        };
        let is_last = notified.is_empty() || !expired.is_empty();
        if is_last {
            notified.insert(id::HUMAN.into(), missing);
        }
        let answer = wanted.is_some_and(|wanted| wanted.answer);
        let (word, verb) = if answer {
            ("unanswered", "answered")
        } else {
            ("unacknowledged", "acknowledged")
        };
        let record = self.record_of(timed)?;
        let (from, id, seq) = (&timed.from, &timed.id, timed.seq);
        let (at, subject) = (
            Stamp::from_micros(timed.at),
            format!("{word}: {}", title(timed, record.as_ref())),
        );
        // One subject for all, so that they are recorded together or not at all.
        let about = format!("{} {seq}", if is_last { OVERDUE_AT_LAST } else { OVERDUE });
        for (to, of) in notified {
            let has = if of.len() == 1 { "has" } else { "have" };
            let mut body = format!(
                "{from} asked in {from}/{id} at {at}, and {} {has} not {verb}.",
                listed(&of)
            );
            if !expired.is_empty() {
                body += &format!(" It expired, unread by {}.", listed(expired));
            }
            body += &format!(" `mailbag trace {from}/{id}` shows how it stands.");
            let mut more = about_mail(timed, &of);
            more.extend(
                priority(record.as_ref()).map(|priority| ("priority".to_owned(), priority.into())),
            );
            let (about, subject) = (about.clone(), subject.clone());
            self.add(Notice {
                about,
                to,
                kind: ESCALATION,
                subject,
                body,
                more,
            });
        }
        Ok(())
    }

    /// The supervisors of agents, each with the agents.
    fn supervisors(&self, timed: &Timed, of: &[Arc<str>]) -> BTreeMap<Arc<str>, Vec<Arc<str>>> {
        let mut supervisors: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
        let registry = self.config.registry();
        for agent in of {
            let supervisor = registry
                .agent(agent)
                .and_then(|agent| agent.supervisor.as_deref());
            let supervisor = supervisor
                .and_then(|name| registry.find(name))
                .filter(|s| !s.is_retired());
            if let Some(supervisor) =
                supervisor.filter(|s| &*s.id != id::HUMAN && s.id != timed.from && s.id != *agent)
            {
                supervisors
                    .entry(supervisor.id.clone())
                    .or_default()
                    .push(agent.clone());
            }
        }
        supervisors
    }

    fn add(&mut self, notice: Notice) {
        self.notices.add(self.journal.state(), notice);
    }

    fn record_of(&self, timed: &Timed) -> Result<Option<Record>> {
        log::read_record(self.config.dir(), timed.place)
    }
}

/// The fields of a notice about this message and these recipients of it.
fn about_mail(timed: &Timed, of: &[Arc<str>]) -> Map<String, Value> {
    let mut more = Map::new();
    more.insert(
        "in_reply_to".into(),
        format!("{}/{}", timed.from, timed.id).into(),
    );
    more.insert("metadata".into(), json!({"seq": timed.seq, "agents": of}));
    more
}

// The priority that the sender gave: what is passed on is as urgent.
fn priority(record: Option<&Record>) -> Option<String> {
    let fields: Map<String, Value> = record?.message_fields()?;
    fields
        .get("priority")
        .and_then(Value::as_str)
        .map(str::to_owned)
}

// A few words of the sender, in quotation marks because this is mail in the router's name.
fn title(timed: &Timed, record: Option<&Record>) -> String {
    let fields = record.and_then(Record::message_fields);
    match fields.as_ref().and_then(title_of_fields) {
        Some(title) => sanitize::quote(title, limits::TITLE),
        None => timed.id.clone(),
    }
}
