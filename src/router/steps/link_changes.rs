//! Messages of a person that change a link, in step 5.

use super::batch_message::{BatchMessage, MessageRuling};
use super::border;
use super::enclose::enclose;
use crate::base::error::{Problem, Result};
use crate::base::test_sizes;
use crate::base::text::listed;
use crate::features::links::item::has_message;
use crate::log::state::{LINK_REMOVED, LinkState, UnconfirmedItem};
use crate::log::{self, LogPosition, RawLogLine};
use crate::message::carried::LinkChange;
use crate::message::record::{MessageName, Record};
use crate::message::{LINK, object};
use crate::room::links;
use crate::router::parts::{Journal, NoticeText, RoomConfig};
use crate::router::seam::{Cx, Draft, ResentItem};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Judges a message that changes a link, leaves for another room, or arrived from one.
pub(crate) fn judge(
    cx: Cx<'_>,
    draft: &mut Draft,
) -> Result<std::result::Result<(), Vec<Problem>>> {
    let problems = border::check(draft);
    if !problems.is_empty() {
        return Ok(Err(problems));
    }
    match enclose(cx.config, &draft.message, &draft.to)? {
        Ok(enclosed) => draft.enclosed = enclosed,
        Err(problems) => return Ok(Err(problems)),
    }
    if draft.message.kind() != LINK {
        return Ok(Ok(()));
    }
    let change = judge_change(cx, draft)?;
    Ok(change.map(|change| draft.facts.links = Some(change)))
}

/// Judges a message of the type `link`.
fn judge_change(
    cx: Cx<'_>,
    draft: &mut Draft,
) -> Result<std::result::Result<LinkChange, Vec<Problem>>> {
    let (config, journal) = (cx.config, cx.journal);
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
        "rebind" => {
            let again = match known {
                Some(known) => unconfirmed_items(config, journal, &link, known)?,
                None => Vec::new(),
            };
            if again.len() > test_sizes::items_again() {
                let what = format!(
                    "more than {} items would be sent again",
                    test_sizes::items_again()
                );
                let fix = format!(
                    "remove the link with `mailbag link remove {link} --bounce`, and add it again"
                );
                return Ok(Err(vec![
                    Problem::new("too_many_items", what).at("/action").fix(fix),
                ]));
            }
            draft.again = again;
            LinkChange::Rebound { link }
        }
        "remove" if waiting > 0 => {
            let what = format!("{waiting} items for the room {link} are not committed there");
            let fix = "wait until they are, or notify their senders with the action `bounce`";
            return Ok(Err(vec![
                Problem::new("mail_waits", what).at("/action").fix(fix),
            ]));
        }
        "bounce" => {
            if let Some(known) = known {
                draft.notices = bounce_waiting(config, journal, &link, known, draft.message.id())?;
            }
            LinkChange::Removed { link }
        }
        _ => LinkChange::Removed { link },
    }))
}

/// Takes the items that exceed the space of the change's record. They are sent again in further records.
pub(super) fn split_again(again: &mut Vec<ResentItem>) -> Vec<BatchMessage<MessageRuling>> {
    let most = test_sizes::items_of_record();
    let mut more = again.split_off(again.len().min(most));
    let mut records = Vec::new();
    while !more.is_empty() {
        let rest = more.split_off(more.len().min(most));
        let items = std::mem::replace(&mut more, rest);
        records.push(BatchMessage::own(MessageRuling::SendAgain(items)));
    }
    records
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
) -> Result<Vec<NoticeText>> {
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
        notices.push(notice);
    }
    Ok(notices)
}
