//! A shared inbox: handing each message to one of several consumers, and taking it back when nothing is heard of it.

use super::read::one;
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::disk::{layout, machine};
use crate::message::address::quoted;
use crate::query::inbox::{self, Mail};
use crate::room::Room;
use crate::room::inbox::taken::{Lease, Shelf};
use serde::Serialize;
use std::ffi::OsStr;
use std::time::Duration;

/// One of several processes that share an inbox.
#[derive(Debug, Clone)]
pub struct Consumer {
    /// Its name.
    pub name: String,
    /// Did it give itself that name? Else it is the process that runs the command.
    pub named: bool,
}

/// A message that was handed out.
#[derive(Debug)]
pub struct Handed {
    /// The message, as it stands in `taken/`.
    pub mail: Mail,
    /// Whose it is until when.
    pub lease: Lease,
}

/// A message that went back into the inbox because its lease had lapsed.
#[derive(Debug, Serialize)]
pub struct Lapsed {
    /// Which.
    pub file: String,
    /// Who had it; nobody that is known if it was moved by hand.
    pub holder: Option<String>,
    /// When its lease lapsed.
    pub until: String,
}

/// What came of asking for a message.
#[derive(Debug)]
pub struct Taking {
    /// The message, if there was one.
    pub handed: Option<Handed>,
    /// What was given back on the way.
    pub lapsed: Vec<Lapsed>,
    /// How long until the next lease lapses.
    pub next: Option<Duration>,
}

/// What became of a message that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It stands in `seen/` now.
    Done,
    /// It had been given back, but nobody else had got it: it stands in `seen/` now.
    DoneLate,
    /// It stood in `seen/` before.
    DoneBefore,
    /// It is its holder's for longer.
    Renewed,
    /// It stands in the inbox again.
    GivenBack,
}

/// What a consumer says of a message that it took.
#[derive(Debug, Clone, Copy)]
pub enum Word {
    /// It is done with.
    Done,
    /// It needs so much longer, from now on.
    Renew(Duration),
    /// Somebody else is to have it.
    GiveBack,
}

impl Consumer {
    /// Under the name that it gives itself, or else as the process that runs the command.
    pub fn new(name: Option<String>) -> Consumer {
        let named = name.is_some();
        Consumer { name: name.unwrap_or_else(machine::parent_name), named }
    }
}

/// Gives back what has lapsed, then hands out the next message: the most urgent, and of those the oldest.
pub fn take(room: &Room, agent: &str, consumer: &Consumer, lease: Duration) -> Result<Taking> {
    let shelf = Shelf::open(&room.dir, agent)?;
    let (lapsed, next) = give_back_lapsed(&shelf)?;
    shelf.tidy()?;
    let names = crate::room::inbox::unread(&room.dir, agent)?;
    let mut heads: Vec<Mail> = inbox::heads(room, agent, &names)?.collect();
    heads.retain(|mail| !mail.unfinished);
    heads.sort_by_key(|mail| rank(&mail.priority));
    for head in heads {
        let Some(mut mail) = inbox::whole(room, &[head])?.pop() else { continue };
        let before = shelf.lease(&mail.name).map_or(0, |lease| lease.times);
        let lease = Lease { times: before.saturating_add(1), ..new_lease(consumer, lease) };
        if shelf.take(&mail.name, &lease)? {
            mail.file = layout::taken_file(agent, &mail.name);
            return Ok(Taking { handed: Some(Handed { mail, lease }), lapsed, next });
        }
    }
    Ok(Taking { handed: None, lapsed, next })
}

/// Puts back what could not be shown to whom it was handed.
pub fn put_back(room: &Room, agent: &str, name: &OsStr) -> Result<()> {
    Shelf::open(&room.dir, agent)?.give_back(name).map(drop)
}

/// Does what a consumer says of a message that it took.
pub fn say(room: &Room, agent: &str, id: &str, consumer: &Consumer, word: Word) -> Result<(Mail, State)> {
    let shelf = Shelf::open(&room.dir, agent)?;
    let taken = inbox::in_directory(room, layout::taken(agent), false)?;
    if let Some(mail) = one(taken.iter(), id)? {
        check(shelf.lease(&mail.name).as_ref(), consumer, mail)?;
        let state = match word {
            Word::Done => shelf.done(&mail.name, true).map(|()| State::Done)?,
            Word::GiveBack => shelf.give_back(&mail.name).map(|_| State::GivenBack)?,
            Word::Renew(span) => {
                let times = shelf.lease(&mail.name).map_or(1, |lease| lease.times);
                let lease = Lease { times, ..new_lease(consumer, span) };
                shelf.renew(&mail.name, &lease).map(|()| State::Renewed)?
            }
        };
        return Ok((mail.clone(), state));
    }
    // What was given back still has the lease of whoever had it last.
    let mut back = inbox::list(room, agent)?;
    back.retain(|mail| shelf.lease(&mail.name).is_some());
    if let Some(mail) = one(back.iter(), id)? {
        check(shelf.lease(&mail.name).as_ref(), consumer, mail)?;
        let state = match word {
            Word::Done => shelf.done(&mail.name, false).map(|()| State::DoneLate)?,
            Word::GiveBack => State::GivenBack,
            Word::Renew(_) => return Err(lapsed(mail)),
        };
        return Ok((mail.clone(), state));
    }
    match one(inbox::seen(room, agent)?.iter(), id)? {
        Some(mail) => Ok((mail.clone(), State::DoneBefore)),
        None => Err(Error::NotFound {
            what: format!("no message {} is taken from {agent}", quoted(id)),
            cure: "`mailbag take` shows the id of what it hands out".into(),
        }),
    }
}

fn new_lease(consumer: &Consumer, span: Duration) -> Lease {
    let now = Stamp::now();
    let until = now.micros().saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX));
    Lease {
        holder: consumer.name.clone(),
        named: consumer.named,
        since: now.to_string(),
        until: Stamp::from_micros(until).to_string(),
        times: 1,
    }
}

fn give_back_lapsed(shelf: &Shelf) -> Result<(Vec<Lapsed>, Option<Duration>)> {
    let now = Stamp::now();
    let (mut lapsed, mut next) = (Vec::new(), None);
    for name in shelf.names()? {
        let Some(until) = shelf.until(&name)? else { continue };
        if until > now {
            let left = Duration::from_micros(until.micros().abs_diff(now.micros()));
            next = Some(next.map_or(left, |next: Duration| next.min(left)));
            continue;
        }
        match shelf.give_back(&name) {
            Ok(false) => {}
            Ok(true) => lapsed.push(Lapsed {
                file: name.to_string_lossy().into_owned(),
                holder: shelf.lease(&name).map(|lease| lease.holder),
                until: until.to_string(),
            }),
            Err(e) => return Err(e),
        }
    }
    Ok((lapsed, next))
}

/// May this consumer speak for a message with that lease? Who has no name of its own is believed as long as the message
/// was handed out once only.
fn check(lease: Option<&Lease>, consumer: &Consumer, mail: &Mail) -> Result<()> {
    let Some(lease) = lease else { return Ok(()) };
    let nobody_else = !lease.named && !consumer.named && lease.times == 1;
    if lease.holder == consumer.name || nobody_else {
        return Ok(());
    }
    let times = if lease.times > 1 { format!(", handed out {} times", lease.times) } else { String::new() };
    let what = format!("{} has {} since {} until {}{times}", lease.holder, called(mail), lease.since, lease.until);
    let fix = format!("leave it to its holder; if that is you, say so with --holder '{}'", lease.holder);
    Err(Error::Rejected(vec![Problem::new("held_by_another", what).fix(fix)]))
}

fn lapsed(mail: &Mail) -> Error {
    let what = format!("the lease of {} lapsed, and it was given back", called(mail));
    Error::Rejected(vec![Problem::new("lease_lapsed", what).fix("take it again, with a longer --lease")])
}

/// How a message is called in a sentence.
fn called(mail: &Mail) -> String {
    mail.seq.map_or_else(|| mail.id.clone(), |seq| format!("#{seq} ({})", mail.id))
}

fn rank(priority: &str) -> u8 {
    match priority {
        "urgent" => 0,
        "high" => 1,
        "low" => 3,
        _ => 2,
    }
}
