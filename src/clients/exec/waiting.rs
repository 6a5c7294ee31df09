//! Waiting until other agents have completed: said in the log, so that a circle of those who wait is seen.

use super::graph::{Graph, shown};
use super::session::Session;
use super::{Happening, Happenings, Told};
use crate::base::clock::{Stamp, span_text};
use crate::base::error::{Error, Result};
use crate::commands::send;
use crate::message::record::{Event, Record};
use crate::query::follow::Follower;
use crate::room::registry::{Registry, Status};
use crate::room::sessions::{self, Lease};
use crate::router::watcher::LogWatch;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What ended the wait.
pub(super) enum Waited {
    /// Everybody has completed, or somebody let it go on.
    Over,
    /// A signal asks to end.
    Signal(i32),
}

/// A wait, from the first look at the log on.
struct Wait<'s> {
    session: &'s Session,
    others: &'s [String],
    registry: Registry,
    follower: Follower,
    graph: Graph,
    /// How the message that says so may be named by an answer.
    names: BTreeSet<String>,
    id: String,
    /// Of whom it was told that they are done, or stuck.
    told: BTreeSet<(String, i64)>,
    /// The circle that it was warned of.
    warned: Option<Vec<String>>,
    /// Who let it go on.
    freed: Option<String>,
}

/// Waits until these agents have completed. What each has last said of itself counts, also if it said so long ago.
pub(super) fn wait(
    session: &Session,
    others: &[String],
    timeout: Option<Duration>,
    happenings: &mut Happenings,
    hear: &dyn Fn(Told),
) -> Result<Waited> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    if let Err(e) = send::route(&session.room) {
        hear(Told::Warning(format!("what waits was not routed: {e}")));
    }
    let grown = happenings.sender();
    // Made before the first look, so that nothing comes unseen in between; without it, it looks every two seconds.
    let _watch = LogWatch::new(&session.room.dir, move || {
        // The receiver is gone only when nobody waits any more.
        let _ = grown.send(Happening::Grown);
    });
    let Some(mut wait) = Wait::begin(session, others, hear)? else { return Ok(Waited::Over) };
    let waited = wait.until(deadline, timeout, happenings, hear);
    let why_not = match &waited {
        Ok(Waited::Over) => return waited,
        Ok(Waited::Signal(signal)) => not_begun(*signal),
        Err(e) => format!("not begun: {e}"),
    };
    // It waits no more: nobody may be told that it does.
    super::session::bear(session.stuck(&why_not, Map::new(), "normal").map(drop), hear);
    waited
}

impl<'s> Wait<'s> {
    /// Says who is waited for; `None` if nobody need be.
    fn begin(session: &'s Session, others: &'s [String], hear: &dyn Fn(Told)) -> Result<Option<Wait<'s>>> {
        let registry = session.room.registry()?;
        let follower = Follower::at_end(&session.room)?;
        let graph = Graph::of(&session.room, &registry)?;
        let (told, names) = (BTreeSet::new(), BTreeSet::new());
        let mut wait = Wait {
            session,
            others,
            registry,
            follower,
            graph,
            names,
            id: String::new(),
            told,
            warned: None,
            freed: None,
        };
        let missing = wait.missing();
        if missing.is_empty() {
            return Ok(None);
        }
        if let Some(way) = wait.graph.cycle(session.id(), &missing, &|agent| wait.is_there(agent)) {
            return Err(circle(&way));
        }
        let sent = session.waits_for(&missing, None)?;
        wait.names = BTreeSet::from([sent.id.clone(), format!("{}/{}", session.id(), sent.id)]);
        hear(Told::Note(format!("waiting for {}, as message {} says", missing.join(", "), sent.id)));
        wait.id = sent.id;
        Ok(Some(wait))
    }

    fn until(
        &mut self,
        deadline: Option<Instant>,
        timeout: Option<Duration>,
        happenings: &mut Happenings,
        hear: &dyn Fn(Told),
    ) -> Result<Waited> {
        loop {
            self.look(hear)?;
            let missing = self.missing();
            if let Some(by) = self.freed.take() {
                let them = missing.join(", ");
                hear(Told::Note(format!("{by} lets it go on without waiting for {them}")));
                return Ok(Waited::Over);
            }
            if missing.is_empty() {
                return Ok(Waited::Over);
            }
            match happenings.next(self.session, deadline, hear) {
                None => return Err(too_late(&missing, timeout.unwrap_or_default())),
                Some(Happening::Signal { number, .. }) => return Ok(Waited::Signal(number)),
                Some(_) => {}
            }
        }
    }

    /// Takes in what the log has got since.
    fn look(&mut self, hear: &dyn Fn(Told)) -> Result<()> {
        for record in self.follower.read()? {
            self.graph.follow(&record, &self.registry);
            let is_own = record.from.as_deref() == Some(self.session.id());
            if is_own && record.event == Event::Accepted && record.id.as_ref() == Some(&self.id) {
                self.names.insert(record.seq.to_string());
            }
            if self.freed.is_none() && !is_own && self.is_release(&record) {
                self.freed = record.from.as_deref().map(str::to_owned);
            }
        }
        self.tell_of_others(hear);
        self.look_for_a_circle(hear)
    }

    /// Is it an answer or a decision for this agent that refers to its wait?
    fn is_release(&self, record: &Record) -> bool {
        let is_to_us = || record.recipients().any(|(agent, _)| **agent == *self.session.id());
        if record.event != Event::Accepted || !is_to_us() {
            return false;
        }
        let message = record.message.as_ref().and_then(|message| serde_json::from_str::<Value>(message.get()).ok());
        let message = message.unwrap_or_default();
        let refers = |name: &Value| name.as_str().is_some_and(|name| self.names.contains(name));
        let refs = message["refs"].as_array().into_iter().flatten();
        matches!(message["type"].as_str(), Some("answer" | "decision"))
            && (refers(&message["in_reply_to"]) || refs.into_iter().any(refers))
    }

    fn missing(&self) -> Vec<String> {
        self.others.iter().filter(|other| !self.is_completed(other)).cloned().collect()
    }

    /// Who was begun anew since it completed has not: its hold tells, also before what it says is in the log.
    fn is_completed(&self, other: &str) -> bool {
        let Some(doing) = self.graph.doing(other).filter(|doing| doing.is_completed()) else { return false };
        let lease = sessions::of(&self.session.room, other).ok().flatten();
        let held = lease.filter(|lease| lease.client == sessions::EXEC && !lease.is_gone(&self.session.room.dir));
        let since = held.and_then(|lease| Stamp::parse(&lease.since));
        since.is_none_or(|since| since.micros() <= doing.at)
    }

    fn tell_of_others(&mut self, hear: &dyn Fn(Told)) {
        for other in self.others {
            let Some(doing) = self.graph.doing(other) else { continue };
            let stuck = doing.kind == "blocked";
            if !(stuck || self.is_completed(other)) || !self.told.insert((other.clone(), doing.at)) {
                continue;
            }
            hear(Told::Note(match stuck {
                true => format!("{other} is blocked: {}", doing.text),
                false => format!("{other} has completed"),
            }));
        }
    }

    /// Two who begin to wait for each other at the same time are both told by the log who was the later one: that one
    /// gives way.
    fn look_for_a_circle(&mut self, hear: &dyn Fn(Told)) -> Result<()> {
        let me = self.session.id();
        let Some(way) = self.graph.cycle(me, &self.missing(), &|agent| self.is_there(agent)) else {
            self.warned = None;
            return Ok(());
        };
        // Before the own message is in the log, it is not known who was first.
        let is_said = self.names.len() > 2;
        if is_said && self.graph.latest(&way) == Some(me) {
            return Err(circle(&way));
        }
        if is_said && self.warned.as_ref() != Some(&way) {
            let (path, id) = (shown(&way), format!("{me}/{}", self.id));
            hear(Told::Warning(format!("{path}; a decision to {me} that refers to {id} lets it go on")));
            self.warned = Some(way);
        }
        Ok(())
    }

    /// Who has gone, or was begun anew since, waits for nobody any more, whatever it said last.
    fn is_there(&self, agent: &str) -> bool {
        let registry = self.session.room.registry();
        let status = registry.ok().and_then(|registry| registry.agent(agent).map(|agent| agent.status));
        let lease = sessions::of(&self.session.room, agent).ok().flatten();
        let said = self.graph.doing(agent).map_or(i64::MAX, |doing| doing.at);
        let is_anew = |lease: &Lease| Stamp::parse(&lease.since).is_some_and(|since| since.micros() > said);
        let is_other = |lease: &Lease| lease.client == sessions::EXEC && is_anew(lease);
        let is_gone = lease.is_some_and(|lease| lease.is_gone(&self.session.room.dir) || is_other(&lease));
        !is_gone && !matches!(status, Some(Status::Offline | Status::Retired) | None)
    }
}

fn circle(way: &[String]) -> Error {
    Error::Usage {
        what: format!("nobody would ever begin: {}", shown(way)),
        cure: "begin one of them without waiting for the next".into(),
    }
}

fn too_late(missing: &[String], timeout: Duration) -> Error {
    let them = missing.join(", ");
    let what = match timeout.is_zero() {
        true => format!("{them} has not completed"),
        false => format!("{them} has not completed within {}", span_text(timeout)),
    };
    Error::Timeout { what, cure: "wait again, or longer with --timeout".into() }
}

/// What is said of a command that a signal kept from being started.
pub(super) fn not_begun(signal: i32) -> String {
    format!("ended by {} before it began", super::signal_name(signal))
}

/// What a command's exit says.
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
