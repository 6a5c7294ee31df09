//! Waits until other agents have completed. The wait is a message in the log, so that others see it and can end it.

use super::session::{ExecSession, warn_on_error};
use super::{ExecMessage, RunEvent, RunEventQueue};
use crate::base::clock::{Stamp, span_text};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::commands::follow;
use crate::features::presence::{self, WorkReport};
use crate::log::state;
use crate::message::behaviour;
use crate::message::record::{EventKind, Record};
use crate::query::follow::LogFollower;
use crate::room::sessions;
use crate::router::watcher::LogWatch;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A wait.
struct DependencyWait<'s> {
    session: &'s ExecSession,
    others: &'s [String],
    follower: LogFollower,
    /// The last status message of each of them.
    reports: BTreeMap<String, WorkReport>,
    /// References to the message about this wait.
    names: BTreeSet<String>,
    id: String,
    /// Agents with a reported completion or block.
    reported: BTreeSet<(String, i64)>,
    /// Agent that ended the wait by an answer.
    released_by: Option<String>,
}

/// Waits until these agents have completed, or an answer ends the wait. The last status message of each counts, however
/// old it is. Returns the signal that ended the wait.
pub(super) fn wait(
    session: &ExecSession,
    others: &[String],
    timeout: Option<Duration>,
    events: &mut RunEventQueue,
    report: &dyn Fn(ExecMessage),
) -> Result<Option<i32>> {
    if others.is_empty() {
        return Ok(None);
    }
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    if let Err(e) = follow::refresh(&session.room, limits::READER_WAIT) {
        report(ExecMessage::Warning(format!(
            "cannot deliver pending mail: {e}"
        )));
    }
    let grown = events.sender();
    // Created before the first read, so that no change is missed. Without it, the loop polls every two seconds.
    let _watch = LogWatch::new(&session.room.dir, move || {
        // Sending fails only after the wait has ended.
        let _ = grown.send(RunEvent::Grown);
    });
    let Some(mut wait) = DependencyWait::begin(session, others, report)? else {
        return Ok(None);
    };
    let waited = wait.until(deadline, timeout, events, report);
    let why_not = match &waited {
        Ok(None) => return waited,
        Ok(Some(signal)) => not_started(*signal),
        Err(e) => format!("not started: {e}"),
    };
    // The wait has ended, so the log must not show it any longer.
    warn_on_error(session.blocked(&why_not, Map::new(), "normal"), report);
    waited
}

impl<'s> DependencyWait<'s> {
    /// Sends the message about the wait; `None` if all agents have completed.
    fn begin(
        session: &'s ExecSession,
        others: &'s [String],
        report: &dyn Fn(ExecMessage),
    ) -> Result<Option<DependencyWait<'s>>> {
        let follower = LogFollower::at_end(&session.room)?;
        let state = state::committed(&session.room.dir)?;
        let reports = others.iter().filter_map(|other| {
            let report = presence::of(&state).report_of(other)?;
            Some((other.clone(), report.clone()))
        });
        let mut wait = DependencyWait {
            session,
            others,
            follower,
            reports: reports.collect(),
            names: BTreeSet::new(),
            id: String::new(),
            reported: BTreeSet::new(),
            released_by: None,
        };
        let missing = wait.missing();
        if missing.is_empty() {
            return Ok(None);
        }
        let sent = session.waits_for(&missing, None)?;
        wait.names = BTreeSet::from([sent.id.clone(), format!("{}/{}", session.id(), sent.id)]);
        report(ExecMessage::Note(format!(
            "waiting for {} (message {})",
            missing.join(", "),
            sent.id
        )));
        wait.id = sent.id;
        Ok(Some(wait))
    }

    fn until(
        &mut self,
        deadline: Option<Instant>,
        timeout: Option<Duration>,
        events: &mut RunEventQueue,
        report: &dyn Fn(ExecMessage),
    ) -> Result<Option<i32>> {
        loop {
            self.look(report)?;
            let missing = self.missing();
            if let Some(by) = self.released_by.take() {
                let them = missing.join(", ");
                report(ExecMessage::Note(format!("{by} ended the wait for {them}")));
                return Ok(None);
            }
            if missing.is_empty() {
                return Ok(None);
            }
            match events.next(self.session, deadline, report) {
                None => return Err(too_late(&missing, timeout.unwrap_or_default())),
                Some(RunEvent::Signal { number, .. }) => {
                    return Ok(Some(number));
                }
                Some(_) => {}
            }
        }
    }

    /// Reads new records.
    fn look(&mut self, report: &dyn Fn(ExecMessage)) -> Result<()> {
        for record in self.follower.read()? {
            self.follow(&record);
            let is_own = record.sender() == self.session.id();
            if is_own && record.kind() == EventKind::Accepted && record.id() == Some(&*self.id) {
                self.names.insert(record.seq.to_string());
            }
            if self.released_by.is_none() && !is_own && self.is_release(&record) {
                self.released_by = record.from().map(ToString::to_string);
            }
        }
        self.report_progress(report);
        Ok(())
    }

    /// Notes a newer status message of an agent that must complete.
    fn follow(&mut self, record: &Record) {
        let is_report = record
            .shown()
            .is_some_and(|(_, kind)| behaviour(&kind).report);
        let Some(from) = record.from() else { return };
        if is_report
            && self.others.iter().any(|other| **other == **from)
            && let Some(report) = WorkReport::of(record, record.time(record.stamp()))
        {
            self.reports.insert(from.to_string(), report);
        }
    }

    /// Whether a record is an answer or a decision for this agent that refers to its wait.
    fn is_release(&self, record: &Record) -> bool {
        let mut recipients = record.recipients();
        if record.kind() != EventKind::Accepted
            || !recipients.any(|(agent, _)| **agent == *self.session.id())
        {
            return false;
        }
        let message: Value = record.message_as().unwrap_or_default();
        let refs = message["refs"].as_array().into_iter().flatten();
        let mut names = refs
            .chain([&message["in_reply_to"]])
            .filter_map(Value::as_str);
        matches!(message["type"].as_str(), Some("answer" | "decision"))
            && names.any(|name| self.names.contains(name))
    }

    fn missing(&self) -> Vec<String> {
        self.others
            .iter()
            .filter(|other| !self.is_completed(other))
            .cloned()
            .collect()
    }

    /// Whether an agent has completed. A command that was restarted since has not: its lease shows that before its messages do.
    fn is_completed(&self, other: &str) -> bool {
        let Some(report) = self
            .reports
            .get(other)
            .filter(|report| report.is_completed())
        else {
            return false;
        };
        let lease = sessions::of(&self.session.room, other).ok().flatten();
        let held = lease.filter(|lease| {
            lease.client == sessions::EXEC && !lease.is_gone(&self.session.room.dir)
        });
        let since = held.and_then(|lease| Stamp::parse(&lease.since));
        since.is_none_or(|since| since.micros() <= report.at)
    }

    fn report_progress(&mut self, report: &dyn Fn(ExecMessage)) {
        for other in self.others {
            let Some(work) = self.reports.get(other) else {
                continue;
            };
            let stuck = work.kind == "blocked";
            if !(stuck || self.is_completed(other))
                || !self.reported.insert((other.clone(), work.at))
            {
                continue;
            }
            report(ExecMessage::Note(if stuck {
                format!("{other} is blocked: {}", work.text)
            } else {
                format!("{other} has completed")
            }));
        }
    }
}

fn too_late(missing: &[String], timeout: Duration) -> Error {
    let them = missing.join(", ");
    let what = if timeout.is_zero() {
        format!("not completed: {them}")
    } else {
        format!("not completed within {}: {them}", span_text(timeout))
    };
    Error::timeout(what, "try again, or increase --timeout")
}

/// The status text for a signal before the command started.
pub(super) fn not_started(signal: i32) -> String {
    format!("ended by {} before it started", super::signal_name(signal))
}

/// The status text and metadata for a command's exit.
pub(super) fn outcome(code: u8, signal: Option<i32>) -> (String, Map<String, Value>) {
    let mut metadata = Map::from_iter([("exit_code".to_owned(), json!(code))]);
    let text = match signal {
        Some(signal) => {
            metadata.insert("signal".into(), json!(super::signal_name(signal)));
            format!("ended by {}", super::signal_name(signal))
        }
        None => format!("ended with exit status {code}"),
    };
    (text, metadata)
}
