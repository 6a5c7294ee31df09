//! How each recipient will receive a message: from the sessions and the registry, without the log.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::base::text::{named, to_the_second};
use crate::disk::layout;
use crate::message::id::tag_of;
use crate::message::record::Record;
use crate::message::{Priority, is_announced};
use crate::room::Room;
use crate::room::sessions::{self, SessionCalls};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A sending command reports the way of delivery for at most this number of recipients.
const REACHED: usize = 100;

/// A recipient of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExpectedRecipient {
    /// The agent.
    pub agent: String,
    /// The rule that reached it.
    pub via: String,
    /// How it will receive the message. `None` for the last of very many.
    #[serde(flatten)]
    pub reach: Option<ExpectedReception>,
}

/// How an agent will receive a message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "reach", rename_all = "snake_case")]
pub enum ExpectedReception {
    /// Its session works: it sees the message at its next tool call.
    Working,
    /// A process waits for its mail.
    Waiting,
    /// It is idle, and the message wakes it.
    Woken,
    /// It is idle, and nothing wakes it.
    Idle,
    /// No session of it runs, and it was last active at this time.
    Away {
        /// The time.
        since: String,
    },
    /// No session of it is known.
    NotRunning,
    /// It is announced at this time, because it is part of a long talk.
    AnnouncedLater {
        /// The time.
        at: String,
    },
    /// Mail like this is not announced.
    NotAnnounced,
    /// Its copy cannot be delivered now.
    Blocked,
    /// It has taken its copy out of the inbox already.
    Seen,
    /// It is in another room.
    Link,
}

impl ExpectedReception {
    fn sentence(&self, is_person: bool) -> String {
        match self {
            ExpectedReception::Working => "working; sees it at the next tool call".into(),
            ExpectedReception::Waiting if is_person => "watches the room; sees it now".into(),
            ExpectedReception::Waiting => "waits for mail; gets it now".into(),
            ExpectedReception::Woken => "will be woken".into(),
            ExpectedReception::Idle => "idle; sees it at the next prompt".into(),
            ExpectedReception::Away { since } => {
                format!("away since {}; it waits in the inbox", to_the_second(since))
            }
            ExpectedReception::NotRunning if is_person => {
                "not watching; it waits in the inbox".into()
            }
            ExpectedReception::NotRunning => "not running; it waits in the inbox".into(),
            ExpectedReception::AnnouncedLater { at } => format!(
                "announced after {}, because it is short or repeated; it waits in the inbox",
                to_the_second(at)
            ),
            ExpectedReception::NotAnnounced => "not announced; it waits in the inbox".into(),
            ExpectedReception::Seen => "has it already".into(),
            ExpectedReception::Blocked => "not delivered yet; `mailbag status` shows why".into(),
            ExpectedReception::Link => "in another room; `mailbag trace` shows the delivery".into(),
        }
    }
}

/// The time of the announcement by hooks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AnnouncementTime {
    /// As soon as the recipient's session calls a hook.
    #[default]
    Next,
    /// Later than that, because it is part of a long talk.
    Later(String),
    /// Not at all.
    Never,
}

impl AnnouncementTime {
    /// The announcement of a message of this type and priority.
    pub fn of(kind: &str, priority: Priority) -> AnnouncementTime {
        if is_announced(kind, priority) {
            AnnouncementTime::Next
        } else {
            AnnouncementTime::Never
        }
    }

    /// The announcement of an accepted message.
    pub fn of_record(record: &Record) -> AnnouncementTime {
        let Some(head) = record.head() else {
            return AnnouncementTime::Next;
        };
        let later = record
            .accepted()
            .and_then(|accepted| accepted.times.announce_after.as_ref());
        match (AnnouncementTime::of(head.kind(), head.priority()), later) {
            (AnnouncementTime::Next, Some(at)) => AnnouncementTime::Later(at.clone()),
            (announcement, _) => announcement,
        }
    }

    /// How an agent receives the message that would see it at its next hook or wake.
    fn change(&self, reach: ExpectedReception) -> ExpectedReception {
        match (reach, self) {
            (
                ExpectedReception::Working | ExpectedReception::Woken | ExpectedReception::Idle,
                AnnouncementTime::Later(at),
            ) => ExpectedReception::AnnouncedLater { at: at.clone() },
            (
                ExpectedReception::Working | ExpectedReception::Woken | ExpectedReception::Idle,
                AnnouncementTime::Never,
            ) => ExpectedReception::NotAnnounced,
            (reach, _) => reach,
        }
    }
}

/// How these agents will receive a message of this sender, each with the rule that reached it.
pub fn reach<'r>(
    room: &Room,
    sender: &str,
    announcement: &AnnouncementTime,
    recipients: impl Iterator<Item = (Arc<str>, &'r str)>,
) -> Vec<ExpectedRecipient> {
    let look = ReceptionLookup {
        room,
        lease: room
            .settings()
            .map(|settings| settings.session_lease)
            .unwrap_or_default(),
        calls: SessionCalls::of(&room.dir),
        roster: OnceCell::new(),
    };
    let reached = recipients
        .enumerate()
        .map(|(n, (agent, via))| ExpectedRecipient {
            reach: if n >= REACHED {
                None
            } else if *agent == *sender {
                Some(AnnouncementTime::Never.change(look.reach_of(&agent)))
            } else {
                Some(announcement.change(look.reach_of(&agent)))
            },
            agent: agent.to_string(),
            via: via.to_owned(),
        });
    reached.collect()
}

/// One line for each way, with the agents that it holds for.
pub fn sentences(recipients: &[ExpectedRecipient]) -> Vec<String> {
    let mut ways: BTreeMap<(String, &ExpectedReception), Vec<&str>> = BTreeMap::new();
    for ExpectedRecipient { agent, reach, .. } in recipients {
        if let Some(reach) = reach {
            let is_person = agent == crate::message::id::HUMAN;
            ways.entry((reach.sentence(is_person), reach))
                .or_default()
                .push(agent);
        }
    }
    ways.into_iter()
        .map(|((sentence, _), agents)| format!("{}: {sentence}", named(&agents)))
        .collect()
}

struct ReceptionLookup<'r> {
    room: &'r Room,
    lease: std::time::Duration,
    calls: SessionCalls,
    /// Read once, on demand.
    roster: OnceCell<RosterFile>,
}

/// The times in `roster.json`.
#[derive(Default, Deserialize)]
struct RosterFile {
    agents: Vec<SeenAgent>,
}

#[derive(Deserialize)]
struct SeenAgent {
    id: String,
    last_seen: Option<String>,
}

impl ReceptionLookup<'_> {
    fn reach_of(&self, agent: &str) -> ExpectedReception {
        if tag_of(agent).is_some() {
            return ExpectedReception::Link;
        }
        let lease = sessions::last_of(self.room, agent).ok().flatten();
        if let Some(lease) = lease
            .as_ref()
            .filter(|lease| lease.is_live(&self.room.dir, self.lease))
        {
            return if !lease.is_idle() {
                ExpectedReception::Working
            } else if !lease.interrupted && sessions::is_waiting(&self.room.dir, lease) {
                ExpectedReception::Woken
            } else {
                ExpectedReception::Idle
            };
        }
        if self.calls.held().contains(agent) {
            return ExpectedReception::Waiting;
        }
        let last = lease.map(|lease| lease.last).max(self.last_seen(agent));
        match last.filter(|last| Stamp::parse(last).is_some()) {
            Some(since) => ExpectedReception::Away { since },
            None => ExpectedReception::NotRunning,
        }
    }

    fn last_seen(&self, agent: &str) -> Option<String> {
        let roster = self.roster.get_or_init(|| read_roster(self.room));
        let seen = roster.agents.iter().find(|seen| seen.id == agent)?;
        seen.last_seen.clone()
    }
}

fn read_roster(room: &Room) -> RosterFile {
    let bytes = room.dir.read(layout::ROSTER, limits::REGISTRY_BYTES);
    let bytes = bytes.ok().flatten().unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}
