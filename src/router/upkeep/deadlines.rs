//! Time: unread mail that expires, and questions that nobody answers.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::disk::layout;
use crate::log;
use crate::log::state::{EXPIRED, OVERDUE, OVERDUE_AT_LAST, Timed, Wanted};
use crate::message::id;
use crate::message::record::Record;
use crate::router::{Notice, Router};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What waits when expired mail can't be moved out of an inbox.
const EXPIRED_MAIL: &str = "inbox";

impl Router {
    /// How long until the next message's time comes.
    pub fn until_next_time(&self) -> Option<Duration> {
        let next = self.state.timers.next()?;
        let wait = Duration::from_micros((next.micros() - Stamp::now().micros()).max(0) as u64);
        let again = self.time_again.map(|again| again.saturating_duration_since(Instant::now()));
        Some(again.map_or(wait, |again| wait.max(again)))
    }

    /// Does what is due by now: moves expired mail out of inboxes, and tells who has to know. The log says so with the
    /// next batch; a kill before that comes to the same again. What stands in its way passes by itself.
    pub fn keep_time(&mut self) -> Result<()> {
        if self.until_next_time().is_none_or(|wait| !wait.is_zero()) {
            return Ok(());
        }
        let now = Stamp::now();
        for timed in self.state.timers.due(now) {
            let kept = self.keep(&timed, now);
            if let Err(e) = kept {
                self.waiting.failed(EXPIRED_MAIL, e.to_string());
            }
        }
        // Until the log has it, it stays due.
        let stays = self.state.timers.next().is_some_and(|next| next <= now);
        self.time_again = stays.then(|| Instant::now() + limits::RETRY_FIRST);
        Ok(())
    }

    fn keep(&mut self, timed: &Timed, now: Stamp) -> Result<()> {
        if timed.expires.is_some_and(|at| at <= now.micros()) {
            self.expire(timed)?;
            self.waiting.over(EXPIRED_MAIL);
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
        for (agent, _) in record.iter().flat_map(Record::recipients) {
            if self.state.mailboxes.is_unread(agent, timed.seq) {
                // One that could not be delivered yet is not lost with its time: it comes first, and goes then.
                if self.stuck.contains(&timed.seq) {
                    return Ok(());
                }
                self.set_aside(agent, timed.seq, name.as_ref())?;
                if self.observed.has_expired(agent, timed.seq) {
                    unread.push(agent.clone());
                }
            }
        }
        let knows = self.registry.agent(&timed.from).is_some_and(|agent| !agent.is_retired());
        if unread.is_empty() || !knows {
            self.state.timers.expired(timed.seq);
            return Ok(());
        }
        let who = names(&unread);
        let body =
            format!("{}/{} was not read in its time by {who}. It is in their `expired/` now.", timed.from, timed.id);
        let subject = format!("expired unread: {}", title(timed, record));
        self.tell(timed, (EXPIRED, &timed.from, "notification"), subject, body, &unread);
        Ok(())
    }

    // First the supervisors of those who have not answered, and when that time has passed again, the human.
    fn remind(&mut self, timed: &Timed, wanted: &Wanted) -> Result<()> {
        let mut supervisors: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
        for agent in wanted.of.iter().filter(|_| !wanted.told) {
            let supervisor = self.registry.agent(agent).and_then(|agent| agent.supervisor.as_deref());
            let supervisor = supervisor.and_then(|name| self.registry.find(name)).filter(|s| !s.is_retired());
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
        let title = title(timed, self.record_of(timed)?);
        for (to, of) in supervisors {
            let body = format!(
                "{} asked in {}/{} at {}, and {} not {verb}. `mailbag trace {}/{}` shows how it stands.",
                timed.from,
                timed.from,
                timed.id,
                Stamp::from_micros(timed.at),
                if of.len() == 1 { format!("{} has", of[0]) } else { format!("{} have", names(&of)) },
                timed.from,
                timed.id
            );
            self.tell(timed, (about, &to, "escalation"), format!("{missing}: {title}"), body, &of);
        }
        Ok(())
    }

    fn tell(
        &mut self,
        timed: &Timed,
        what: (&str, &Arc<str>, &'static str),
        subject: String,
        body: String,
        of: &[Arc<str>],
    ) {
        let (about, to, kind) = what;
        let mut more = Map::new();
        more.insert("in_reply_to".into(), format!("{}/{}", timed.from, timed.id).into());
        more.insert("metadata".into(), json!({"seq": timed.seq, "agents": of}));
        let about = format!("{about} {}", timed.seq);
        self.notify_of(Notice { about, to: to.clone(), kind, subject, body, more });
    }

    fn record_of(&self, timed: &Timed) -> Result<Option<Record>> {
        let line = log::read_one(&self.room.dir, timed.place)?;
        Ok(line.and_then(|line| serde_json::from_slice(&line.bytes).ok()))
    }
}

// What it is about, in a few words of its sender: in quotation marks, since this is mail in the router's name.
fn title(timed: &Timed, record: Option<Record>) -> String {
    let fields = record.and_then(|record| serde_json::from_str::<Map<String, Value>>(record.message?.get()).ok());
    let text = |field: &str| fields.as_ref()?.get(field)?.as_str()?.lines().next().map(str::to_owned);
    let title = text("subject").or_else(|| text("body"));
    title.map_or_else(|| timed.id.clone(), |title| sanitize::quote(&title, limits::TITLE))
}

fn names(agents: &[Arc<str>]) -> String {
    agents.iter().map(|agent| &**agent).collect::<Vec<_>>().join(", ")
}
