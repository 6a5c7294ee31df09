//! Traces a message: the status of each recipient's copy, its receipts, and the answers.

mod claimed;
mod order;
mod renames;

pub use claimed::{ClaimState, ClaimTrace};

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::written_path::write_path;
use crate::disk::{Meta, layout};
use crate::features::answers::{OVERDUE, OVERDUE_AT_LAST};
use crate::features::approvals::decision::{self, ApprovalChange};
use crate::features::claims::change::ClaimChange;
use crate::log;
use crate::log::lookup::{self, LoggedMessage, Viewer};
use crate::log::state::{self, EXPIRED, IndexKey, IndexedLog, RoomState};
use crate::message::id;
use crate::message::id::{MAILBAG, far, tag_of};
use crate::message::record::{Event, Record, RouterAction};
use crate::message::status::{CopyStatus, Receipt};
use crate::query::identity;
use crate::query::links::{self, KnownRemoteAgent};
use crate::room::Room;
use crate::room::resolve::RecipientRule;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The event of a notice that another room did not get the message, or rejected it.
const NOT_DELIVERED: &str = "not delivered";

/// The trace of a message.
#[derive(Debug, Serialize)]
pub struct MessageTrace {
    /// Record number.
    pub seq: u64,
    /// Message id.
    pub id: String,
    /// Sender.
    pub from: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Subject.
    pub subject: Option<String>,
    /// When it was accepted.
    pub accepted_at: String,
    /// Its change of claims.
    pub claim: Option<ClaimTrace>,
    /// The withdrawal of the approval by its asker. Absent for other messages and for open approvals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<StatusChange>,
    /// The original in `sent/`, if it still exists.
    #[serde(serialize_with = "write_path")]
    pub sent: Option<PathBuf>,
    /// Recipients.
    pub recipients: Vec<RecipientTrace>,
    /// Messages that answer it.
    pub answers: Vec<TracedAnswer>,
    /// Notices about its expiry, its deadline or its failed delivery to another room, or about the deadline of the
    /// approval that it asks for.
    pub notices: Vec<TraceNotice>,
}

/// One recipient's copy.
#[derive(Debug, Serialize)]
pub struct RecipientTrace {
    /// Recipient.
    pub agent: String,
    /// The agent that has its mail, if its name changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    /// Kind of address that reached the recipient.
    pub via: String,
    /// Current status.
    pub status: CopyStatus,
    /// Status history, in log order.
    pub statuses: Vec<StatusChange>,
}

/// One status change.
#[derive(Debug, Clone, Serialize)]
pub struct StatusChange {
    /// The status.
    pub status: CopyStatus,
    /// When the receipt was recorded; for `delivered`, when the file reached the inbox, and for `announced`, when a hook or a
    /// tool showed it. `null` if that is no longer known.
    pub at: Option<String>,
    /// Agent that set the status, for a status set by an ack.
    pub by: Option<String>,
    /// Note of that agent.
    pub note: Option<String>,
}

/// An answer.
#[derive(Debug, Serialize)]
pub struct TracedAnswer {
    /// Record number.
    pub seq: u64,
    /// Message id.
    pub id: String,
    /// Sender.
    pub from: String,
    /// When it was accepted.
    pub accepted_at: String,
    /// The option that it chose, if it decided an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
}

/// A notice to an agent.
#[derive(Debug, Serialize)]
pub struct TraceNotice {
    /// Recipient of the notice.
    pub agent: String,
    /// `expired` or `overdue`; for an approval, `decided` or `escalated`; `not delivered` if another room rejected it or
    /// its link was removed.
    pub event: String,
    /// The outcome of the approval: an option, or `denied`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// When it was recorded.
    pub at: String,
}

/// Traces a message by reference. With an asker, only messages that the asker sent or received are considered.
///
/// ```
/// use mailbag::query::trace::trace;
/// use mailbag::room::Room;
/// use mailbag::router::daemon;
///
/// let home = tempfile::tempdir()?;
/// let (room, _) = Room::init(home.path())?;
/// let file = r#"{"id": "n-1", "to": "human", "body": "a note"}"#;
/// std::fs::write(home.path().join("outbox/human/note.json"), file)?;
/// daemon::pass(&room)?;
/// let trace = trace(&room, None, "n-1")?;
/// assert_eq!(&*trace.recipients[0].agent, "human");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn trace(room: &Room, asker: Option<&str>, reference: &str) -> Result<MessageTrace> {
    let state = state::committed(&room.dir)?;
    let viewer = asker.map_or(Ok(Viewer::ALL), |asker| identity::viewer(room, asker))?;
    let log = state.indexed(&room.dir);
    let (meant, place) = lookup::locate_one(&log, &viewer, reference)?;
    let mut tracing = MessageTracer::new(room, &meant);
    tracing.record = log::read_record(&room.dir, place)?;
    tracing.read_related(&log)?;
    tracing.finish(&state)
}

struct MessageTracer<'a> {
    room: &'a Room,
    meant: &'a LoggedMessage,
    record: Option<Record>,
    /// The steps of each recipient, and of the agents that were renamed to it.
    steps: BTreeMap<Arc<str>, Vec<StatusChange>>,
    /// The recipients, each with its present name.
    now: BTreeMap<Arc<str>, Arc<str>>,
    /// The withdrawal of the approval.
    withdrawn: Option<StatusChange>,
    answers: Vec<TracedAnswer>,
    notices: Vec<TraceNotice>,
}

impl<'a> MessageTracer<'a> {
    fn new(room: &'a Room, meant: &'a LoggedMessage) -> MessageTracer<'a> {
        let (steps, answers, notices) = (BTreeMap::new(), Vec::new(), Vec::new());
        let now = meant
            .recipients
            .iter()
            .map(|agent| (agent.clone(), agent.clone()))
            .collect();
        MessageTracer {
            room,
            meant,
            record: None,
            steps,
            now,
            withdrawn: None,
            answers,
            notices,
        }
    }

    /// Reads the later records that concern the message.
    fn read_related(&mut self, log: &IndexedLog<'_>) -> Result<()> {
        let (id, seq) = (&*self.meant.id, self.meant.seq);
        let related = log.records(&[
            IndexKey::Concerned(seq),
            IndexKey::Answered(id),
            IndexKey::Answered(&seq.to_string()),
            IndexKey::Rename,
        ])?;
        for (_, record) in related.iter().filter(|(_, record)| record.seq > seq) {
            self.take(record);
        }
        Ok(())
    }

    fn take(&mut self, record: &Record) {
        self.advance(&record.receipts, &record.at, None, None);
        self.advance_far(record);
        // Receipts in this record are older than the renaming.
        if let Some(ClaimChange::Rename { of, to, twice }) = record.facts.claims.as_ref() {
            self.rename(of, to, twice);
        }
        match &record.event {
            Event::Accepted(accepted) => {
                if let Some(RouterAction::Ack(receipts)) = &accepted.act {
                    let (by, note) = (&accepted.name.from, text(record, "body"));
                    self.note_withdrawal(record, receipts, note.as_deref());
                    self.advance(receipts, &record.at, Some(by), note);
                } else if is_of_far_router(record) {
                    let is_error = text(record, "type").as_deref() == Some("error");
                    if is_error && self.is_answered_by(record) {
                        self.note_to_recipients(record, NOT_DELIVERED, None);
                    }
                } else if self.is_answered_by(record) {
                    let option = match record.facts.approvals.as_ref() {
                        Some(ApprovalChange::Decide { option, .. }) => Some(option.clone()),
                        _ => None,
                    };
                    self.answers.push(TracedAnswer {
                        seq: record.seq,
                        id: accepted.name.id.clone(),
                        from: accepted.name.from.to_string(),
                        accepted_at: record.at.clone(),
                        option,
                    });
                }
            }
            Event::Notice(_) => self.add_notice(record),
            _ => {}
        }
    }

    /// The end of an approval. The statuses of copies do not show it if their owners had closed them.
    fn note_withdrawal(&mut self, record: &Record, receipts: &[Receipt], note: Option<&str>) {
        let LoggedMessage { seq, from, id, .. } = self.meant;
        if let Some(ApprovalChange::Withdraw { approvals }) = record.facts.approvals.as_ref()
            && approvals.contains(&id::full_name(from, id))
            && let Some(receipt) = receipts.iter().find(|receipt| receipt.seqs.contains(seq))
        {
            self.withdrawn = Some(StatusChange {
                status: receipt.status,
                at: Some(record.at.clone()),
                by: Some(record.sender().to_owned()),
                note: note.map(str::to_owned),
            });
        }
    }

    fn advance(&mut self, receipts: &[Receipt], at: &str, by: Option<&str>, note: Option<String>) {
        for receipt in receipts {
            let Some(n) = receipt.seqs.iter().position(|seq| *seq == self.meant.seq) else {
                continue;
            };
            if receipt.status == CopyStatus::Delivered {
                continue;
            }
            let at = receipt.times.get(n).map_or_else(
                || at.to_owned(),
                |micros| Stamp::from_micros(*micros).to_string(),
            );
            for agent in self.called(&receipt.agent) {
                let (at, by) = (Some(at.clone()), by.map(str::to_owned));
                let replaced = receipt.by.map(|seq| format!("replaced by #{seq}"));
                let kept = tag_of(&agent).map(|tag| format!("{tag} keeps its copy"));
                let note: Vec<&str> = [replaced.as_deref(), kept.as_deref(), note.as_deref()]
                    .into_iter()
                    .flatten()
                    .collect();
                let note = (!note.is_empty()).then(|| note.join(": "));
                let step = StatusChange {
                    status: receipt.status,
                    at,
                    by,
                    note,
                };
                let steps = self.steps.entry(agent).or_default();
                // A copy that was in `taken/` then is closed again when it returns to the inbox.
                let is_closed_again = step.by.is_none()
                    && step.status.is_set_by_sender()
                    && steps.iter().any(|known| known.status == step.status);
                // A copy that its reader moved back is read again.
                let is_read_again = step.by.is_none()
                    && steps.last().is_some_and(|last| last.status == step.status);
                if !is_closed_again && !is_read_again {
                    steps.push(step);
                }
            }
        }
    }

    /// The recipients that have this name now.
    fn called(&self, agent: &Arc<str>) -> Vec<Arc<str>> {
        self.now
            .iter()
            .filter(|(_, now)| *now == agent)
            .map(|(recipient, _)| recipient.clone())
            .collect()
    }

    /// The other room's report about its recipients of the message.
    fn advance_far(&mut self, record: &Record) {
        let Some(arrived) = record.arrived() else {
            return;
        };
        for receipt in arrived
            .receipts
            .iter()
            .filter(|receipt| receipt.seqs.contains(&self.meant.seq))
        {
            let (at, by) = (Some(record.at.clone()), Some(arrived.link.to_string()));
            let step = StatusChange {
                status: receipt.status,
                at,
                by,
                note: None,
            };
            self.steps
                .entry(far(&arrived.link, &receipt.agent).into())
                .or_default()
                .push(step);
        }
    }

    /// Another room reports by id. A recipient that was addressed by its display name gets these steps.
    fn join_display_names(&mut self, record: &Record) {
        let far: Vec<&str> = record
            .recipients()
            .map(|(agent, _)| &**agent)
            .filter(|agent| tag_of(agent).is_some() && !self.steps.contains_key(*agent))
            .collect();
        // Without far recipients, no settings are read. Without known agents, ids and addresses are shown.
        let known = if far.is_empty() {
            Vec::new()
        } else {
            links::remote(self.room).unwrap_or_default()
        };
        for address in far {
            let is_it = |one: &&KnownRemoteAgent| one.is_called(address);
            if let Some(one) = known.iter().find(is_it)
                && let Some(steps) = self.steps.remove(&*one.id)
            {
                self.steps.insert(address.into(), steps);
            }
        }
    }

    /// The recipients in this room and in other rooms: each address, and each agent that its room reported.
    fn recipients(&self, record: &Record, state: &RoomState) -> Vec<RecipientTrace> {
        let mut recipients: Vec<RecipientTrace> = record
            .recipients()
            .map(|(agent, via)| self.recipient(record, agent, via, state))
            .collect();
        let heard: Vec<&Arc<str>> = self
            .steps
            .keys()
            .filter(|agent| {
                tag_of(agent).is_some() && record.recipients().all(|(known, _)| *known != **agent)
            })
            .collect();
        recipients.extend(
            heard
                .into_iter()
                .map(|agent| self.recipient(record, agent, RecipientRule::Link.as_str(), state)),
        );
        recipients
    }

    fn is_answered_by(&self, record: &Record) -> bool {
        let LoggedMessage { seq, from, id, .. } = self.meant;
        let by_name =
            || text(record, "in_reply_to").is_some_and(|reply| self.meant.is_named_by(&reply));
        if let Some(ApprovalChange::Decide { approval, .. }) = record.facts.approvals.as_ref() {
            return *approval == id::full_name(from, id);
        }
        let is_to_sender = record.recipients().any(|(to, _)| to == from);
        record.facts.answered() == Some(*seq)
            || (is_to_sender && self.is_from_recipient(record) && by_name())
    }

    /// Returns true if a recipient sent this record. The trace does not know the addresses of agents in other rooms.
    fn is_from_recipient(&self, record: &Record) -> bool {
        record.name().is_some_and(|name| {
            let sender = &name.from;
            let recipients = &self.meant.recipients;
            !self.called(sender).is_empty() || is_far(sender) && recipients.iter().any(is_far)
        })
    }

    fn add_notice(&mut self, record: &Record) {
        if state::undelivered(record).contains(&self.meant.seq) {
            return self.note_to_recipients(record, NOT_DELIVERED, None);
        }
        let about = record.about().and_then(|about| about.split_once(' '));
        let name = id::full_name(&self.meant.from, &self.meant.id);
        let (event, outcome) = match (record.facts.approvals.as_ref(), about) {
            (Some(ApprovalChange::Expire { approval, option }), _) if *approval == name => {
                let outcome = option.as_deref().unwrap_or(decision::DENIED);
                ("decided", Some(outcome))
            }
            (Some(ApprovalChange::Escalate { approval, .. }), _) if *approval == name => {
                ("escalated", None)
            }
            (None, Some((what, seq))) if seq.parse() == Ok(self.meant.seq) => match what {
                EXPIRED => (EXPIRED, None),
                OVERDUE | OVERDUE_AT_LAST => (OVERDUE, None),
                _ => return,
            },
            _ => return,
        };
        self.note_to_recipients(record, event, outcome);
    }

    fn note_to_recipients(&mut self, record: &Record, event: &str, outcome: Option<&str>) {
        let notices = record.recipients().map(|(agent, _)| TraceNotice {
            agent: agent.to_string(),
            event: event.into(),
            outcome: outcome.map(str::to_owned),
            at: record.at.clone(),
        });
        self.notices.extend(notices);
    }

    fn finish(mut self, state: &RoomState) -> Result<MessageTrace> {
        let record = self.record.take().ok_or_else(|| {
            Error::not_found(
                format!("record {} is missing from the log", self.meant.seq),
                "run `mailbag log verify` to find the damage of the log",
            )
        })?;
        self.join_display_names(&record);
        let recipients = self.recipients(&record, state);
        Ok(MessageTrace {
            seq: record.seq,
            id: self.meant.id.clone(),
            from: self.meant.from.to_string(),
            kind: text(&record, "type").unwrap_or_else(|| "message".into()),
            subject: text(&record, "subject"),
            claim: record
                .facts
                .claims
                .as_ref()
                .and_then(|change| ClaimTrace::of(change, self.meant, state)),
            sent: self.original(&record),
            withdrawn: self.withdrawn,
            recipients,
            accepted_at: record.at,
            answers: self.answers,
            notices: self.notices,
        })
    }

    fn recipient(
        &self,
        record: &Record,
        agent: &str,
        via: &str,
        state: &RoomState,
    ) -> RecipientTrace {
        let mut statuses = vec![StatusChange {
            status: CopyStatus::Accepted,
            at: Some(record.at.clone()),
            by: None,
            note: None,
        }];
        let mut later = self.steps.get(agent).cloned().unwrap_or_default();
        // Its sender can close a copy that is not delivered yet.
        let has_receipts = later.iter().any(|step| !step.status.is_set_by_sender());
        statuses.extend(self.delivery(record, agent, state, has_receipts));
        // An announcement is recorded when the copy leaves its inbox, or before it is announced again.
        let recorded = later
            .iter()
            .position(|step| step.status == CopyStatus::Announced);
        match recorded {
            None => statuses.extend(self.marker(record, agent)),
            Some(n) if tag_of(agent).is_none() => statuses.push(later.remove(n)),
            Some(_) => {}
        }
        let next = later.iter().find_map(|step| step.at.clone());
        order::in_order(&mut statuses, next.as_deref());
        statuses.extend(later);
        let status = statuses
            .iter()
            .map(|step| step.status)
            .max_by_key(|status| status.rank())
            .unwrap_or(CopyStatus::Accepted);
        let renamed_to = self
            .now
            .get(agent)
            .filter(|now| ***now != *agent)
            .map(ToString::to_string);
        RecipientTrace {
            agent: agent.to_owned(),
            renamed_to,
            via: via.to_owned(),
            status,
            statuses,
        }
    }

    /// A committed copy that is no longer staged was delivered.
    fn delivery(
        &self,
        record: &Record,
        agent: &str,
        state: &RoomState,
        has_receipts: bool,
    ) -> Option<StatusChange> {
        if tag_of(agent).is_some() {
            return None;
        }
        let open = state.open.get(&record.seq);
        let now = self.now.get(agent).map_or(agent, |now| &**now);
        let staged = open.and_then(|open| {
            open.deliveries()
                .find(|delivery| [agent, now].contains(&&*delivery.agent))
        });
        let is_staged = match staged {
            Some(delivery) => self.look(layout::STAGE, &delivery.staged).is_some(),
            None => false,
        };
        if is_staged && !has_receipts {
            return None;
        }
        let came = self
            .look(layout::inbox(now), &self.file_name(record))
            .map(|meta| meta.changed_at().to_string());
        Some(StatusChange {
            status: CopyStatus::Delivered,
            at: came,
            by: None,
            note: None,
        })
    }

    /// The marker of an announcement, which exists as long as the copy is unread.
    fn marker(&self, record: &Record, agent: &str) -> Option<StatusChange> {
        let marker = self.look(
            layout::announced(self.now.get(agent).map_or(agent, |now| &**now)),
            &self.file_name(record),
        );
        Some(StatusChange {
            status: CopyStatus::Announced,
            at: Some(marker?.modified_at().to_string()),
            by: None,
            note: None,
        })
    }

    fn file_name(&self, record: &Record) -> String {
        layout::delivered(record.stamp(), &self.meant.from, &self.meant.id)
    }

    fn original(&self, record: &Record) -> Option<PathBuf> {
        let claim = record.claim().and_then(layout::read_claim)?;
        let (sent, name) = (
            layout::sent(claim.agent),
            layout::retired(record.seq, claim.original),
        );
        self.look(&sent, &name).map(|_| sent.join(name))
    }

    fn look(&self, directory: impl AsRef<Path>, name: &str) -> Option<Meta> {
        self.room.dir.sub(directory).ok()?.stat(name).ok().flatten()
    }
}

fn is_far(agent: &Arc<str>) -> bool {
    tag_of(agent).is_some()
}

/// Returns true for a report of another room's router. It is not an answer.
fn is_of_far_router(record: &Record) -> bool {
    let Some(from) = record.from() else {
        return false;
    };
    tag_of(from).is_some_and(|tag| **from == *far(tag, MAILBAG))
}

fn text(record: &Record, field: &str) -> Option<String> {
    let fields = record.message_fields()?;
    fields.get(field).and_then(Value::as_str).map(str::to_owned)
}
