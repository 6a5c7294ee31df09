//! The expiry of unread mail.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::text::listed;
use crate::base::{limits, sanitize};
use crate::disk::layout;
use crate::log::find;
use crate::log::state::EXPIRED;
use crate::message::record::{MessageName, Record};
use crate::message::status::CopyStatus;
use crate::message::title::title_of_fields;
use crate::message::{id, object};
use crate::room::inbox;
use crate::room::sessions::SessionCalls;
use crate::router::Router;
use crate::router::parts::{DeadlineOf, NoticeText, WaitingMail, inbox_item};
use crate::router::seam::Cx;
use serde_json::json;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::sync::Arc;

/// The pending item of a deadline that cannot be applied.
const EXPIRED_MAIL: &str = "inbox";

impl Router {
    /// Queues the mail that is routed before due deadlines take effect.
    pub(in crate::router) fn queue_deadlines(&mut self) {
        if self.is_held() {
            return;
        }
        let calls = SessionCalls::of(self.config.dir());
        let cx = Cx::new(&self.config, &self.journal, &calls);
        self.deadlines.queue_outboxes(cx, &mut self.intake);
    }

    /// Applies due deadlines of messages: moves expired mail out of inboxes, and notifies the agents concerned. The log
    /// has the result with the next batch, and a kill before that repeats the work. Failures here are temporary.
    pub(in crate::router) fn apply_deadlines(&mut self) {
        self.queue_deadlines();
        let now = Stamp::now();
        let due: Vec<_> = self.journal.state().expiries.due(now).collect();
        for (_, seq) in due {
            let of = DeadlineOf::Message(seq);
            let mail = WaitingMail {
                intake: &self.intake,
                pending: &self.pending,
                batch: &HashSet::new(),
            };
            let is_ready = self.deadlines.is_ready(&of, &mail);
            if is_ready && let Err(e) = self.apply_expiry(seq) {
                self.pending.failed(EXPIRED_MAIL, e.to_string());
            }
            if is_ready || self.intake.is_idle() {
                self.deadlines.delay(&of);
            }
        }
    }

    fn apply_expiry(&mut self, seq: u64) -> Result<()> {
        let Some(record) = find::record_by_seq(self.config.dir(), seq)? else {
            self.journal.forget_expiry(seq);
            return Ok(());
        };
        if let Some(unread) = self.expire_copies(&record)? {
            self.report_expiry(&record, &unread);
            self.pending.clear(EXPIRED_MAIL);
        }
        Ok(())
    }

    /// Moves unread copies out of the inboxes, and returns the owners of expired copies, or `None` if a copy must be
    /// delivered first, cannot be moved, or is leased.
    fn expire_copies(&mut self, record: &Record) -> Result<Option<Vec<Arc<str>>>> {
        let (seq, name) = (record.seq, inbox::copy_name(record));
        let name: &OsStr = name.as_ref();
        let (mut unread, mut is_leased) = (Vec::new(), false);
        let state = self.journal.state();
        let all = record.recipients();
        let all: BTreeSet<Arc<str>> = all
            .map(|(agent, _)| self.config.current_name(agent))
            .collect();
        for agent in &all {
            let status = state.mailboxes.status(agent, seq);
            let is_unread = state.mailboxes.is_unread(agent, seq);
            // A stuck copy is delivered before it expires.
            if is_unread && self.progress.is_stuck(seq) {
                return Ok(None);
            }
            // A copy that was only seen expires if its reader moved it back.
            if is_unread || status.is_none() && self.is_in_inbox(agent, name) {
                let what = inbox_item(agent);
                if let Err(e) = self.storage.expire(agent, name) {
                    self.pending.failed(&what, e.to_string());
                    return Ok(None);
                }
                self.pending.clear(&what);
                self.receipts
                    .classify(self.config.dir(), state, agent, seq, name);
                is_leased |= is_unread && !self.receipts.has_left(agent, seq);
            }
            // If the log has the expiry, its notice failed.
            if self.receipts.has_expired(agent, seq) || status == Some(CopyStatus::Expired) {
                unread.push(agent.clone());
            }
        }
        // A lease ends or its message is read.
        Ok((!is_leased || !unread.is_empty()).then_some(unread))
    }

    fn is_in_inbox(&self, agent: &str, name: &OsStr) -> bool {
        let inbox = self.config.dir().sub(layout::inbox(agent));
        let found = inbox.and_then(|inbox| inbox.stat(name));
        found.is_ok_and(|meta| meta.is_some())
    }

    /// Notifies the sender of a message that expired unread, or the human if an urgent message's sender is gone.
    fn report_expiry(&mut self, record: &Record, unread: &[Arc<str>]) {
        let (seq, fields) = (record.seq, record.message_fields().unwrap_or_default());
        let Some(MessageName { from, id, .. }) = record.name() else {
            return;
        };
        let mut to = self.config.current_name(from);
        let is_gone = !self.config.registry().has_active(&to);
        let is_urgent = record.message_head().is_some_and(|head| head.is_urgent());
        if unread.is_empty() || is_gone && !is_urgent {
            self.journal.forget_expiry(seq);
            return;
        }
        if is_gone {
            to = id::HUMAN.into();
        }
        let name = id::full_name(from, id);
        let who = listed(unread);
        // In quotation marks, because the notice is mail of the router.
        let title = title_of_fields(&fields).map(|title| sanitize::quote(title, limits::TITLE));
        let title = title.unwrap_or_else(|| id.clone());
        let notice = NoticeText {
            about: format!("{EXPIRED} {seq}"),
            to: vec![to],
            kind: "notification",
            subject: format!("expired unread: {title}"),
            body: format!(
                "{name} was not read in its time by {who}. It is in their `expired/` now."
            ),
            more: object(json!({"in_reply_to": name, "metadata": {"seq": seq, "agents": unread}})),
        };
        self.notices.add(self.journal.state(), notice);
    }
}
