//! Judges disagreements. Counts the rounds of proposals and objections in a thread, asks the supervisor, and then
//! the human, if the settings say so.

use super::decision::{ApprovalChange, ApprovalTerms, DeadlineOutcome};
use super::{Dispute, Disputes, check_options};
use crate::base::clock::{self, Stamp};
use crate::base::text::listed;
use crate::base::{limits, sanitize};
use crate::message::{APPROVAL, ESCALATION, Message, Priority, id, object};
use crate::room::resolve::{self, RecipientRule};
use crate::room::settings::EscalationSettings;
use crate::router::projections::NoticeText;
use crate::router::seam::{Cx, Draft, Due, title_of};
use serde_json::{Map, json};
use std::sync::Arc;

/// The most options of an approval.
const OPTIONS: usize = 20;

/// The disagreements of the room.
#[derive(Clone, Copy)]
pub(super) struct DisputeJudge<'a> {
    cx: Cx<'a>,
    disputes: &'a Disputes,
}

impl<'a> DisputeJudge<'a> {
    pub(super) fn new(cx: Cx<'a>) -> DisputeJudge<'a> {
        let disputes = super::disputes(cx.state());
        DisputeJudge { cx, disputes }
    }

    /// The thread of the disagreement that a message is about.
    pub(super) fn thread_of(self, message: &Message) -> Option<&'a str> {
        let (thread, reply) = (message.text("thread_id"), message.text("in_reply_to"));
        Some(&self.disputes.of(thread, reply)?.thread)
    }

    /// Judges a message about a disagreement. The parties get a decision. A message from another room is ignored,
    /// because each room asks its own agents.
    pub(super) fn judge(self, draft: &mut Draft) {
        let is_counted = self.cx.settings().escalation.is_some();
        if is_counted && id::tag_of(&draft.from).is_none() {
            draft.facts.approvals = self.step(draft);
        }
    }

    fn step(self, draft: &mut Draft) -> Option<ApprovalChange> {
        let (agent, message) = (&draft.from, &*draft.message);
        let (thread, reply) = (message.text("thread_id"), message.text("in_reply_to"));
        let known = self.disputes.of(thread, reply);
        Some(match message.kind() {
            "proposal" | "proposal.created" | "proposal.amended" => ApprovalChange::Propose {
                thread: match (known, thread) {
                    (Some(one), _) => one.thread.clone(),
                    (None, Some(thread)) => thread.to_owned(),
                    (None, None) => id::full_name(agent, message.id()),
                },
                title: title_of(message),
            },
            "objection" | "objection.raised" => ApprovalChange::Object {
                thread: known?.thread.clone(),
                title: title_of(message),
            },
            "decision" | "decision.recorded" => {
                let one = known.filter(|one| !one.has_asked_human())?;
                let from = draft.from.clone();
                for party in one.parties().iter().filter(|party| **party != from) {
                    draft.add_recipient(self.cx, RecipientRule::Decision, party);
                }
                ApprovalChange::Settle {
                    thread: one.thread.clone(),
                }
            }
            _ => return None,
        })
    }

    /// Adds the disagreements that had enough rounds, for the supervisor or the human, and the disagreements that the
    /// supervisor did not decide in time.
    pub(super) fn add_due(self, due: &mut Due) {
        for one in self.disputes.iter() {
            if let Some(terms) = self.cx.settings().escalation.as_ref()
                && one.escalated.is_none()
                && one.rounds >= terms.attempts
            {
                let (notice, step) = self.escalate(one, terms);
                due.add(Stamp::from_micros(one.since), hear(one), notice, step);
                continue;
            }
            let Some(deadline) = one.due.map(Stamp::from_micros) else {
                continue;
            };
            if deadline > self.cx.now {
                due.ask_at(deadline);
                continue;
            }
            let (notice, step) = self.ask(one);
            due.add(deadline, hear(one), notice, step);
        }
    }

    fn escalate(self, one: &Dispute, terms: &EscalationSettings) -> (NoticeText, ApprovalChange) {
        let to = terms
            .supervisor
            .as_ref()
            .map(|name| self.supervisors(one, name))
            .unwrap_or_default();
        if to.is_empty() || to.iter().any(|agent| &**agent == id::HUMAN) {
            return self.ask(one);
        }
        let within = clock::span_text(terms.within);
        let body = format!(
            "{} had {} rounds without a decision:\n{}\nDecide with a message of type decision in this thread. The human is asked \
             in {within}.",
            listed(one.parties()),
            one.rounds,
            positions(one)
        );
        let step = ApprovalChange::Dispute {
            thread: one.thread.clone(),
            due: Some(Stamp::now().after(terms.within).micros()),
        };
        let notice = NoticeText {
            about: format!("dispute-escalated {} {}", one.seq, one.rounds),
            kind: ESCALATION,
            to,
            subject: format!("disagreement: {}", one.subject()),
            body,
            more: Map::new(),
        };
        self.notice(notice, one, step)
    }

    fn ask(self, one: &Dispute) -> (NoticeText, ApprovalChange) {
        let options = options(one);
        let title = sanitize::brief(&format!("Which proposal? {}", one.subject()), limits::TITLE);
        let body = format!(
            "{} could not agree. Which proposal counts?\n{}\n`mailbag decide`, or a message of type decision with in_reply_to and \
             option, decides it.",
            listed(one.parties()),
            positions(one)
        );
        let more = object(json!({"options": options}));
        let step = ApprovalChange::Ask(ApprovalTerms {
            title: title.clone(),
            options,
            deadline: None,
            on_deadline: DeadlineOutcome::Deny,
            priority: Priority::High,
            signed: false,
            tell: one.parties(),
            thread: Some(one.thread.clone()),
        });
        let notice = NoticeText {
            about: format!("dispute-asked {} {}", one.seq, one.rounds),
            kind: APPROVAL,
            to: vec![id::HUMAN.into()],
            subject: title,
            body,
            more,
        };
        self.notice(notice, one, step)
    }

    fn supervisors(self, one: &Dispute, address: &str) -> Vec<Arc<str>> {
        let found = resolve::resolve(
            self.cx.registry(),
            id::MAILBAG,
            &[address.to_owned()],
            false,
            &mut self.cx.availability(),
        );
        let parties = one.parties();
        let agents = found
            .unwrap_or_default()
            .into_iter()
            .map(|recipient| recipient.agent);
        agents.filter(|agent| !parties.contains(agent)).collect()
    }

    fn notice(
        self,
        mut notice: NoticeText,
        one: &Dispute,
        step: ApprovalChange,
    ) -> (NoticeText, ApprovalChange) {
        let refs: Vec<&str> = one
            .positions
            .iter()
            .map(|position| position.message.as_str())
            .collect();
        notice.more.extend(object(json!({"thread_id": one.thread,
            "priority": Priority::High.as_str(), "refs": refs})));
        (notice, step)
    }
}

/// The agents that can decide it by waiting mail.
fn hear(one: &Dispute) -> Vec<Arc<str>> {
    let parties = one.positions.iter().map(|position| &position.from);
    one.asked.iter().chain(parties).cloned().collect()
}

/// The last position of each side, one line each, in quotation marks because this is mail of the router.
fn positions(one: &Dispute) -> String {
    let mut lines = Vec::new();
    for position in &one.positions {
        let verb = if position.proposes {
            "proposes"
        } else {
            "objects"
        };
        lines.push(format!(
            "- {} {verb}: {} ({})",
            position.from,
            sanitize::quote(&position.title, limits::TITLE),
            position.message
        ));
    }
    lines.join("\n")
}

/// The options of the human: the agents with a proposal, and no proposal. If names look alike, numbers distinguish them.
fn options(one: &Dispute) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for position in one.positions.iter().filter(|position| position.proposes) {
        let option = format!("proposal of {}", position.from);
        if options.len() < OPTIONS - 1 && !options.contains(&option) {
            options.push(option);
        }
    }
    options.push("no proposal".to_owned());
    if check_options(&options).is_some() {
        for (n, option) in options.iter_mut().enumerate() {
            *option = format!("{}: {option}", n + 1);
        }
    }
    options
}
