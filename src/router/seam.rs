//! The seam between the router and the features: a feature reads the room in [`Cx`], changes the record of a message in
//! its [`Draft`], and acts in time with its [`Due`] notices.

pub(crate) use super::parts::NoticeText;
use super::parts::{Journal, RoomConfig};
use super::steps::availability::AgentAvailability;
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::disk::Dir;
use crate::log::LogPosition;
use crate::log::state::{IndexedLog, RoomState};
use crate::message::Message;
use crate::message::record::{Facts, RecipientGroup, Record, RouterAction};
use crate::message::status::Receipt;
use crate::message::title::title_of_fields;
use crate::room::Room;
use crate::room::registry::Registry;
use crate::room::resolve::RecipientRule;
use crate::room::sessions::SessionCalls;
use crate::room::settings::Settings;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The room after the last record, for a feature.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    pub(in crate::router) config: &'a RoomConfig,
    pub(in crate::router) journal: &'a Journal,
    pub(crate) calls: &'a SessionCalls,
    pub(crate) now: Stamp,
}

impl<'a> Cx<'a> {
    pub(in crate::router) fn new(
        config: &'a RoomConfig,
        journal: &'a Journal,
        calls: &'a SessionCalls,
    ) -> Cx<'a> {
        Cx {
            config,
            journal,
            calls,
            now: Stamp::now(),
        }
    }

    pub(crate) fn room(self) -> &'a Room {
        self.config.room()
    }

    pub(crate) fn dir(self) -> &'a Dir {
        self.config.dir()
    }

    pub(crate) fn registry(self) -> &'a Registry {
        self.config.registry()
    }

    pub(crate) fn settings(self) -> &'a Settings {
        self.config.settings()
    }

    pub(crate) fn state(self) -> &'a RoomState {
        self.journal.state()
    }

    /// The log with the records of this batch.
    pub(crate) fn log(self) -> IndexedLog<'a> {
        self.journal.indexed(self.dir())
    }

    /// The record at a position of the log or of this batch.
    pub(crate) fn read_record(self, at: LogPosition) -> Result<Option<Record>> {
        self.journal.read_record(self.dir(), at)
    }

    /// The agents at this time, to resolve an address.
    pub(crate) fn availability(self) -> AgentAvailability<'a> {
        AgentAvailability {
            config: self.config,
            state: self.state(),
            calls: self.calls,
        }
    }

    /// The agents of a list that can get mail, each once.
    pub(crate) fn registered(self, agents: impl IntoIterator<Item = Arc<str>>) -> Vec<Arc<str>> {
        let mut to: Vec<Arc<str>> = Vec::new();
        for agent in agents {
            if !to.contains(&agent) && self.registry().has_active(&agent) {
                to.push(agent);
            }
        }
        to
    }
}

/// A message that every feature judges before its record is made.
pub(crate) struct Draft {
    pub(crate) message: Box<Message>,
    /// Its sender.
    pub(crate) from: Arc<str>,
    /// Its file in `spool/claim`.
    pub(in crate::router) claim: Option<String>,
    /// Its recipients.
    pub(crate) to: Vec<RecipientGroup>,
    /// The router's own action.
    pub(crate) act: Option<RouterAction>,
    /// The changes that the record makes.
    pub(crate) facts: Facts,
    /// Further fields of `delivery` in its copies.
    pub(crate) delivery: Map<String, Value>,
    /// Notices in the same batch, after the messages of its file.
    pub(crate) notices: Vec<NoticeText>,
}

impl Draft {
    /// The time of the last write to its file, by the clock of the file system.
    pub(crate) fn dropped(&self, cx: Cx<'_>) -> Result<Option<Stamp>> {
        cx.config.dropped_at(self.claim.as_deref())
    }

    /// The changes of statuses that an ack makes.
    pub(crate) fn receipts(&self) -> &[Receipt] {
        match &self.act {
            Some(RouterAction::Ack(receipts)) => receipts,
            _ => &[],
        }
    }

    /// Adds a recipient, unless it is one already or cannot get mail.
    pub(crate) fn add_recipient(&mut self, cx: Cx<'_>, via: RecipientRule, agent: &Arc<str>) {
        let to = &mut self.to;
        if to.iter().any(|group| group.agents.contains(agent)) || !cx.registry().has_active(agent) {
            return;
        }
        match to.iter_mut().find(|group| group.via == via.as_str()) {
            Some(group) => group.agents.push(agent.clone()),
            None => to.push(RecipientGroup {
                via: via.as_str().into(),
                agents: vec![agent.clone()],
            }),
        }
    }

    /// The agents that get the message by its addresses, and by the features that judged it so far.
    pub(crate) fn recipients(&self) -> impl Iterator<Item = &Arc<str>> {
        self.to.iter().flat_map(|group| &group.agents)
    }
}

/// The title of a message, or its id, truncated to a limit.
pub(crate) fn title_of(message: &Message) -> String {
    let title = title_of_fields(message.fields());
    sanitize::brief(title.unwrap_or(message.id()), limits::TITLE)
}

/// The due notices of a feature, and the time of the next ones.
#[derive(Default)]
pub(crate) struct Due {
    pub(crate) now: Vec<DueNotice>,
    pub(crate) next: Option<Stamp>,
}

impl Due {
    /// Adds a due notice.
    pub(crate) fn add(
        &mut self,
        at: Stamp,
        hear: Vec<Arc<str>>,
        notice: NoticeText,
        facts: impl Into<Facts>,
    ) {
        self.now.push(DueNotice {
            at,
            hear,
            notice,
            facts: facts.into(),
        });
    }

    /// Lets the router ask again at this time.
    pub(crate) fn ask_at(&mut self, at: Stamp) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

/// A notice of the router that is due, with the changes that its record makes. A state with its record must not have
/// it as due.
pub(crate) struct DueNotice {
    /// The time since it is due.
    pub(crate) at: Stamp,
    /// The agents that can prevent it by mail. Their waiting mail is judged first, if that takes at most ten seconds.
    pub(crate) hear: Vec<Arc<str>>,
    pub(crate) notice: NoticeText,
    pub(crate) facts: Facts,
}
