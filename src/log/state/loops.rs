//! Loops: agents that answer each other without content, repeat themselves, or pass messages around in a circle. They are
//! recognized by their structure: sender and recipients, length of the text, and repetition.
//!
//! Such mail is delivered like any other. Only its announcements are delayed, and the human is notified once for each loop.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::message::record::{AcceptedMessage, MessageHead, RecipientGroup};
use crate::message::{APPROVAL, DECISION, ESCALATION, MILESTONE, behaviour, id};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The longest text of a message that can be an acknowledgement without content, in characters.
const LOOP_TEXT: usize = 240;
/// The number of such messages that may answer each other before their announcements are delayed.
const LOOP_MESSAGES: u32 = 8;
/// The number of equal texts to the same recipients before the sender's announcements are delayed.
const LOOP_REPEATS: u32 = 3;
/// The time after a message, or after its delayed announcement, until its chain ends.
const LOOP_WINDOW: Duration = Duration::from_secs(5 * 60);
/// The number of remembered agents and texts of a chain.
const LOOP_MEMORY: usize = 16;
/// The largest number of recipients of a message that continues a chain without a reference.
const LOOP_RECIPIENTS: usize = 3;
/// The number of remembered agents. With more, all are forgotten.
const LOOP_AGENTS: usize = 10_000;

/// The subject of the notice about a loop: this word and the record of the first delayed message.
pub const LOOP: &str = "loop";

/// The chains that reached agents, and what agents said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopDetector {
    /// The newest chain of messages that reached each agent.
    heard: BTreeMap<Arc<str>, MessageChain>,
    /// The last texts of each sender.
    said: BTreeMap<Arc<str>, VecDeque<SentText>>,
    /// The senders of loops that were not reported to the human, by the first delayed message.
    found: BTreeMap<u64, Vec<Arc<str>>>,
}

/// Messages that follow each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct MessageChain {
    /// The time until which another message continues it, in microseconds since 1970.
    until: i64,
    /// The number of messages without content that an agent of the chain received again.
    hops: u32,
    is_reported: bool,
    senders: VecDeque<Arc<str>>,
    texts: VecDeque<u64>,
}

/// A text that an agent has sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SentText {
    /// The text and the recipients.
    digest: u64,
    until: i64,
    times: u32,
    is_reported: bool,
}

/// A message as it can be part of a loop.
struct LoopCandidate<'a> {
    from: &'a str,
    to: Vec<&'a Arc<str>>,
    text: u64,
    /// True if it can be an acknowledgement without content.
    is_light: bool,
    /// True if it names a message, or has few recipients.
    is_linked: bool,
}

/// Types that are not part of loops: reports, and messages that make or report a change.
const NO_TALK: [&str; 10] = [
    "thinking",
    "tool_call",
    "tool_result",
    "announcement",
    "alert",
    "error",
    MILESTONE,
    APPROVAL,
    DECISION,
    ESCALATION,
];
/// Types of messages with content, however short they are.
const WORK: [&str; 5] = ["task", "request", "handoff", "proposal", "objection"];

impl<'a> LoopCandidate<'a> {
    /// The message of an agent to agents of this room. `None` if it can be part of no loop.
    fn of(
        from: &'a str,
        to: &'a [RecipientGroup],
        head: &MessageHead<'_>,
    ) -> Option<LoopCandidate<'a>> {
        let kind = head.kind();
        let to: Vec<&Arc<str>> = to
            .iter()
            .flat_map(|group| &group.agents)
            .filter(|to| is_agent(to) && ***to != *from)
            .collect();
        let is_other = NO_TALK.contains(&kind)
            || behaviour(kind).report
            || behaviour(kind).acted_on_by.is_some()
            || kind.contains('.');
        if to.is_empty() || !is_agent(from) || is_other || head.is_urgent() {
            return None;
        }
        let is_short = is_short(head.texts());
        let is_light =
            is_short && !head.wants_answer() && !head.has_attachments() && !WORK.contains(&kind);
        let is_linked = head.is_linked() || to.len() <= LOOP_RECIPIENTS;
        let letters = head
            .texts()
            .flat_map(str::chars)
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase);
        Some(LoopCandidate {
            from,
            to,
            text: digest(letters.map(u64::from)),
            is_light,
            is_linked,
        })
    }

    /// The text with its recipients.
    fn said(&self) -> u64 {
        let names = self
            .to
            .iter()
            .flat_map(|to| to.bytes().map(u64::from).chain([0]));
        digest([self.text].into_iter().chain(names))
    }
}

fn is_agent(name: &str) -> bool {
    name != id::HUMAN && name != id::MAILBAG && id::tag_of(name).is_none()
}

/// Returns true if the texts, one below the other, are no longer than an acknowledgement without content.
fn is_short<'t>(texts: impl Iterator<Item = &'t str>) -> bool {
    let lengths = texts.map(|text| 1 + text.chars().take(LOOP_TEXT + 1).count());
    lengths.sum::<usize>() <= LOOP_TEXT + 1
}

/// The FNV-1a hash of these numbers. It is not a protection: each message in the log needs it at each start.
fn digest(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0xcbf2_9ce4_8422_2325, |hash, number| {
        (hash ^ number).wrapping_mul(0x0100_0000_01b3)
    })
}

impl LoopDetector {
    /// The time of a delayed announcement. `None` if the message is not part of a loop.
    pub fn delay(
        &self,
        from: &str,
        to: &[RecipientGroup],
        head: &MessageHead<'_>,
        now: Stamp,
    ) -> Option<Stamp> {
        let talk = LoopCandidate::of(from, to, head)?;
        let of_chain = self.continued(&talk, now).hops.checked_sub(LOOP_MESSAGES);
        let of_text = (self.times(&talk, now) + 1).checked_sub(LOOP_REPEATS + 1);
        let over = of_chain.max(of_text)?;
        let delay = limits::LOOP_DELAY
            .saturating_mul(2u32.saturating_pow(over))
            .min(limits::LOOP_DELAY_MOST);
        Some(now.after(delay))
    }

    /// The chain with this message.
    fn continued(&self, talk: &LoopCandidate<'_>, now: Stamp) -> MessageChain {
        let before = self
            .heard
            .get(talk.from)
            .filter(|chain| chain.until >= now.micros());
        let Some(before) = before else {
            return MessageChain::default();
        };
        let is_repeated = before.texts.contains(&talk.text);
        if !talk.is_linked || !talk.is_light && !is_repeated {
            return MessageChain::default();
        }
        let comes_back = talk.to.iter().any(|to| before.senders.contains(*to));
        MessageChain {
            hops: before.hops + u32::from(comes_back),
            ..before.clone()
        }
    }

    /// The number of earlier messages of the sender with this text to these recipients.
    fn times(&self, talk: &LoopCandidate<'_>, now: Stamp) -> u32 {
        let said = self.said.get(talk.from).into_iter().flatten();
        let digest = talk.said();
        said.filter(|said| said.digest == digest && said.until >= now.micros())
            .map(|said| said.times)
            .max()
            .unwrap_or(0)
    }

    /// Takes in an accepted message. Its record says until when its announcement is delayed.
    pub(super) fn apply(
        &mut self,
        seq: u64,
        accepted: &AcceptedMessage,
        head: &MessageHead<'_>,
        now: Stamp,
    ) {
        let from = &accepted.name.from;
        if **from == *id::HUMAN {
            for agent in accepted.to.iter().flat_map(|group| &group.agents) {
                self.heard.remove(agent);
            }
            return;
        }
        let Some(talk) = LoopCandidate::of(from, &accepted.to, head) else {
            return;
        };
        if self.heard.len().max(self.said.len()) >= LOOP_AGENTS {
            (self.heard, self.said) = (BTreeMap::new(), BTreeMap::new());
        }
        let delayed = accepted
            .times
            .announce_after
            .as_deref()
            .and_then(Stamp::parse);
        let until = delayed.unwrap_or(now).max(now).after(LOOP_WINDOW).micros();
        let (mut chain, times) = (self.continued(&talk, now), self.times(&talk, now));
        let is_reported = chain.is_reported || self.is_reported(&talk);
        if delayed.is_some() && !is_reported {
            let mut agents = vec![from.clone()];
            if chain.hops >= LOOP_MESSAGES {
                agents.extend(chain.senders.iter().cloned());
            }
            agents.sort();
            agents.dedup();
            self.found.insert(seq, agents);
        }
        chain.until = until;
        chain.is_reported = delayed.is_some();
        remember(&mut chain.senders, from.clone());
        remember(&mut chain.texts, talk.text);
        let said = SentText {
            digest: talk.said(),
            until,
            times: times + 1,
            is_reported: delayed.is_some(),
        };
        let own = self.said.entry(from.clone()).or_default();
        own.retain(|one| one.digest != said.digest);
        remember(own, said);
        for to in talk.to {
            self.heard.insert(to.clone(), chain.clone());
        }
    }

    fn is_reported(&self, talk: &LoopCandidate<'_>) -> bool {
        let digest = talk.said();
        self.said
            .get(talk.from)
            .into_iter()
            .flatten()
            .any(|said| said.digest == digest && said.is_reported)
    }

    /// The loops that were not reported to the human: the first delayed message, and the senders.
    pub fn found(&self) -> impl Iterator<Item = (u64, &[Arc<str>])> {
        self.found
            .iter()
            .map(|(seq, agents)| (*seq, agents.as_slice()))
    }

    /// The human was notified of a loop.
    pub(super) fn reported(&mut self, seq: u64) {
        self.found.remove(&seq);
    }

    /// Forgets all times, because the clock was changed.
    pub(super) fn forget_times(&mut self) {
        (self.heard, self.said) = (BTreeMap::new(), BTreeMap::new());
    }
}

/// Adds to a list that keeps only the newest entries, each once.
fn remember<T: PartialEq>(list: &mut VecDeque<T>, new: T) {
    list.retain(|one| *one != new);
    list.push_back(new);
    if list.len() > LOOP_MEMORY {
        list.pop_front();
    }
}
