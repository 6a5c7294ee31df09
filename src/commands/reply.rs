//! Replying: a draft for those who had the message that is answered, with what ties it to the conversation.

use super::send::{Draft, sender_id};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::log::lookup::{self, Eyes, Past};
use crate::message::id;
use crate::query::identity::Who;
use crate::room::Room;
use crate::room::registry::Registry;
use std::sync::Arc;

/// A reply that may be sent.
#[derive(Debug)]
pub struct Reply {
    /// What to send.
    pub draft: Draft,
    /// Those who had the message and can't be written to any more.
    pub left_out: Vec<String>,
    /// The message that is answered.
    pub answered: Past,
}

/// Makes of a draft, whose own fields win, a reply to the message that is named: to its sender, and with `all` to its
/// other recipients; to its recipients where the replier sent it.
pub fn reply(room: &Room, who: &Who, name: &str, all: bool, draft: Draft) -> Result<Reply> {
    let (registry, settings) = (room.registry()?, room.settings()?);
    let own = sender_id(&registry, &settings, who)?;
    let past = lookup::one_of(&room.dir, &Eyes::of(&own), name)?;
    if &*past.from == id::MAILBAG {
        return Err(Error::Rejected(vec![by_mailbag(&past)]));
    }
    let (to, left_out) = recipients(&registry, &own, &past, all);
    if to.is_empty() {
        let problem = Problem::new("no_recipient", format!("nobody is left who could get a reply to {}", past.name()));
        return Err(Error::Rejected(vec![problem.fix("write to somebody else with `mailbag send --reply-to`")]));
    }
    let is_question = past.kind == "question" || past.requires_response;
    let kind = if is_question { "answer" } else { "message" };
    let draft = Draft {
        to,
        kind: draft.kind.or_else(|| Some(kind.into())),
        subject: draft.subject.or_else(|| past.subject.as_deref().map(re)),
        thread: draft.thread.or_else(|| past.thread_id.clone().or_else(|| Some(past.id.clone()))),
        channel: draft.channel.or_else(|| past.message.contains_key("channel").then(|| past.channel.clone())),
        answers: Stamp::parse(&past.accepted_at),
        in_reply_to: Some(if name == past.id { past.id.clone() } else { past.name() }),
        ..draft
    };
    Ok(Reply { draft, left_out, answered: past })
}

/// Who gets the reply, and who would but is gone. The sender is never left out in silence: that is for `send` to refuse.
fn recipients(registry: &Registry, own: &str, past: &Past, all: bool) -> (Vec<String>, Vec<String>) {
    let others = past.recipients.iter().filter(|agent| &***agent != own && **agent != past.from);
    if &*past.from != own && !all {
        return (vec![past.from.to_string()], Vec::new());
    }
    let is_here = |agent: &&Arc<str>| registry.agent(agent).is_some_and(|agent| !agent.is_retired());
    let (here, gone): (Vec<&Arc<str>>, Vec<&Arc<str>>) = others.partition(is_here);
    let names = |agents: Vec<&Arc<str>>| agents.into_iter().map(|agent| agent.to_string()).collect::<Vec<_>>();
    let mut to = if &*past.from == own { Vec::new() } else { vec![past.from.to_string()] };
    to.extend(names(here));
    // A note to oneself goes on with oneself.
    if to.is_empty() && gone.is_empty() {
        to.push(own.to_owned());
    }
    (to, names(gone))
}

/// The subject with one `Re: ` before it, however many it had.
fn re(subject: &str) -> String {
    let mut rest = subject.trim_start();
    while let Some(without) = rest.get(..3).filter(|start| start.eq_ignore_ascii_case("re:")).map(|_| &rest[3..]) {
        rest = without.trim_start();
    }
    // What is added must not make it longer than a subject may be.
    format!("Re: {rest}").chars().take(limits::SUBJECT).collect()
}

fn by_mailbag(past: &Past) -> Problem {
    let problem = Problem::new("no_reader", format!("{} was written by the router, which reads no mail", past.name()));
    match past.kind.as_str() {
        "error" => problem.fix("mend the file that was refused and drop it again; the message says where it is kept"),
        _ => problem.fix("do what it says, or write to a person or an agent"),
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
        assert_eq!((re("Größe").as_str(), re("再").as_str(), re("").as_str()), ("Re: Größe", "Re: 再", "Re: "));
        assert_eq!(re(&"ü".repeat(1000)).chars().count(), 1000);
    }
}
