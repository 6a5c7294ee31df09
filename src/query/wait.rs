//! Filters for mail that a command waits for.

use super::history::check_type;
use super::identity;
use super::inbox::{self, InboxMessage};
use crate::base::error::Result;
use crate::log::lookup::{self, Viewer};
use crate::message::id;
use crate::room::Room;
use crate::room::settings::SenderAdmission;
use std::collections::HashSet;
use std::ffi::OsString;

/// Conditions that mail must meet. An empty condition matches anything.
#[derive(Debug, Default)]
pub struct WaitFilter {
    /// The senders. Their present and former names match.
    from: Vec<String>,
    /// In this thread.
    thread: Option<String>,
    /// Of one of these types.
    kinds: Vec<String>,
}

impl WaitFilter {
    /// Rejects unknown senders and types, because their mail would never arrive. A thread may be named by the number of one
    /// of its messages that the agent can see.
    pub fn new(
        room: &Room,
        agent: &str,
        from: &[String],
        thread: Option<String>,
        kinds: Vec<String>,
    ) -> Result<WaitFilter> {
        let registry = room.registry()?;
        let open = !from.is_empty() && room.settings()?.admission == SenderAdmission::Open;
        let sender = |name: &String| match identity::filtered(&registry, name, Some("--from")) {
            // An open room registers any sender.
            Err(_) if name == id::MAILBAG || open && id::is_name(name) => Ok(name.clone()),
            found => found,
        };
        let from = from.iter().map(sender).collect::<Result<_>>()?;
        kinds.iter().try_for_each(|kind| check_type(kind))?;
        Ok(WaitFilter {
            from,
            thread: thread
                .map(|thread| {
                    lookup::thread_name(&room.dir, &identity::viewer(room, agent)?, &thread)
                })
                .transpose()?,
            kinds,
        })
    }

    /// The views of the senders, under their names at this time.
    fn senders(&self, room: &Room) -> Result<Vec<Viewer>> {
        if self.from.is_empty() {
            return Ok(Vec::new());
        }
        identity::own_viewers(room, self.from.iter().map(String::as_str))
    }

    /// Returns true if mail matches, with the result of [`WaitFilter::senders`].
    fn matches(&self, mail: &InboxMessage, senders: &[Viewer]) -> bool {
        let is_any = self.from.is_empty() && self.thread.is_none() && self.kinds.is_empty();
        let from = self.from.is_empty() || senders.iter().any(|sender| mail.is_from(sender));
        let thread = self.thread.is_none() || self.thread == mail.thread_id;
        let kind = self.kinds.is_empty() || self.kinds.contains(&mail.kind);
        is_any || mail.problem.is_none() && from && thread && kind
    }
}

/// The number of heads that are read at a time.
const HEADS: usize = 64;

/// Returns each unread file of an inbox once.
#[derive(Debug, Default)]
pub struct NewMailTracker {
    returned: HashSet<OsString>,
}

impl NewMailTracker {
    /// The heads of the messages that arrived since the last call, oldest first.
    pub fn look(&mut self, room: &Room, agent: &str) -> Result<Vec<InboxMessage>> {
        self.look_for(room, agent, &WaitFilter::default(), usize::MAX)
    }

    /// As [`NewMailTracker::look`], but at most this many that match and can be read. Later messages are not read.
    pub fn look_for(
        &mut self,
        room: &Room,
        agent: &str,
        filter: &WaitFilter,
        most: usize,
    ) -> Result<Vec<InboxMessage>> {
        let mut names = crate::room::inbox::unread(&room.dir, agent)?;
        names.retain(|name| !self.returned.contains(name));
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let senders = filter.senders(room)?;
        let mut found: Vec<InboxMessage> = Vec::new();
        let mut readable = 0;
        for names in names.chunks(HEADS) {
            for mail in inbox::heads(room, agent, names)? {
                if readable >= most {
                    return Ok(found);
                }
                // A file that is being written by hand is returned once it is complete or has not changed for a while.
                if mail.unfinished {
                    continue;
                }
                self.returned.insert(mail.name.clone());
                if filter.matches(&mail, &senders) {
                    readable += usize::from(mail.unreadable.is_none());
                    found.push(mail);
                }
            }
        }
        Ok(found)
    }

    /// Looks again for a message that the caller could not take.
    pub fn forget(&mut self, mail: &InboxMessage) {
        self.returned.remove(&mail.name);
    }
}
