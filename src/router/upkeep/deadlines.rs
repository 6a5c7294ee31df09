//! Deadlines of unread mail that expires and of questions without a reply.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::text::listed;
use crate::base::{limits, sanitize};
use crate::disk::layout;
use crate::log;
use crate::log::state::{EXPIRED, MessageDeadline, OVERDUE, OVERDUE_AT_LAST, RoomState};
use crate::message::record::Record;
use crate::message::status::CopyStatus;
use crate::message::title::title_of_fields;
use crate::message::{ESCALATION, id, object};
use crate::router::Router;
use crate::router::parts::{NoticeText, inbox_item};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The pending item of a deadline that cannot be applied.
const EXPIRED_MAIL: &str = "inbox";

/// The time of the next try, if a due deadline failed.
#[derive(Default)]
pub(in crate::router) struct DeadlineRetry {
    again: Option<Instant>,
}

impl DeadlineRetry {
    /// The time until the next deadline of a message.
    pub(in crate::router) fn until_next(&self, state: &RoomState) -> Option<Duration> {
        let next = state.timers.next()?;
        let wait = next.saturating_duration_since(Stamp::now());
        let again = self
            .again
            .map(|again| again.saturating_duration_since(Instant::now()));
        Some(again.map_or(wait, |again| wait.max(again)))
    }
}

impl Router {
    /// Applies due deadlines: moves expired mail out of inboxes, and notifies the agents concerned. The log has the
    /// result with the next batch, and a kill before that repeats the work. Failures here are temporary.
    pub(in crate::router) fn apply_deadlines(&mut self) {
        if self.is_held() {
            return;
        }
        self.gates
            .queue_outboxes(self.journal.state(), &self.config, &mut self.intake);
        let wait = self.deadlines.until_next(self.journal.state());
        if wait.is_none_or(|wait| !wait.is_zero()) {
            return;
        }
        let now = Stamp::now();
        for timed in self.journal.state().timers.due(now) {
            if let Err(e) = self.apply_deadline(&timed, now) {
                self.pending.failed(EXPIRED_MAIL, e.to_string());
            }
        }
        // A message stays due until the log has the result.
        let next = self.journal.state().timers.next();
        self.deadlines.again = next
            .is_some_and(|next| next <= now)
            .then(|| Instant::now() + limits::RETRY_FIRST);
    }

    fn apply_deadline(&mut self, timed: &MessageDeadline, now: Stamp) -> Result<()> {
        let is_over = timed.expires.is_some_and(|at| at <= now.micros());
        let unread = if is_over {
            self.expire_copies(timed)?
        } else {
            None
        };
        let wanted = timed.wanted.as_ref();
        let mut expired = Vec::new();
        if timed.urgent {
            expired.extend(unread.iter().flatten().cloned());
            // The human is not in the list of missing answers.
            expired.retain(|agent| {
                **agent == *id::HUMAN || wanted.is_some_and(|wanted| wanted.of.contains(agent))
            });
        }
        let is_due = wanted.is_some_and(|wanted| wanted.due <= now.micros());
        if is_due || !expired.is_empty() {
            self.escalate(timed, &expired)?;
        }
        if let Some(unread) = unread {
            self.report_expiry(timed, &unread, &expired)?;
            self.pending.clear(EXPIRED_MAIL);
        }
        Ok(())
    }

    /// Moves unread copies out of the inboxes, and returns the owners of expired copies, or `None` if a copy must be
    /// delivered first or cannot be moved.
    fn expire_copies(&mut self, timed: &MessageDeadline) -> Result<Option<Vec<Arc<str>>>> {
        let name = layout::delivered(Stamp::from_micros(timed.at), &timed.from, &timed.id);
        let mut unread = Vec::new();
        let record = self.record_of(timed)?;
        let state = self.journal.state();
        let all = record
            .iter()
            .flat_map(Record::recipients)
            .map(|(agent, _)| self.current_name(agent));
        let all: BTreeSet<Arc<str>> = all.collect();
        for agent in &all {
            if state.mailboxes.is_unread(agent, timed.seq) {
                // A stuck copy is delivered before it expires.
                if self.progress.is_stuck(timed.seq) {
                    return Ok(None);
                }
                let what = inbox_item(agent);
                if let Err(e) = self.storage.expire(agent, name.as_ref()) {
                    self.pending.failed(&what, e.to_string());
                    return Ok(None);
                }
                self.pending.clear(&what);
                self.receipts
                    .classify(self.config.dir(), state, agent, timed.seq, name.as_ref());
                if self.receipts.has_expired(agent, timed.seq) {
                    unread.push(agent.clone());
                }
            } else if state.mailboxes.status(agent, timed.seq) == Some(CopyStatus::Expired) {
                // The log has the expiry, and its notice failed.
                unread.push(agent.clone());
            }
        }
        Ok(Some(unread))
    }

    /// Notifies the sender of a message that expired unread, or the human if an urgent message's sender is gone.
    fn report_expiry(
        &mut self,
        timed: &MessageDeadline,
        unread: &[Arc<str>],
        escalated: &[Arc<str>],
    ) -> Result<()> {
        let mut to = self.current_name(&timed.from);
        let is_gone = !self.config.registry().has_active(&to);
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
        self.notices.add(
            self.journal.state(),
            NoticeText {
                about,
                to: vec![to],
                kind: "notification",
                subject,
                body,
                more,
            },
        );
        Ok(())
    }

    /// The present name of an agent.
    fn current_name(&self, agent: &Arc<str>) -> Arc<str> {
        self.config
            .registry()
            .now(agent)
            .map_or_else(|| agent.clone(), |agent| agent.id.clone())
    }

    /// Notifies the supervisors of the agents that have not replied, and after the same time again the human. If
    /// urgent mail expired unread, all are notified at the same time, because a reply in time is no longer possible.
    fn escalate(&mut self, timed: &MessageDeadline, expired: &[Arc<str>]) -> Result<()> {
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
            self.supervisors_of(timed, &missing)
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
        // All notices have one subject, so that they are recorded together or not at all.
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
            body += &format!(" `mailbag trace {from}/{id}` shows its status.");
            let mut more = about_mail(timed, &of);
            // An escalation keeps the sender's priority.
            let head = record.as_ref().and_then(Record::message_head);
            let priority = head.map(|head| head.priority()).unwrap_or_default();
            if !priority.is_normal() {
                more.insert("priority".into(), priority.as_str().into());
            }
            let (about, subject) = (about.clone(), subject.clone());
            self.notices.add(
                self.journal.state(),
                NoticeText {
                    about,
                    to: vec![to],
                    kind: ESCALATION,
                    subject,
                    body,
                    more,
                },
            );
        }
        Ok(())
    }

    /// The supervisors of agents, each with the agents.
    fn supervisors_of(
        &self,
        timed: &MessageDeadline,
        of: &[Arc<str>],
    ) -> BTreeMap<Arc<str>, Vec<Arc<str>>> {
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

    fn record_of(&self, timed: &MessageDeadline) -> Result<Option<Record>> {
        log::read_record(self.config.dir(), timed.place)
    }
}

/// The fields of a notice about this message and these recipients of it.
fn about_mail(timed: &MessageDeadline, of: &[Arc<str>]) -> Map<String, Value> {
    object(
        json!({"in_reply_to": format!("{}/{}", timed.from, timed.id),
        "metadata": {"seq": timed.seq, "agents": of}}),
    )
}

/// The title of the message, in quotation marks because the notice is mail of the router.
fn title(timed: &MessageDeadline, record: Option<&Record>) -> String {
    let fields = record.and_then(Record::message_fields);
    match fields.as_ref().and_then(title_of_fields) {
        Some(title) => sanitize::quote(title, limits::TITLE),
        None => timed.id.clone(),
    }
}
