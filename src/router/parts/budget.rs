//! Budgets: senders that send too much or reply too fast have to wait.
//!
//! A message over budget is not rejected. It stays in its outbox, `status` shows it as pending, and the router tries
//! it again when it is due. A sender may use a whole budget immediately; the used part returns evenly over the
//! window. Budgets are in memory only: a new router starts with unused budgets. Times are of the monotonic clock.

use super::batch_space::FileMessages;
use super::pending::PendingWork;
use crate::base::error::Problem;
use crate::disk::{Dir, layout};
use crate::log::state::RoomState;
use crate::message::{FIELDS, dialects, id};
use crate::room::settings::Settings;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of replies that the router remembers to detect reply loops. When it has more, it forgets all and starts
/// again.
const HOPS: usize = 1 << 16;

/// The units of a sender's budgets, in the order of [`BudgetAccounts::accounts`].
const UNITS: [&str; 2] = ["messages", "copies"];

/// The spent parts of all budgets.
#[derive(Default)]
pub(crate) struct BudgetAccounts {
    /// Spent messages, and spent copies, by sender.
    accounts: [HashMap<Arc<str>, RefillTime>; 2],
    hops: ReplyChains,
}

/// A delay of a message.
pub(crate) struct MessageDelay {
    reason: String,
    wait: Duration,
    /// Whether the sender's other files also wait.
    pub(crate) all: bool,
}

impl MessageDelay {
    /// Lists the delay as pending, and publishes the list even if mail keeps coming.
    pub(crate) fn hold_back(&self, what: &str, pending: &mut PendingWork, room: &Dir) {
        pending.delayed(what, &self.reason, self.wait);
        pending.publish(room);
    }
}

/// The spent parts of a sender's budgets after [`BudgetAccounts::pay`].
pub(crate) struct BudgetBill {
    spent: [Option<RefillTime>; 2],
    hop: Option<ChainPosition>,
}

/// The time when the whole budget is available again. A budget is used up one window before this time.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
struct RefillTime(Instant);

/// An amount per window of time.
#[derive(Clone, Copy, PartialEq)]
struct RateLimit {
    most: u32,
    window: Duration,
}

impl RateLimit {
    /// `None` for an unlimited budget.
    fn new(most: u32, window: Duration) -> Option<RateLimit> {
        (most > 0).then_some(RateLimit { most, window })
    }

    /// The time until `cost` may be spent. A cost above the budget waits for a whole budget.
    fn wait(self, spent: Option<RefillTime>, now: Instant, cost: u32) -> Option<Duration> {
        let owed = spent.map_or(Duration::ZERO, |spent| {
            spent.0.saturating_duration_since(now)
        });
        let after = owed + self.window / self.most * cost.min(self.most);
        after
            .checked_sub(self.window)
            .filter(|wait| !wait.is_zero())
    }

    fn spend(self, spent: Option<RefillTime>, now: Instant, cost: u32) -> RefillTime {
        RefillTime(spent.map_or(now, |spent| spent.0.max(now)) + self.window / self.most * cost)
    }

    fn charge(
        self,
        spent: Option<RefillTime>,
        cost: u32,
        unit: &str,
    ) -> Result<RefillTime, MessageDelay> {
        let now = Instant::now();
        match self.wait(spent, now, cost) {
            None => Ok(self.spend(spent, now, cost)),
            Some(wait) => Err(MessageDelay {
                reason: format!("over its budget of {} {unit} {}", self.most, self.per()),
                wait,
                all: true,
            }),
        }
    }

    /// `a minute`, `in 10s`
    fn per(self) -> String {
        match self.window.as_secs() {
            60 => "a minute".into(),
            3600 => "an hour".into(),
            seconds => format!("in {seconds}s"),
        }
    }
}

/// The budgets of a sender in messages and copies. All senders in another room share the budgets of its link, and the
/// human has no limits.
fn paces(settings: &Settings, agent: &str) -> [Option<RateLimit>; 2] {
    if agent == id::HUMAN {
        return [None; 2];
    }
    let link = layout::link_of(agent).and_then(|tag| settings.links.get(tag));
    let messages = link.and_then(|link| link.budget.messages);
    let copies = link.and_then(|link| link.budget.copies);
    [
        messages.unwrap_or(settings.budget.messages),
        copies.unwrap_or(settings.budget.copies),
    ]
    .map(|most| RateLimit::new(most, settings.budget.window))
}

/// The budgets of agents here, and of each link.
fn all_paces(settings: &Settings) -> HashMap<String, [Option<RateLimit>; 2]> {
    let links = settings.links.keys().map(|tag| layout::link_id(tag));
    links
        .chain([id::MAILBAG.to_owned()])
        .map(|agent| {
            let paces = paces(settings, &agent);
            (agent, paces)
        })
        .collect()
}

/// The spent part of each chain of replies. Fifty replies to one message are fifty short chains; two agents that
/// reply to each other without end are one long chain.
#[derive(Default)]
struct ReplyChains {
    spent: HashMap<u64, RefillTime>,
    /// Messages that were picked up and are not in the log yet, by claim.
    taken: HashMap<String, ChainPosition>,
    hasher: RandomState,
}

/// A message's position in a chain.
struct ChainPosition {
    spent: RefillTime,
    thread: Option<String>,
}

/// A name of a message, or of the last message that an agent received in a thread.
#[derive(Hash)]
enum MessageKey<'a> {
    Id(&'a str),
    Seq(u64),
    Thread(&'a str, &'a str),
}

impl ReplyChains {
    fn find(&self, name: &MessageKey<'_>) -> Option<RefillTime> {
        self.spent.get(&self.hasher.hash_one(name)).copied()
    }

    fn note(&mut self, name: &MessageKey<'_>, spent: RefillTime) {
        if self.spent.len() >= HOPS {
            self.spent.clear();
        }
        let longest = self
            .spent
            .entry(self.hasher.hash_one(name))
            .or_insert(spent);
        longest.0 = longest.0.max(spent.0);
    }

    /// The spent part of the chain before a message with these links.
    fn before(&self, agent: &str, links: &ReplyLinks) -> Option<RefillTime> {
        match (&links.answers, &links.thread) {
            (Some(answers), _) => {
                let id = answers.rsplit('/').next().unwrap_or(answers);
                self.find(&MessageKey::Id(id))
                    .or_else(|| self.find(&MessageKey::Seq(answers.parse().ok()?)))
            }
            (None, Some(thread)) => self.find(&MessageKey::Thread(thread, agent)),
            (None, None) => None,
        }
    }
}

/// A message's links to earlier messages.
struct ReplyLinks {
    answers: Option<String>,
    thread: Option<String>,
}

impl ReplyLinks {
    /// `None` for a message without links. The content is not checked yet, and may be in any dialect.
    fn read(content: &Value) -> Option<ReplyLinks> {
        let fields = content.as_object()?;
        if !fields.keys().any(|name| can_link(name)) {
            return None;
        }
        let is_canonical = fields
            .keys()
            .all(|name| FIELDS.contains(&name.as_str()) || !can_link(name));
        let fields = if is_canonical {
            Cow::Borrowed(fields)
        } else {
            Cow::Owned(dialects::spell(fields.clone()).fields)
        };
        let links = ReplyLinks {
            answers: text(&fields, "in_reply_to"),
            thread: text(&fields, "thread_id"),
        };
        (links.answers.is_some() || links.thread.is_some()).then_some(links)
    }
}

fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    match fields.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(seq) => Some(seq.to_string()),
        _ => None,
    }
}

/// Returns true if a field can name an earlier message or a thread.
fn can_link(name: &str) -> bool {
    matches!(
        dialects::field_of(name),
        Some("in_reply_to" | "thread_id" | "routing")
    )
}

impl BudgetAccounts {
    /// Removes the entries of unused budgets.
    pub(crate) fn tidy(&mut self) {
        let now = Instant::now();
        for account in &mut self.accounts {
            account.retain(|_, spent| spent.0 > now);
        }
        self.hops.spent.retain(|_, spent| spent.0 > now);
    }

    /// The delay of this sender's next message. The human is never delayed.
    pub(crate) fn delay_of(&self, settings: &Settings, agent: &Arc<str>) -> Option<MessageDelay> {
        let pace = paces(settings, agent)[0]?;
        let spent = self.accounts[0].get(agent).copied();
        pace.charge(spent, 1, UNITS[0]).err()
    }

    /// The bill of a file, or its delay. The bill takes effect with [`BudgetAccounts::pay`].
    pub(crate) fn bill(
        &self,
        settings: &Settings,
        agent: &Arc<str>,
        file: &FileMessages,
    ) -> Result<BudgetBill, MessageDelay> {
        let mut bill = BudgetBill {
            spent: [None; 2],
            hop: None,
        };
        if &**agent == id::HUMAN {
            return Ok(bill);
        }
        let costs =
            [file.messages.len(), file.copies].map(|cost| u32::try_from(cost).unwrap_or(u32::MAX));
        for (n, pace) in paces(settings, agent).into_iter().enumerate() {
            let spent = self.accounts[n].get(agent).copied();
            if let Some(pace) = pace {
                bill.spent[n] = Some(pace.charge(spent, costs[n], UNITS[n])?);
            }
        }
        let Some(pace) = RateLimit::new(settings.budget.replies, settings.budget.window) else {
            return Ok(bill);
        };
        for message in &file.messages {
            let hop = self.hop(pace, agent, &message.content)?;
            let longest = bill.hop.as_ref().map(|longest| longest.spent.0);
            if hop.as_ref().map(|hop| hop.spent.0) > longest {
                bill.hop = hop;
            }
        }
        Ok(bill)
    }

    /// The position of a message in its chain of replies, or the delay of the chain.
    fn hop(
        &self,
        pace: RateLimit,
        agent: &str,
        content: &Result<Value, Problem>,
    ) -> Result<Option<ChainPosition>, MessageDelay> {
        let Some(links) = content.as_ref().ok().and_then(ReplyLinks::read) else {
            return Ok(None);
        };
        let now = Instant::now();
        let before = self.hops.before(agent, &links);
        if let Some(wait) = pace.wait(before, now, 1) {
            return Err(MessageDelay {
                reason: format!(
                    "its conversation exceeded the reply rate of {} {}",
                    pace.most,
                    pace.per()
                ),
                wait,
                all: false,
            });
        }
        Ok(Some(ChainPosition {
            spent: pace.spend(before, now, 1),
            thread: links.thread,
        }))
    }

    /// Applies the bill of a picked up claim.
    pub(crate) fn pay(&mut self, agent: &Arc<str>, claim: &str, bill: BudgetBill) {
        for (account, spent) in self.accounts.iter_mut().zip(bill.spent) {
            if let Some(spent) = spent {
                account.insert(agent.clone(), spent);
            }
        }
        if let Some(hop) = bill.hop {
            if self.hops.taken.len() >= HOPS {
                self.hops.taken.clear();
            }
            self.hops.taken.insert(claim.to_owned(), hop);
        }
    }

    /// Notes the chain of each committed message under its id, its number and its recipients. The bounce of a
    /// rejected reply belongs to the reply's chain.
    pub(crate) fn remember_hops(&mut self, seqs: &[u64], state: &RoomState) {
        let mut taken = std::mem::take(&mut self.hops.taken);
        if taken.is_empty() {
            return;
        }
        let claimed: Vec<_> = seqs
            .iter()
            .filter_map(|seq| state.open.get(seq))
            .filter_map(|open| Some((open, open.claim.as_ref()?)))
            .collect();
        for (open, claim) in &claimed {
            let Some(ChainPosition { spent, thread }) = taken.get(*claim) else {
                continue;
            };
            self.hops.note(&MessageKey::Id(&open.id), *spent);
            self.hops.note(&MessageKey::Seq(open.seq), *spent);
            let Some(thread) = thread else { continue };
            for agent in open.to.iter().flat_map(|group| &group.agents) {
                self.hops.note(&MessageKey::Thread(thread, agent), *spent);
            }
        }
        for (_, claim) in claimed {
            taken.remove(claim);
        }
        self.hops.taken = taken;
    }

    /// Clears the accounts if the budgets changed, because spent parts depend on the budget.
    pub(crate) fn forget_if_changed(&mut self, before: &Settings, now: &Settings) {
        if all_paces(before) != all_paces(now) {
            self.accounts = Default::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: RateLimit = RateLimit {
        most: 60,
        window: Duration::from_secs(60),
    };

    /// The number of times that `cost` may be spent at `now`.
    fn count_allowed(
        pace: RateLimit,
        spent: &mut Option<RefillTime>,
        now: Instant,
        cost: u32,
    ) -> usize {
        let mut times = 0;
        while pace.wait(*spent, now, cost).is_none() && times < 1000 {
            *spent = Some(pace.spend(*spent, now, cost));
            times += 1;
        }
        times
    }

    #[test]
    fn a_budget_may_be_used_immediately_and_returns_evenly() {
        let (start, mut spent) = (Instant::now(), None);
        assert_eq!(count_allowed(MINUTE, &mut spent, start, 1), 60);
        assert_eq!(MINUTE.wait(spent, start, 1), Some(Duration::from_secs(1)));
        for second in 1..10 {
            assert_eq!(
                count_allowed(MINUTE, &mut spent, start + Duration::from_secs(second), 1),
                1,
                "second {second}"
            );
        }
        assert_eq!(
            count_allowed(MINUTE, &mut spent, start + Duration::from_secs(1000), 1),
            60
        );
    }

    #[test]
    fn a_cost_above_the_budget_waits_for_a_whole_budget_and_is_paid_in_full() {
        let (start, mut spent) = (Instant::now(), None);
        assert_eq!(count_allowed(MINUTE, &mut spent, start, 600), 1);
        assert_eq!(MINUTE.wait(spent, start, 1), Some(Duration::from_secs(541)));
        assert_eq!(
            MINUTE.wait(spent, start, 600),
            Some(Duration::from_secs(600))
        );
    }

    fn spend_reply(hops: &ReplyChains, answers: &str, now: Instant) -> RefillTime {
        let links = ReplyLinks {
            answers: Some(answers.into()),
            thread: Some("t".into()),
        };
        MINUTE.spend(hops.before("bob", &links), now, 1)
    }

    #[test]
    fn replies_to_one_message_are_short_chains_and_a_reply_to_a_reply_is_a_longer_chain() {
        let (now, mut hops) = (Instant::now(), ReplyChains::default());
        for n in 0..50 {
            let spent = spend_reply(&hops, "question", now);
            hops.note(&MessageKey::Id(&format!("answer {n}")), spent);
        }
        assert_eq!(
            spend_reply(&hops, "question", now),
            RefillTime(now + Duration::from_secs(1))
        );
        assert_eq!(
            spend_reply(&hops, "alice/answer 7", now),
            RefillTime(now + Duration::from_secs(2))
        );
    }

    #[test]
    fn the_memory_for_chains_is_bounded() {
        let (spent, mut hops) = (RefillTime(Instant::now()), ReplyChains::default());
        for seq in 0..3 * HOPS as u64 {
            hops.note(&MessageKey::Seq(seq), spent);
        }
        assert!(hops.spent.len() <= HOPS);
        assert!(
            hops.find(&MessageKey::Seq(3 * HOPS as u64 - 1)).is_some(),
            "the newest is remembered"
        );
    }
}
