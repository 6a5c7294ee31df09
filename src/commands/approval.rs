//! Asks for a decision, and decides: writes the message to the outbox, and follows the log until the router has the outcome.

use super::ack::{self, Ack};
use super::recorded;
use super::send::{self, Draft, Sent};
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::base::text::{listed, quoted};
use crate::log::state::approvals::Approval;
use crate::log::{self, Position};
use crate::message::decision::{self, Step};
use crate::message::record::{Event, Record};
use crate::message::status::Status;
use crate::message::{APPROVAL, DECISION, claim, id};
use crate::query::displayed::{self, DisplayedApproval};
use crate::query::identity::Who;
use crate::room::Room;
use crate::room::signature::{Key, Signed};
use crate::router::watcher::LogWatch;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::mpsc::channel;
use std::time::Instant;

/// The terms of a question that needs a decision, as a person writes them.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// The options; empty for yes and no.
    pub options: Vec<String>,
    /// The deadline: a duration or a time.
    pub deadline: Option<String>,
    /// The outcome at the deadline.
    pub on_deadline: Option<String>,
    /// Does the decision need a signature?
    pub signed: bool,
}

/// The outcome of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The approval, as `<sender>/<id>`.
    pub approval: String,
    /// `decided` or `denied`.
    pub status: &'static str,
    /// The chosen option. `None` if it was denied at its deadline.
    pub option: Option<String>,
    /// Who decided. `None` for the deadline.
    pub by: Option<String>,
    /// The accept time of the decision.
    pub at: String,
    /// The record of the decision.
    pub seq: u64,
}

impl Outcome {
    /// The option, or the word for a denial.
    pub fn word(&self) -> &str {
        self.option.as_deref().unwrap_or(decision::DENIED)
    }

    fn new(approval: &str, option: Option<&String>, by: Option<&str>, record: &Record) -> Outcome {
        Outcome {
            approval: approval.to_owned(),
            status: if option.is_some() { "decided" } else { decision::DENIED },
            option: option.cloned(),
            by: by.map(str::to_owned),
            at: record.at.clone(),
            seq: record.seq,
        }
    }
}

/// A message about an approval that was written to the outbox.
pub struct Asked {
    /// The message.
    pub sent: Sent,
    /// The options.
    pub options: Vec<String>,
    /// The approval, as `<sender>/<id>`.
    pub approval: String,
    room: Room,
    agent: String,
    since: Position,
    /// The subject and the body that were sent.
    text: (Option<String>, Option<String>),
    /// The record of the message.
    seq: Option<u64>,
    /// The message in that record.
    recorded: Value,
    /// The message that decided.
    decision: Value,
}

/// A decision that the person signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proved {
    /// The option.
    pub option: String,
    /// The reason.
    pub note: Option<String>,
    /// The record of the decision.
    pub seq: u64,
}

/// Asks for a decision. The message is durable when this returns; [`Asked::look`] finds the decision.
pub fn ask(room: &Room, who: &Who, draft: Draft, terms: Terms) -> Result<Asked> {
    let mut fields = Map::new();
    if !terms.options.is_empty() {
        fields.insert("options".into(), terms.options.clone().into());
    }
    let texts = [("deadline", terms.deadline), ("on_deadline", terms.on_deadline)];
    fields.extend(texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into()))));
    if terms.signed {
        fields.insert("signature".into(), "required".into());
    }
    let options = decision::options(&fields);
    let draft = Draft { kind: Some(APPROVAL.into()), fields, ..draft };
    write(room, who, draft, options, None)
}

/// A decision as a person gives it.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The approval: `12`, `#12`, `<id>` or `<sender>/<id>`.
    pub approval: String,
    /// An option, its beginning, or its number from 1.
    pub option: String,
    /// The reason.
    pub note: Option<String>,
    /// The digest of the text that was displayed, from [`DisplayedApproval`].
    pub digest: String,
    /// Does a person at a terminal decide?
    pub at_terminal: bool,
}

/// Decides an approval, and waits until the router has recorded the decision.
pub fn decide(room: &Room, who: &Who, choice: Choice) -> Result<Outcome> {
    let open = displayed::open(room, &choice.approval)?;
    if open.digest != choice.digest {
        let what = format!("the digest is not the digest of {}, so the decision is about another text", open.approval);
        let fix = format!("read the approval again and decide on it: `mailbag decide {}`", open.seq);
        return Err(Error::NotGranted(vec![Problem::new("other_text", what).fix(fix)]));
    }
    let option = option_of(&open.approval, &open.terms.options, &choice.option)?;
    let mut fields =
        Map::from_iter([("option".to_owned(), Value::from(option)), ("digest".to_owned(), choice.digest.into())]);
    if open.terms.signed {
        fields.insert("signature".into(), sign(room, &open, option, (who, choice.at_terminal))?.into());
    }
    let in_reply_to = Some(open.approval.clone());
    // Everybody concerned gets a copy by the rules of decisions.
    let draft = Draft { kind: Some(DECISION.into()), in_reply_to, body: choice.note, fields, ..Draft::default() };
    write(room, who, draft, open.terms.options.clone(), Some(open.approval.clone()))?.decided()
}

fn write(room: &Room, who: &Who, draft: Draft, options: Vec<String>, approval: Option<String>) -> Result<Asked> {
    let since = log::committed(&room.dir)?;
    let agent = send::sender_id(&room.registry()?, &room.settings()?, who)?;
    let text = (draft.subject.clone(), draft.body.clone());
    let sent = send::send(room, who, draft)?;
    let approval = approval.unwrap_or_else(|| claim::name(&agent, &sent.id));
    let (room, recorded, decision) = (room.clone(), Value::Null, Value::Null);
    Ok(Asked { sent, options, approval, room, agent, since, text, seq: None, recorded, decision })
}

/// The option that a word means: itself, its number from 1, or the only one that begins so.
pub fn chosen<'o>(options: &'o [String], word: &str) -> Option<&'o str> {
    let numbered = || options.get(word.trim().parse::<usize>().ok()?.checked_sub(1)?);
    let beginning = word.trim().to_lowercase();
    let mut begun =
        options.iter().filter(|option| !beginning.is_empty() && option.to_lowercase().starts_with(&beginning));
    let only = || begun.next().filter(|_| begun.next().is_none());
    decision::option(options, word).or_else(numbered).or_else(only).map(String::as_str)
}

/// The option of an approval that a word means.
pub fn option<'a>(displayed: &'a DisplayedApproval, word: &str) -> Result<&'a str> {
    option_of(&displayed.approval, &displayed.options, word)
}

fn option_of<'a>(approval: &str, options: &'a [String], word: &str) -> Result<&'a str> {
    chosen(options, word).ok_or_else(|| Error::Usage {
        what: format!("{} is not an option of {approval}", quoted(word)),
        cure: format!("write one of {}", options.join(", ")),
    })
}

fn sign(room: &Room, open: &Approval, option: &str, (who, at_terminal): (&Who, bool)) -> Result<String> {
    if who.name != id::HUMAN || !at_terminal {
        return Err(Error::Usage {
            what: format!("a decision on {} needs the signature of the person", open.approval),
            cure: "run `mailbag decide` as the human in a terminal".into(),
        });
    }
    let id = room.id()?.unwrap_or_default();
    let what = Signed { room: &id, approval: &open.approval, seq: open.seq, option };
    Ok(Key::make()?.sign(&what))
}

impl Asked {
    /// Delivers the message, and waits for the router's record of it.
    fn decided(mut self) -> Result<Outcome> {
        let (notify, notified) = channel();
        let _watch = LogWatch::new(&self.room.dir, move || {
            let _ = notify.send(());
        });
        let trouble = send::route(&self.room).err();
        let deadline = Instant::now() + limits::CLAIM_DECIDED;
        loop {
            if let Some(outcome) = self.look()? {
                return Ok(outcome);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || trouble.is_some() {
                let trouble = trouble.map(|e| format!(": {e}")).unwrap_or_default();
                return Err(Error::Busy {
                    what: format!("{}, and the router has not recorded it yet{trouble}", self.sent.written()),
                    cure: "do not send it again; `mailbag pending` shows whether the approval is still open".into(),
                });
            }
            let _ = notified.recv_timeout(left.min(limits::FOLLOW));
        }
    }

    /// The agent that sent the message.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// What a person or a model is told while the approval is open.
    pub fn sentence(&self) -> String {
        let to = listed(self.sent.recipients.iter().map(|recipient| &recipient.agent));
        format!("asked {to}: {}", self.sent.id)
    }

    /// The decision, if the person signed it, and if the question in the log is the one that was sent. A log that somebody
    /// else wrote does not prove a decision.
    pub fn proved(&self, outcome: &Outcome) -> Result<Option<Proved>> {
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let is_as_sent = (text(&self.recorded, "subject"), text(&self.recorded, "body")) == self.text;
        let (Some(seq), Some(option), Some(key)) = (self.seq, &outcome.option, Key::read()?) else { return Ok(None) };
        let room = self.room.id()?.unwrap_or_default();
        let what = Signed { room: &room, approval: &self.approval, seq, option };
        let signature = text(&self.decision, "signature").unwrap_or_default();
        let is_proved = is_as_sent && outcome.by.as_deref() == Some(id::HUMAN) && key.verifies(&signature, &what);
        let proved = || Proved { option: option.clone(), note: text(&self.decision, "body"), seq: outcome.seq };
        Ok(is_proved.then(proved))
    }

    /// Withdraws the question.
    pub fn withdraw(&self, who: &Who) -> Result<()> {
        let refs = vec![self.approval.clone()];
        ack::ack(&self.room, who, Ack { refs, status: Status::Withdrawn, note: None }).map(drop)
    }

    /// Reads what the log says meanwhile: the outcome, if there is one. If the router rejected the message, that is an error.
    pub fn look(&mut self) -> Result<Option<Outcome>> {
        let lines = log::lines(&self.room.dir, self.since)?;
        self.since = lines.end();
        let mut found = None;
        for entry in lines.records() {
            let (_, record) = entry?;
            if record.event == Event::Rejected && recorded::is_of(&record, &self.agent, &self.sent) {
                recorded::mark_copy_seen(&self.room, &self.agent, &record);
                return Err(Error::NotGranted(record.problems));
            }
            if record.event == Event::Accepted && recorded::is_of(&record, &self.agent, &self.sent) {
                (self.seq, self.recorded) = (Some(record.seq), content(&record));
            }
            let outcome = match &record.decision {
                Some(Step::Decide { approval, option, .. }) if *approval == self.approval => {
                    Outcome::new(approval, Some(option), record.from.as_deref(), &record)
                }
                Some(Step::Expire { approval, option }) if *approval == self.approval => {
                    Outcome::new(approval, option.as_ref(), None, &record)
                }
                _ => continue,
            };
            recorded::mark_copy_seen(&self.room, &self.agent, &record);
            if found.is_none() {
                (self.decision, found) = (content(&record), Some(outcome));
            }
        }
        Ok(found)
    }
}

fn content(record: &Record) -> Value {
    record.message.as_ref().and_then(|text| serde_json::from_str(text.get()).ok()).unwrap_or_default()
}
