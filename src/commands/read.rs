//! Finds messages to read, and moves them to `seen/` after they were shown.

use super::send::{self, MessageDraft};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::layout;
use crate::log;
use crate::log::lookup::{self, LoggedMessage};
use crate::log::state;
use crate::message::address::quoted;
use crate::message::reference::{Reference, ReferenceResolution};
use crate::message::status::CopyStatus;
use crate::query::identity::{self, AgentIdentity};
use crate::query::inbox::{self, InboxMessage, MailHold};
use crate::room::Room;
use std::ffi::OsStr;

/// The number of messages in an ack about messages that were read in a read-only inbox.
const SEEN_REFS: usize = 100;

/// Selects messages to read.
pub enum ReadSelection {
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
pub fn find(room: &Room, agent: &str, wanted: &ReadSelection) -> Result<MailHold> {
    let most = match wanted {
        ReadSelection::Oldest => 1,
        ReadSelection::All => usize::MAX,
        ReadSelection::Named(names) => return named(room, agent, names).map(MailHold::of),
    };
    let mut found = inbox::hold(room, agent, most)?;
    inbox::note_closed(room, agent, &mut found.mails);
    Ok(found)
}

/// The messages with these references, read or unread. A message outside the inbox and `seen/` is read from the log.
pub fn named(room: &Room, agent: &str, names: &[String]) -> Result<Vec<InboxMessage>> {
    let sought: Vec<InboxReference<'_>> = names
        .iter()
        .map(|name| InboxReference::new(room, name))
        .collect();
    let unread = inbox::list_those(room, agent, &mut |file| is_sought(&sought, file))?;
    let mut seen = None;
    let mut found: Vec<InboxMessage> = Vec::new();
    for name in names {
        if seen.is_none() && !unread.iter().any(|mail| is_named(mail, name)) {
            seen = Some(inbox::seen_those(room, agent, &mut |file| {
                is_sought(&sought, file)
            })?);
        }
        let files = unread.iter().chain(seen.iter().flatten());
        let mail = match one(files.clone(), name)? {
            Some(mail) => mail.clone(),
            None => {
                let past = received(room, agent, name)?;
                let copy = files.clone().find(|mail| mail.seq == Some(past.seq));
                copy.cloned()
                    .unwrap_or_else(|| InboxMessage::of_past(agent, past))
            }
        };
        if !found.iter().any(|other| other.name == mail.name) {
            found.push(mail);
        }
    }
    inbox::note_closed(room, agent, &mut found);
    Ok(found)
}

/// A reference to a message, which excludes most files of an inbox by their names.
struct InboxReference<'n> {
    text: &'n str,
    /// The id, or a prefix of it, as a file name has it.
    id: Option<String>,
    /// The accept time of the message with this number.
    accepted_at: Option<Stamp>,
    /// The log cannot be read, so any file can be the message.
    is_any: bool,
}

impl InboxReference<'_> {
    fn new<'n>(room: &Room, text: &'n str) -> InboxReference<'n> {
        let reference = Reference::parse(text);
        let id = reference.as_ref().and_then(Reference::id);
        let seq = reference.as_ref().and_then(Reference::seq);
        let line = seq.map_or(Ok(None), |seq| log::find::by_seq(&room.dir, seq));
        let is_any = line.is_err();
        let head = line
            .ok()
            .flatten()
            .and_then(|line| log::find::head(&line.bytes));
        InboxReference {
            text,
            id: id.map(|id| format!("-{id}")),
            accepted_at: head.map(|head| head.at),
            is_any,
        }
    }

    /// Returns true if the file with this name can be the message. The router puts the accept time and the id into the name.
    fn can_be(&self, file: &OsStr) -> bool {
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

fn is_sought(sought: &[InboxReference<'_>], file: &OsStr) -> bool {
    sought.iter().any(|one| one.can_be(file))
}

/// A message of the log that the agent received.
fn received(room: &Room, agent: &str, name: &str) -> Result<LoggedMessage> {
    let viewer = identity::own_viewer(room, agent)?;
    let past = lookup::one_of(&room.dir, &viewer, name)?;
    if viewer.received(&past) {
        Ok(past)
    } else {
        Err(Error::not_found(
            format!("{agent} is the sender of {}, not a recipient", past.name()),
            format!("`mailbag thread '#{}'` shows it", past.seq),
        ))
    }
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
/// If some files could not be read, this is an error after the others were moved.
pub fn mark_seen(room: &Room, agent: &str, mails: &[InboxMessage]) -> Result<()> {
    let shown = mails.iter().filter(|mail| mail.can_be_marked_seen());
    mark_files_seen(room, agent, shown.map(|mail| &*mail.name))?;
    mails.iter().find_map(unreadable).map_or(Ok(()), Err)
}

/// The error for a file that could not be read.
fn unreadable(mail: &InboxMessage) -> Option<Error> {
    Some(Error::Io {
        verb: "read",
        path: mail.file.clone(),
        source: std::io::Error::from_raw_os_error(mail.unreadable?),
    })
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
    let who = AgentIdentity::verified(agent, "the inbox");
    for raw_refs in refs.chunks(SEEN_REFS).map(<[String]>::to_vec) {
        let status = Some(CopyStatus::Seen.as_str().to_owned());
        send::send(
            room,
            &who,
            MessageDraft {
                kind: Some("ack".into()),
                raw_refs,
                status,
                ..MessageDraft::default()
            },
        )?;
    }
    Ok(refs.len() == names.len())
}

/// The one message that a complete reference names.
pub(super) fn one<'m>(
    mails: impl Iterator<Item = &'m InboxMessage>,
    name: &str,
) -> Result<Option<&'m InboxMessage>> {
    let mut named: Vec<&InboxMessage> = Vec::new();
    for mail in mails {
        // A message may be in two directories.
        if is_named(mail, name) && !named.iter().any(|other| other.name == mail.name) {
            named.push(mail);
        }
    }
    match ReferenceResolution::of(named) {
        ReferenceResolution::One(mail) => Ok(Some(mail)),
        ReferenceResolution::None => Ok(None),
        ReferenceResolution::Several(many) => {
            let (what, fix) = lookup::several(
                &quoted(name),
                many.iter().map(|mail| match mail.seq {
                    Some(seq) => format!("#{seq} ({}/{})", mail.from, mail.id),
                    None => mail.file.display().to_string(),
                }),
            );
            Err(Error::usage(what, fix))
        }
    }
}

fn is_named(mail: &InboxMessage, name: &str) -> bool {
    // A file without a record is named by its file name.
    Reference::parse(name).is_some_and(|one| one.is_of(&mail.from, &mail.id, mail.seq))
        || mail.name == name
        || *mail.file == *name
}
