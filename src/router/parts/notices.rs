//! Notices: messages of the router's own, each sent once.

use super::{PendingWork, RoomConfig};
use crate::base::sanitize;
use crate::disk::layout;
use crate::log::state::RoomState;
use crate::message::id;
use crate::room::outbox::UnreadOutbox;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// The prefix of a notice in the pending list.
const ITEM: &str = "notice ";

/// Notices that are not in the log yet.
#[derive(Default)]
pub(crate) struct NoticeQueue {
    /// Notices for the next batch.
    queued: Vec<NoticeText>,
    /// Notices in the present batch.
    taken: Vec<NoticeText>,
    /// Notices that failed, until their next try.
    failed: Vec<NoticeText>,
}

/// A message of the router's own.
#[derive(Clone)]
pub(crate) struct NoticeText {
    /// Its subject in the log, which has one notice for each subject.
    pub(crate) about: String,
    pub(crate) to: Vec<Arc<str>>,
    pub(crate) kind: &'static str,
    pub(crate) subject: String,
    pub(crate) body: String,
    /// Further fields.
    pub(crate) more: Map<String, Value>,
}

impl NoticeText {
    pub(crate) fn alert(to: Arc<str>, about: String, subject: String, body: String) -> NoticeText {
        NoticeText {
            about,
            to: vec![to],
            kind: "alert",
            subject,
            body,
            more: Map::new(),
        }
    }

    /// The pending item of a notice.
    pub(crate) fn item(about: &str) -> String {
        format!("{ITEM}{about}")
    }

    /// The subject of a pending notice.
    pub(crate) fn about_of(item: &str) -> Option<&str> {
        item.strip_prefix(ITEM)
    }

    fn is_same(&self, other: &NoticeText) -> bool {
        self.about == other.about && self.to == other.to
    }
}

impl NoticeQueue {
    /// Returns true if no notice waits for the next batch.
    pub(crate) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Queues a notice to the human, unless the log or the queue has it.
    pub(crate) fn notify_human(
        &mut self,
        state: &RoomState,
        about: String,
        subject: String,
        body: String,
    ) {
        self.add(
            state,
            NoticeText::alert(id::HUMAN.into(), about, subject, body),
        );
    }

    /// Reports mail in an outbox that the router does not read to the human, and lists it as pending. The files stay.
    pub(crate) fn report_unread_outbox(
        &mut self,
        state: &RoomState,
        config: &RoomConfig,
        pending: &mut PendingWork,
        outbox: &str,
    ) {
        let UnreadOutbox { reason, fix } =
            UnreadOutbox::of(config.dir(), Some(config.registry()), outbox);
        let place = layout::below(Path::new(layout::OUTBOXES), outbox.as_ref());
        let place = place.display().to_string();
        pending.not_ready(&place, &format!("{reason}: {fix}"), None);
        self.notify_human(
            state,
            format!("outbox:{outbox}"),
            format!("{} has mail, but {reason}", sanitize::line(&place)),
            format!(
                "Its files stay there until you do this:\n\n    {fix}\n\nThen they are routed."
            ),
        );
    }

    /// Queues a notice, unless the log or the queue has it.
    pub(crate) fn add(&mut self, state: &RoomState, notice: NoticeText) {
        let mut waiting = self.queued.iter().chain(&self.taken).chain(&self.failed);
        if !state.notices.contains(&notice.about) && !waiting.any(|other| other.is_same(&notice)) {
            self.queued.push(notice);
        }
    }

    /// Takes the notices for a batch.
    pub(crate) fn take(&mut self) -> Vec<NoticeText> {
        self.taken = std::mem::take(&mut self.queued);
        self.taken.clone()
    }

    /// Notes that the log has the notices of the batch.
    pub(crate) fn committed(&mut self) {
        self.taken.clear();
    }

    /// Keeps the notices of a batch that failed. The notice with this subject waits for [`NoticeQueue::retry`], and so do all
    /// if `all` is true. The others join the next batch. Returns the subjects of the
    /// waiting ones.
    pub(crate) fn give_back(&mut self, failed: Option<&str>, all: bool) -> Vec<String> {
        let (failed, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.taken)
            .into_iter()
            .partition(|notice| all || failed == Some(&*notice.about));
        let abouts = failed.iter().map(|notice| notice.about.clone()).collect();
        self.failed.extend(failed);
        self.queued.extend(others);
        abouts
    }

    /// Returns true if this notice waits for its next try.
    pub(crate) fn has_failed(&self, about: &str) -> bool {
        self.failed.iter().any(|one| one.about == about)
    }

    /// Queues failed notices again.
    pub(crate) fn retry(&mut self) {
        self.queued.append(&mut self.failed);
    }
}
