//! Approvals and decisions, in step 5: judges them, and closes approvals after their deadlines.

use super::disputes::DisputeJudge;
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::base::hash::hex;
use crate::base::text::{listed, shell_word, to_the_second};
use crate::base::{limits, sanitize};
use crate::features::approvals::decision::{
    self, ApprovalChange, ApprovalTerms, DeadlineOutcome, PinnedKey,
};
use crate::log::state::approvals::{Approvals, NamedApproval, OpenApproval};
use crate::message::reference::ReferenceResolution;
use crate::message::{APPROVAL, DECISION, ESCALATION, Message, Priority, id, object};
use crate::room::registry::Registry;
use crate::room::resolve::RecipientRule;
use crate::room::signature::{self, DecisionKey, SignedDecision};
use crate::router::parts::NoticeText;
use crate::router::seam::{Cx, Draft, Due, title_of};
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

/// A result, or the reason for a rejection.
type ApprovalResult<T> = std::result::Result<T, Box<Problem>>;

/// Judges a message about approvals or disagreements after its recipients are resolved, and adds further recipients. An
/// error is temporary.
pub(crate) fn judge(
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

/// The notices of approvals and disagreements after their deadlines.
pub(crate) fn due(cx: Cx<'_>) -> Due {
    let mut due = Due::default();
    ApprovalJudge::new(cx).add_due(&mut due);
    DisputeJudge::new(cx).add_due(&mut due);
    due
}

/// Returns true if only the human can decide, because all agents that could decide were retired or removed.
fn is_left_to_human(one: &OpenApproval, registry: &Registry) -> bool {
    let can_ask = *one.from != *id::HUMAN && registry.has_active(id::HUMAN);
    can_ask && !one.to.iter().any(|agent| registry.has_active(agent))
}

impl<'a> ApprovalJudge<'a> {
    fn new(cx: Cx<'a>) -> ApprovalJudge<'a> {
        let approvals = &cx.state().approvals;
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

    /// Adds the approvals with a deadline that has passed, and the approvals for the human alone, because all other agents
    /// are gone.
    fn add_due(self, due: &mut Due) {
        for one in self.approvals.open() {
            let deadline = one.terms.deadline.map(Stamp::from_micros);
            let hear = || one.to.iter().chain([&one.from]).cloned().collect();
            if one.is_due(self.cx.now) {
                let (notice, step) = self.close(one);
                due.add(deadline.unwrap_or(self.cx.now), hear(), notice, step);
            } else if is_left_to_human(one, self.cx.registry()) {
                let (notice, step) = self.leave_to_human(one);
                due.add(Stamp::from_micros(one.since), hear(), notice, step);
            } else if let Some(deadline) = deadline {
                due.ask_at(deadline);
            }
        }
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
        if let Some(deadline) = is_late(open, draft.dropped(self.cx)) {
            let what = format!("the deadline of {} was {}", open.approval, shown(deadline));
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
            match self.check_signature(open, option, message.text("signature"))? {
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
        for recipient in recipients_of_decision(open).filter(|one| **one != from) {
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

    /// Verifies against the key that is pinned in the log. The first signed decision pins the key in the home
    /// directory of the person. No other key is pinned, because each process of the user can write into the person's outbox.
    fn check_signature(
        self,
        open: &OpenApproval,
        option: &str,
        given: Option<&str>,
    ) -> Result<ApprovalResult<Option<PinnedKey>>> {
        let OpenApproval {
            approval,
            seq,
            digest,
            ..
        } = open;
        let Some(place) = signature::place(self.cx.room())? else {
            let what = "this room is a copy, so no signature counts in it";
            let fix = "run `mailbag init --adopt`, then decide again in a terminal";
            return Ok(bad_signature("copied_room", what, fix));
        };
        let fix = format!(
            "run `mailbag decide {approval} {}` in a terminal",
            shell_word(option)
        );
        let Some(given) = given else {
            let what = format!("a decision on {approval} needs the signature of the person");
            return Ok(bad_signature("not_signed", &what, &fix));
        };
        let signed = SignedDecision {
            place: &place,
            approval,
            seq: *seq,
            digest,
            option,
        };
        let (key, new) = match self.approvals.pin(Some(&place)) {
            Some(pin) => (pin.key.clone(), None),
            None => {
                let own = DecisionKey::own().ok().flatten();
                let own = own.ok_or_else(|| {
                    Error::busy(
                        "this router cannot read the decision key of the person, so it cannot pin it",
                        "run `mailbag run` as the person, outside of containers and sandboxes",
                    )
                })?;
                let key = own.public();
                (
                    key.clone(),
                    Some(PinnedKey {
                        key,
                        place: place.clone(),
                    }),
                )
            }
        };
        if signed.is_signed_by(&key, given) {
            return Ok(Ok(new));
        }
        let what = format!("the signature of the decision on {approval} is not valid");
        Ok(bad_signature("not_signed", &what, &fix))
    }

    fn close(self, one: &OpenApproval) -> (NoticeText, ApprovalChange) {
        let passed = shown(Stamp::from_micros(one.terms.deadline.unwrap_or_default()));
        let title = sanitize::quote(&one.terms.title, limits::TITLE);
        let option = match &one.terms.on_deadline {
            DeadlineOutcome::Escalate => return self.escalate(one, &passed),
            DeadlineOutcome::Deny => None,
            DeadlineOutcome::Option(option) => Some(option.clone()),
        };
        let word = option.as_deref().unwrap_or(decision::DENIED);
        let status = if option.is_some() {
            "decided"
        } else {
            decision::DENIED
        };
        let outcome = json!({"status": status, "approval": one.approval, "option": option, "by": Value::Null});
        let more = object(json!({"in_reply_to": one.approval, "option": option,
            "metadata": {"approval": outcome}}));
        let notice = NoticeText {
            about: format!("approval-expired {}", one.approval),
            kind: DECISION,
            to: self.cx.registered(recipients_of_decision(one).cloned()),
            subject: format!("decided by the deadline: {word}"),
            body: format!(
                "No agent decided {title} of {} before its deadline, {passed}. The outcome is {word}.",
                one.from
            ),
            more,
        };
        let step = ApprovalChange::Expire {
            approval: one.approval.clone(),
            option,
        };
        (notice, step)
    }

    /// Asks the supervisors of the agents that have not decided, and after the same time again, the human.
    fn escalate(self, one: &OpenApproval, passed: &str) -> (NoticeText, ApprovalChange) {
        let registry = self.cx.registry();
        let supervisors = one.to.iter().filter_map(|agent| {
            let supervisor = registry.agent(agent)?.supervisor.as_deref()?;
            Some(registry.find(supervisor)?.id.clone())
        });
        let mut to = self.cx.registered(supervisors);
        to.retain(|agent| !one.to.contains(agent) && *agent != one.from);
        if to.is_empty() {
            to = self.cx.registered([id::HUMAN.into()]);
            to.retain(|agent| !one.to.contains(agent) && *agent != one.from);
        }
        let human_can = to.iter().chain(&one.to).any(|agent| &**agent == id::HUMAN);
        let period = one.terms.deadline.unwrap_or_default() - one.since;
        let again = (one.escalated + 1) as i64;
        let deadline = (!human_can && !to.is_empty()).then(|| one.since + period * (again + 1));
        let why = format!(
            "{} did not decide before the deadline, {passed}",
            listed(&one.to)
        );
        self.pass_on(one, to, deadline, &why)
    }

    fn leave_to_human(self, one: &OpenApproval) -> (NoticeText, ApprovalChange) {
        let why = if one.to.is_empty() {
            "no other agent can decide it, since the agent that was asked is the sender now"
                .to_owned()
        } else {
            format!(
                "no other agent can decide it, since {} can get no mail",
                listed(&one.to)
            )
        };
        self.pass_on(one, vec![id::HUMAN.into()], one.terms.deadline, &why)
    }

    /// Lets further agents decide, until this deadline.
    fn pass_on(
        self,
        one: &OpenApproval,
        to: Vec<Arc<str>>,
        deadline: Option<i64>,
        why: &str,
    ) -> (NoticeText, ApprovalChange) {
        let title = sanitize::quote(&one.terms.title, limits::TITLE);
        let outcome =
            json!({"status": "escalated", "approval": one.approval, "options": one.terms.options});
        let more = object(
            json!({"in_reply_to": one.approval, "priority": Priority::High.as_str(),
            "metadata": {"approval": outcome}}),
        );
        let mut told = to.clone();
        if told.is_empty() {
            told = self.cx.registered(one.to.iter().cloned());
        }
        let advice = if told.is_empty() {
            told.push(one.from.clone());
            format!(
                "No agent can decide it. Withdraw it with `mailbag ack {} --status withdrawn`, and ask another agent.",
                one.approval
            )
        } else {
            format!(
                "You can decide it: {}. `mailbag decide {} OPTION`, or a message of type decision with in_reply_to and option.",
                one.terms.options.join(", "),
                one.approval
            )
        };
        let notice = NoticeText {
            about: format!("approval-escalated {} {}", one.approval, one.escalated),
            kind: ESCALATION,
            to: told,
            subject: format!("undecided: {title}"),
            body: format!("{} asks {title}, and {why}. {advice}", one.from),
            more,
        };
        let step = ApprovalChange::Escalate {
            approval: one.approval.clone(),
            to,
            deadline,
        };
        (notice, step)
    }
}

fn wrong<T>(problem: Problem) -> ApprovalResult<T> {
    Err(Box::new(problem))
}

fn bad_signature<T>(code: &str, what: &str, fix: &str) -> ApprovalResult<T> {
    wrong(Problem::new(code, what).at("/signature").fix(fix))
}

fn can_decide(open: &OpenApproval, agent: &Arc<str>) -> bool {
    open.from != *agent && open.to.contains(agent)
}

/// All agents that get the decision.
fn recipients_of_decision(one: &OpenApproval) -> impl Iterator<Item = &Arc<str>> {
    std::iter::once(&one.from)
        .chain(&one.to)
        .chain(&one.terms.tell)
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

fn shown(at: Stamp) -> String {
    to_the_second(&at.to_string())
}
