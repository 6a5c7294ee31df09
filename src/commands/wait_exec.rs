//! Starts a command for each message of an inbox. A message is marked as read after the command has succeeded.

use super::announce;
use super::read::mark_seen;
use super::wait::{InboxWaiter, WaitEnd, WaitResult};
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::machine;
use crate::disk::terminal::{Pid, signal_group};
use crate::query::inbox::{self, InboxMessage, MailHold};
use crate::query::wait::{NewMailTracker, WaitFilter};
use crate::room::Room;
use signal_hook::consts::SIGTERM;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The delay after the first failure. Each further round of failures doubles it.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest delay.
const RETRY_DELAY_MOST: Duration = Duration::from_secs(5 * 60);
const SHELL: &str = "/bin/sh";

/// A command for the messages of one agent.
pub struct MailCommand<'a> {
    /// The room.
    pub room: &'a Room,
    /// The agent.
    pub agent: &'a str,
    /// The command line for the shell. It contains no text of a message.
    pub line: &'a str,
    /// The messages that it is started for.
    pub filter: &'a WaitFilter,
    /// Builds the standard input for a message.
    pub input: &'a dyn Fn(&InboxMessage) -> Result<Vec<u8>>,
    /// Shows that the command failed.
    pub failed: &'a dyn Fn(&Error),
    /// Shows that mail cannot be delivered.
    pub trouble: &'a dyn Fn(&Error),
}

/// Messages with a failed command, and the time of the next round.
struct FailedMail {
    names: HashSet<OsString>,
    delay: Duration,
    next_round: Option<Instant>,
}

/// A running command. Dropping it does not end it.
struct RunningCommand {
    group: Pid,
    ended: Receiver<std::io::Result<ExitStatus>>,
}

impl MailCommand<'_> {
    /// Starts the command for each message, oldest first, until a signal, which it returns. If the command
    /// fails, the message stays unread, and the command is started again after a growing delay.
    pub fn run_for_each(&self, waiter: &mut InboxWaiter) -> Result<i32> {
        let mut new_mail = NewMailTracker::default();
        let mut failed = FailedMail::none();
        loop {
            let mut look = || self.next_message(&mut new_mail);
            let found = match waiter.until(failed.next_round, &mut look, self.trouble)? {
                WaitResult::Signal(signal) => return Ok(signal),
                WaitResult::Found(found) => found,
                WaitResult::TimedOut => {
                    failed.begin_round();
                    new_mail = NewMailTracker::default();
                    continue;
                }
            };
            let (mail, mut signal) = (&found.mails[0], None);
            let mails = std::slice::from_ref(mail);
            let handled = announce::announcing(self.room, self.agent, mails, || {
                self.handle(mail, waiter, &mut signal)
            });
            match handled {
                Ok(()) => {
                    mark_seen(self.room, self.agent, mails)?;
                    failed.remove(mail);
                }
                Err(e) => {
                    self.room.check_place()?;
                    failed.add(mail);
                    (self.failed)(&e);
                }
            }
            if let Some(signal) = signal {
                return Ok(signal);
            }
        }
    }

    /// The oldest unread message that was not returned yet, locked.
    fn next_message(&self, new_mail: &mut NewMailTracker) -> Result<Option<MailHold>> {
        let heads = new_mail.look_for(self.room, self.agent, self.filter, 1)?;
        for head in &heads {
            let whole = inbox::whole(self.room, std::slice::from_ref(head))?;
            let mut found = MailHold::of_found(self.room, self.agent, whole)?;
            if found.mails.is_empty() {
                // Another process shows it, and may leave it unread.
                new_mail.forget(head);
            } else {
                inbox::note_closed(self.room, self.agent, &mut found.mails);
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Runs the command for a message. Forwards a signal to it, and notes the signal.
    fn handle(
        &self,
        mail: &InboxMessage,
        waiter: &mut InboxWaiter,
        signal: &mut Option<i32>,
    ) -> Result<()> {
        let running = self.start((self.input)(mail)?, waiter)?;
        let status = loop {
            if let Ok(status) = running.ended.try_recv() {
                break status;
            }
            match waiter.wait(None) {
                WaitEnd::Changed | WaitEnd::TimedOut => {}
                WaitEnd::Trouble(e) => (self.trouble)(&e),
                WaitEnd::Removed(e) => {
                    signal_group(running.group, SIGTERM);
                    return Err(e);
                }
                WaitEnd::Signal(number) => {
                    *signal = Some(number);
                    signal_group(running.group, number);
                    break running.ended.recv().expect("its thread sends once");
                }
            }
        };
        let status = status.doing("wait for", SHELL)?;
        if status.success() {
            return Ok(());
        }
        let of = mail.seq.map_or_else(
            || mail.file.display().to_string(),
            |seq| format!("message #{seq}"),
        );
        Err(Error::busy(
            format!("the command for {of} ended with {status}"),
            "the message stays unread, and the command is started again later",
        ))
    }

    /// Starts the command in a process group of its own, with a message on standard input.
    fn start(&self, input: Vec<u8>, waiter: &InboxWaiter) -> Result<RunningCommand> {
        let mut command = Command::new(SHELL);
        command
            .args(["-c", self.line])
            .env("MAILBAG_ROOM", self.room.dir.path())
            .env("MAILBAG_AGENT", self.agent)
            .env("MAOS_AGENT_ID", self.agent)
            .stdin(Stdio::piped())
            .process_group(0);
        machine::end_with_us(&mut command);
        let mut child = command.spawn().doing("start", SHELL)?;
        let group = Pid::from_child(&child);
        let mut stdin = child.stdin.take().expect("it was asked for");
        // The command may end without reading its input.
        std::thread::spawn(move || stdin.write_all(&input));
        let (sender, ended) = channel();
        let wake = waiter.waker();
        std::thread::spawn(move || {
            let _ = sender.send(child.wait());
            wake();
        });
        Ok(RunningCommand { group, ended })
    }
}

impl FailedMail {
    fn none() -> FailedMail {
        FailedMail {
            names: HashSet::new(),
            delay: RETRY_DELAY,
            next_round: None,
        }
    }

    fn add(&mut self, mail: &InboxMessage) {
        self.names.insert(mail.name.clone());
        self.next_round = Some(Instant::now() + self.delay);
    }

    fn remove(&mut self, mail: &InboxMessage) {
        if self.names.remove(&mail.name) && self.names.is_empty() {
            *self = FailedMail::none();
        }
    }

    fn begin_round(&mut self) {
        self.next_round = None;
        self.delay = (2 * self.delay).min(RETRY_DELAY_MOST);
    }
}
