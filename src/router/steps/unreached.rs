//! Notices to the senders of messages with addresses that reach no agent.

use super::compose;
use super::letter::{Letter, Ruling};
use super::parties::title;
use crate::base::error::Problem;
use crate::log::state::unreached_subject;
use crate::message::record::Group;
use crate::message::{Message, id};
use serde_json::{Map, json};

/// The notice to the sender of this message. `None` if each of its addresses reaches an agent.
pub(super) fn notice(
    letter: &Letter<()>,
    message: &Message,
    to: &[Group],
    unreached: &[Problem],
) -> Option<Letter<Ruling>> {
    // A notice of another room's router is not answered.
    let is_of_router =
        id::tag_of(&letter.agent).is_some_and(|tag| *letter.agent == *id::far(tag, id::MAILBAG));
    if unreached.is_empty() || is_of_router {
        return None;
    }
    let title = title(message);
    let (subject, mut body) = if to.iter().all(|group| group.agents.is_empty()) {
        (
            format!("no agent received “{title}”"),
            format!("No agent received your message {}:\n", message.id()),
        )
    } else {
        let body = format!(
            "Your message {} was delivered, but not to each of its addresses:\n",
            message.id()
        );
        (
            format!("not every address of “{title}” reached an agent"),
            body,
        )
    };
    unreached
        .iter()
        .for_each(|problem| body += &format!("- {problem}\n"));
    let mut more = Map::new();
    more.insert("in_reply_to".into(), message.id().into());
    more.insert("metadata".into(), json!({"problems": unreached}));
    let to = vec![letter.agent.clone()];
    let notice = Box::new(compose::own("alert", &to, &subject, body.trim_end(), more));
    let about = unreached_subject(&letter.agent, message.id());
    Some(
        Letter::own(Ruling::Notice {
            about,
            message: notice,
            to,
            fact: None,
        })
        .following(letter),
    )
}
