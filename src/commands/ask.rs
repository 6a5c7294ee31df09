//! Asks a question: sends it and recognizes the answers.

use super::follow::TrackedMessage;
use super::send::{self, MessageDraft};
use crate::base::error::{Error, Result};
use crate::log;
use crate::log::lookup::{LoggedMessage, Viewer};
use crate::query::identity::{self, AgentIdentity};
use crate::query::inbox::{self, InboxMessage};
use crate::query::wait::NewMailTracker;
use crate::room::Room;

/// A question that was sent.
pub struct SentQuestion {
    /// The message.
    pub message: TrackedMessage,
    asker: String,
    /// Agents expected to answer: the recipients that the router recorded, or until then the recipients that the sender resolved.
    asked: Vec<Viewer>,
    new_mail: NewMailTracker,
}

/// Sends a question. Watch the sender's inbox before the first [`SentQuestion::look`], so that no answer is missed.
pub fn ask(
    room: &Room,
    who: &AgentIdentity,
    asker: &str,
    draft: MessageDraft,
) -> Result<SentQuestion> {
    let kind = draft.kind.clone().or_else(|| Some("question".into()));
    let sent = send::send(
        room,
        who,
        MessageDraft {
            kind,
            requires_response: true,
            ..draft
        },
    )?;
    let names = sent.recipients.iter().map(|recipient| &*recipient.agent);
    let asked = identity::own_viewers(room, names)?;
    if asked.is_empty() {
        let why = sent.unreached.first();
        return Err(Error::not_found(
            format!(
                "no agent received question {}{}",
                sent.id,
                why.map(|why| format!(": {}", why.what)).unwrap_or_default()
            ),
            why.map_or_else(
                || "`mailbag send --dry-run ADDRESS` shows why".into(),
                |why| why.fix.clone(),
            ),
        ));
    }
    Ok(SentQuestion {
        message: TrackedMessage::new(room, sent, Error::Rejected),
        asker: asker.to_owned(),
        asked,
        new_mail: NewMailTracker::default(),
    })
}

impl SentQuestion {
    /// Agents that were asked.
    pub fn asked(&self) -> Vec<String> {
        names_of(&self.asked).map(str::to_owned).collect()
    }

    /// Agents that were asked and have not answered.
    pub fn missing(&self, answers: &[InboxMessage]) -> Vec<String> {
        let mut missing = self.asked.clone();
        missing.retain(|agent| !answers.iter().any(|answer| answer.is_from(agent)));
        names_of(&missing).map(str::to_owned).collect()
    }

    /// Reads the record of the question if the router has written it. A rejection is an error.
    pub fn read_record(&mut self, room: &Room) -> Result<()> {
        if self.message.seq.is_none()
            && let Some(record) = self.message.read_own()?
        {
            let names = record.recipients().map(|(agent, _)| &**agent);
            self.asked = identity::own_viewers(room, names)?;
        }
        Ok(())
    }

    /// The answers that arrived since the last call, oldest first. A rejection of the question is an error.
    pub fn look(&mut self, room: &Room) -> Result<Vec<InboxMessage>> {
        let mails = self.new_mail.look(room, &self.asker)?;
        if mails.is_empty() {
            return Ok(Vec::new());
        }
        // Delivered mail is already in the log, and so is the question that it answers.
        self.read_record(room)?;
        // An agent that was asked may have another name now.
        self.asked = identity::own_viewers(room, names_of(&self.asked))?;
        let heads: Vec<InboxMessage> = mails
            .into_iter()
            .filter(|mail| self.asked.iter().any(|agent| mail.is_from(agent)))
            .collect();
        let mut answers = Vec::new();
        for mail in inbox::whole(room, &heads)? {
            if self.is_answer(room, &mail)? {
                answers.push(mail);
            }
        }
        Ok(answers)
    }

    fn is_answer(&self, room: &Room, mail: &InboxMessage) -> Result<bool> {
        // The router recorded which message it answers.
        let record = mail
            .seq
            .map(|seq| log::find::by_seq(&room.dir, seq))
            .transpose()?
            .flatten();
        let answers = record
            .and_then(|line| LoggedMessage::read(&line.bytes))
            .and_then(|answer| answer.answers);
        Ok(answers.is_some() && answers == self.message.seq)
    }
}

/// The present names of these agents.
fn names_of(agents: &[Viewer]) -> impl Iterator<Item = &str> {
    agents.iter().filter_map(Viewer::only_of)
}
