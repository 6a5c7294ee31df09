//! Approvals: which are open, and how the last ones were decided.
//!
//! The records of the log decide: [`Approvals::apply`] applies them in their order and rejects nothing. The router asks
//! before it writes a record whether a decision is valid.

use super::decision::{self, ApprovalChange, ApprovalTerms, PinnedKey};
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::hash::{Hash, hex};
use crate::base::limits;
use crate::base::rfc3339;
use crate::base::text::to_the_second;
use crate::log::state::{ChangeSource, renames};
use crate::message::id;
use crate::message::record::RecipientGroup;
use crate::message::reference::{Reference, ReferenceResolution};
use crate::message::status::Receipt;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The number of decided approvals that the state keeps.
const DECIDED: usize = 1000;

/// An open approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenApproval {
    /// Its message, as `<sender>/<id>`.
    pub approval: String,
    /// The record of its message.
    pub seq: u64,
    /// The digest of its message, in hexadecimal. A decision names it, so that it is bound to the text.
    pub digest: String,
    /// The asker.
    pub from: Arc<str>,
    /// The agents that can decide.
    pub to: Vec<Arc<str>>,
    /// When it was asked, in microseconds since 1970.
    #[serde(with = "rfc3339")]
    pub since: i64,
    /// When its present deadline was set.
    #[serde(with = "rfc3339")]
    deadline_since: i64,
    /// How often its deadline has passed.
    pub escalated: u32,
    /// Its terms.
    #[serde(flatten)]
    pub terms: ApprovalTerms,
}

impl OpenApproval {
    /// The problem of a decision with the digest of another text.
    pub fn check_digest(&self, digest: &str) -> Option<Problem> {
        if digest == self.digest {
            return None;
        }
        let what = format!(
            "the digest is not the digest of {}, so the decision is about another text",
            self.approval
        );
        Some(Problem::new("other_text", what).fix(format!(
            "read the approval again and decide on it: `mailbag decide {}`",
            self.seq
        )))
    }
}

/// An approval that is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedApproval {
    /// Its message, as `<sender>/<id>`.
    pub approval: String,
    /// The record of its message.
    pub asked: u64,
    /// The asker.
    pub from: Arc<str>,
    /// The question, in one line.
    pub title: String,
    /// The chosen option. `None` if it was denied at its deadline, or withdrawn.
    pub option: Option<String>,
    /// The agent that decided, or the asker if it withdrew the approval. `None` for the deadline.
    pub by: Option<Arc<str>>,
    /// The record that closed it.
    pub seq: u64,
    /// When it was closed, in microseconds since 1970.
    #[serde(with = "rfc3339")]
    pub at: i64,
}

impl OpenApproval {
    /// Returns true if its deadline has passed.
    pub fn is_due(&self, now: Stamp) -> bool {
        self.terms.deadline.is_some_and(|at| at <= now.micros())
    }
}

impl ClosedApproval {
    /// The outcome, as a word.
    pub fn word(&self) -> &str {
        self.option.as_deref().unwrap_or(if self.is_withdrawn() {
            decision::WITHDRAWN
        } else {
            decision::DENIED
        })
    }

    /// Returns true if its asker withdrew it.
    pub fn is_withdrawn(&self) -> bool {
        self.option.is_none() && self.by.is_some()
    }

    /// The problem of another decision by this agent.
    pub fn decided_already(&self, agent: &str) -> Problem {
        let by = match self.by.as_deref() {
            None => "its deadline",
            Some(by) if by == agent => "you",
            Some(by) => by,
        };
        let at = to_the_second(&Stamp::from_micros(self.at).to_string());
        let what = format!(
            "{} was decided already: {}, by {by} at {at}",
            self.approval,
            self.word()
        );
        Problem::new("decided_already", what).fix("nothing was changed; the first decision counts")
    }
}

/// An approval that a reference names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedApproval<'a> {
    /// It waits for a decision.
    Open(&'a OpenApproval),
    /// It was decided, denied or withdrawn.
    Closed(&'a ClosedApproval),
}

/// All approvals of a room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvals {
    open: Vec<OpenApproval>,
    decided: VecDeque<ClosedApproval>,
    pin: Option<PinnedKey>,
    changed: u64,
}

impl Approvals {
    /// Applies a record with these recipients, and a message with this digest.
    pub fn apply(
        &mut self,
        step: &ApprovalChange,
        record: ChangeSource<'_>,
        recipients: &[RecipientGroup],
        digest: &Hash,
    ) {
        let ChangeSource { seq, from, id, .. } = record;
        let at = record.at.micros();
        self.changed = seq;
        match step {
            ApprovalChange::Ask(terms) => {
                let to = recipients
                    .iter()
                    .flat_map(|group| &group.agents)
                    .filter(|agent| *agent != from);
                let (approval, from, to) =
                    (id::full_name(from, id), from.clone(), to.cloned().collect());
                self.open.push(OpenApproval {
                    approval,
                    seq,
                    digest: hex(digest),
                    from,
                    to,
                    since: at,
                    deadline_since: at,
                    escalated: 0,
                    terms: terms.clone(),
                });
            }
            ApprovalChange::Decide {
                approval,
                option,
                pin,
                ..
            } => {
                if pin.is_some() {
                    self.pin.clone_from(pin);
                }
                self.close(approval, Some(option.clone()), Some(from.clone()), seq, at);
            }
            ApprovalChange::Expire { approval, option } => {
                self.close(approval, option.clone(), None, seq, at)
            }
            ApprovalChange::Withdraw { approvals } => {
                for approval in approvals {
                    self.close(approval, None, Some(from.clone()), seq, at);
                }
            }
            ApprovalChange::Escalate {
                approval,
                to,
                deadline,
            } => {
                let Some(open) = self.open.iter_mut().find(|open| open.approval == *approval)
                else {
                    return;
                };
                let new = to
                    .iter()
                    .filter(|agent| !open.to.contains(agent))
                    .cloned()
                    .collect::<Vec<_>>();
                open.to.extend(new);
                (open.terms.deadline, open.deadline_since) = (*deadline, at);
                open.escalated += 1;
            }
            ApprovalChange::Propose { .. }
            | ApprovalChange::Object { .. }
            | ApprovalChange::Settle { .. }
            | ApprovalChange::Dispute { .. } => {}
        }
    }

    /// The open approvals of an asker that these receipts withdraw or supersede. Fails if one of them is decided.
    pub fn withdrawn(&self, receipts: &[Receipt], from: &str) -> Result<Vec<String>, Box<Problem>> {
        let by_sender = receipts.iter().filter(|one| one.status.is_set_by_sender());
        let seqs: BTreeSet<u64> = by_sender.flat_map(|one| one.seqs.iter().copied()).collect();
        let mut closed = self.decided.iter();
        let decided = closed
            .find(|one| seqs.contains(&one.asked) && *one.from == *from && !one.is_withdrawn());
        if let Some(decided) = decided {
            return Err(Box::new(decided.decided_already(from).at("/refs")));
        }
        let open = self.open.iter();
        let own = open.filter(|open| *open.from == *from && seqs.contains(&open.seq));
        Ok(own.map(|open| open.approval.clone()).collect())
    }

    /// The closed approval with this record.
    pub fn closed(&self, asked: u64) -> Option<&ClosedApproval> {
        self.decided.iter().find(|one| one.asked == asked)
    }

    /// The key that is pinned for the room with this identity.
    pub fn pin(&self, place: Option<&str>) -> Option<&PinnedKey> {
        self.pin.as_ref().filter(|pin| Some(&*pin.place) == place)
    }

    /// Cuts all times after the clock was set back, in the record `seq`.
    pub(super) fn cut_times(&mut self, now: Stamp, seq: u64) {
        for open in &mut self.open {
            now.cut(&mut open.since, None);
            // A deadline that is further away than any span allows is a date that its sender chose.
            let most = limits::DEADLINE_MOST.as_micros() as i64;
            let spans = open
                .terms
                .deadline
                .as_mut()
                .filter(|at| **at - open.deadline_since <= most);
            now.cut(&mut open.deadline_since, spans);
            self.changed = seq;
        }
        for one in &mut self.decided {
            now.cut(&mut one.at, None);
        }
    }

    /// The last record that changed anything; 0 for none.
    pub fn changed_at(&self) -> u64 {
        self.changed
    }

    /// The open approvals, in the order of the log.
    pub fn open(&self) -> &[OpenApproval] {
        &self.open
    }

    /// The approval that a complete reference names. Open and closed ones are searched together, so that a repeated
    /// decision on a closed approval never decides another one.
    pub fn find(&self, reference: &str) -> ReferenceResolution<NamedApproval<'_>> {
        let Some(reference) = Reference::parse(reference) else {
            return ReferenceResolution::None;
        };
        let is_named = |approval: &str, seq: u64| {
            let (from, id) = approval.split_once('/').unwrap_or_default();
            reference.is_of(from, id, Some(seq))
        };
        let open = self
            .open
            .iter()
            .filter(|open| is_named(&open.approval, open.seq));
        let closed = self
            .decided
            .iter()
            .filter(|one| is_named(&one.approval, one.asked));
        let all = open
            .map(NamedApproval::Open)
            .chain(closed.map(NamedApproval::Closed));
        ReferenceResolution::of(all.collect())
    }

    /// The open approval about the proposals of this thread.
    pub fn about_thread(&self, thread: &str) -> Option<&OpenApproval> {
        let mut open = self.open.iter();
        open.find(|open| open.terms.thread.as_deref() == Some(thread))
    }

    /// Moves the approvals of one agent to another, in the record `at`.
    pub(super) fn rename(&mut self, of: &str, to: &Arc<str>, at: u64) {
        for open in &mut self.open {
            if *open.from == *of || open.to.iter().any(|one| **one == *of) {
                self.changed = at;
            }
            if *open.from == *of {
                open.from = to.clone();
            }
            renames::replace(&mut open.to, of, to);
            // The asker cannot decide.
            open.to.retain(|one| *one != open.from);
            renames::replace(&mut open.terms.tell, of, to);
        }
    }

    fn close(
        &mut self,
        approval: &str,
        option: Option<String>,
        by: Option<Arc<str>>,
        seq: u64,
        at: i64,
    ) {
        let Some(n) = self.open.iter().position(|open| open.approval == *approval) else {
            return;
        };
        let OpenApproval {
            approval,
            seq: asked,
            from,
            terms,
            ..
        } = self.open.remove(n);
        if self.decided.len() >= DECIDED {
            self.decided.pop_front();
        }
        self.decided.push_back(ClosedApproval {
            approval,
            asked,
            from,
            title: terms.title,
            option,
            by,
            seq,
            at,
        });
    }
}
