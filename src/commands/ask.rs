//! Asking: a message that wants an answer, and which mail is one.

use super::send::{self, Draft, Sent};
use crate::base::error::{Error, Problem, Result};
use crate::log;
use crate::log::Position;
use crate::message::id;
use crate::message::record::Event;
use crate::query::identity::Who;
use crate::query::inbox::{self, Mail};
use crate::query::wait::Newcomers;
use crate::room::Room;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A question that was sent.
pub struct Question {
    /// What stands in the outbox, or stood there.
    pub sent: Sent,
    asker: String,
    thread: Option<String>,
    /// Who is to answer: as the router worked it out, or until that is known, as the sender saw it.
    asked: BTreeSet<Arc<str>>,
    /// The question's record, once it was found in the log.
    seq: Option<u64>,
    /// How far the log was searched for it.
    searched: Position,
    newcomers: Newcomers,
}

/// A piece of mail that matters to whoever asked.
#[derive(Debug)]
pub enum Reply {
    /// An answer.
    Answer(Mail),
    /// The router refused the question, for these reasons.
    Rejection(Mail, Vec<Problem>),
}

/// Sends a question. To miss no answer, watch its sender's inbox before the first look.
pub fn ask(room: &Room, who: &Who, asker: &str, draft: Draft) -> Result<Question> {
    let searched = log::committed(&room.dir)?;
    let thread = draft.thread.clone();
    let kind = draft.kind.clone().or_else(|| Some("question".into()));
    let sent = send::send(room, who, Draft { kind, requires_response: true, ..draft })?;
    let asked: BTreeSet<Arc<str>> = sent.recipients.iter().map(|recipient| recipient.agent.clone()).collect();
    if asked.is_empty() {
        return Err(Error::NotFound {
            what: format!("nobody is there to answer {}", sent.id),
            cure: "it was sent, and reached nobody; `mailbag explain ADDRESS` says why".into(),
        });
    }
    let newcomers = Newcomers::default();
    Ok(Question { sent, asker: asker.to_owned(), thread, asked, seq: None, searched, newcomers })
}

impl Question {
    /// Who was asked.
    pub fn asked(&self) -> Vec<String> {
        self.asked.iter().map(|agent| agent.to_string()).collect()
    }

    /// Who was asked and is not among those who answered.
    pub fn missing(&self, answers: &[Mail]) -> Vec<String> {
        let mut missing = self.asked();
        missing.retain(|agent| !answers.iter().any(|answer| answer.from == *agent));
        missing
    }

    /// The answers that have come since the last look, oldest first.
    pub fn look(&mut self, room: &Room) -> Result<Vec<Reply>> {
        let mails = self.newcomers.look(room, &self.asker)?;
        // What is delivered stands in the log already, and so does what it answers.
        if !mails.is_empty() && self.seq.is_none() {
            self.find_record(room)?;
        }
        let heads: Vec<Mail> = mails.into_iter().filter(|mail| self.may_reply(mail)).collect();
        Ok(inbox::whole(room, &heads)?.into_iter().filter_map(|mail| self.reply(mail)).collect())
    }

    fn may_reply(&self, mail: &Mail) -> bool {
        mail.from == id::MAILBAG || self.asked.contains(mail.from.as_str())
    }

    fn reply(&self, mail: Mail) -> Option<Reply> {
        if mail.from == id::MAILBAG && mail.kind == "error" && field(&mail, "in_reply_to") == Some(&self.sent.id) {
            let problems = mail.content.get("metadata").and_then(|metadata| metadata.get("problems")).cloned();
            let mut problems: Vec<Problem> = serde_json::from_value(problems.unwrap_or_default()).unwrap_or_default();
            if problems.is_empty() {
                problems.push(Problem::new("refused", field(&mail, "body").unwrap_or("it was refused")));
            }
            return Some(Reply::Rejection(mail, problems));
        }
        let is_asked = self.asked.contains(mail.from.as_str());
        // That a question has come is no answer to it.
        let may_answer = is_asked && mail.kind != "ack" && mail.id != self.sent.id;
        (may_answer && (self.is_named_by(&mail) || self.is_followed_by(&mail))).then_some(Reply::Answer(mail))
    }

    fn is_named_by(&self, mail: &Mail) -> bool {
        let names = [self.sent.id.clone(), format!("{}/{}", self.asker, self.sent.id)];
        let seq = self.seq.map(|seq| seq.to_string());
        let is_name = |reference: &str| names.iter().chain(&seq).any(|name| name == reference);
        let refs = mail.content.get("refs").and_then(Value::as_array).into_iter().flatten();
        field(mail, "in_reply_to").into_iter().chain(refs.filter_map(Value::as_str)).any(is_name)
    }

    /// Does it stand behind the question in its conversation? A conversation without a name has the question's.
    fn is_followed_by(&self, mail: &Mail) -> bool {
        let Some(thread) = &mail.thread_id else { return false };
        let is_later = self.seq.is_some() && mail.seq > self.seq;
        *thread == self.sent.id || is_later && self.thread.as_ref() == Some(thread)
    }

    fn find_record(&mut self, room: &Room) -> Result<()> {
        let lines = log::lines(&room.dir, self.searched)?;
        self.searched = lines.end();
        for entry in lines.records() {
            let (_, record) = entry?;
            let is_ours = record.from.as_deref() == Some(&*self.asker) && record.id.as_ref() == Some(&self.sent.id);
            if is_ours && record.event == Event::Accepted {
                self.asked = record.recipients().map(|(agent, _)| agent.clone()).collect();
                self.seq = Some(record.seq);
                break;
            }
        }
        Ok(())
    }
}

fn field<'m>(mail: &'m Mail, name: &str) -> Option<&'m str> {
    mail.content.get(name).and_then(Value::as_str)
}
