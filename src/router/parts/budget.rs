//! Budgets: which sender has to wait because it sent too much or replies too fast, and for how long.
//!
//! No message is rejected here. A message over budget stays in its outbox, `status` shows it as pending, and the router
//! looks at it again when it is due. A sender may use a whole budget at once; the used part comes back evenly over the
//! window. Budgets are in memory only: a new router starts with unused budgets. Times are of the monotonic clock.

use super::pending::Pending;
use crate::base::error::Problem;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::log::state::State;
use crate::message::{FIELDS, dialects, id};
use crate::room::settings::Settings;
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

/// Why a message has to wait, and how long.
pub(crate) struct Delay {
    reason: String,
    wait: Duration,
    /// Do the sender's other files wait too?
    pub(crate) all: bool,
}

impl Delay {
    /// Lists the delay as pending, also while mail keeps coming.
    pub(crate) fn hold_back(&self, what: &str, pending: &mut Pending, room: &Dir) {
        pending.delayed(what, &self.reason, self.wait);
        pending.publish(room);
    }
}

/// What a sender will have spent after [`Budgets::pay`].
pub(crate) struct Bill {
    messages: Option<Spent>,
    copies: Option<Spent>,
    hop: Option<Hop>,
}

/// The time at which everything spent will have come back. The whole budget is spent one window before this time.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
struct Spent(Instant);

/// An amount per window of time.
#[derive(Clone, Copy)]
struct Pace {
    most: u32,
    window: Duration,
}

impl Pace {
    /// `None` for an unlimited budget.
    fn of(most: u32, window: Duration) -> Option<Pace> {
        (most > 0).then_some(Pace { most, window })
    }

    /// How long until `cost` may be spent. A cost above a whole budget waits for a whole budget.
    fn wait(self, spent: Option<Spent>, now: Instant, cost: u32) -> Option<Duration> {
        let owed = spent.map_or(Duration::ZERO, |spent| {
            spent.0.saturating_duration_since(now)
        });
        let after = owed + self.window / self.most * cost.min(self.most);
        after
            .checked_sub(self.window)
            .filter(|wait| !wait.is_zero())
    }

    fn delay(self, wait: Duration, what: &str) -> Delay {
        let reason = format!(
            "over its budget of {} {what} {}",
            self.most,
            per(self.window)
        );
        Delay {
            reason,
            wait,
            all: true,
        }
    }

    fn spend(self, spent: Option<Spent>, now: Instant, cost: u32) -> Spent {
        Spent(spent.map_or(now, |spent| spent.0.max(now)) + self.window / self.most * cost)
    }
}

/// The budgets of a sender, in messages and copies. All senders in another room share those of its link.
fn budgets(settings: &Settings, agent: &str) -> (u32, u32) {
    let link = layout::link_of(agent).and_then(|tag| settings.links.get(tag));
    let messages = link
        .and_then(|link| link.budget.messages)
        .unwrap_or(settings.budget.messages);
    (
        messages,
        link.and_then(|link| link.budget.copies)
            .unwrap_or(settings.budget.copies),
    )
}

/// `a minute`, `in 10s`
fn per(window: Duration) -> String {
    match window.as_secs() {
        60 => "a minute".into(),
        3600 => "an hour".into(),
        seconds => format!("in {seconds}s"),
    }
}

/// Chains of replies: for each message, how much the chain that led to it has spent. Fifty replies to one message are
/// fifty short chains; two agents that reply to each other without end are one long chain.
#[derive(Default)]
struct Hops {
    spent: HashMap<u64, Spent>,
    /// Messages that were picked up and are not in the log yet, by their claim.
    taken: HashMap<String, Hop>,
    hasher: RandomState,
}

/// One message's place in a chain.
struct Hop {
    spent: Spent,
    thread: Option<String>,
}

/// A name of a message, or of the last message that an agent got in a thread.
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
        let longest = self
            .spent
            .entry(self.hasher.hash_one(name))
            .or_insert(spent);
        longest.0 = longest.0.max(spent.0);
    }

    fn taken(&self, claim: &str) -> Option<(Spent, Option<String>)> {
        self.taken
            .get(claim)
            .map(|hop| (hop.spent, hop.thread.clone()))
    }

    /// What the chain before a message with these links has spent.
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

/// A message's links to earlier messages.
struct Links {
    answers: Option<String>,
    thread: Option<String>,
}

impl Links {
    /// `None` for a message without links. The content is not checked yet, and may be in any dialect.
    fn of(content: &Value) -> Option<Links> {
        let fields = content.as_object()?;
        if !fields.keys().any(|name| names_link(name)) {
            return None;
        }
        let canonical = fields
            .keys()
            .all(|name| FIELDS.contains(&name.as_str()) || !names_link(name));
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
        let links = Links {
            answers: text("in_reply_to"),
            thread: text("thread_id"),
        };
        (links.answers.is_some() || links.thread.is_some()).then_some(links)
    }
}

/// Returns true if a field can name an earlier message or a thread.
fn names_link(name: &str) -> bool {
    matches!(
        dialects::field_of(name),
        Some("in_reply_to" | "thread_id" | "routing")
    )
}

impl Budgets {
    /// Forgets what has come back.
    pub(crate) fn tidy(&mut self) {
        let now = Instant::now();
        self.messages.retain(|_, spent| spent.0 > now);
        self.copies.retain(|_, spent| spent.0 > now);
        self.hops.spent.retain(|_, spent| spent.0 > now);
    }

    /// How long this sender has to wait for its next message. The human is never delayed.
    pub(crate) fn spent(&self, settings: &Settings, agent: &Arc<str>) -> Option<Delay> {
        let (messages, _) = budgets(settings, agent);
        let pace = Pace::of(messages, settings.budget.window).filter(|_| &**agent != id::HUMAN)?;
        let wait = pace.wait(self.messages.get(agent).copied(), Instant::now(), 1)?;
        Some(pace.delay(wait, "messages"))
    }

    /// What this sender has spent.
    pub(crate) fn bill(&self, agent: &Arc<str>) -> Bill {
        let Budgets {
            messages, copies, ..
        } = self;
        Bill {
            messages: messages.get(agent).copied(),
            copies: copies.get(agent).copied(),
            hop: None,
        }
    }

    /// Adds a message to the bill, or says how long the message has to wait. Nothing is spent before [`Budgets::pay`].
    pub(crate) fn charge(
        &self,
        settings: &Settings,
        agent: &Arc<str>,
        bill: &mut Bill,
        copies: usize,
        content: &Result<Value, Problem>,
    ) -> Result<(), Delay> {
        if &**agent == id::HUMAN {
            return Ok(());
        }
        let (now, copies) = (Instant::now(), u32::try_from(copies).unwrap_or(u32::MAX));
        let (messages_most, copies_most) = budgets(settings, agent);
        let of_messages = Pace::of(messages_most, settings.budget.window);
        if let Some((pace, wait)) =
            of_messages.and_then(|pace| Some((pace, pace.wait(bill.messages, now, 1)?)))
        {
            return Err(pace.delay(wait, "messages"));
        }
        let of_copies = Pace::of(copies_most, settings.budget.window);
        if let Some((pace, wait)) =
            of_copies.and_then(|pace| Some((pace, pace.wait(bill.copies, now, copies)?)))
        {
            return Err(pace.delay(wait, "copies"));
        }
        if let Some(pace) = Pace::of(settings.budget.replies, settings.budget.window)
            && let Some(hop) = self.hop(pace, agent, content, now)?
            && bill
                .hop
                .as_ref()
                .is_none_or(|longest| hop.spent.0 > longest.spent.0)
        {
            bill.hop = Some(hop);
        }
        bill.messages = of_messages.map(|pace| pace.spend(bill.messages, now, 1));
        bill.copies = of_copies.map(|pace| pace.spend(bill.copies, now, copies));
        Ok(())
    }

    // The place of a message in its chain of replies, or how long the chain has to wait.
    fn hop(
        &self,
        pace: Pace,
        agent: &str,
        content: &Result<Value, Problem>,
        now: Instant,
    ) -> Result<Option<Hop>, Delay> {
        let Some(links) = content.as_ref().ok().and_then(Links::of) else {
            return Ok(None);
        };
        let before = self.hops.before(agent, &links);
        if let Some(wait) = pace.wait(before, now, 1) {
            let reason = format!(
                "its conversation exceeded the reply rate of {} {}",
                pace.most,
                per(pace.window)
            );
            return Err(Delay {
                reason,
                wait,
                all: false,
            });
        }
        Ok(Some(Hop {
            spent: pace.spend(before, now, 1),
            thread: links.thread,
        }))
    }

    /// Records what a picked up claim has spent.
    pub(crate) fn pay(&mut self, agent: &Arc<str>, claim: &str, bill: Bill) {
        let Budgets {
            messages,
            copies,
            hops,
        } = self;
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

    /// Returns what was paid for messages that were not sent.
    pub(crate) fn refund(
        &mut self,
        settings: &Settings,
        agent: &Arc<str>,
        (messages, copies): (usize, usize),
    ) {
        let Budgets {
            messages: of_messages,
            copies: of_copies,
            ..
        } = self;
        let most = budgets(settings, agent);
        let parts = [(of_messages, most.0, messages), (of_copies, most.1, copies)];
        for (account, most, cost) in parts {
            if let Some((pace, spent)) =
                Pace::of(most, settings.budget.window).zip(account.get_mut(agent))
            {
                let back = pace.window / pace.most * u32::try_from(cost).unwrap_or(u32::MAX);
                spent.0 = spent.0.checked_sub(back).unwrap_or(spent.0);
            }
        }
    }

    /// Notes under which id and number each committed message can be answered, and who gets it. The bounce of a rejected
    /// reply belongs to the same chain as the reply.
    pub(crate) fn remember_hops(&mut self, seqs: &[u64], state: &State) {
        let hops = &mut self.hops;
        if hops.taken.is_empty() {
            return;
        }
        for open in seqs.iter().filter_map(|seq| state.open.get(seq)) {
            let Some((spent, thread)) = open.claim.as_ref().and_then(|claim| hops.taken(claim))
            else {
                continue;
            };
            hops.note(&Name::Id(&open.id), spent);
            hops.note(&Name::Seq(open.seq), spent);
            let Some(thread) = thread else { continue };
            for agent in open.to.iter().flat_map(|group| &group.agents) {
                hops.note(&Name::Thread(&thread, agent), spent);
            }
        }
        for open in seqs.iter().filter_map(|seq| state.open.get(seq)) {
            open.claim
                .iter()
                .for_each(|claim| drop(hops.taken.remove(claim)));
        }
    }

    /// Forgets what was spent if the budgets changed: it is counted in parts of a budget.
    pub(crate) fn forget_if_changed(&mut self, before: &Settings, now: &Settings) {
        let of_links = |of: &Settings| -> Vec<(String, (u32, u32))> {
            of.links
                .keys()
                .map(|tag| (tag.clone(), budgets(of, &layout::link_id(tag))))
                .collect()
        };
        let all = |of: &Settings| {
            (
                of.budget.messages,
                of.budget.copies,
                of.budget.window,
                of_links(of),
            )
        };
        if all(before) != all(now) {
            self.messages.clear();
            self.copies.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Pace = Pace {
        most: 60,
        window: Duration::from_secs(60),
    };

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
            assert_eq!(
                at_once(MINUTE, &mut spent, start + Duration::from_secs(second), 1),
                1,
                "second {second}"
            );
        }
        assert_eq!(
            at_once(MINUTE, &mut spent, start + Duration::from_secs(1000), 1),
            60
        );
    }

    #[test]
    fn what_is_larger_than_the_whole_budget_waits_for_a_whole_one_and_is_paid_for_in_full() {
        let (start, mut spent) = (Instant::now(), None);
        assert_eq!(at_once(MINUTE, &mut spent, start, 600), 1);
        assert_eq!(MINUTE.wait(spent, start, 1), Some(Duration::from_secs(541)));
        assert_eq!(
            MINUTE.wait(spent, start, 600),
            Some(Duration::from_secs(600))
        );
    }

    #[test]
    fn fifty_answers_to_one_question_are_short_ways_and_an_answer_to_an_answer_is_a_longer_one() {
        let (now, mut hops) = (Instant::now(), Hops::default());
        let hop = |hops: &Hops, answers: &str| {
            let links = Links {
                answers: Some(answers.into()),
                thread: Some("t".into()),
            };
            MINUTE.spend(hops.before("bob", &links), now, 1)
        };
        for n in 0..50 {
            let spent = hop(&hops, "question");
            hops.note(&Name::Id(&format!("answer {n}")), spent);
        }
        assert_eq!(hop(&hops, "question"), Spent(now + Duration::from_secs(1)));
        assert_eq!(
            hop(&hops, "alice/answer 7"),
            Spent(now + Duration::from_secs(2))
        );
    }

    #[test]
    fn a_flood_of_answers_takes_no_more_memory_than_is_meant_for_them() {
        let (spent, mut hops) = (Spent(Instant::now()), Hops::default());
        (0..3 * limits::HOPS as u64).for_each(|seq| hops.note(&Name::Seq(seq), spent));
        assert!(hops.spent.len() <= limits::HOPS);
        assert!(
            hops.find(&Name::Seq(3 * limits::HOPS as u64 - 1)).is_some(),
            "the newest is remembered"
        );
    }
}
