//! Finds messages to read, and moves them to `seen/` after they were shown.

use super::send::{self, Draft};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::layout;
use crate::log;
use crate::log::lookup;
use crate::log::state;
use crate::message::address::quoted;
use crate::message::reference::{Chosen, Fit, Reference, choose};
use crate::message::status::Status;
use crate::query::identity::{self, Who};
use crate::query::inbox::{self, Holding, Mail};
use crate::query::trace::{self, Recipient};
use crate::room::Room;
use std::ffi::OsStr;

/// Selects messages to read.
pub enum Wanted {
    /// The oldest unread message.
    Oldest,
    /// All unread messages.
    All,
    /// Messages by reference.
    Named(Vec<String>),
}

/// The requested messages, in the requested order. A message that was read before can be read again by reference.
///
/// If several processes read unread mail at the same time, one of them gets each message. A reference always works.
pub fn find(room: &Room, agent: &str, wanted: &Wanted) -> Result<Holding> {
    match wanted {
        Wanted::Oldest => inbox::hold(room, agent, 1),
        Wanted::All => inbox::hold(room, agent, usize::MAX),
        Wanted::Named(names) => named(room, agent, names).map(Holding::of),
    }
}

/// The messages with these references, read or unread. A message outside the inbox and `seen/` is read from the log.
pub fn named(room: &Room, agent: &str, names: &[String]) -> Result<Vec<Mail>> {
    let sought: Vec<Sought<'_>> = names.iter().map(|name| Sought::new(room, name)).collect();
    let unread = inbox::list_those(room, agent, &mut |file| is_sought(&sought, file))?;
    let mut seen = None;
    let mut found: Vec<Mail> = Vec::new();
    for name in names {
        let is_whole = |mail: &Mail| fit(mail, name) == Some(Fit::Whole);
        if seen.is_none() && !unread.iter().any(is_whole) {
            seen = Some(inbox::seen_those(room, agent, &mut |file| {
                is_sought(&sought, file)
            })?);
        }
        let mail = match one(unread.iter().chain(seen.iter().flatten()), name)? {
            Some(mail) => mail.clone(),
            None => archived(room, agent, name)?,
        };
        if !found.iter().any(|other| other.name == mail.name) {
            found.push(mail);
        }
    }
    Ok(found)
}

/// A reference to a message, which excludes most files of an inbox by their names.
pub(super) struct Sought<'n> {
    text: &'n str,
    /// The beginning of the id in a file name.
    id: Option<String>,
    /// The accept time of the message with this number.
    accepted_at: Option<Stamp>,
    /// The log cannot be read, so any file can be the message.
    is_any: bool,
}

impl Sought<'_> {
    pub(super) fn new<'n>(room: &Room, text: &'n str) -> Sought<'n> {
        let reference = Reference::parse(text);
        let id = reference.as_ref().and_then(Reference::id);
        let seq = reference.as_ref().and_then(Reference::seq);
        let line = seq.map_or(Ok(None), |seq| log::find::by_seq(&room.dir, seq));
        let is_any = line.is_err();
        let head = line
            .ok()
            .flatten()
            .and_then(|line| log::find::head(&line.bytes));
        Sought {
            text,
            id: id.map(|id| format!("-{id}")),
            accepted_at: head.map(|head| head.at),
            is_any,
        }
    }

    /// Returns true if the file with this name can be the message. The router puts the accept time and the id into the name.
    pub(super) fn can_be(&self, file: &OsStr) -> bool {
        let at = layout::read_delivered(file);
        let name = file.to_string_lossy();
        let after_time = name.get(limits::STAMP..).unwrap_or_default();
        self.is_any
            || at.is_none()
            || at == self.accepted_at
            || self.id.as_ref().is_some_and(|id| after_time.contains(id))
            || self.text.ends_with(&*name)
    }
}

fn is_sought(sought: &[Sought<'_>], file: &OsStr) -> bool {
    sought.iter().any(|one| one.can_be(file))
}

/// A message from the log that the agent received.
fn archived(room: &Room, agent: &str, name: &str) -> Result<Mail> {
    let viewer = identity::own_viewer(room, agent)?;
    let past = lookup::one_of(&room.dir, &viewer, name)?;
    if viewer.received(&past) {
        closed(room, agent, Mail::of_past(agent, past))
    } else {
        Err(Error::NotFound {
            what: format!("{agent} is the sender of {}, not a recipient", past.name()),
            cure: format!("`mailbag thread '#{}'` shows it", past.seq),
        })
    }
}

/// The message with how its copy was closed, because it may have been replaced.
fn closed(room: &Room, agent: &str, mut mail: Mail) -> Result<Mail> {
    let Some(seq) = mail.seq else { return Ok(mail) };
    let trace = trace::trace(room, Some(agent), &format!("#{seq}"))?;
    let is_own = |one: &&Recipient| one.agent == agent || one.now.as_deref() == Some(agent);
    let steps = trace
        .recipients
        .iter()
        .find(is_own)
        .map(|one| one.statuses.as_slice())
        .unwrap_or_default();
    if let Some(step) = steps.iter().find(|step| step.status.is_closed()) {
        let note = step
            .note
            .as_ref()
            .map(|note| format!(": {note}"))
            .unwrap_or_default();
        let closed = format!("{}{note}", step.status.as_str());
        mail.content["delivery"]["closed"] = closed.as_str().into();
        mail.closed = Some(closed);
    }
    Ok(mail)
}

/// The number of the first messages that fit into an output of `most` bytes, at least one of them. Later lengths are not
/// computed.
pub fn count_fitting(lengths: impl ExactSizeIterator<Item = usize>, most: usize) -> usize {
    let (all, mut total) = (lengths.len(), 0);
    let fits = lengths.take_while(|length| {
        total += length;
        total <= most
    });
    fits.count().max(1).min(all)
}

/// Moves shown messages to `seen/`. A message that another process has moved is skipped. A failed move does not stop the others.
pub fn mark_seen(room: &Room, agent: &str, mails: &[Mail]) -> Result<()> {
    let unread = mails.iter().filter(|mail| !mail.seen);
    mark_files_seen(room, agent, unread.map(|mail| &*mail.name))
}

/// As [`mark_seen`], for unread messages with these file names. Where the inbox is read-only, as it can be in
/// a container, the router is asked to move them.
pub fn mark_files_seen<'n>(
    room: &Room,
    agent: &str,
    names: impl Iterator<Item = &'n OsStr>,
) -> Result<()> {
    let names: Vec<&OsStr> = names.collect();
    match crate::room::inbox::mark_all_seen(&room.dir, agent, names.iter().copied()) {
        Err(e) if e.errno() == Some(libc::EROFS) => match ask_router(room, agent, &names) {
            Ok(true) => Ok(()),
            _ => Err(e),
        },
        done => done,
    }
}

/// Reports to the router by an ack that these messages were seen. `false` if one of them is not unread mail of the log.
fn ask_router(room: &Room, agent: &str, names: &[&OsStr]) -> Result<bool> {
    let state = state::committed(&room.dir)?;
    let at = names.iter().filter_map(|name| layout::read_delivered(name));
    let refs: Vec<String> = at
        .filter_map(|at| state.mailboxes.unread_at(agent, at))
        .map(|seq| format!("#{seq}"))
        .collect();
    let who = Who {
        name: agent.to_owned(),
        source: "the inbox",
    };
    for raw_refs in refs.chunks(limits::SEEN_REFS).map(<[String]>::to_vec) {
        let status = Some(Status::Seen.as_str().to_owned());
        send::send(
            room,
            &who,
            Draft {
                kind: Some("ack".into()),
                raw_refs,
                status,
                ..Draft::default()
            },
        )?;
    }
    Ok(refs.len() == names.len())
}

/// The one message that a reference means.
pub(super) fn one<'m>(
    mails: impl Iterator<Item = &'m Mail>,
    name: &str,
) -> Result<Option<&'m Mail>> {
    let mut fitting: Vec<(Fit, &Mail)> = Vec::new();
    for mail in mails {
        // A message may be in two directories.
        let is_new = !fitting.iter().any(|(_, other)| other.name == mail.name);
        if let Some(fit) = fit(mail, name)
            && is_new
        {
            fitting.push((fit, mail));
        }
    }
    match choose(fitting) {
        Chosen::One(mail) => Ok(Some(mail)),
        Chosen::None => Ok(None),
        Chosen::Several(many) => {
            let called = |mail: &&Mail| match mail.seq {
                Some(seq) => format!("#{seq} ({}/{})", mail.from, mail.id),
                None => mail.file.display().to_string(),
            };
            let (what, cure) = lookup::several(&quoted(name), many.iter().map(called));
            Err(Error::Usage { what, cure })
        }
    }
}

fn fit(mail: &Mail, name: &str) -> Option<Fit> {
    // A file without a record is named by its file name.
    let by_hand = || (mail.name == name || *mail.file == *name).then_some(Fit::Whole);
    Reference::parse(name)
        .and_then(|reference| reference.fit(&mail.from, &mail.id, mail.seq))
        .or_else(by_hand)
}
