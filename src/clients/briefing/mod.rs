//! Announces mail to an agent: each message once, in one line, within the agent's budget.
//!
//! Low-priority mail, acks and the agent's own messages are not announced. Nothing is marked as read.

mod claims;
pub mod context;
mod text;

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::message::{id, is_announced};
use crate::query::inbox::{self as mailbox, InboxMessage};
use crate::room::sessions::{CallingSession, ShownLines, first_time};
use crate::room::settings::Settings;
use crate::room::{Room, inbox};
use std::collections::HashSet;
use std::ffi::OsString;
use std::time::Duration;

/// The number of the newest unread messages that a hook reads.
const BRIEFING_LOOK: usize = 500;

/// The moment of a session for an announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionMoment {
    /// The session starts with an empty context.
    Start,
    /// The session resumes with its earlier context.
    Resume,
    /// A prompt was submitted.
    Prompt,
    /// Tools were used.
    Tool,
    /// The agent is about to stop.
    Stop,
}

/// The name of the record that mail was announced to a session.
const HEARD: &str = "mail";

/// The session that hears an announcement.
#[derive(Debug, Clone, Copy)]
pub struct BriefedSession<'a> {
    /// The session.
    pub caller: &'a CallingSession,
    /// Whether it has just lost its context, and with it all earlier announcements.
    pub forgot: bool,
}

impl BriefedSession<'_> {
    /// Whether mail was announced to the session before. Remembers that it is announced now.
    fn has_heard(&self, room: &Room) -> bool {
        self.caller.session.is_some() && first_time(room, &self.caller.key(), HEARD) == Some(false)
    }
}

/// The agent that gets an announcement.
#[derive(Debug, Clone, Copy)]
pub struct BriefedAgent<'a> {
    /// Its id.
    pub agent: &'a str,
    /// Its session, if that is known.
    pub session: Option<BriefedSession<'a>>,
}

/// The longest text without the hint how to read it.
const MOST: usize = limits::BRIEFING - limits::BRIEFING_HINT;

/// An announcement. Its messages are already marked as announced: if it cannot be shown, call [`Briefing::undo`].
#[derive(Debug, PartialEq)]
pub struct Briefing {
    /// The text: at most [`limits::BRIEFING`] characters, with the hint how to read it. Empty if there is only a context.
    pub text: String,
    /// The budget after this announcement.
    pub told: ShownLines,
    /// The context of the agent, with its own budget.
    pub context: Option<String>,
    /// A reference to the newest message that is announced, if there is mail.
    pub newest: Option<String>,
    /// True if the router wrote the newest message, so that no reply to it is accepted.
    pub is_notice: bool,
    marked: Vec<OsString>,
}

impl Briefing {
    fn of(text: String, told: ShownLines) -> Briefing {
        Briefing {
            text,
            told,
            context: None,
            newest: None,
            is_notice: false,
            marked: Vec::new(),
        }
    }

    /// Removes the markers, because the announcement was not shown.
    pub fn undo(&self, room: &Room, agent: &str) {
        for name in &self.marked {
            if let Err(e) = inbox::unannounce(&room.dir, agent, name) {
                tracing::warn!("{e}");
            }
        }
    }
}

/// Builds the announcement for a moment; `None` if there is nothing to announce. Of several processes that announce at the
/// same time, exactly one marks and announces each message. At its start, a session also gets its offers and its claims, and
/// with the setting `brief = "context"` the context of its work.
pub fn brief(
    room: &Room,
    to: BriefedAgent<'_>,
    moment: SessionMoment,
    told: ShownLines,
) -> Result<Option<Briefing>> {
    let briefing = brief_claims_and_mail(room, to, moment, told)?;
    let context = if moment == SessionMoment::Start {
        context::at_start(room, to.agent)
    } else {
        None
    };
    Ok(match (briefing, context) {
        (None, None) => None,
        (Some(mail), context) => Some(Briefing { context, ..mail }),
        (None, context) => Some(Briefing {
            context,
            ..Briefing::of(String::new(), told)
        }),
    })
}

fn brief_claims_and_mail(
    room: &Room,
    to: BriefedAgent<'_>,
    moment: SessionMoment,
    told: ShownLines,
) -> Result<Option<Briefing>> {
    let starts = matches!(moment, SessionMoment::Start | SessionMoment::Resume);
    let claims = if starts {
        claims::text(room, to.agent)
    } else {
        None
    };
    let Some(claims) = claims else {
        return brief_mail(room, to, moment, told, MOST);
    };
    let left = MOST.saturating_sub(claims.chars().count() + 1);
    Ok(Some(match brief_mail(room, to, moment, told, left)? {
        Some(mail) => Briefing {
            text: format!("{claims}\n{}", mail.text),
            ..mail
        },
        None => Briefing::of(claims, told),
    }))
}

fn brief_mail(
    room: &Room,
    to: BriefedAgent<'_>,
    moment: SessionMoment,
    told: ShownLines,
    most: usize,
) -> Result<Option<Briefing>> {
    let agent = to.agent;
    let is_start = moment == SessionMoment::Start;
    // Invalid settings are reported elsewhere, and must not hide mail.
    let budget = LineBudget::of(&room.settings().unwrap_or_default(), told);
    // No digest after tools: the next prompt or stop brings it.
    if moment == SessionMoment::Tool && budget.left() == 0 {
        return Ok(None);
    }
    let Some(mut found) = find(room, agent, is_start)? else {
        return Ok(None);
    };
    // After the markers were read, and before new ones are set: if two hooks of a session run at the same time, one of them
    // sees the announcement of the other.
    if to
        .session
        .is_some_and(|session| session.has_heard(room) && !session.forgot)
    {
        found
            .mails
            .retain(|mail| !found.announced.contains(&mail.name));
    }
    let marked = mark(room, agent, &mut found);
    if found.mails.is_empty() {
        return Ok(None);
    }
    let (text, lines) = if is_start {
        (
            text::summary(agent, most, found.unread, &found.mails, |mail| {
                !found.announced.contains(&mail.name)
            }),
            0,
        )
    } else {
        text::news(found.unread, &found.mails, budget.left(), most)
    };
    let newest = found.mails.last();
    Ok(Some(Briefing {
        newest: newest.and_then(text::named),
        is_notice: newest.is_some_and(|mail| *mail.from == *id::MAILBAG),
        marked,
        ..Briefing::of(text, budget.used(lines))
    }))
}

/// Number of unread messages that were not announced yet.
pub fn unannounced(room: &Room, agent: &str) -> Result<usize> {
    Ok(find(room, agent, false)?.map_or(0, |found| found.mails.len()))
}

/// Mail that may be announced.
struct AnnounceableMail {
    /// Number of all unread messages.
    unread: usize,
    /// Messages that were announced before.
    announced: HashSet<OsString>,
    /// Messages to announce, oldest first.
    mails: Vec<InboxMessage>,
}

/// The newest unread mail to announce; with `again`, also mail that was announced before.
fn find(room: &Room, agent: &str, again: bool) -> Result<Option<AnnounceableMail>> {
    let (mut names, unread) = inbox::newest(&room.dir, agent, BRIEFING_LOOK)?;
    let announced = inbox::announced(&room.dir, agent, &names)?;
    names.retain(|name| again || !announced.contains(name));
    let mut mails: Vec<InboxMessage> = mailbox::heads(room, agent, &names)?;
    mails.retain(|mail| should_announce(mail, agent));
    mails.retain(|mail| delay(mail).is_none());
    mailbox::note_ended_offers(room, &mut mails);
    let found = AnnounceableMail {
        unread,
        announced,
        mails,
    };
    Ok(Some(found).filter(|found| !found.mails.is_empty()))
}

/// The remaining delay of an announcement. `None` for mail that is not part of a long talk.
fn delay(mail: &InboxMessage) -> Option<Duration> {
    let after = Stamp::parse(mail.announce_after.as_deref()?)?;
    Some(after.saturating_duration_since(Stamp::now())).filter(|left| !left.is_zero())
}

fn should_announce(mail: &InboxMessage, agent: &str) -> bool {
    !mail.unfinished && is_announced(&mail.kind, mail.priority) && mail.from != agent
}

/// Sets the markers, and skips messages that another process is announcing. If a marker cannot be set, the message is still
/// announced, perhaps twice.
fn mark(room: &Room, agent: &str, found: &mut AnnounceableMail) -> Vec<OsString> {
    let mut marked = Vec::new();
    found.mails.retain(|mail| {
        if found.announced.contains(&mail.name) {
            return true;
        }
        match inbox::announce(&room.dir, agent, &mail.name) {
            Ok(true) => marked.push(mail.name.clone()),
            Ok(false) => return false,
            Err(e) => tracing::warn!("{e}"),
        }
        true
    });
    marked
}

/// The window of `budget.announcements`.
const ANNOUNCE_WINDOW: Duration = Duration::from_secs(3600);

/// The number of lines that an agent may still get.
struct LineBudget {
    told: ShownLines,
    most: u32,
}

impl LineBudget {
    fn of(settings: &Settings, told: ShownLines) -> LineBudget {
        let now = Stamp::now();
        let is_over = !Stamp::from_micros(told.since).is_within(ANNOUNCE_WINDOW, now);
        let told = if is_over || told.lines == 0 {
            ShownLines {
                since: now.micros(),
                lines: 0,
            }
        } else {
            told
        };
        LineBudget {
            told,
            most: settings.budget.announcements,
        }
    }

    fn left(&self) -> usize {
        self.most.saturating_sub(self.told.lines) as usize
    }

    fn used(&self, lines: usize) -> ShownLines {
        ShownLines {
            lines: self.told.lines.saturating_add(lines as u32),
            ..self.told
        }
    }
}
