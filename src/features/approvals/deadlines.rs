//! Closes approvals after their deadlines, or lets further agents decide.

use super::decision::{self, ApprovalChange, DeadlineOutcome};
use super::rounds::DisputeJudge;
use super::{Approvals, OpenApproval};
use crate::base::clock::Stamp;
use crate::base::text::{listed, to_the_second};
use crate::base::{limits, sanitize};
use crate::message::{DECISION, ESCALATION, Priority, id, object};
use crate::room::registry::Registry;
use crate::router::projections::NoticeText;
use crate::router::seam::{Cx, Due};
use serde_json::{Value, json};
use std::sync::Arc;

/// The approvals and the disagreements with a deadline that has passed.
pub(super) fn due(cx: Cx<'_>) -> Due {
    let mut due = Due::default();
    let approvals = super::of(cx.state());
    ApprovalDeadlines { cx, approvals }.add_due(&mut due);
    DisputeJudge::new(cx).add_due(&mut due);
    due
}

/// Returns true if only the human can decide, because all agents that could decide were retired or removed.
fn is_left_to_human(one: &OpenApproval, registry: &Registry) -> bool {
    let can_ask = *one.from != *id::HUMAN && registry.has_active(id::HUMAN);
    can_ask && !one.to.iter().any(|agent| registry.has_active(agent))
}

/// The approvals of the room.
#[derive(Clone, Copy)]
struct ApprovalDeadlines<'a> {
    cx: Cx<'a>,
    approvals: &'a Approvals,
}

impl ApprovalDeadlines<'_> {
    /// Adds the approvals with a deadline that has passed, and approvals that only the human can decide, because all other
    /// agents are gone.
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

/// All agents that get the decision.
pub(super) fn recipients_of_decision(one: &OpenApproval) -> impl Iterator<Item = &Arc<str>> {
    std::iter::once(&one.from)
        .chain(&one.to)
        .chain(&one.terms.tell)
}

pub(super) fn shown(at: Stamp) -> String {
    to_the_second(&at.to_string())
}
