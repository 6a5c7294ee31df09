//! Deadlines of unread mail that expires and of questions without a reply.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::text::listed;
use crate::base::{limits, sanitize};
use crate::disk::layout;
use crate::log;
use crate::log::state::{EXPIRED, MessageDeadline, OVERDUE, OVERDUE_AT_LAST};
use crate::message::record::Record;
use crate::message::status::CopyStatus;
use crate::message::title::title_of_fields;
use crate::message::{ESCALATION, id, object};
use crate::room::sessions::SessionCalls;
use crate::router::Router;
use crate::router::parts::{DeadlineOf, NoticeText, WaitingMail, inbox_item};
use crate::router::seam::Cx;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::sync::Arc;

/// The pending item of a deadline that cannot be applied.
const EXPIRED_MAIL: &str = "inbox";

impl Router {
    /// Queues the mail that is routed before due deadlines take effect.
    pub(in crate::router) fn queue_deadlines(&mut self) {
        if self.is_held() {
            return;
        }
        let calls = SessionCalls::of(self.config.dir());
        let cx = Cx::new(&self.config, &self.journal, &calls);
        self.deadlines.queue_outboxes(cx, &mut self.intake);
    }

    /// Applies due deadlines of messages: moves expired mail out of inboxes, and notifies the agents concerned. The log
    /// has the result with the next batch, and a kill before that repeats the work. Failures here are temporary.
    pub(in crate::router) fn apply_deadlines(&mut self) {
        self.queue_deadlines();
        let now = Stamp::now();
        for timed in self.journal.state().timers.due(now) {
            let of = DeadlineOf::Message(timed.seq);
            let mail = WaitingMail {
                intake: &self.intake,
                pending: &self.pending,
                batch: &HashSet::new(),
            };
            let is_ready = self.deadlines.is_ready(&of, &mail);
            if is_ready && let Err(e) = self.apply_deadline(&timed, now) {
                self.pending.failed(EXPIRED_MAIL, e.to_string());
            }
            if is_ready || self.intake.is_idle() {
                self.deadlines.delay(&of);
            }
        }
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
    /// delivered first, cannot be moved, or is leased.
    fn expire_copies(&mut self, timed: &MessageDeadline) -> Result<Option<Vec<Arc<str>>>> {
        let name = layout::delivered(Stamp::from_micros(timed.at), &timed.from, &timed.id);
        let name: &OsStr = name.as_ref();
        let (mut unread, mut is_leased) = (Vec::new(), false);
        let record = self.record_of(timed)?;
        let state = self.journal.state();
        let all = record
            .iter()
            .flat_map(Record::recipients)
            .map(|(agent, _)| self.config.current_name(agent));
        let all: BTreeSet<Arc<str>> = all.collect();
        for agent in &all {
            let status = state.mailboxes.status(agent, timed.seq);
            let is_unread = state.mailboxes.is_unread(agent, timed.seq);
            // A stuck copy is delivered before it expires.
            if is_unread && self.progress.is_stuck(timed.seq) {
                return Ok(None);
            }
            // A copy that was only seen expires if its reader moved it back.
            if is_unread || status.is_none() && self.is_in_inbox(agent, name) {
                let what = inbox_item(agent);
                if let Err(e) = self.storage.expire(agent, name) {
                    self.pending.failed(&what, e.to_string());
                    return Ok(None);
                }
                self.pending.clear(&what);
                self.receipts
                    .classify(self.config.dir(), state, agent, timed.seq, name);
                is_leased |= is_unread && !self.receipts.has_left(agent, timed.seq);
            }
            // If the log has the expiry, its notice failed.
            if self.receipts.has_expired(agent, timed.seq) || status == Some(CopyStatus::Expired) {
                unread.push(agent.clone());
            }
        }
        // A lease ends or its message is read.
        Ok((!is_leased || !unread.is_empty()).then_some(unread))
    }

    fn is_in_inbox(&self, agent: &str, name: &OsStr) -> bool {
        let inbox = self.config.dir().sub(layout::inbox(agent));
        let found = inbox.and_then(|inbox| inbox.stat(name));
        found.is_ok_and(|meta| meta.is_some())
    }

    /// Notifies the sender of a message that expired unread, or the human if an urgent message's sender is gone.
    fn report_expiry(
        &mut self,
        timed: &MessageDeadline,
        unread: &[Arc<str>],
        escalated: &[Arc<str>],
    ) -> Result<()> {
        let mut to = self.config.current_name(&timed.from);
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
