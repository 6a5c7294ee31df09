//! Work queue on a shared inbox: leases each message to one of several consumers, and returns it when the lease expires.

use super::read::{InboxReference, one, unreadable};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::disk::{layout, machine};
use crate::log::state::{self, RoomState};
use crate::message::Priority;
use crate::message::address::quoted;
use crate::message::status::CopyStatus;
use crate::query::inbox::{self, InboxMessage};
use crate::room::Room;
pub use crate::room::inbox::taken::MessageLease;
use crate::room::inbox::taken::TakenMail;
use serde::Serialize;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

/// A process that takes messages from a shared inbox.
#[derive(Debug, Clone)]
pub struct Consumer {
    /// Its name.
    pub name: String,
    /// Whether the caller chose the name. Otherwise the name is derived from the calling process.
    pub named: bool,
}

/// A leased message.
#[derive(Debug)]
pub struct LeasedMessage {
    /// The message in `taken/`.
    pub mail: InboxMessage,
    /// The lease.
    pub lease: MessageLease,
}

/// A message that returned to the inbox because its lease expired.
#[derive(Debug, Serialize)]
pub struct ExpiredLease {
    /// File name.
    pub file: String,
    /// The last holder; `None` if the file was moved by hand.
    pub holder: Option<String>,
    /// When the lease expired.
    pub until: String,
}

/// The result of `take`.
#[derive(Debug)]
pub struct TakeResult {
    /// The leased message, if there was one.
    pub handed: Option<LeasedMessage>,
    /// Messages with an expired lease that were returned first.
    pub lapsed: Vec<ExpiredLease>,
    /// Time until the next lease expires.
    pub next: Option<Duration>,
    /// Why a message could not be read. It is skipped and stays in the inbox.
    pub unreadable: Option<Error>,
}

/// The result of completing, renewing or releasing a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseResult {
    /// Completed: moved to `seen/`.
    Done,
    /// Completed after the lease expired, before another consumer took it: moved to `seen/`.
    DoneLate,
    /// It was completed before.
    DoneBefore,
    /// The lease was renewed.
    Renewed,
    /// Released: back in the inbox.
    GivenBack,
}

/// An operation on a leased message.
#[derive(Debug, Clone, Copy)]
pub enum LeaseOperation {
    /// Complete it.
    Done,
    /// Renew the lease for this long from now.
    Renew(Duration),
    /// Release it for other consumers.
    GiveBack,
}

impl Consumer {
    /// The given name, or a name derived from the calling process.
    pub fn new(name: Option<String>) -> Consumer {
        let named = name.is_some();
        Consumer {
            name: name.unwrap_or_else(machine::parent_name),
            named,
        }
    }
}

/// Returns messages with expired leases, then leases the next message: highest priority first, oldest first. A closed message
/// that was moved back into the inbox is not leased.
pub fn take(room: &Room, agent: &str, consumer: &Consumer, lease: Duration) -> Result<TakeResult> {
    let shelf = TakenMail::open(&room.dir, agent)?;
    let (lapsed, next) = give_back_lapsed(&mut LeaseReturns::new(room, agent, &shelf))?;
    shelf.tidy()?;
    let names = crate::room::inbox::unread(&room.dir, agent)?;
    // Only the chosen message is compared with the log: a file that is not mail may claim any priority.
    let mut waiting: BTreeSet<(Reverse<Priority>, OsString)> = BTreeSet::new();
    if !names.is_empty() {
        let dir = room.dir.sub(layout::inbox(agent))?;
        for name in names {
            let claimed = inbox::claimed_priority(&dir, &name);
            waiting.insert((Reverse(claimed.unwrap_or_default()), name));
        }
    }
    let mut failure = None;
    while let Some((claimed, name)) = waiting.pop_first() {
        let mut heads = inbox::heads(room, agent, std::slice::from_ref(&name))?;
        heads.retain(|head| !head.unfinished);
        let actual = heads.first().map_or(claimed, |head| Reverse(head.priority));
        if actual > claimed {
            waiting.insert((actual, name));
            continue;
        }
        let mut found = inbox::whole(room, &heads)?;
        inbox::note_closed(room, agent, &mut found);
        let Some(mut mail) = found.pop().filter(|mail| mail.closed.is_none()) else {
            continue;
        };
        if let Some(e) = unreadable(&mail) {
            failure.get_or_insert(e);
            continue;
        }
        let before = shelf.lease(&mail.name).map_or(0, |lease| lease.times);
        let lease = MessageLease {
            times: before.saturating_add(1),
            ..new_lease(consumer, lease)
        };
        if shelf.take(&mail.name, &lease)? {
            mail.file = layout::taken_file(agent, &mail.name);
            return Ok(TakeResult {
                handed: Some(LeasedMessage { mail, lease }),
                lapsed,
                next,
                unreadable: failure,
            });
        }
    }
    Ok(TakeResult {
        handed: None,
        lapsed,
        next,
        unreadable: failure,
    })
}

/// Returns a leased message that could not be shown.
pub fn put_back(room: &Room, agent: &str, name: &OsStr) -> Result<()> {
    let shelf = TakenMail::open(&room.dir, agent)?;
    LeaseReturns::new(room, agent, &shelf)
        .give_back(name)
        .map(drop)
}

/// Completes, renews or releases a leased message.
pub fn update(
    room: &Room,
    agent: &str,
    id: &str,
    consumer: &Consumer,
    operation: LeaseOperation,
) -> Result<(InboxMessage, LeaseResult)> {
    let shelf = TakenMail::open(&room.dir, agent)?;
    let taken = inbox::in_directory(room, layout::taken(agent), &mut |_| true)?;
    if let Some(mail) = one(taken.iter(), id)? {
        check(shelf.lease(&mail.name).as_ref(), consumer, mail)?;
        let state = match operation {
            LeaseOperation::Done => shelf.done(&mail.name, true).map(|()| LeaseResult::Done)?,
            LeaseOperation::GiveBack => LeaseReturns::new(room, agent, &shelf)
                .give_back(&mail.name)
                .map(|_| LeaseResult::GivenBack)?,
            LeaseOperation::Renew(span) => {
                let times = shelf.lease(&mail.name).map_or(1, |lease| lease.times);
                let lease = MessageLease {
                    times,
                    ..new_lease(consumer, span)
                };
                shelf
                    .renew(&mail.name, &lease)
                    .map(|()| LeaseResult::Renewed)?
            }
        };
        return Ok((mail.clone(), state));
    }
    // A returned message still has its last lease file.
    let back = inbox::list_those(room, agent, &mut |name| shelf.lease(name).is_some())?;
    if let Some(mail) = one(back.iter(), id)? {
        check(shelf.lease(&mail.name).as_ref(), consumer, mail)?;
        let state = match operation {
            LeaseOperation::Done => shelf
                .done(&mail.name, false)
                .map(|()| LeaseResult::DoneLate)?,
            LeaseOperation::GiveBack => LeaseResult::GivenBack,
            LeaseOperation::Renew(_) => return Err(lapsed(mail)),
        };
        return Ok((mail.clone(), state));
    }
    let sought = InboxReference::new(room, id);
    let seen = inbox::seen_those(room, agent, &mut |name| sought.can_be(name))?;
    match one(seen.iter(), id)? {
        Some(mail) => Ok((mail.clone(), LeaseResult::DoneBefore)),
        None => Err(Error::not_found(
            format!("no leased message {} in the inbox of {agent}", quoted(id)),
            "`mailbag take` prints the id of a message when it leases the message",
        )),
    }
}

fn new_lease(consumer: &Consumer, span: Duration) -> MessageLease {
    let now = Stamp::now();
    MessageLease {
        holder: consumer.name.clone(),
        named: consumer.named,
        since: now.to_string(),
        until: now.after(span).to_string(),
        times: 1,
    }
}

/// The same lease, counted from now, if it was granted before the clock was set back. Otherwise it would not lapse.
fn rebased(lease: MessageLease, now: Stamp) -> Option<MessageLease> {
    let (since, until) = (Stamp::parse(&lease.since)?, Stamp::parse(&lease.until)?);
    let span = until.saturating_duration_since(since);
    let is_ahead = !since.is_within(Duration::MAX, now);
    is_ahead.then(|| MessageLease {
        since: now.to_string(),
        until: now.after(span).to_string(),
        ..lease
    })
}

/// Returns leased messages to the inbox. It moves a message that its sender closed, or that expired, to `expired/` instead,
/// because the router moves such a message only once, out of the inbox.
struct LeaseReturns<'a> {
    room: &'a Room,
    agent: &'a str,
    shelf: &'a TakenMail,
    /// Read for the first returned message. `None` if the log cannot be read.
    state: Option<Option<RoomState>>,
}

impl<'a> LeaseReturns<'a> {
    fn new(room: &'a Room, agent: &'a str, shelf: &'a TakenMail) -> LeaseReturns<'a> {
        LeaseReturns {
            room,
            agent,
            shelf,
            state: None,
        }
    }

    /// Returns true if the message is in the inbox again.
    fn give_back(&mut self, name: &OsStr) -> Result<bool> {
        if self.is_closed(name) || self.is_expired(name)? {
            self.shelf.expire(name)?;
            return Ok(false);
        }
        self.shelf.give_back(name)
    }

    fn is_closed(&mut self, name: &OsStr) -> bool {
        let state = self
            .state
            .get_or_insert_with(|| state::committed(&self.room.dir).ok());
        let Some((state, at)) = state.as_ref().zip(layout::read_delivered(name)) else {
            return false;
        };
        let seq = state.mailboxes.unread_at(self.agent, at);
        let status = seq.and_then(|seq| state.mailboxes.status(self.agent, seq));
        status.is_some_and(CopyStatus::is_set_by_sender)
    }

    fn is_expired(&self, name: &OsStr) -> Result<bool> {
        let place = layout::taken(self.agent);
        let found = inbox::in_directory(self.room, place, &mut |file| file == name)?;
        let expires = found
            .first()
            .and_then(|mail| mail.content.get("expires_at"));
        let expires = expires.and_then(Value::as_str).and_then(Stamp::parse);
        Ok(expires.is_some_and(|at| at <= Stamp::now()))
    }
}

fn give_back_lapsed(
    returns: &mut LeaseReturns<'_>,
) -> Result<(Vec<ExpiredLease>, Option<Duration>)> {
    let (now, shelf) = (Stamp::now(), returns.shelf);
    let (mut lapsed, mut next) = (Vec::new(), None);
    for name in shelf.names()? {
        let Some(until) = shelf.until(&name)? else {
            continue;
        };
        let until = match shelf.lease(&name).and_then(|lease| rebased(lease, now)) {
            Some(lease) => {
                shelf.renew(&name, &lease)?;
                Stamp::parse(&lease.until).unwrap_or(now)
            }
            None => until,
        };
        if until > now {
            let left = until.saturating_duration_since(now);
            next = Some(next.map_or(left, |next: Duration| next.min(left)));
            continue;
        }
        if returns.give_back(&name)? {
            lapsed.push(ExpiredLease {
                file: name.to_string_lossy().into_owned(),
                holder: shelf.lease(&name).map(|lease| lease.holder),
                until: until.to_string(),
            });
        }
    }
    Ok((lapsed, next))
}

/// Checks that a consumer holds the lease. A consumer without a chosen name is accepted if the message was leased only
/// once.
fn check(lease: Option<&MessageLease>, consumer: &Consumer, mail: &InboxMessage) -> Result<()> {
    let Some(lease) = lease else { return Ok(()) };
    let nobody_else = !lease.named && !consumer.named && lease.times == 1;
    if lease.holder == consumer.name || nobody_else {
        return Ok(());
    }
    let times = if lease.times > 1 {
        format!(", leased {} times", lease.times)
    } else {
        String::new()
    };
    let what = format!(
        "{} is leased to {} from {} until {}{times}",
        called(mail),
        lease.holder,
        lease.since,
        lease.until
    );
    let fix = format!(
        "leave it to the holder; if you are the holder, pass --holder '{}'",
        lease.holder
    );
    Err(Error::Rejected(vec![
        Problem::new("held_by_another", what).fix(fix),
    ]))
}

fn lapsed(mail: &InboxMessage) -> Error {
    let what = format!(
        "the lease of {} expired, and the message returned to the inbox",
        called(mail)
    );
    Error::Rejected(vec![
        Problem::new("lease_lapsed", what).fix("take it again with a longer --lease"),
    ])
}

/// A message's name in an error.
fn called(mail: &InboxMessage) -> String {
    mail.seq
        .map_or_else(|| mail.id.clone(), |seq| format!("#{seq} ({})", mail.id))
}
