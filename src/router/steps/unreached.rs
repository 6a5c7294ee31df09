//! Notices to the senders of messages with addresses that reach no agent.

use super::batch_message::BatchMessage;
use crate::base::error::Problem;
use crate::log::state::unreached_subject;
use crate::message::record::RecipientGroup;
use crate::message::{Message, id, object};
use crate::router::parts::NoticeText;
use crate::router::seam::title_of;
use serde_json::json;

/// The notice to the sender of this message, or `None` if each of its addresses reaches an agent.
pub(super) fn notice(
    letter: &BatchMessage<()>,
    message: &Message,
    to: &[RecipientGroup],
    unreached: &[Problem],
) -> Option<NoticeText> {
    // Notices of another room's router are not answered.
    let is_of_router =
        id::tag_of(&letter.agent).is_some_and(|tag| *letter.agent == *id::far(tag, id::MAILBAG));
    if unreached.is_empty() || is_of_router {
        return None;
    }
    let title = title_of(message);
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
    for problem in unreached {
        body += &format!("- {problem}\n");
    }
    let more = object(json!({"in_reply_to": message.id(), "metadata": {"problems": unreached}}));
    Some(NoticeText {
        about: unreached_subject(&letter.agent, message.id()),
        kind: "alert",
        to: vec![letter.agent.clone()],
        subject,
        body: body.trim_end().to_owned(),
        more,
    })
}
