//! Messages of a person that change a link, in step 5.

use super::batch_message::{BatchMessage, MessageEffect, MessageRuling, ResentItem};
use crate::base::error::{Problem, Result};
use crate::base::test_sizes;
use crate::base::text::listed;
use crate::features::links::item::has_message;
use crate::log::state::{LINK_REMOVED, LinkState, UnconfirmedItem};
use crate::log::{self, LogPosition, RawLogLine};
use crate::message::carried::LinkChange;
use crate::message::record::{Facts, MessageName, Record};
use crate::message::{Message, object};
use crate::room::links;
use crate::router::parts::{Journal, NoticeText, RoomConfig};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The result of a change of a link.
pub(super) struct LinkChangeResult {
    pub(super) effect: MessageEffect,
    /// Notices to the senders of abandoned mail, or items that are sent again in further records.
    pub(super) notices: Vec<BatchMessage<MessageRuling>>,
}

/// Judges a message of the type `link`.
pub(super) fn judge(
    config: &RoomConfig,
    journal: &Journal,
    message: &Message,
) -> Result<Result<LinkChangeResult, Vec<Problem>>> {
    let tag: Arc<str> = message.text("link").unwrap_or_default().into();
    let known = journal.state().links.get(&tag);
    if known.is_none() && !config.settings().links.contains_key(&*tag) {
        let problem = Problem::new("no_link", format!("the room {tag} is not linked"));
        return Ok(Err(vec![
            problem
                .at("/link")
                .fix("`mailbag link list` shows the links"),
        ]));
    }
    let waiting = known.map_or(0, |link| link.waiting().count());
    Ok(Ok(match message.text("action").unwrap_or_default() {
        "rebind" => {
            let mut again = match known {
                Some(link) => unconfirmed_items(config, journal, &tag, link)?,
                None => Vec::new(),
            };
            if again.len() > test_sizes::items_again() {
                let what = format!(
                    "more than {} items would be sent again",
                    test_sizes::items_again()
                );
                let fix = format!(
                    "remove the link with `mailbag link remove {tag} --bounce`, and add it again"
                );
                return Ok(Err(vec![
                    Problem::new("too_many_items", what).at("/action").fix(fix),
                ]));
            }
            let mut more = again.split_off(again.len().min(test_sizes::items_of_record()));
            let mut notices = Vec::new();
            while !more.is_empty() {
                let rest = more.split_off(more.len().min(test_sizes::items_of_record()));
                notices.push(BatchMessage::own(MessageRuling::SendAgain(
                    std::mem::replace(&mut more, rest),
                )));
            }
            let mut changed = changed(LinkChange::Rebound { link: tag });
            changed.effect.again = again;
            LinkChangeResult { notices, ..changed }
        }
        "remove" if waiting > 0 => {
            let what = format!("{waiting} items for the room {tag} are not committed there");
            let fix = "wait until they are, or notify their senders with the action `bounce`";
            return Ok(Err(vec![
                Problem::new("mail_waits", what).at("/action").fix(fix),
            ]));
        }
        "bounce" => {
            let notices = match known {
                Some(link) => bounce_waiting(config, journal, &tag, link, message.id())?,
                None => Vec::new(),
            };
            LinkChangeResult {
                notices,
                ..changed(LinkChange::Removed { link: tag })
            }
        }
        _ => changed(LinkChange::Removed { link: tag }),
    }))
}

fn changed(change: LinkChange) -> LinkChangeResult {
    LinkChangeResult {
        effect: MessageEffect {
            fact: Facts::from(change),
            again: Vec::new(),
            outcome: Value::Null,
        },
        notices: Vec::new(),
    }
}

/// The items of the present stream that the other room does not have.
fn unconfirmed_items(
    config: &RoomConfig,
    journal: &Journal,
    tag: &str,
    link: &LinkState,
) -> Result<Vec<ResentItem>> {
    let Some(out) = &link.out else {
        return Ok(Vec::new());
    };
    let there = links::last_item_there(config.dir(), tag, out);
    let mut again = Vec::new();
    let open = journal.open_lines().map(Ok);
    for line in log::lines(config.dir(), log::START)?.chain(open) {
        let line = line?;
        again.extend(items_of(&line, tag, &out.stream, there));
        if again.len() > test_sizes::items_again() {
            break;
        }
    }
    Ok(again)
}

/// The items of a record after this number. A record of a rebinding may have several items of a link.
fn items_of(line: &RawLogLine, tag: &str, stream: &str, after: u64) -> Vec<ResentItem> {
    if memchr::memmem::find(&line.bytes, b"\"carried\":[").is_none() {
        return Vec::new();
    }
    let Ok(record) = line.record() else {
        return Vec::new();
    };
    record
        .carried
        .into_iter()
        .filter(|one| *one.link == *tag && *one.stream == *stream && one.n > after)
        .map(|one| ResentItem {
            link: one.link,
            place: one
                .again
                .map_or(line.at, |(segment, offset)| LogPosition { segment, offset }),
            receipts: one.receipts,
            alone: one.alone,
        })
        .collect()
}

/// Messages of one sender that never reached the other room.
#[derive(Default)]
struct LostMail {
    ids: Vec<String>,
    seqs: Vec<u64>,
}

/// The record of the message in an item, or `None` if the item has no message. The record of a rebinding sends items of
/// earlier records again.
fn message_of_item(
    config: &RoomConfig,
    journal: &Journal,
    tag: &str,
    waiting: &UnconfirmedItem,
) -> Result<Option<Record>> {
    let Some(record) = journal.read_record(config.dir(), waiting.place)? else {
        return Ok(None);
    };
    let mut carried = record.carried.iter();
    let Some(item) = carried
        .find(|item| *item.link == *tag && item.n == waiting.n)
        .cloned()
    else {
        return Ok(None);
    };
    let record = match item.again {
        Some((segment, offset)) => {
            journal.read_record(config.dir(), LogPosition { segment, offset })?
        }
        None => Some(record),
    };
    Ok(record.filter(|record| has_message(record, &item)))
}

/// A notice for each sender of mail that never reached the other room.
fn bounce_waiting(
    config: &RoomConfig,
    journal: &Journal,
    tag: &str,
    link: &LinkState,
    id: &str,
) -> Result<Vec<BatchMessage<MessageRuling>>> {
    let mut lost: BTreeMap<Arc<str>, LostMail> = BTreeMap::new();
    for waiting in link.waiting() {
        let Some(record) = message_of_item(config, journal, tag, waiting)? else {
            continue;
        };
        let Some(MessageName { from, id, .. }) = record.name() else {
            continue;
        };
        if config.registry().agent(from).is_some() {
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
                "The link to the room {tag} was removed before these messages reached it: {}.",
                listed(&ids)
            ),
            more: object(json!({"metadata": {"seqs": seqs}})),
        };
        notices.push(notice.letter());
    }
    Ok(notices)
}
