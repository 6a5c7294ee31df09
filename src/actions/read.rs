//! Reading: the messages that were asked for, and, once they were shown, the move to `seen/`.

use super::inbox::{self, Holding, Mail};
use crate::address::quoted;
use crate::error::{Error, Result};
use crate::limits;
use crate::room::Room;

/// Which messages to read.
pub enum Wanted {
    /// The oldest that is unread.
    Oldest,
    /// Everything that is unread.
    All,
    /// These: each an id, the unique beginning of one, `<sender>/<id>` or a seq.
    Named(Vec<String>),
}

/// The messages that are wanted, in the order asked for. What was read before can be read again by its name.
///
/// Of the processes that ask for what is unread at the same time, one gets each message; whoever names a message gets it.
pub fn find(room: &Room, agent: &str, wanted: &Wanted) -> Result<Holding> {
    match wanted {
        Wanted::Oldest => inbox::hold(room, agent, 1),
        Wanted::All => inbox::hold(room, agent, usize::MAX),
        Wanted::Named(names) => named(room, agent, names).map(Holding::of),
    }
}

/// The messages of these names, read before or not.
pub fn named(room: &Room, agent: &str, names: &[String]) -> Result<Vec<Mail>> {
    let unread = inbox::list(room, agent)?;
    let mut seen = None;
    let mut found: Vec<Mail> = Vec::new();
    for name in names {
        let mail = match one(&unread, name)? {
            Some(mail) => Some(mail.clone()),
            None => {
                if seen.is_none() {
                    seen = Some(inbox::seen(room, agent)?);
                }
                one(seen.as_deref().unwrap_or_default(), name)?.cloned()
            }
        };
        let mail = mail.ok_or_else(|| Error::NotFound {
            what: format!("{agent} has no message {}", quoted(name)),
            cure: format!("`mailbag inbox {agent}` shows what is unread"),
        })?;
        if !found.iter().any(|other| other.file == mail.file) {
            found.push(mail);
        }
    }
    Ok(found)
}

/// Moves what was shown to `seen/`. What its reader took away meanwhile is fine; what can't be moved keeps no other from it.
pub fn mark_seen(room: &Room, agent: &str, mails: &[Mail]) -> Result<()> {
    let unread = mails.iter().filter(|mail| !mail.seen);
    crate::inbox::mark_all_seen(&room.dir, agent, unread.map(|mail| &*mail.name))
}

/// The one message that a name means: a whole id before a seq, and a seq before the beginning of an id.
pub(super) fn one<'m>(mails: &'m [Mail], name: &str) -> Result<Option<&'m Mail>> {
    let whole = |mail: &&Mail| mail.id == name || format!("{}/{}", mail.from, mail.id) == name;
    let seq = |mail: &&Mail| mail.seq.is_some() && mail.seq == name.parse().ok();
    let beginning = |mail: &&Mail| mail.id.starts_with(name);
    let rules: [&dyn Fn(&&Mail) -> bool; 3] = [&whole, &seq, &beginning];
    for rule in rules {
        let found: Vec<&Mail> = mails.iter().filter(rule).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(Some(one)),
            many => {
                let list: Vec<String> =
                    many.iter().take(limits::PROBLEMS).map(|m| format!("{}/{}", m.from, m.id)).collect();
                return Err(Error::Usage {
                    what: format!("{} means several messages", quoted(name)),
                    cure: format!("write one of {}", list.join(", ")),
                });
            }
        }
    }
    Ok(None)
}
