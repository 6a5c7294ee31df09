//! Messages of a person that change a link.

use super::item::has_message;
use crate::base::error::{Problem, Result};
use crate::base::text::listed;
use crate::log::state::{LINK_REMOVED, LinkState, UnconfirmedItem};
use crate::message::carried::LinkChange;
use crate::message::object;
use crate::message::record::{MessageName, Record};
use crate::router::seam::{Cx, Draft, NoticeText};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Judges a message of the type `link`.
pub(super) fn judge(
    cx: Cx<'_>,
    draft: &mut Draft,
) -> Result<std::result::Result<LinkChange, Vec<Problem>>> {
    let link: Arc<str> = draft.message.text("link").unwrap_or_default().into();
    let known = cx.state().links.get(&link);
    if known.is_none() && !cx.settings().links.contains_key(&*link) {
        let problem = Problem::new("no_link", format!("the room {link} is not linked"));
        return Ok(Err(vec![
            problem
                .at("/link")
                .fix("`mailbag link list` shows the links"),
        ]));
    }
    let waiting = known.map_or(0, |link| link.waiting().count());
    Ok(Ok(match draft.message.text("action").unwrap_or_default() {
        "remove" if waiting > 0 => {
            let what = format!("{waiting} items for the room {link} are not committed there");
            let fix = "wait until they are, or notify their senders with the action `bounce`";
            return Ok(Err(vec![
                Problem::new("mail_waits", what).at("/action").fix(fix),
            ]));
        }
        "bounce" => {
            if let Some(known) = known {
                draft.notices = bounce_waiting(cx, &link, known, draft.message.id())?;
            }
            LinkChange::Removed { link }
        }
        _ => LinkChange::Removed { link },
    }))
}

/// Messages of one sender that the other room did not confirm.
#[derive(Default)]
struct LostMail {
    ids: Vec<String>,
    seqs: Vec<u64>,
}

/// The record of the message in an item, or `None` if the item has no message.
fn message_of_item(cx: Cx<'_>, tag: &str, waiting: &UnconfirmedItem) -> Result<Option<Record>> {
    let Some(record) = cx.read_record(waiting.place)? else {
        return Ok(None);
    };
    let mut carried = record.carried.iter();
    let item = carried.find(|item| *item.link == *tag && item.n == waiting.n);
    let has_message = item.is_some_and(|item| has_message(&record, item));
    Ok(has_message.then_some(record))
}

/// A notice for each sender of mail that the other room did not confirm.
fn bounce_waiting(cx: Cx<'_>, tag: &str, link: &LinkState, id: &str) -> Result<Vec<NoticeText>> {
    let mut lost: BTreeMap<Arc<str>, LostMail> = BTreeMap::new();
    for waiting in link.waiting() {
        let Some(record) = message_of_item(cx, tag, waiting)? else {
            continue;
        };
        let Some(MessageName { from, id, .. }) = record.name() else {
            continue;
        };
        if cx.registry().agent(from).is_some() {
            let lost = lost.entry(from.clone()).or_default();
            lost.ids.push(id.clone());
            lost.seqs.push(record.seq);
        }
    }
    let mut notices = Vec::new();
    for (agent, LostMail { ids, seqs }) in lost {
        let notice = NoticeText {
            about: format!("{LINK_REMOVED} {tag} {id} {agent}"),
            kind: "error",
            to: vec![agent],
            subject: format!("not delivered: the link {tag} was removed"),
            body: format!(
                "The link to the room {tag} was removed before that room confirmed these messages: {}.",
                listed(&ids)
            ),
            more: object(json!({"metadata": {"seqs": seqs}})),
        };
        notices.push(notice);
    }
    Ok(notices)
}
