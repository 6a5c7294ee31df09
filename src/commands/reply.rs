//! Builds a reply: recipients, thread, channel and subject from the answered message.

use super::send::{MessageDraft, sender_id};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::log::lookup::{self, LoggedMessage};
use crate::log::state;
use crate::message::id;
use crate::query::identity::{self, AgentIdentity};
use crate::room::Room;
use std::collections::BTreeSet;

/// A reply to send.
#[derive(Debug)]
pub struct ReplyDraft {
    /// The draft.
    pub draft: MessageDraft,
    /// Former recipients that no longer accept mail.
    pub left_out: Vec<String>,
    /// The answered message.
    pub answered: LoggedMessage,
}

/// Turns a draft into a reply. Fields of the draft take precedence. The recipient is the sender of the answered message,
/// with `all` also its other recipients. A reply to one's own message has the same recipients.
pub fn reply(
    room: &Room,
    who: &AgentIdentity,
    name: &str,
    all: bool,
    draft: MessageDraft,
) -> Result<ReplyDraft> {
    let (registry, settings) = (room.registry()?, room.settings()?);
    let own = sender_id(&registry, &settings, who)?;
    let past = lookup::one_of(&room.dir, &identity::viewer(room, &own)?, name)?;
    if &*past.from == id::MAILBAG {
        return Err(Error::Rejected(vec![by_mailbag(&past)]));
    }
    let (to, left_out) = recipients(room, &own, &past, all)?;
    if to.is_empty() {
        let problem = Problem::new(
            "no_recipient",
            format!("no recipient is left for a reply to {}", past.name()),
        );
        return Err(Error::Rejected(vec![
            problem.fix("write to another agent with `mailbag send --reply-to`"),
        ]));
    }
    let is_question = past.kind == "question" || past.requires_response;
    let kind = if is_question { "answer" } else { "message" };
    let draft = MessageDraft {
        to,
        kind: draft.kind.or_else(|| Some(kind.into())),
        subject: draft.subject.or_else(|| past.subject.as_deref().map(re)),
        thread: draft
            .thread
            .or_else(|| past.thread_id.clone().or_else(|| Some(past.id.clone()))),
        channel: draft.channel.or_else(|| {
            past.message
                .contains_key("channel")
                .then(|| past.channel.clone())
        }),
        answers: Stamp::parse(&past.accepted_at),
        in_reply_to: Some(if name == past.id {
            past.id.clone()
        } else {
            past.name()
        }),
        ..draft
    };
    Ok(ReplyDraft {
        draft,
        left_out,
        answered: past,
    })
}

/// The recipients of a reply to this message, without its other recipients.
pub fn recipients_of_reply(
    room: &Room,
    who: &AgentIdentity,
    past: &LoggedMessage,
) -> Result<Vec<String>> {
    let (registry, settings) = (room.registry()?, room.settings()?);
    let own = sender_id(&registry, &settings, who)?;
    Ok(recipients(room, &own, past, false)?.0)
}

/// The recipients of the reply, and former recipients that are left out, under their present names. The sender is never left
/// out here: `send` then reports an error.
fn recipients(
    room: &Room,
    own: &str,
    past: &LoggedMessage,
    all: bool,
) -> Result<(Vec<String>, Vec<String>)> {
    let registry = room.registry()?;
    // If the log is damaged, the names of the message count.
    let state = state::committed(&room.dir).unwrap_or_default();
    let sender = state.holder(&past.from, past.seq);
    let (mut to, mut gone) = (Vec::new(), Vec::new());
    if **sender != *own {
        to.push(sender.to_string());
        if !all {
            return Ok((to, gone));
        }
    }
    let mut seen: BTreeSet<&str> = BTreeSet::from([own, sender]);
    for agent in &past.recipients {
        let agent = state.holder(agent, past.seq);
        if !seen.insert(agent) {
            continue;
        }
        if registry.has_active(agent) {
            to.push(agent.to_string());
        } else {
            gone.push(agent.to_string());
        }
    }
    // A reply to a note to oneself is also a note to oneself.
    if to.is_empty() && gone.is_empty() {
        to.push(own.to_owned());
    }
    Ok((to, gone))
}

/// The subject with one `Re: ` before it, however many it had.
fn re(subject: &str) -> String {
    let mut rest = subject.trim_start();
    while let Some(without) = rest
        .get(..3)
        .filter(|start| start.eq_ignore_ascii_case("re:"))
        .map(|_| &rest[3..])
    {
        rest = without.trim_start();
    }
    // The added prefix must not exceed the maximum length of a subject.
    format!("Re: {rest}")
        .chars()
        .take(limits::SUBJECT)
        .collect()
}

fn by_mailbag(past: &LoggedMessage) -> Problem {
    let problem = Problem::new(
        "no_reader",
        format!(
            "cannot reply to {}: the router wrote it and reads no mail",
            past.name()
        ),
    );
    match past.kind.as_str() {
        "error" => {
            problem.fix("correct the rejected file and send it again; the message names the file")
        }
        _ => problem.fix("follow its instructions, or write to a person or an agent"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_gets_one_re() {
        for subject in ["Ports", "Re: Ports", "RE: re:Ports", " re: Re: Ports"] {
            assert_eq!(re(subject), "Re: Ports");
        }
        assert_eq!(
            (re("Größe").as_str(), re("再").as_str(), re("").as_str()),
            ("Re: Größe", "Re: 再", "Re: ")
        );
        assert_eq!(re(&"ü".repeat(1000)).chars().count(), 1000);
    }
}
