//! `MAILBOX.md` and `queue/to-<agent>.md`: the newest mail of the room, and the unread mail of each agent, for people
//! who use an editor. Both are bounded, so each is written as a whole, at most once a second.
//!
//! A block that an agent writes into them becomes a message in its outbox, and a changed status line becomes an
//! acknowledgement. Other text is kept beside the file.

use super::edits::{self, MailFile, MailFileEdits, MailFileText};
use super::files::{drop_message, parts, remove_own, remove_queues};
use super::paths;
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::text::{count, count_of, joined, listed, to_the_second};
use crate::base::{limits, markdown};
use crate::disk::{Dir, Meta, SharedFileContent, layout};
use crate::features::{approvals, claims};
use crate::log::lookup::LoggedMessage;
use crate::log::state::RoomState;
use crate::log::{self, LogPosition, find};
use crate::room::registry::Registry;
use crate::router::projections::foreign::{self, GeneratedFile};
use crate::router::projections::pacing::WritePacing;
use crate::router::projections::{
    NoticeText, ProjectedMessage, Projection, ProjectionReport, ProjectionView, ReconcileCause,
};
use rustix::fs::FileType;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The number of older messages that the router looks up in one step.
const LOOKUPS: usize = 1000;

/// The files as they were written.
#[derive(Default)]
pub(super) struct MailFiles {
    /// The messages that are shown, by their numbers.
    known: BTreeMap<u64, ShownMail>,
    /// The end of the log when the newest messages were read.
    upto: Option<LogPosition>,
    /// Each file as it was left, with its text.
    written: HashMap<OsString, (MailFileText, Option<Meta>)>,
    pacing: WritePacing,
    /// Whether the unwanted files were removed.
    is_removed: bool,
    /// The ids of the messages that were put into outboxes, by the file that still contains them. A rejected message
    /// leaves its outbox, and is not sent again.
    taken: HashMap<OsString, HashSet<String>>,
    /// The edition of the next version of each file that was read or written.
    editions: HashMap<OsString, String>,
}

/// The advice to the human about other text.
const ADVICE: &str = "A block of an agent, with the header `## TIME · from:AGENT · to:AGENT · type:msg` and a text below it, is \
                      sent as a message. It continues until the next such header or the end of the file. To keep a file of your own \
                      under this name, turn off `mailbox` in settings.toml.";

/// A message for display.
struct ShownMail {
    at: String,
    from: Arc<str>,
    to: Vec<Arc<str>>,
    /// Its type, its priority if that is not normal, and its text.
    text: String,
}

impl Projection for MailFiles {
    fn apply(
        &mut self,
        _: &[ProjectedMessage],
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) {
        if !view.settings().mailbox {
            self.remove_files(view, report);
            return;
        }
        self.is_removed = false;
        if self.pacing.is_outdated(view) && self.pacing.can_write() {
            self.show(view, report);
        }
    }

    fn reconcile(
        &mut self,
        cause: ReconcileCause,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<()> {
        if !view.settings().mailbox || cause == ReconcileCause::Recovery {
            return Ok(());
        }
        let room = view.room();
        let before = self.written.len();
        self.written
            .retain(|name, (_, left)| left.is_some() && stat(room, name) == *left);
        if cause == ReconcileCause::End || self.written.len() < before {
            self.show(view, report);
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Instant> {
        self.pacing.due
    }

    fn collect(&mut self, view: &ProjectionView<'_>, report: &mut ProjectionReport<'_>) {
        if !view.settings().mailbox {
            return;
        }
        let agents = view.registry().agents().iter();
        let queues = agents.map(|agent| MailFileName::queue(&agent.id));
        for file in std::iter::once(MailFileName::mailbox()).chain(queues) {
            let there = stat(view.room(), &file.name);
            if let Err(e) = self.release(&file, there, view, report) {
                report.failed(paths::MAILBOX.to_owned(), &e);
            }
        }
    }
}

/// A file of this projection, and the owner of a queue.
struct MailFileName<'a> {
    name: OsString,
    agent: Option<&'a str>,
}

impl<'a> MailFileName<'a> {
    fn mailbox() -> MailFileName<'a> {
        MailFileName {
            name: paths::MAILBOX.into(),
            agent: None,
        }
    }

    fn queue(agent: &'a str) -> MailFileName<'a> {
        MailFileName {
            name: paths::queue(agent),
            agent: Some(agent),
        }
    }
}

fn stat(room: &Dir, name: &OsString) -> Option<Meta> {
    room.stat(Path::new(name)).ok().flatten()
}

impl MailFiles {
    fn show(&mut self, view: &ProjectionView<'_>, report: &mut ProjectionReport<'_>) {
        let begun = Instant::now();
        self.pacing.begin(view);
        match self.write(view, report) {
            Ok(is_whole) => {
                report.written(paths::MAILBOX);
                if !is_whole {
                    self.pacing.retry();
                }
            }
            Err(e) => {
                report.failed(paths::MAILBOX.to_owned(), &e);
                self.pacing.retry();
            }
        }
        self.pacing.end(begun);
    }

    /// Removes the files of an earlier setting.
    fn remove_files(&mut self, view: &ProjectionView<'_>, report: &mut ProjectionReport<'_>) {
        if std::mem::replace(&mut self.is_removed, true) {
            return;
        }
        self.pacing = WritePacing::default();
        let room = view.room();
        match remove_own(room, OsStr::new(paths::MAILBOX)).and(remove_queues(room)) {
            Ok(()) => self.written.clear(),
            Err(e) => report.failed(paths::MAILBOX.to_owned(), &e),
        }
    }

    /// Writes the files that would change. Returns false if some messages must be looked up later.
    fn write(
        &mut self,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<bool> {
        let (room, state) = (view.room(), view.state);
        self.read_newest(room, state)?;
        let text = self.mailbox(view.registry(), state);
        let mut is_whole = self.put(MailFileName::mailbox(), text, view, report)?;
        let mut wanted: Vec<u64> = self
            .known
            .keys()
            .rev()
            .take(limits::LISTED)
            .copied()
            .collect();
        let (mut lookups, agents) = (LOOKUPS, view.registry().agents().iter());
        for agent in agents.filter(|agent| !agent.is_retired()) {
            let newest = state.mailboxes.unread(&agent.id).rev().take(limits::LISTED);
            let seqs: Vec<u64> = newest.map(|(_, seq)| seq).collect();
            for seq in &seqs {
                if !self.known.contains_key(seq) {
                    is_whole &= lookups > 0;
                    if lookups == 0 {
                        break;
                    }
                    lookups -= 1;
                    self.look_up(room, *seq)?;
                }
            }
            let text = self.queue(&agent.id, state, &seqs);
            let file = MailFileName::queue(&agent.id);
            if seqs.is_empty()
                && !self.written.contains_key(&file.name)
                && stat(room, &file.name).is_none()
            {
                continue;
            }
            wanted.extend(seqs);
            is_whole &= self.put(file, text, view, report)?;
        }
        wanted.sort_unstable();
        self.known
            .retain(|seq, _| wanted.binary_search(seq).is_ok());
        Ok(is_whole)
    }

    /// Reads the messages since the last time. The first time, it reads the newest messages of the log.
    fn read_newest(&mut self, room: &Dir, state: &RoomState) -> Result<()> {
        let mut back = limits::TAIL_LOOK;
        loop {
            let from = match self.upto {
                Some(upto) => upto,
                None => log::before_end(room, back)?,
            };
            for line in log::read(room, from)? {
                let line = line?;
                if line.at >= state.end {
                    break;
                }
                self.known.extend(ShownMail::read(&line.bytes));
            }
            if self.upto.is_some() || self.known.len() >= limits::LISTED || from == log::START {
                self.upto = Some(state.end);
                return Ok(());
            }
            back = back.saturating_mul(8);
        }
    }

    fn look_up(&mut self, room: &Dir, seq: u64) -> Result<()> {
        let line = find::by_seq(room, seq)?;
        self.known
            .extend(line.and_then(|line| ShownMail::read(&line.bytes)));
        Ok(())
    }

    /// Writes a file that would change. Returns false if it must be written later.
    fn put(
        &mut self,
        file: MailFileName<'_>,
        text: MailFileText,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<bool> {
        let room = view.room();
        if self
            .written
            .get(&file.name)
            .is_some_and(|(before, _)| *before == text)
        {
            return Ok(true);
        }
        let there = room.stat(Path::new(&file.name))?;
        if !self.release(&file, there, view, report)? {
            return Ok(false);
        }
        let (dir, name) = parts(room, &file.name, true)?;
        let edition = self.editions.entry(file.name.clone());
        let checked = text.with_check(edition.or_insert_with(edits::new_edition));
        // A torn file would look like foreign text.
        let shared = SharedFileContent {
            head: checked.as_bytes(),
            rest: None,
            is_durable: true,
        };
        let left = dir.put_shared(&name, shared, there.as_ref())?;
        let is_written = left.is_some();
        if is_written {
            self.taken.remove(&file.name);
            self.written.insert(file.name, (text, left));
        }
        Ok(is_written)
    }

    /// Takes foreign text from a file, so that the file can be overwritten. Returns false if the file must stay until
    /// the human is notified.
    fn release(
        &mut self,
        file: &MailFileName<'_>,
        there: Option<Meta>,
        view: &ProjectionView<'_>,
        report: &mut ProjectionReport<'_>,
    ) -> Result<bool> {
        let MailFileName { name, agent } = file;
        let (room, shown) = (view.room(), name.to_string_lossy());
        let Some(meta) = there.filter(|there| there.kind == FileType::RegularFile) else {
            return Ok(true);
        };
        if self
            .written
            .get(name)
            .is_some_and(|(_, left)| *left == Some(meta))
        {
            return Ok(true);
        }
        let (dir, file) = parts(room, name, false)?;
        // The text of a block may not be complete.
        dir.check_closed(&file)?;
        let bytes = dir.read(&file, limits::REGISTRY_BYTES)?.unwrap_or_default();
        if foreign::is_torn(&bytes) {
            return Ok(true);
        }
        let digest = foreign::digest(&bytes);
        let mail_file = MailFile {
            path: &shown,
            agent: *agent,
        };
        let edits = match str::from_utf8(&bytes) {
            Ok(text) => edits::read_edits(&mail_file, text, view.registry(), view.state),
            Err(_) => MailFileEdits {
                has_other: true,
                next_edition: edits::new_edition(),
                ..MailFileEdits::default()
            },
        };
        let taken = self.taken.entry(name.clone()).or_default();
        for message in &edits.messages {
            let id = message.fields["id"].as_str().unwrap_or_default();
            if !taken.contains(id) {
                drop_message(view, message)?;
                taken.insert(id.to_owned());
            }
        }
        self.editions.insert(name.clone(), edits.next_edition);
        let made = GeneratedFile {
            dir: &dir,
            name: &file,
            shown: &shown,
            advice: ADVICE,
        };
        for agent in edits.unsent {
            let notice = unsent_notice(
                agent,
                &shown,
                &layout::kept_aside(made.name, &digest),
                &digest,
            );
            report.notices.add(view.state, notice);
        }
        if edits.has_other {
            made.keep_aside(&digest, view.state, report)
        } else {
            Ok(true)
        }
    }

    fn mailbox(&self, registry: &Registry, state: &RoomState) -> MailFileText {
        let mut text = String::new();
        let at = to_the_second(&state.at.to_string());
        let _ = writeln!(
            text,
            "- As of #{}, {at}: {}",
            state.seq,
            count(state.counts.accepted, "message")
        );
        let unread = registry
            .agents()
            .iter()
            .map(|agent| (&agent.id, state.mailboxes.count(&agent.id)));
        let mut unread: Vec<_> = unread.filter(|(_, count)| *count > 0).collect();
        unread.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let shown = unread
            .iter()
            .take(limits::WORKLOG_DECISIONS)
            .map(|(agent, n)| format!("{} {n}", escaped(agent)));
        let shown = joined(shown);
        let more = unread.len().saturating_sub(limits::WORKLOG_DECISIONS);
        let more = if more > 0 {
            format!(", and {}", count_of(more, "more agent"))
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "- Unread: {}{more}",
            if shown.is_empty() { "none" } else { &shown }
        );
        let (claims, open) = (
            claims::of(state).held().len(),
            approvals::of(state).open().len(),
        );
        let _ = writeln!(
            text,
            "- {}, {}\n",
            count_of(claims, "claim"),
            count_of(open, "open approval")
        );
        for (seq, shown) in self.known.iter().rev().take(limits::LISTED) {
            let to = named(shown.to.iter().map(|agent| &**agent));
            let _ = writeln!(
                text,
                "- #{seq} {} {} → {to} · {}",
                shown.at,
                escaped(&shown.from),
                shown.text
            );
            let _ = writeln!(text, "  - {}", statuses(state, registry, *seq, &shown.to));
        }
        if self.known.len() >= limits::LISTED {
            let _ = writeln!(text, "\nOlder messages: `mailbag list`.");
        }
        MailFileText {
            title: "# Mailbox".to_owned(),
            body: text,
        }
    }

    fn queue(&self, agent: &str, state: &RoomState, newest: &[u64]) -> MailFileText {
        let mut text = String::new();
        let unread = state.mailboxes.count(agent);
        let oldest = state
            .mailboxes
            .unread(agent)
            .next()
            .map(|(at, _)| second(at));
        let oldest = oldest
            .map(|oldest| format!(", the oldest of {oldest}"))
            .unwrap_or_default();
        let _ = writeln!(text, "- {}{oldest}\n", count_of(unread, "unread message"));
        for (seq, shown) in newest
            .iter()
            .filter_map(|seq| Some((seq, self.known.get(seq)?)))
        {
            let _ = writeln!(
                text,
                "- #{seq} {} {} · {}",
                shown.at,
                escaped(&shown.from),
                shown.text
            );
            let _ = writeln!(
                text,
                "{}",
                edits::status_line(state.mailboxes.status(agent, *seq))
            );
        }
        if unread > newest.len() {
            let _ = writeln!(
                text,
                "\n{} more: `mailbag inbox --as {}`.",
                unread - newest.len(),
                agent
            );
        }
        MailFileText {
            title: format!("# To {}", escaped(agent)),
            body: text,
        }
    }
}

impl ShownMail {
    /// The message of a line of the log, if it is mail.
    fn read(line: &[u8]) -> Option<(u64, ShownMail)> {
        let message = LoggedMessage::read(line)?;
        let about = [message.subject, message.preview]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(": ");
        let about = markdown::brief(&about, limits::WORKLOG_TEXT);
        let kind = escaped(&message.kind);
        let text = if message.priority.is_normal() {
            format!("{kind} · {about}")
        } else {
            format!("{kind}, {} · {about}", message.priority.as_str())
        };
        let shown = ShownMail {
            at: to_the_second(&message.accepted_at),
            from: message.from,
            to: message.recipients,
            text,
        };
        (!shown.to.is_empty()).then_some((message.seq, shown))
    }
}

/// The notice to an agent about its blocks in a file that are not sent.
fn unsent_notice(agent: Arc<str>, shown: &str, kept: &OsStr, digest: &str) -> NoticeText {
    let body = format!(
        "A text in your name in {shown} was not sent. The file is kept beside it as {}. To send the text, use `mailbag send`, or add \
         it at the end of {shown} below the header `## TIME · from:{agent} · to:AGENT · type:msg`.",
        kept.to_string_lossy()
    );
    NoticeText::alert(
        agent.clone(),
        format!("foreign:{shown}:{digest}:{agent}"),
        format!("not sent: your text in {shown}"),
        body,
    )
}

/// The status of each copy, or the number of unread copies.
fn statuses(state: &RoomState, registry: &Registry, seq: u64, to: &[Arc<str>]) -> String {
    let statuses = to.iter().map(|agent| {
        let now = registry.now(agent).map_or(&**agent, |agent| &*agent.id);
        let status = match state.mailboxes.status(now, seq) {
            Some(status) => status.as_str(),
            None if state.mailboxes.is_unread(now, seq) => "unread",
            None => "seen",
        };
        (agent, status)
    });
    let texts: Vec<String> = if to.len() <= limits::IN_SENTENCE {
        statuses
            .map(|(agent, status)| format!("{} {status}", escaped(agent)))
            .collect()
    } else {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, status) in statuses {
            *counts.entry(status).or_default() += 1;
        }
        counts
            .into_iter()
            .map(|(status, n)| format!("{n} {status}"))
            .collect()
    };
    texts.join(", ")
}

fn named<'a>(agents: impl Iterator<Item = &'a str>) -> String {
    listed(agents.map(escaped))
}

fn escaped(name: &str) -> String {
    markdown::brief(name, limits::WORKLOG_TEXT)
}

fn second(at: Stamp) -> String {
    to_the_second(&at.to_string())
}
