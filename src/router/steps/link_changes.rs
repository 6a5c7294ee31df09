//! Messages with which a person changes a link, in step 5.

use super::compose;
use super::letter::{Again, Effect, Letter, Ruling};
use crate::base::error::{Problem, Result};
use crate::base::text::listed;
use crate::disk::{failpoint, layout};
use crate::log::state::{Link, State};
use crate::log::{self, Line, Position};
use crate::message::Message;
use crate::message::link::LinkChange;
use crate::message::record::{Fact, MessageName, Record};
use crate::room::links::EndState;
use crate::router::parts::Config;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a change of a link amounts to.
pub(super) struct Changed {
    pub(super) effect: Effect,
    /// What the senders of mail that is given up are told, or what is sent again in further records.
    pub(super) notices: Vec<Letter<Ruling>>,
}

/// Judges a message of the type `link`.
pub(super) fn judge(
    config: &Config,
    state: &State,
    message: &Message,
) -> Result<Result<Changed, Vec<Problem>>> {
    let tag: Arc<str> = message.text("link").unwrap_or_default().into();
    let known = state.links.get(&tag);
    let done = |change, again| Changed {
        effect: Effect {
            fact: Fact::Link(change),
            again,
            outcome: Value::Null,
        },
        notices: Vec::new(),
    };
    if known.is_none() && !config.settings().links.contains_key(&*tag) {
        let problem = Problem::new("no_link", format!("there is no link to the room {tag}"));
        return Ok(Err(vec![
            problem
                .at("/link")
                .fix("`mailbag link list` shows the links"),
        ]));
    }
    let waiting = known.map_or(0, |link| link.waiting().count());
    Ok(Ok(match message.text("action").unwrap_or_default() {
        "probe" => done(LinkChange::Probed { link: tag }, Vec::new()),
        "rebind" => {
            let mut again =
                known.map_or_else(|| Ok(Vec::new()), |link| unconfirmed(config, &tag, link))?;
            if again.len() > failpoint::items_again() {
                let what = format!(
                    "more than {} items would be sent again",
                    failpoint::items_again()
                );
                let fix = format!(
                    "remove the link with `mailbag link remove {tag} --bounce`, and add it again"
                );
                return Ok(Err(vec![
                    Problem::new("too_many_items", what).at("/action").fix(fix),
                ]));
            }
            let mut more = again.split_off(again.len().min(failpoint::items_of_record()));
            let mut notices = Vec::new();
            while !more.is_empty() {
                let rest = more.split_off(more.len().min(failpoint::items_of_record()));
                notices.push(Letter::own(Ruling::SendAgain(std::mem::replace(
                    &mut more, rest,
                ))));
            }
            Changed {
                notices,
                ..done(LinkChange::Rebound { link: tag }, again)
            }
        }
        "remove" if waiting > 0 => {
            let what = format!("{waiting} items for the room {tag} are not committed there");
            let fix = "wait until they are, or tell their senders with the action `bounce`";
            return Ok(Err(vec![
                Problem::new("mail_waits", what).at("/action").fix(fix),
            ]));
        }
        "bounce" => {
            let notices = known.map_or_else(
                || Ok(Vec::new()),
                |link| give_up(config, &tag, link, message.id()),
            )?;
            Changed {
                notices,
                ..done(LinkChange::Removed { link: tag }, Vec::new())
            }
        }
        _ => done(LinkChange::Removed { link: tag }, Vec::new()),
    }))
}

/// The items that the other room has not confirmed to have: after what its last state says, if that is of this stream.
fn unconfirmed(config: &Config, tag: &str, link: &Link) -> Result<Vec<Again>> {
    let Some(out) = &link.out else {
        return Ok(Vec::new());
    };
    let dir = config.dir().sub(layout::link_in(tag)).ok();
    let far = dir
        .and_then(|dir| EndState::read(&dir).ok().flatten())
        .and_then(|far| far.came);
    let behind = far
        .filter(|came| *came.stream == *out.stream)
        .map_or(out.acked, |came| came.n);
    let mut again = Vec::new();
    for line in log::lines(config.dir(), log::START)? {
        let line = line?;
        again.extend(item_of(&line, tag, &out.stream, behind));
        if again.len() > failpoint::items_again() {
            break;
        }
    }
    Ok(again)
}

// The records of one rebinding may have several items of a link.
fn item_of(line: &Line, tag: &str, stream: &str, behind: u64) -> Vec<Again> {
    if memchr::memmem::find(&line.bytes, b"\"carried\":[").is_none() {
        return Vec::new();
    }
    let Ok(record) = serde_json::from_slice::<Record>(&line.bytes) else {
        return Vec::new();
    };
    let ours = record
        .carried
        .into_iter()
        .filter(|one| *one.link == *tag && *one.stream == *stream && one.n > behind);
    let place = |again: Option<(u32, u64)>| {
        again.map_or(line.at, |(segment, offset)| Position { segment, offset })
    };
    ours.map(|one| Again {
        link: one.link,
        place: place(one.again),
        receipts: one.receipts,
        alone: one.alone,
    })
    .collect()
}

/// A notice for each sender of mail that never reached the other room.
fn give_up(config: &Config, tag: &str, link: &Link, id: &str) -> Result<Vec<Letter<Ruling>>> {
    let mut lost: BTreeMap<Arc<str>, Vec<String>> = BTreeMap::new();
    for waiting in link.waiting() {
        let Some(record) = log::read_record(config.dir(), waiting.place)? else {
            continue;
        };
        let Some(MessageName { from, id, .. }) = record.name() else {
            continue;
        };
        if config.registry().agent(from).is_some() {
            lost.entry(from.clone()).or_default().push(id.clone());
        }
    }
    let notice = |(agent, ids): (Arc<str>, Vec<String>)| {
        let body = format!(
            "The link to the room {tag} was removed before these messages reached it: {}.",
            listed(&ids)
        );
        let (to, subject) = (
            vec![agent],
            format!("not delivered: the link {tag} was removed"),
        );
        let message = Box::new(compose::own("error", &to, &subject, &body, Map::new()));
        let about = format!("link-removed {tag} {id} {}", to[0]);
        Letter::own(Ruling::Notice {
            about,
            message,
            to,
            fact: None,
        })
    };
    Ok(lost.into_iter().map(notice).collect())
}
