//! Asks a question: sends it and recognizes the answers.

use super::follow::is_of;
use super::send::{self, Draft, Sent};
use crate::base::error::{Error, Problem, Result};
use crate::log;
use crate::log::lookup::LoggedMessage;
use crate::message::id;
use crate::query::follow::Follower;
use crate::query::identity::Who;
use crate::query::inbox::{self, Mail};
use crate::query::wait::NewMail;
use crate::room::Room;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A question that was sent.
pub struct Question {
    /// The message.
    pub sent: Sent,
    asker: String,
    /// Agents expected to answer: the recipients that the router recorded, or until then the recipients that the sender resolved.
    asked: BTreeSet<Arc<str>>,
    /// The question's record number, once found in the log.
    seq: Option<u64>,
    follower: Follower,
    new_mail: NewMail,
}

/// Mail that ends or answers a question.
#[derive(Debug)]
pub enum Reply {
    /// An answer.
    Answer(Mail),
    /// The router rejected the question, for these reasons.
    Rejection(Mail, Vec<Problem>),
}

/// Sends a question. Watch the sender's inbox before the first [`Question::look`], so that no answer is missed.
pub fn ask(room: &Room, who: &Who, asker: &str, draft: Draft) -> Result<Question> {
    let kind = draft.kind.clone().or_else(|| Some("question".into()));
    let sent = send::send(
        room,
        who,
        Draft {
            kind,
            requires_response: true,
            ..draft
        },
    )?;
    let asked: BTreeSet<Arc<str>> = sent
        .recipients
        .iter()
        .map(|recipient| recipient.agent.clone())
        .collect();
    if asked.is_empty() {
        let why = sent.unreached.first();
        return Err(Error::NotFound {
            what: format!(
                "no agent received question {}{}",
                sent.id,
                why.map(|why| format!(": {}", why.what)).unwrap_or_default()
            ),
            cure: why.map_or_else(
                || "`mailbag send --dry-run ADDRESS` shows why".into(),
                |why| why.fix.clone(),
            ),
        });
    }
    let new_mail = NewMail::default();
    let follower = Follower::at(room, sent.since);
    Ok(Question {
        sent,
        asker: asker.to_owned(),
        asked,
        seq: None,
        follower,
        new_mail,
    })
}

impl Question {
    /// Agents that were asked.
    pub fn asked(&self) -> Vec<String> {
        self.asked.iter().map(|agent| agent.to_string()).collect()
    }

    /// Agents that were asked and have not answered.
    pub fn missing(&self, answers: &[Mail]) -> Vec<String> {
        let mut missing = self.asked();
        missing.retain(|agent| !answers.iter().any(|answer| answer.from == *agent));
        missing
    }

    /// The answers that arrived since the last call, oldest first.
    pub fn look(&mut self, room: &Room) -> Result<Vec<Reply>> {
        let mails = self.new_mail.look(room, &self.asker)?;
        // Delivered mail is already in the log, and so is the question that it answers.
        if !mails.is_empty() && self.seq.is_none() {
            self.find_record()?;
        }
        if !mails.is_empty() {
            // An agent that was asked may have another name now.
            let registry = room.registry()?;
            let now = |agent: &Arc<str>| {
                registry
                    .now(agent)
                    .map_or_else(|| agent.clone(), |agent| agent.id.clone())
            };
            self.asked = self.asked.iter().map(now).collect();
        }
        let heads: Vec<Mail> = mails
            .into_iter()
            .filter(|mail| self.may_reply(mail))
            .collect();
        let mut replies = Vec::new();
        for mail in inbox::whole(room, &heads)? {
            replies.extend(self.reply(room, mail)?);
        }
        Ok(replies)
    }

    fn may_reply(&self, mail: &Mail) -> bool {
        mail.from == id::MAILBAG || self.asked.contains(mail.from.as_str())
    }

    fn reply(&self, room: &Room, mail: Mail) -> Result<Option<Reply>> {
        if mail.from == id::MAILBAG
            && mail.kind == "error"
            && field(&mail, "in_reply_to") == Some(&self.sent.id)
        {
            let problems = mail
                .content
                .get("metadata")
                .and_then(|metadata| metadata.get("problems"))
                .cloned();
            let mut problems: Vec<Problem> =
                serde_json::from_value(problems.unwrap_or_default()).unwrap_or_default();
            if problems.is_empty() {
                problems.push(Problem::new(
                    "rejected",
                    field(&mail, "body").unwrap_or("the message was rejected"),
                ));
            }
            return Ok(Some(Reply::Rejection(mail, problems)));
        }
        // The router recorded which message it answers.
        let record = mail
            .seq
            .map(|seq| log::find::by_seq(&room.dir, seq))
            .transpose()?
            .flatten();
        let answers = record
            .and_then(|line| LoggedMessage::read(&line.bytes))
            .and_then(|answer| answer.answers);
        Ok((answers.is_some() && answers == self.seq).then_some(Reply::Answer(mail)))
    }

    fn find_record(&mut self) -> Result<()> {
        let records = self.follower.read()?;
        if let Some(record) = records.iter().find(|record| is_of(record, &self.sent)) {
            self.asked = record
                .recipients()
                .map(|(agent, _)| agent.clone())
                .collect();
            self.seq = Some(record.seq);
        }
        Ok(())
    }
}

fn field<'m>(mail: &'m Mail, name: &str) -> Option<&'m str> {
    mail.content.get(name).and_then(Value::as_str)
}
