//! Budgets: who has sent so much, or answers so fast, that what comes next has to wait, and for how long.
//!
//! Nothing is refused. What is over a budget stays in its outbox, `status` says so, and it is looked at again when it is
//! due. A budget of so many in a window may be used at once; what is used comes back evenly, one part after the other.
//! All of this is in memory only: a router that starts has seen nobody spend anything, and a kill costs no more than
//! that. Time is that of the monotonic clock.

use super::check::Nobody;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::message::{dialects, id, schema};
use crate::room::resolve;
use crate::room::settings::Settings;
use crate::router::{Committed, Router};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What was spent, and by whom.
#[derive(Default)]
pub(crate) struct Budgets {
    messages: HashMap<Arc<str>, Spent>,
    copies: HashMap<Arc<str>, Spent>,
    hops: Hops,
}

/// Why something has to wait, and how long.
pub(crate) struct Delay {
    reason: String,
    wait: Duration,
    /// Do its sender's other files wait with it?
    pub(crate) all: bool,
}

/// What a sender will have spent once it is paid.
pub(crate) struct Bill {
    messages: Option<Spent>,
    copies: Option<Spent>,
    hop: Option<Hop>,
}

/// When all that was spent will have come back: nothing is spent at this time, everything a window before it.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
struct Spent(Instant);

/// So many in so much time.
#[derive(Clone, Copy)]
struct Pace {
    most: u32,
    window: Duration,
}

impl Pace {
    /// `None` where there is no bound.
    fn of(most: u32, window: Duration) -> Option<Pace> {
        (most > 0).then_some(Pace { most, window })
    }

    /// How long until so many more may be spent. What is more than a whole budget waits for a whole budget.
    fn wait(self, spent: Option<Spent>, now: Instant, cost: u32) -> Option<Duration> {
        let owed = spent.map_or(Duration::ZERO, |spent| spent.0.saturating_duration_since(now));
        let after = owed + self.window / self.most * cost.min(self.most);
        after.checked_sub(self.window).filter(|wait| !wait.is_zero())
    }

    fn spend(self, spent: Option<Spent>, now: Instant, cost: u32) -> Spent {
        Spent(spent.map_or(now, |spent| spent.0.max(now)) + self.window / self.most * cost)
    }
}

/// `a minute`, `in 10s`
fn per(window: Duration) -> String {
    match window.as_secs() {
        60 => "a minute".into(),
        3600 => "an hour".into(),
        seconds => format!("in {seconds}s"),
    }
}

/// Which messages answer which: for each message, how much the way that led to it has spent. A fan-out with fifty
/// answers is a short way many times over; two that answer each other without end are one that grows.
#[derive(Default)]
struct Hops {
    spent: HashMap<u64, Spent>,
    /// What was claimed and is not in the log yet, by its claim.
    taken: HashMap<String, Hop>,
    hasher: RandomState,
}

/// One message's place on such a way.
struct Hop {
    spent: Spent,
    thread: Option<String>,
}

/// What names a message, or the last one that an agent got in a thread.
#[derive(Hash)]
enum Name<'a> {
    Id(&'a str),
    Seq(u64),
    Thread(&'a str, &'a str),
}

impl Hops {
    fn find(&self, name: &Name<'_>) -> Option<Spent> {
        self.spent.get(&self.hasher.hash_one(name)).copied()
    }

    fn note(&mut self, name: &Name<'_>, spent: Spent) {
        if self.spent.len() >= limits::HOPS {
            self.spent.clear();
        }
        let longest = self.spent.entry(self.hasher.hash_one(name)).or_insert(spent);
        longest.0 = longest.0.max(spent.0);
    }

    fn taken(&self, claim: &str) -> Option<(Spent, Option<String>)> {
        self.taken.get(claim).map(|hop| (hop.spent, hop.thread.clone()))
    }

    /// What the way to a message has spent that answers this one, or goes on in this thread.
    fn before(&self, agent: &str, links: &Links) -> Option<Spent> {
        match (&links.answers, &links.thread) {
            (Some(answers), _) => {
                let id = answers.rsplit('/').next().unwrap_or(answers);
                let by_seq = || self.find(&Name::Seq(answers.parse().ok()?));
                self.find(&Name::Id(id)).or_else(by_seq)
            }
            (None, Some(thread)) => self.find(&Name::Thread(thread, agent)),
            (None, None) => None,
        }
    }
}

/// What of a message ties it to others.
struct Links {
    answers: Option<String>,
    thread: Option<String>,
}

impl Links {
    /// `None` for a message that stands alone. It is not checked yet, and may have any spelling.
    fn of(content: &Value) -> Option<Links> {
        const FIELDS: [&str; 5] = ["in_reply_to", "thread_id", "correlation_id", "conversation_id", "routing"];
        let fields = content.as_object()?;
        if !FIELDS.iter().any(|field| fields.contains_key(*field)) {
            return None;
        }
        let canonical = !FIELDS[2..].iter().any(|field| fields.contains_key(*field));
        let spelled: Map<String, Value>;
        let fields = match canonical {
            true => fields,
            false => {
                spelled = dialects::spell(fields.clone()).fields;
                &spelled
            }
        };
        let text = |field: &str| match fields.get(field)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(seq) => Some(seq.to_string()),
            _ => None,
        };
        let links = Links { answers: text("in_reply_to"), thread: text("thread_id") };
        (links.answers.is_some() || links.thread.is_some()).then_some(links)
    }
}

impl Budgets {
    /// Forgets what has come back in the meantime.
    pub(crate) fn tidy(&mut self) {
        let now = Instant::now();
        self.messages.retain(|_, spent| spent.0 > now);
        self.copies.retain(|_, spent| spent.0 > now);
        self.hops.spent.retain(|_, spent| spent.0 > now);
    }
}

impl Router {
    fn pace(&self, most: u32) -> Option<Pace> {
        Pace::of(most, self.settings.budget_window)
    }

    /// Has this sender no message left to send now? A person is never held back.
    pub(crate) fn spent(&self, agent: &Arc<str>) -> Option<Delay> {
        let pace = self.pace(self.settings.sender_budget).filter(|_| &**agent != id::HUMAN)?;
        let wait = pace.wait(self.budgets.messages.get(agent).copied(), Instant::now(), 1)?;
        Some(Delay {
            reason: format!("over its budget of {} messages {}", pace.most, per(pace.window)),
            wait,
            all: true,
        })
    }

    /// What this sender has spent.
    pub(crate) fn bill(&self, agent: &Arc<str>) -> Bill {
        let Budgets { messages, copies, .. } = &self.budgets;
        Bill { messages: messages.get(agent).copied(), copies: copies.get(agent).copied(), hop: None }
    }

    /// Puts one message more on the bill, or says how long it has to wait. Nothing is spent before it is taken.
    pub(crate) fn charge(
        &self,
        agent: &Arc<str>,
        bill: &mut Bill,
        copies: usize,
        content: &Result<Value, Problem>,
    ) -> Result<(), Delay> {
        if &**agent == id::HUMAN {
            return Ok(());
        }
        let (now, copies) = (Instant::now(), u32::try_from(copies).unwrap_or(u32::MAX));
        let over = |pace: Pace, wait, what: &str| Delay {
            reason: format!("over its budget of {} {what} {}", pace.most, per(pace.window)),
            wait,
            all: true,
        };
        let of_messages = self.pace(self.settings.sender_budget);
        if let Some((pace, wait)) = of_messages.and_then(|pace| Some((pace, pace.wait(bill.messages, now, 1)?))) {
            return Err(over(pace, wait, "messages"));
        }
        let of_copies = self.pace(self.settings.copies_budget);
        if let Some((pace, wait)) = of_copies.and_then(|pace| Some((pace, pace.wait(bill.copies, now, copies)?))) {
            return Err(over(pace, wait, "copies"));
        }
        if let Some(hop) = self.hop(agent, content, now)?
            && bill.hop.as_ref().is_none_or(|longest| hop.spent.0 > longest.spent.0)
        {
            bill.hop = Some(hop);
        }
        bill.messages = of_messages.map(|pace| pace.spend(bill.messages, now, 1));
        bill.copies = of_copies.map(|pace| pace.spend(bill.copies, now, copies));
        Ok(())
    }

    // Where it stands on the way of its conversation, or how long that has to wait.
    fn hop(&self, agent: &str, content: &Result<Value, Problem>, now: Instant) -> Result<Option<Hop>, Delay> {
        let Some(pace) = self.pace(self.settings.loop_hops) else { return Ok(None) };
        let Some(links) = content.as_ref().ok().and_then(Links::of) else { return Ok(None) };
        let before = self.budgets.hops.before(agent, &links);
        if let Some(wait) = pace.wait(before, now, 1) {
            let reason = format!("its conversation went to and fro {} times {}", pace.most, per(pace.window));
            return Err(Delay { reason, wait, all: false });
        }
        Ok(Some(Hop { spent: pace.spend(before, now, 1), thread: links.thread }))
    }

    /// What is on the bill was taken.
    pub(crate) fn pay(&mut self, agent: &Arc<str>, claim: &str, bill: Bill) {
        let Budgets { messages, copies, hops } = &mut self.budgets;
        for (account, spent) in [(messages, bill.messages), (copies, bill.copies)] {
            match (account.get_mut(agent), spent) {
                (Some(known), Some(spent)) => *known = spent,
                (None, Some(spent)) => drop(account.insert(agent.clone(), spent)),
                (_, None) => {}
            }
        }
        if let Some(hop) = bill.hop {
            if hops.taken.len() >= limits::HOPS {
                hops.taken.clear();
            }
            hops.taken.insert(claim.to_owned(), hop);
        }
    }

    /// What was just committed has an id and a number now, by which it can be answered, and agents who get it. The
    /// bounce of a refused answer is on the same way as the answer.
    pub(crate) fn remember_hops(&mut self, Committed(seqs): &Committed) {
        let hops = &mut self.budgets.hops;
        if hops.taken.is_empty() {
            return;
        }
        for open in seqs.iter().filter_map(|seq| self.state.open.get(seq)) {
            let Some((spent, thread)) = open.claim.as_ref().and_then(|claim| hops.taken(claim)) else { continue };
            hops.note(&Name::Id(&open.id), spent);
            hops.note(&Name::Seq(open.seq), spent);
            let Some(thread) = thread else { continue };
            for agent in open.to.iter().flat_map(|group| &group.agents) {
                hops.note(&Name::Thread(&thread, agent), spent);
            }
        }
        for open in seqs.iter().filter_map(|seq| self.state.open.get(seq)) {
            open.claim.iter().for_each(|claim| drop(hops.taken.remove(claim)));
        }
    }

    /// How many copies a message makes. It is worked out again when it is accepted; a refusal makes one, the bounce.
    pub(crate) fn count_copies(&self, agent: &str, content: &Result<Value, Problem>) -> usize {
        let Ok(content) = content else { return 1 };
        self.count_named(content).unwrap_or_else(|| self.count_resolved(agent, content)).max(1)
    }

    // Most messages name their recipients by their ids, and need no look at anything else.
    fn count_named(&self, content: &Value) -> Option<usize> {
        let known = |to: &Value| self.registry.agent(to.as_str()?).map(|_| 1);
        match content.get("to")? {
            Value::Array(many) => many.iter().map(known).sum(),
            one => known(one),
        }
    }

    fn count_resolved(&self, agent: &str, content: &Value) -> usize {
        let name = self.registry.agent(agent).and_then(|agent| agent.name.as_deref());
        let checked = schema::check_as(content.clone(), agent, name.as_slice(), Stamp::now()).ok();
        let recipients = checked.and_then(|message| {
            resolve::resolve(&self.registry, agent, message.addresses(), message.by_mention(), &mut Nobody).ok()
        });
        recipients.map_or(1, |recipients| recipients.len())
    }

    /// What was spent counts in parts of a budget: with another one it means nothing, and everybody begins anew.
    pub(crate) fn forget_spent_if_changed(&mut self, settings: &Settings) {
        let budgets = |of: &Settings| (of.sender_budget, of.copies_budget, of.budget_window);
        if budgets(settings) != budgets(&self.settings) {
            self.budgets.messages.clear();
            self.budgets.copies.clear();
        }
    }

    /// Says that something is held back, also while mail comes without end.
    pub(crate) fn hold_back(&mut self, what: &str, delay: &Delay) {
        self.waiting.delayed(what, &delay.reason, delay.wait);
        self.waiting.tell(&self.room.dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Pace = Pace { most: 60, window: Duration::from_secs(60) };

    /// How many of cost `cost` may be spent at `now`, one after the other.
    fn at_once(pace: Pace, spent: &mut Option<Spent>, now: Instant, cost: u32) -> usize {
        let mut times = 0;
        while pace.wait(*spent, now, cost).is_none() && times < 1000 {
            *spent = Some(pace.spend(*spent, now, cost));
            times += 1;
        }
        times
    }

    #[test]
    fn a_budget_may_be_used_at_once_and_comes_back_evenly() {
        let (start, mut spent) = (Instant::now(), None);
        assert_eq!(at_once(MINUTE, &mut spent, start, 1), 60);
        assert_eq!(MINUTE.wait(spent, start, 1), Some(Duration::from_secs(1)));
        for second in 1..10 {
            assert_eq!(at_once(MINUTE, &mut spent, start + Duration::from_secs(second), 1), 1, "second {second}");
        }
        assert_eq!(at_once(MINUTE, &mut spent, start + Duration::from_secs(1000), 1), 60);
    }

    #[test]
    fn what_is_larger_than_the_whole_budget_waits_for_a_whole_one_and_is_paid_for_in_full() {
        let (start, mut spent) = (Instant::now(), None);
        assert_eq!(at_once(MINUTE, &mut spent, start, 600), 1);
        assert_eq!(MINUTE.wait(spent, start, 1), Some(Duration::from_secs(541)));
        assert_eq!(MINUTE.wait(spent, start, 600), Some(Duration::from_secs(600)));
    }

    #[test]
    fn fifty_answers_to_one_question_are_short_ways_and_an_answer_to_an_answer_is_a_longer_one() {
        let (now, mut hops) = (Instant::now(), Hops::default());
        let hop = |hops: &Hops, answers: &str| {
            let links = Links { answers: Some(answers.into()), thread: Some("t".into()) };
            MINUTE.spend(hops.before("bob", &links), now, 1)
        };
        for n in 0..50 {
            let spent = hop(&hops, "question");
            hops.note(&Name::Id(&format!("answer {n}")), spent);
        }
        assert_eq!(hop(&hops, "question"), Spent(now + Duration::from_secs(1)));
        assert_eq!(hop(&hops, "alice/answer 7"), Spent(now + Duration::from_secs(2)));
    }

    #[test]
    fn a_flood_of_answers_takes_no_more_memory_than_is_meant_for_them() {
        let (spent, mut hops) = (Spent(Instant::now()), Hops::default());
        (0..3 * limits::HOPS as u64).for_each(|seq| hops.note(&Name::Seq(seq), spent));
        assert!(hops.spent.len() <= limits::HOPS);
        assert!(hops.find(&Name::Seq(3 * limits::HOPS as u64 - 1)).is_some(), "the newest is remembered");
    }
}
