//! What the router itself has to tell somebody, each once.

use crate::log::state::State;
use crate::message::id;
use crate::message::record::Record;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The beginning of the name of a message of the router's own in the pending list.
const ITEM: &str = "notice ";

/// Notices that are not in the log yet.
#[derive(Default)]
pub(crate) struct Notices {
    /// For the next batch.
    queued: Vec<Notice>,
    /// In a batch that is not committed yet.
    held: Vec<Notice>,
}

/// A message of the router's own.
#[derive(Clone)]
pub(crate) struct Notice {
    /// What it is about: the log has each only once.
    pub(crate) about: String,
    pub(crate) to: Arc<str>,
    pub(crate) kind: &'static str,
    pub(crate) subject: String,
    pub(crate) body: String,
    /// Further fields.
    pub(crate) more: Map<String, Value>,
}

impl Notice {
    /// The name of a message of the router's own in the pending list.
    pub(crate) fn item(about: &str) -> String {
        format!("{ITEM}{about}")
    }

    /// The subject of a message of the router's own in the pending list.
    pub(crate) fn about_of(item: &str) -> Option<&str> {
        item.strip_prefix(ITEM)
    }

    fn is_same(&self, other: &Notice) -> bool {
        self.about == other.about && self.to == other.to
    }
}

impl Notices {
    /// Is there nothing for the next batch?
    pub(crate) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Tells the human, unless the log has it already.
    pub(crate) fn tell_human(
        &mut self,
        state: &State,
        about: String,
        subject: String,
        body: String,
    ) {
        self.tell(state, id::HUMAN.into(), about, subject, body);
    }

    /// Tells an agent, unless the log has it already.
    pub(crate) fn tell(
        &mut self,
        state: &State,
        to: Arc<str>,
        about: String,
        subject: String,
        body: String,
    ) {
        self.add(
            state,
            Notice {
                about,
                to,
                kind: "alert",
                subject,
                body,
                more: Map::new(),
            },
        );
    }

    /// Queues a notice, unless the log or the queue has it already.
    pub(crate) fn add(&mut self, state: &State, notice: Notice) {
        let is_new = !state.notices.contains(&notice.about);
        if is_new
            && !self
                .queued
                .iter()
                .chain(&self.held)
                .any(|other| other.is_same(&notice))
        {
            self.queued.push(notice);
        }
    }

    /// The notices for a batch. They are held until it is committed.
    pub(crate) fn take(&mut self) -> Vec<Notice> {
        let notices = std::mem::take(&mut self.queued);
        self.held.extend(notices.iter().cloned());
        notices
    }

    /// The log has this record.
    pub(crate) fn committed(&mut self, record: &Record) {
        let Some(about) = record.about() else { return };
        self.held.retain(|one| {
            one.about != about || record.recipients().all(|(agent, _)| *agent != one.to)
        });
    }

    /// Returns true if the notice was in a batch that is not committed.
    pub(crate) fn is_held(&self, about: &str) -> bool {
        self.held.iter().any(|one| one.about == about)
    }

    /// Queues again what could not be committed.
    pub(crate) fn retry(&mut self) {
        self.queued.append(&mut self.held);
    }
}
