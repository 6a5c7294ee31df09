//! Judges approvals and decisions.

use super::decision::{self, ApprovalChange, ApprovalTerms, DeadlineOutcome};
use super::rounds::DisputeJudge;
use super::{ApprovalResult, Approvals, NamedApproval, OpenApproval, deadlines, signed, wrong};
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::base::hash::hex;
use crate::base::sanitize;
use crate::base::text::listed;
use crate::message::reference::ReferenceResolution;
use crate::message::{APPROVAL, DECISION, Message};
use crate::room::resolve::RecipientRule;
use crate::router::seam::{Cx, Draft, title_of};
use serde_json::{Value, json};
use std::sync::Arc;

/// The longest option, in characters.
const OPTION: usize = 80;
/// The most open approvals of an asker.
const APPROVALS_OF_ASKER: usize = 100;

/// The approvals of the room.
#[derive(Clone, Copy)]
struct ApprovalJudge<'a> {
    cx: Cx<'a>,
    approvals: &'a Approvals,
}

/// Judges a message about approvals or disagreements after its recipients are resolved, and adds further recipients. An
/// error is temporary.
pub(super) fn judge(
    cx: Cx<'_>,
    draft: &mut Draft,
) -> Result<std::result::Result<(), Vec<Problem>>> {
    let (judge, disputes) = (ApprovalJudge::new(cx), DisputeJudge::new(cx));
    if draft.message.kind() == "ack" {
        return Ok(judge.withdraw(draft).map_err(|problem| vec![*problem]));
    }
    if !draft.message.is_about_approvals() {
        let thread = disputes.thread_of(&draft.message);
        if let Err(problem) = judge.check_option(&draft.from, &draft.message, thread) {
            return Ok(Err(vec![*problem]));
        }
        disputes.judge(draft);
        return Ok(Ok(()));
    }
    let judged = match draft.message.kind() {
        APPROVAL => judge.ask(draft),
        _ => judge.decide(draft)?,
    };
    Ok(match judged {
        Ok((step, outcome)) => {
            draft.facts.approvals = Some(step);
            draft.delivery.insert("approval".to_owned(), outcome);
            Ok(())
        }
        Err(problem) => Err(vec![*problem]),
    })
}

impl<'a> ApprovalJudge<'a> {
    fn new(cx: Cx<'a>) -> ApprovalJudge<'a> {
        let approvals = super::of(cx.state());
        ApprovalJudge { cx, approvals }
    }

    /// Rejects a `decision` without `option` on an open approval that its sender can decide, or in the thread of
    /// proposals that such an approval is about. It would have no effect, against the sender's intention.
    fn check_option(
        self,
        agent: &Arc<str>,
        message: &Message,
        thread: Option<&str>,
    ) -> ApprovalResult<()> {
        if message.kind() != DECISION {
            return Ok(());
        }
        let reference = message.text("in_reply_to").unwrap_or_default();
        let open = match self.approvals.find(reference) {
            ReferenceResolution::One(NamedApproval::Open(open)) => Some(open),
            _ => thread.and_then(|thread| self.approvals.about_thread(thread)),
        };
        let Some(open) = open.filter(|open| can_decide(open, agent)) else {
            return Ok(());
        };
        let options = &open.terms.options;
        let problem = Problem::new(
            "bad_option",
            format!("the decision on {} has no option", open.approval),
        );
        let fix = format!(
            "write {} in in_reply_to and one of {} in option, or use another type, such as answer",
            open.approval,
            options.join(", ")
        );
        wrong(problem.at("/option").fix(fix))
    }

    /// Closes the open approvals that an accepted ack of their asker withdraws.
    fn withdraw(self, draft: &mut Draft) -> ApprovalResult<()> {
        let approvals = self.approvals.withdrawn(draft.receipts(), &draft.from)?;
        if !approvals.is_empty() {
            draft.facts.approvals = Some(ApprovalChange::Withdraw { approvals });
        }
        Ok(())
    }

    fn ask(self, draft: &Draft) -> ApprovalResult<(ApprovalChange, Value)> {
        let (agent, message) = (&draft.from, &*draft.message);
        if !draft.recipients().any(|other| other != agent) {
            let problem =
                Problem::new("no_decider", "the approval reaches only its sender").at("/to");
            return wrong(problem.fix("name another agent in to, such as human"));
        }
        let own = self
            .approvals
            .open()
            .iter()
            .filter(|open| open.from == *agent)
            .count();
        if own >= APPROVALS_OF_ASKER {
            let what = format!("{agent} has {own} open approvals, and no more are allowed");
            return wrong(
                Problem::new("too_many_approvals", what)
                    .fix("wait for their decisions, or give them deadlines"),
            );
        }
        let options = decision::options(message.fields());
        let deadline = message
            .text("deadline")
            .and_then(|text| decision::deadline(text, Stamp::now()));
        // Other values were rejected by the check.
        let signed = message.text("signature").is_some();
        let on_deadline = decision::on_deadline(&options, message.text("on_deadline"), signed)
            .unwrap_or(DeadlineOutcome::Deny);
        let mut outcome =
            json!({"status": "open", "options": options, "digest": hex(&message.digest())});
        if let Some(deadline) = deadline {
            outcome["deadline"] = deadline.to_string().into();
            outcome["on_deadline"] = on_deadline.as_str().into();
        }
        let (title, deadline) = (title_of(message), deadline.map(Stamp::micros));
        Ok((
            ApprovalChange::Ask(ApprovalTerms {
                title,
                options,
                deadline,
                on_deadline,
                priority: message.priority(),
                signed,
                tell: Vec::new(),
                thread: None,
            }),
            outcome,
        ))
    }

    fn decide(self, draft: &mut Draft) -> Result<ApprovalResult<(ApprovalChange, Value)>> {
        let (agent, message) = (&draft.from, &*draft.message);
        let (reference, word) = (
            message.text("in_reply_to").unwrap_or_default(),
            message.text("option").unwrap_or_default(),
        );
        let open = match self.open(reference, agent) {
            Ok(open) => open,
            Err(problem) => return Ok(Err(problem)),
        };
        if !can_decide(open, agent) {
            let problem = Problem::new(
                "not_asked",
                format!("{agent} was not asked to decide {}", open.approval),
            );
            return Ok(wrong(
                problem
                    .at("/in_reply_to")
                    .fix(format!("only {} can decide it", listed(&open.to))),
            ));
        }
        let Some(option) = decision::option(&open.terms.options, word) else {
            let what = format!(
                "{} is not an option of {}",
                sanitize::quote(word, OPTION),
                open.approval
            );
            let problem = Problem::new("bad_option", what).at("/option");
            return Ok(wrong(
                problem.fix(format!("write one of {}", open.terms.options.join(", "))),
            ));
        };
        let digest = message.text("digest");
        if let Some(problem) = digest.and_then(|digest| open.check_digest(digest)) {
            return Ok(wrong(problem.at("/digest")));
        }
        if let Some(deadline) = is_late(open, draft.dropped(self.cx)?) {
            let what = format!(
                "the deadline of {} was {}",
                open.approval,
                deadlines::shown(deadline)
            );
            let fix = format!(
                "nothing was changed; the outcome is {}",
                open.terms.on_deadline.as_str()
            );
            return Ok(wrong(
                Problem::new("late_decision", what)
                    .at("/in_reply_to")
                    .fix(fix),
            ));
        }
        let mut pin = None;
        if open.terms.signed {
            match signed::check(
                self.cx.room(),
                self.approvals,
                open,
                option,
                message.text("signature"),
            )? {
                Ok(new) => pin = new,
                Err(problem) => return Ok(Err(problem)),
            }
        }
        let outcome =
            json!({"status": "decided", "approval": open.approval, "option": option, "by": agent});
        let (approval, title) = (open.approval.clone(), open.terms.title.clone());
        let step = ApprovalChange::Decide {
            approval,
            option: option.clone(),
            title,
            pin,
        };
        let from = draft.from.clone();
        for recipient in deadlines::recipients_of_decision(open).filter(|one| **one != from) {
            draft.add_recipient(self.cx, RecipientRule::Decision, recipient);
        }
        Ok(Ok((step, outcome)))
    }

    fn open(self, reference: &str, agent: &str) -> ApprovalResult<&'a OpenApproval> {
        let (what, fix) = match self.approvals.find(reference) {
            ReferenceResolution::One(NamedApproval::Open(open)) => return Ok(open),
            ReferenceResolution::One(NamedApproval::Closed(decided)) => {
                return wrong(decided.decided_already(agent).at("/in_reply_to"));
            }
            ReferenceResolution::Several(_) => (
                format!("{reference} names more than one approval"),
                "write <sender>/<id>, or the number as #12, in in_reply_to",
            ),
            ReferenceResolution::None => (
                format!("{reference} does not name an open approval"),
                "`mailbag pending` lists open approvals; without option the message is not a decision on one",
            ),
        };
        wrong(
            Problem::new("no_approval", what)
                .at("/in_reply_to")
                .fix(fix),
        )
    }
}

fn can_decide(open: &OpenApproval, agent: &Arc<str>) -> bool {
    open.from != *agent && open.to.contains(agent)
}

/// Returns the deadline if this decision was dropped after it. The file's time counts if it is between the approval and
/// now, so that a decision that waited for a router is not late. An approval that escalates has no last moment.
fn is_late(open: &OpenApproval, dropped: Option<Stamp>) -> Option<Stamp> {
    let deadline = Stamp::from_micros(open.terms.deadline?);
    let now = Stamp::now();
    let at = dropped
        .filter(|at| (open.since..=now.micros()).contains(&at.micros()))
        .unwrap_or(now);
    (open.terms.on_deadline != DeadlineOutcome::Escalate && at > deadline).then_some(deadline)
}
