//! Part of step 5: disagreements. Counts the rounds of proposals and objections in a thread, passes them on to the supervisor,
//! and then asks the human. Only where the settings say so.

use super::compose;
use super::letter::{Effect, Letter, Ruling};
use super::parties;
use crate::base::clock::{self, Stamp};
use crate::base::text::listed;
use crate::base::{limits, sanitize};
use crate::log::state::disputes::{Dispute, Disputes};
use crate::log::state::{Source, State};
use crate::message::decision::{OnDeadline, Step, Terms};
use crate::message::record::{Fact, Group};
use crate::message::{APPROVAL, ESCALATION, Message, claim, id};
use crate::room::resolve::{self, Availability, Via};
use crate::room::settings::Escalation;
use crate::router::parts::{Config, is_argued_out};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// The option of the human for none of the proposals.
const NONE: &str = "none";

/// The disagreements of the room, with the changes of the present batch.
pub(super) struct Disagreements<'a> {
    config: &'a Config,
    disputes: Cow<'a, Disputes>,
}

impl<'a> Disagreements<'a> {
    pub(super) fn new(config: &'a Config, state: &'a State) -> Disagreements<'a> {
        Disagreements {
            config,
            disputes: Cow::Borrowed(&state.disputes),
        }
    }

    /// What a message changes about disagreements. Those who disagree get a decision. A message from another room changes
    /// nothing: who disagrees here is asked by the router here.
    pub(super) fn judge(
        &mut self,
        agent: &Arc<str>,
        message: &Message,
        to: &mut Vec<Group>,
    ) -> Option<Effect> {
        self.config.settings().escalation.as_ref()?;
        if id::tag_of(agent).is_some() {
            return None;
        }
        let (thread, reply) = (message.text("thread_id"), message.text("in_reply_to"));
        let known = self.disputes.of(thread, reply);
        let title = || parties::title(message);
        let step = match message.kind() {
            "proposal" | "proposal.created" | "proposal.amended" => {
                let own = || thread.map_or_else(|| claim::name(agent, message.id()), str::to_owned);
                Step::Propose {
                    thread: known.map_or_else(own, |one| one.thread.clone()),
                    title: title(),
                }
            }
            "objection" | "objection.raised" => Step::Object {
                thread: known?.thread.clone(),
                title: title(),
            },
            "decision" | "decision.recorded" => {
                let one = known?;
                one.parties()
                    .iter()
                    .filter(|party| *party != agent)
                    .for_each(|party| parties::add(self.config, to, Via::Decision, party));
                Step::Settle {
                    thread: one.thread.clone(),
                }
            }
            _ => return None,
        };
        self.apply(agent, message.id(), &step, to);
        Some(Effect {
            fact: Fact::Decision(step),
            again: Vec::new(),
            outcome: Value::Null,
        })
    }

    /// Passes on what had enough rounds: to the supervisor, or to the human. What fails is passed on later.
    pub(super) fn pass_on(&mut self, crowd: &mut dyn Availability) -> Vec<Letter<Ruling>> {
        let Some(terms) = self.config.settings().escalation.clone() else {
            return Vec::new();
        };
        let due = self
            .disputes
            .iter()
            .filter(|one| is_argued_out(one, self.config))
            .cloned();
        let due: Vec<Dispute> = due.collect();
        due.iter()
            .map(|one| self.escalate(one, &terms, crowd))
            .collect()
    }

    /// Asks the human about what the supervisor did not decide in time.
    pub(super) fn ask_human(&mut self, is_ready: impl Fn(&Dispute) -> bool) -> Vec<Letter<Ruling>> {
        let due: Vec<Dispute> = self
            .disputes
            .due(Stamp::now())
            .filter(|one| is_ready(one))
            .cloned()
            .collect();
        due.iter().map(|one| self.ask(one)).collect()
    }

    fn escalate(
        &mut self,
        one: &Dispute,
        terms: &Escalation,
        crowd: &mut dyn Availability,
    ) -> Letter<Ruling> {
        let to = terms
            .supervisor
            .as_ref()
            .map(|name| self.supervisors(one, name, crowd))
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
        let step = Step::Dispute {
            thread: one.thread.clone(),
            due: Some(Stamp::now().after(terms.within).micros()),
        };
        let subject = format!("disagreement: {}", subject(one));
        self.notice(
            ("dispute-escalated", ESCALATION),
            one,
            to,
            (subject, body),
            Map::new(),
            step,
        )
    }

    fn ask(&mut self, one: &Dispute) -> Letter<Ruling> {
        let proposals = one.positions.iter().filter(|position| position.proposes);
        let mut options: Vec<String> = proposals
            .map(|position| position.from.to_string())
            .collect();
        options.dedup();
        options.truncate(limits::OPTIONS - 1);
        options.push(NONE.to_owned());
        let title = sanitize::brief(&format!("Which proposal? {}", subject(one)), limits::TITLE);
        let body = format!(
            "{} could not agree. Whose proposal holds?\n{}\n`mailbag decide`, or a message of type decision with in_reply_to and \
             option, decides it.",
            listed(one.parties()),
            positions(one)
        );
        let mut more = Map::new();
        more.insert("options".into(), json!(options));
        let (tell, thread) = (one.parties(), Some(one.thread.clone()));
        let (deadline, on_deadline, signed) = (None, OnDeadline::Deny, false);
        let step = Step::Ask(Terms {
            title: title.clone(),
            options,
            deadline,
            on_deadline,
            signed,
            tell,
            thread,
        });
        self.notice(
            ("dispute-asked", APPROVAL),
            one,
            vec![id::HUMAN.into()],
            (title, body),
            more,
            step,
        )
    }

    fn supervisors(
        &self,
        one: &Dispute,
        address: &str,
        crowd: &mut dyn Availability,
    ) -> Vec<Arc<str>> {
        let found = resolve::resolve(
            self.config.registry(),
            id::MAILBAG,
            &[address.to_owned()],
            false,
            crowd,
        );
        let those = one.parties();
        let agents = found
            .unwrap_or_default()
            .into_iter()
            .map(|recipient| recipient.agent);
        agents.filter(|agent| !those.contains(agent)).collect()
    }

    fn notice(
        &mut self,
        (about, kind): (&str, &str),
        one: &Dispute,
        to: Vec<Arc<str>>,
        (subject, body): (String, String),
        mut more: Map<String, Value>,
        step: Step,
    ) -> Letter<Ruling> {
        more.insert("thread_id".into(), one.thread.clone().into());
        more.insert("priority".into(), "high".into());
        more.insert(
            "refs".into(),
            one.positions
                .iter()
                .map(|position| Value::from(position.message.as_str()))
                .collect(),
        );
        let message = compose::own(kind, &to, &subject, &body, more);
        let group = Group {
            via: Via::Router.as_str().into(),
            agents: to.clone(),
        };
        self.apply(&id::MAILBAG.into(), message.id(), &step, &[group]);
        let fact = Some(Box::new(Fact::Decision(step)));
        let about = format!("{about} {} {}", one.seq, one.rounds);
        let content = Ruling::Notice {
            about,
            message: Box::new(message),
            to,
            fact,
        };
        Letter::own(content)
    }

    fn apply(&mut self, from: &Arc<str>, id: &str, step: &Step, to: &[Group]) {
        self.disputes.to_mut().apply(
            step,
            Source {
                seq: 0,
                at: Stamp::now(),
                from,
                id,
            },
            to,
        );
    }
}

/// What each side said last, one line each, in quotation marks because this is mail in the router's name.
fn positions(one: &Dispute) -> String {
    let line = |position: &crate::log::state::disputes::Position| {
        let verb = if position.proposes {
            "proposes"
        } else {
            "objects"
        };
        format!(
            "- {} {verb}: {} ({})",
            position.from,
            sanitize::quote(&position.title, limits::TITLE),
            position.message
        )
    };
    one.positions
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

fn subject(one: &Dispute) -> String {
    let first = one
        .positions
        .iter()
        .find(|position| position.proposes)
        .or(one.positions.first());
    first.map_or_else(
        || one.thread.clone(),
        |position| sanitize::quote(&position.title, limits::TITLE),
    )
}
