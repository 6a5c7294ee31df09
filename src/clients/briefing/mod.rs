//! What a hook tells an agent of its mail: each message once, in a line, as facts, within the agent's budget.
//!
//! Mail of low priority, acks, and what the agent wrote itself are not told of. Nothing is marked as read.

mod look;
mod text;

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::query::inbox::{self as mailbox, Mail};
use crate::room::sessions::Told;
use crate::room::settings::Settings;
use crate::room::{Room, inbox};
use look::Look;
use std::collections::HashSet;
use std::ffi::OsString;
use std::time::Duration;

/// At which moment of a session an agent is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Its session begins; what it knew before is gone from its context.
    Start,
    /// Its session is taken up again, with what it was told.
    Resume,
    /// It begins to work on a prompt.
    Prompt,
    /// It has used tools.
    Tool,
    /// It is about to stop.
    Stop,
}

/// What to tell an agent. The markers of the messages are made: if the telling fails, they must be taken back.
#[derive(Debug, PartialEq)]
pub struct Briefing {
    /// The text: at most [`limits::BRIEFING`] characters.
    pub text: String,
    /// The budget as it is used up then.
    pub told: Told,
    marked: Vec<OsString>,
}

impl Briefing {
    /// Takes the markers back: nobody was told.
    pub fn undo(&self, room: &Room, agent: &str) {
        for name in &self.marked {
            if let Err(e) = inbox::unannounce(&room.dir, agent, name) {
                tracing::warn!("{e}");
            }
        }
    }
}

/// What there is to tell an agent at this moment; `None` for nothing. Whatever is told is marked as announced before,
/// by exactly one of several tellers.
pub fn brief(room: &Room, agent: &str, moment: Moment, told: Told) -> Result<Option<Briefing>> {
    let is_start = moment == Moment::Start;
    let budget = Budget::of(&room.settings()?, told);
    // After tools nobody waits for a digest: it comes with the next prompt or stop.
    if moment == Moment::Tool && budget.left() == 0 {
        return Ok(None);
    }
    let Some(mut found) = find(room, agent, is_start)? else { return Ok(None) };
    let marked = mark(room, agent, &mut found, is_start);
    if found.mails.is_empty() {
        return Ok(None);
    }
    let (text, lines) = match is_start {
        true => {
            let is_new = |mail: &Mail| !found.announced.contains(&mail.name);
            (text::summary(agent, found.unread, &found.mails, is_new), 0)
        }
        false => text::news(found.unread, &found.mails, budget.left()),
    };
    Ok(Some(Briefing { text, told: budget.used(lines), marked }))
}

/// How many unread messages an agent would be told of that it was not told of yet.
pub fn untold(room: &Room, agent: &str) -> Result<usize> {
    Ok(find(room, agent, false)?.map_or(0, |found| found.mails.len()))
}

/// Does any message that an agent was not told of yet go on in a conversation?
pub fn is_answered(room: &Room, agent: &str) -> Result<bool> {
    let goes_on = |mail: &Mail| {
        let answers = mail.content.get("in_reply_to").is_some_and(|to| !to.is_null());
        answers || mail.thread_id.as_ref().is_some_and(|thread| *thread != mail.id)
    };
    Ok(find(room, agent, false)?.is_some_and(|found| found.mails.iter().any(goes_on)))
}

/// What is worth telling.
struct Found {
    /// How much is unread in all.
    unread: usize,
    /// What was announced already.
    announced: HashSet<OsString>,
    /// What may be told, oldest first.
    mails: Vec<Mail>,
}

/// The newest of an agent's unread mail that is worth telling, where it was not told of it yet, or also `again`.
fn find(room: &Room, agent: &str, again: bool) -> Result<Option<Found>> {
    let look = Look::at(room, agent)?;
    if !again && look.as_ref().is_some_and(|look| look.is_the_last(room, agent)) {
        return Ok(None);
    }
    let (mut names, unread) = inbox::newest(&room.dir, agent, limits::BRIEFING_LOOK)?;
    let announced = inbox::announced(&room.dir, agent, &names)?;
    names.retain(|name| again || !announced.contains(name));
    let mut mails: Vec<Mail> = mailbox::heads(room, agent, &names)?.collect();
    let unfinished = mails.iter().any(|mail| mail.unfinished);
    mails.retain(|mail| is_worth_telling(mail, agent));
    if mails.is_empty() && !unfinished && unread > limits::LISTED_AGAIN {
        look.iter().for_each(|look| look.keep(room, agent));
    }
    let found = Found { unread, announced, mails };
    Ok(Some(found).filter(|found| !found.mails.is_empty()))
}

fn is_worth_telling(mail: &Mail, agent: &str) -> bool {
    !mail.unfinished && mail.kind != "ack" && mail.priority != "low" && mail.from != agent
}

/// Makes the markers, and leaves out what somebody else is just telling. A marker that can't be made keeps nobody from
/// being told, though it may be told again.
fn mark(room: &Room, agent: &str, found: &mut Found, again: bool) -> Vec<OsString> {
    let mut marked = Vec::new();
    found.mails.retain(|mail| {
        if found.announced.contains(&mail.name) {
            return again;
        }
        match inbox::announce(&room.dir, agent, &mail.name) {
            Ok(true) => marked.push(mail.name.clone()),
            Ok(false) => return again,
            Err(e) => tracing::warn!("{e}"),
        }
        true
    });
    marked
}

/// How many lines an agent may still be given.
struct Budget {
    told: Told,
    most: u32,
}

impl Budget {
    fn of(settings: &Settings, told: Told) -> Budget {
        let now = Stamp::now();
        let is_over = now >= Stamp::from_micros(told.since).after(settings.announce_window.max(Duration::from_secs(1)));
        let told = if is_over || told.lines == 0 { Told { since: now.micros(), lines: 0 } } else { told };
        Budget { told, most: settings.announce_budget }
    }

    fn left(&self) -> usize {
        self.most.saturating_sub(self.told.lines) as usize
    }

    fn used(&self, lines: usize) -> Told {
        Told { lines: self.told.lines.saturating_add(lines as u32), ..self.told }
    }
}
