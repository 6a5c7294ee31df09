//! Escalations of messages without a reply: to the supervisors of the recipients, and after the same time again to the
//! human.

use super::change::{AnswerChange, AnswerEscalation};
use super::missing::UnansweredMessage;
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::text::listed;
use crate::base::{limits, sanitize};
use crate::message::title::title_of_fields;
use crate::message::{ESCALATION, Priority, id, object};
use crate::room::registry::Registry;
use crate::router::projections::NoticeText;
use crate::router::seam::{Cx, Due};
use serde_json::json;
use std::sync::Arc;

/// The subject of a notice to supervisors about an unanswered message: this word and its record.
pub const OVERDUE: &str = "overdue";
/// The subject of the last notice about an unanswered message, which the human gets.
pub const OVERDUE_AT_LAST: &str = "overdue-at-last";

/// The escalations that are due.
pub(super) fn due(cx: Cx<'_>) -> Due {
    let mut due = Due::default();
    let missing = &super::of(cx.state()).missing;
    for message in missing.due(cx.now) {
        let escalation = Escalation::of(message, cx.registry());
        let Ok(notice) = escalation.notice(message, cx) else {
            // The log cannot be read now.
            due.ask_at(cx.now);
            continue;
        };
        due.add(
            message.due().unwrap_or(cx.now),
            hear(message, cx),
            notice,
            AnswerChange {
                escalated: Some(AnswerEscalation {
                    seq: message.seq,
                    agents: escalation.missing,
                    last: escalation.is_last,
                }),
                ..AnswerChange::default()
            },
        );
    }
    if let Some(next) = missing.next_due(cx.now) {
        due.ask_at(next);
    }
    due
}

/// The agents that can prevent the escalation by waiting mail: the sender, and the agents that have to reply.
fn hear(message: &UnansweredMessage, cx: Cx<'_>) -> Vec<Arc<str>> {
    // Their mail was judged before the message expired.
    if !message.expired.is_empty() {
        return Vec::new();
    }
    let mut hear = message.of.clone();
    hear.push(cx.state().holder(&message.from, message.seq).clone());
    hear
}

/// A notice to these agents about the agents that have not replied.
struct Escalation {
    to: Vec<Arc<str>>,
    missing: Vec<Arc<str>>,
    is_last: bool,
}

impl Escalation {
    /// The supervisors come first. If urgent mail expired unread, the human is notified at the same time, because a reply in
    /// time is no longer possible.
    fn of(message: &UnansweredMessage, registry: &Registry) -> Escalation {
        let supervisors = if message.notified {
            Vec::new()
        } else {
            supervisors_of(message, registry)
        };
        let is_last = supervisors.is_empty() || !message.expired.is_empty();
        let (mut to, mut missing): (Vec<Arc<str>>, Vec<Arc<str>>) = (Vec::new(), Vec::new());
        for (supervisor, agent) in supervisors {
            missing.push(agent);
            if !to.contains(&supervisor) {
                to.push(supervisor);
            }
        }
        if is_last {
            to.push(id::HUMAN.into());
            missing.clone_from(&message.of);
            let human = message.expired.iter().filter(|of| ***of == *id::HUMAN);
            missing.extend(human.cloned());
        }
        Escalation {
            to,
            missing,
            is_last,
        }
    }

    fn notice(&self, message: &UnansweredMessage, cx: Cx<'_>) -> Result<NoticeText> {
        let (word, verb) = if message.answer {
            ("unanswered", "answered")
        } else {
            ("unacknowledged", "acknowledged")
        };
        let line = cx.log().line(message.seq)?;
        let record = line.and_then(|line| line.record().ok());
        let fields = record.and_then(|record| record.message_fields());
        let title = match fields.as_ref().and_then(title_of_fields) {
            Some(title) => sanitize::quote(title, limits::TITLE),
            None => message.id.clone(),
        };
        let name = id::full_name(&message.from, &message.id);
        let at = Stamp::from_micros(message.at);
        let has = if self.missing.len() == 1 {
            "has"
        } else {
            "have"
        };
        let mut body = format!(
            "{} asked in {name} at {at}, and {} {has} not {verb}.",
            message.from,
            listed(&self.missing)
        );
        if !message.expired.is_empty() {
            body += &format!(" It expired, unread by {}.", listed(&message.expired));
        }
        body += &format!(" `mailbag trace {name}` shows its status.");
        let mut more = object(json!({"in_reply_to": name,
            "metadata": {"seq": message.seq, "agents": self.missing}}));
        // An escalation keeps the sender's priority.
        let priority = fields.and_then(|fields| fields.get("priority").cloned());
        let priority = Priority::from_field(priority.as_ref());
        if !priority.is_normal() {
            more.insert("priority".into(), priority.as_str().into());
        }
        let what = if self.is_last {
            OVERDUE_AT_LAST
        } else {
            OVERDUE
        };
        Ok(NoticeText {
            about: format!("{what} {}", message.seq),
            to: self.to.clone(),
            kind: ESCALATION,
            subject: format!("{word}: {title}"),
            body,
            more,
        })
    }
}

/// The supervisors of the agents that have not replied, each with its agent.
fn supervisors_of(message: &UnansweredMessage, registry: &Registry) -> Vec<(Arc<str>, Arc<str>)> {
    let of = message.of.iter().filter_map(|agent| {
        let name = registry.agent(agent)?.supervisor.as_deref()?;
        let supervisor = registry.find(name)?;
        let is_meant = !supervisor.is_retired()
            && *supervisor.id != *id::HUMAN
            && supervisor.id != message.from
            && supervisor.id != *agent;
        is_meant.then(|| (supervisor.id.clone(), agent.clone()))
    });
    of.collect()
}
