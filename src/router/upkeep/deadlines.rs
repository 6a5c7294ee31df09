//! Deadlines: unread mail that expires, and questions without a reply.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::text::listed;
use crate::base::{limits, sanitize};
use crate::disk::layout;
use crate::log;
use crate::log::state::{EXPIRED, OVERDUE, OVERDUE_AT_LAST, State, Timed, Wanted};
use crate::message::record::Record;
use crate::message::status::Status;
use crate::message::{ESCALATION, id};
use crate::router::parts::{Config, Journal, Notice, Notices, Pending, Progress, Receipts, Storage};
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
        let again = self.again.map(|again| again.saturating_duration_since(Instant::now()));
        Some(again.map_or(wait, |again| wait.max(again)))
    }

    /// Does what is due: moves expired mail out of inboxes, and notifies who has to know. The log has it with the next
    /// batch; after a kill before that it is done again. Failures here are temporary.
    pub(in crate::router) fn keep(&mut self, mut keep: Keep<'_>) {
        if self.until_next(keep.journal.state()).is_none_or(|wait| !wait.is_zero()) {
            return;
        }
        let now = Stamp::now();
        for timed in keep.journal.state().timers.due(now) {
            if let Err(e) = keep.one(&timed, now) {
                keep.pending.failed(EXPIRED_MAIL, e.to_string());
            }
        }
        // A message stays due until the log has it.
        let is_still_due = keep.journal.state().timers.next().is_some_and(|next| next <= now);
        self.again = is_still_due.then(|| Instant::now() + limits::RETRY_FIRST);
    }
}

impl Keep<'_> {
    fn one(&mut self, timed: &Timed, now: Stamp) -> Result<()> {
        if timed.expires.is_some_and(|at| at <= now.micros()) {
            self.expire(timed)?;
            self.pending.clear(EXPIRED_MAIL);
        }
        match timed.wanted.as_ref().filter(|wanted| wanted.due <= now.micros()) {
            Some(wanted) => self.remind(timed, wanted),
            None => Ok(()),
        }
    }

    fn expire(&mut self, timed: &Timed) -> Result<()> {
        let name = layout::delivered(Stamp::from_micros(timed.at), &timed.from, &timed.id);
        let mut unread = Vec::new();
        let record = self.record_of(timed)?;
        let state = self.journal.state();
        let all = record.iter().flat_map(Record::recipients).map(|(agent, _)| self.now(agent));
        let all: BTreeSet<Arc<str>> = all.collect();
        for agent in &all {
            if state.mailboxes.is_unread(agent, timed.seq) {
                // An expired copy that could not be delivered yet is delivered first, and expires then.
                if self.progress.is_stuck(timed.seq) {
                    return Ok(());
                }
                self.storage.expire(agent, name.as_ref())?;
                self.receipts.classify(self.config.dir(), state, agent, timed.seq, name.as_ref());
                if self.receipts.has_expired(agent, timed.seq) {
                    unread.push(agent.clone());
                }
            } else if state.mailboxes.status(agent, timed.seq) == Some(Status::Expired) {
                // The log has the expiry, and the notice of it failed.
                unread.push(agent.clone());
            }
        }
        let from = self.now(&timed.from);
        let knows = self.config.registry().agent(&from).is_some_and(|agent| !agent.is_retired());
        if unread.is_empty() || !knows {
            self.journal.forget_expiry(timed.seq);
            return Ok(());
        }
        let who = listed(&unread);
        let body =
            format!("{}/{} was not read in its time by {who}. It is in their `expired/` now.", timed.from, timed.id);
        let subject = format!("expired unread: {}", title(timed, record));
        self.tell(timed, (EXPIRED, &from, "notification"), (subject, body), &unread, None);
        Ok(())
    }

    /// The agent that has this name now.
    fn now(&self, agent: &Arc<str>) -> Arc<str> {
        self.config.registry().now(agent).map_or_else(|| agent.clone(), |agent| agent.id.clone())
    }

    // First the supervisors of the agents that have not replied, and after the same time again, the human.
    fn remind(&mut self, timed: &Timed, wanted: &Wanted) -> Result<()> {
        let mut supervisors: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
        let registry = self.config.registry();
        for agent in wanted.of.iter().filter(|_| !wanted.notified) {
            let supervisor = registry.agent(agent).and_then(|agent| agent.supervisor.as_deref());
            let supervisor = supervisor.and_then(|name| registry.find(name)).filter(|s| !s.is_retired());
            if let Some(supervisor) = supervisor.filter(|s| &*s.id != id::HUMAN && s.id != timed.from && s.id != *agent)
            {
                supervisors.entry(supervisor.id.clone()).or_default().push(agent.clone());
            }
        }
        let about = if supervisors.is_empty() { OVERDUE_AT_LAST } else { OVERDUE };
        if supervisors.is_empty() {
            supervisors.insert(id::HUMAN.into(), wanted.of.clone());
        }
        let (missing, verb) =
            if wanted.answer { ("unanswered", "answered") } else { ("unacknowledged", "acknowledged") };
        let record = self.record_of(timed)?;
        let (priority, title) = (priority(record.as_ref()), title(timed, record));
        for (to, of) in supervisors {
            let body = format!(
                "{} asked in {}/{} at {}, and {} not {verb}. `mailbag trace {}/{}` shows how it stands.",
                timed.from,
                timed.from,
                timed.id,
                Stamp::from_micros(timed.at),
                if of.len() == 1 { format!("{} has", of[0]) } else { format!("{} have", listed(&of)) },
                timed.from,
                timed.id
            );
            let said = (format!("{missing}: {title}"), body);
            self.tell(timed, (about, &to, ESCALATION), said, &of, priority.clone());
        }
        Ok(())
    }

    fn tell(
        &mut self,
        timed: &Timed,
        (about, to, kind): (&str, &Arc<str>, &'static str),
        (subject, body): (String, String),
        of: &[Arc<str>],
        priority: Option<String>,
    ) {
        let mut more = Map::new();
        priority.into_iter().for_each(|priority| drop(more.insert("priority".into(), priority.into())));
        more.insert("in_reply_to".into(), format!("{}/{}", timed.from, timed.id).into());
        more.insert("metadata".into(), json!({"seq": timed.seq, "agents": of}));
        let about = format!("{about} {}", timed.seq);
        self.notices.add(self.journal.state(), Notice { about, to: to.clone(), kind, subject, body, more });
    }

    fn record_of(&self, timed: &Timed) -> Result<Option<Record>> {
        log::read_record(self.config.dir(), timed.place)
    }
}

// The priority that the sender gave: what is passed on is as urgent.
fn priority(record: Option<&Record>) -> Option<String> {
    let fields: Map<String, Value> = serde_json::from_str(record?.message.as_ref()?.get()).ok()?;
    fields.get("priority").and_then(Value::as_str).map(str::to_owned)
}

// A few words of the sender, in quotation marks because this is mail in the router's name.
fn title(timed: &Timed, record: Option<Record>) -> String {
    let fields = record.and_then(|record| serde_json::from_str::<Map<String, Value>>(record.message?.get()).ok());
    let text = |field: &str| fields.as_ref()?.get(field)?.as_str()?.lines().next().map(str::to_owned);
    let title = text("subject").or_else(|| text("body"));
    title.map_or_else(|| timed.id.clone(), |title| sanitize::quote(&title, limits::TITLE))
}
