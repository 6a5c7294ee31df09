//! Talks: messages between two agents without a task, a question or a file. Such mail is delivered like any other, and
//! announced once an hour if there is much of it.

use crate::base::clock::Stamp;
use crate::message::record::{MessageHead, RecipientGroup};
use crate::message::{APPROVAL, DECISION, ESCALATION, MILESTONE, behaviour, id};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of messages of a talk that are announced without a delay.
const TALK_MESSAGES: u32 = 20;
/// The period of the count, and of later announcements.
const TALK_HOUR: Duration = Duration::from_secs(60 * 60);
/// The number of remembered talks. With more, all are forgotten.
const TALKS: usize = 1_000;
/// Types of messages with work.
const WORK: [&str; 9] = [
    "task",
    "request",
    "handoff",
    "proposal",
    "objection",
    APPROVAL,
    DECISION,
    ESCALATION,
    MILESTONE,
];

/// The talks of all pairs of agents, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Talks(BTreeMap<String, Talk>);

/// The messages between two agents since the last one with work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Talk {
    /// When its present hour began.
    since: Stamp,
    messages: u32,
}

impl Talk {
    fn is_long(&self) -> bool {
        self.messages >= TALK_MESSAGES
    }

    /// The talk at this time. A long talk ends after an hour without a message.
    fn at(&self, now: Stamp) -> Option<Talk> {
        let next = self.since.after(TALK_HOUR);
        if now < next {
            return Some(self.clone());
        }
        (self.messages > TALK_MESSAGES && now < next.after(TALK_HOUR)).then_some(Talk {
            since: next,
            messages: self.messages,
        })
    }
}

impl Talks {
    /// The time of a delayed announcement of a message.
    pub fn announce_after(
        &self,
        from: &str,
        to: &[RecipientGroup],
        head: &MessageHead<'_>,
        now: Stamp,
    ) -> Option<Stamp> {
        let pair = pair_of(from, to, head)?;
        let talk = self.0.get(&pair)?.at(now)?;
        (talk.is_long() && !has_work(head)).then(|| talk.since.after(TALK_HOUR))
    }

    /// Takes in an accepted message.
    pub(super) fn apply(
        &mut self,
        from: &str,
        to: &[RecipientGroup],
        head: &MessageHead<'_>,
        now: Stamp,
    ) {
        let Some(pair) = pair_of(from, to, head) else {
            return;
        };
        if has_work(head) {
            self.0.remove(&pair);
            return;
        }
        let before = self.0.remove(&pair).and_then(|talk| talk.at(now));
        if self.0.len() >= TALKS {
            self.0.retain(|_, talk| talk.at(now).is_some());
        }
        if self.0.len() >= TALKS {
            self.0.clear();
        }
        let mut talk = before.unwrap_or(Talk {
            since: now,
            messages: 0,
        });
        talk.messages = talk.messages.saturating_add(1);
        self.0.insert(pair, talk);
    }

    /// No hour begins after now.
    pub(super) fn cut_times(&mut self, now: Stamp) {
        for talk in self.0.values_mut() {
            talk.since = talk.since.min(now);
        }
    }
}

/// The names of the sender and of the only recipient, if both are agents of this room, and the message is for them.
fn pair_of(from: &str, to: &[RecipientGroup], head: &MessageHead<'_>) -> Option<String> {
    let mut recipients = to.iter().flat_map(|group| &group.agents);
    let (to, other) = (&**recipients.next()?, recipients.next());
    let is_for_router = behaviour(head.kind()).acted_on_by.is_some();
    if other.is_some() || is_for_router || !is_agent(from) || !is_agent(to) || from == to {
        return None;
    }
    let (first, second) = (from.min(to), from.max(to));
    Some(format!("{first} {second}"))
}

fn is_agent(name: &str) -> bool {
    name != id::HUMAN && name != id::MAILBAG && id::tag_of(name).is_none()
}

/// Returns true if a message has a task, a question or a file, or is urgent.
fn has_work(head: &MessageHead<'_>) -> bool {
    head.wants_answer() || head.has_attachments() || head.is_urgent() || WORK.contains(&head.kind())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const MINUTE: i64 = 60_000_000;

    /// Applies a message, and returns the minute of its announcement if it is delayed.
    fn say(
        talks: &mut Talks,
        minute: i64,
        from: &str,
        to: &[&str],
        message: &Value,
    ) -> Option<i64> {
        let agents = to.iter().map(|&to| to.into()).collect();
        let via = "direct".into();
        let to = [RecipientGroup { via, agents }];
        let text = message.to_string();
        let head = serde_json::from_str(&text).expect("a head");
        let now = Stamp::from_micros(minute * MINUTE);
        let after = talks.announce_after(from, &to, &head, now);
        talks.apply(from, &to, &head, now);
        after.map(|at| at.micros() / MINUTE)
    }

    /// Says this many things in turn, and returns the minutes of the delayed announcements.
    fn talk(talks: &mut Talks, minute: i64, messages: usize) -> Vec<i64> {
        let thanks = json!({"type": "message", "body": "thanks"});
        let pairs = [("a", ["b"]), ("b", ["a"])].into_iter().cycle();
        let said = pairs.take(messages);
        said.filter_map(|(from, to)| say(talks, minute, from, &to, &thanks))
            .collect()
    }

    #[test]
    fn after_twenty_messages_a_pair_is_announced_once_an_hour_until_it_pauses_for_an_hour() {
        let mut talks = Talks::default();
        assert!(talk(&mut talks, 0, 20).is_empty());
        assert_eq!(talk(&mut talks, 10, 2), [60, 60]);
        assert_eq!(talk(&mut talks, 60, 1), [120]);
        assert_eq!(talk(&mut talks, 179, 1), [180]);
        assert!(talk(&mut talks, 300, 20).is_empty(), "after a pause");
        assert_eq!(talk(&mut talks, 301, 1), [360]);
    }

    #[test]
    fn fewer_messages_in_each_hour_are_not_delayed() {
        let mut talks = Talks::default();
        for hour in 0..5 {
            assert!(talk(&mut talks, hour * 60, 20).is_empty(), "{hour}");
        }
    }

    #[test]
    fn work_is_never_delayed_and_ends_a_talk() {
        let works = [
            json!({"type": "task"}),
            json!({"type": "question"}),
            json!({"type": "message", "requires_response": true}),
            json!({"type": "message", "attachments": []}),
            json!({"type": "message", "priority": "urgent"}),
        ];
        for work in works {
            let mut talks = Talks::default();
            talk(&mut talks, 0, 30);
            assert_eq!(say(&mut talks, 1, "a", &["b"], &work), None, "{work}");
            assert!(talk(&mut talks, 1, 20).is_empty(), "{work}");
            assert!(!talk(&mut talks, 1, 1).is_empty(), "{work}");
        }
    }

    #[test]
    fn other_mail_is_not_part_of_a_talk() {
        let mut talks = Talks::default();
        talk(&mut talks, 0, 20);
        let (thanks, ack) = (json!({"type": "message"}), json!({"type": "ack"}));
        for (from, to) in [
            ("a", "c"),
            ("a", "human"),
            ("mailbag", "b"),
            ("a", "@link/b"),
        ] {
            assert_eq!(
                say(&mut talks, 1, from, &[to], &thanks),
                None,
                "{from} {to}"
            );
        }
        assert_eq!(say(&mut talks, 1, "a", &["b", "c"], &thanks), None);
        assert_eq!(say(&mut talks, 1, "a", &["b"], &ack), None);
        assert_eq!(talk(&mut talks, 1, 1), [60], "the talk continues");
    }

    #[test]
    fn the_memory_for_talks_is_bounded_and_a_clock_set_back_lengthens_none() {
        let mut talks = Talks::default();
        let thanks = json!({"type": "message"});
        for n in 0..3 * TALKS {
            say(&mut talks, 100, "a", &[&format!("b{n}")], &thanks);
        }
        assert!(talks.0.len() <= TALKS);
        talk(&mut talks, 100, 20);
        talks.cut_times(Stamp::from_micros(10 * MINUTE));
        assert_eq!(talk(&mut talks, 11, 1), [70]);
    }
}
