//! Tests a link: sends a probe to the other room and waits for its confirmation.

use super::change::{check_known, drop_message};
use crate::base::error::Result;
use crate::base::limits;
use crate::commands::follow::{self, TrackedMessage};
use crate::disk::layout;
use crate::message::link::OutgoingItem;
use crate::query::links;
use crate::room::Room;
use crate::room::links::{LinkEndState, open_other};
use crate::room::settings::Carrier;
use crate::router::daemon::{self, PassResult};
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The result of a test.
#[derive(Debug, Serialize)]
pub struct ProbeResult {
    /// The tag of the other room.
    pub tag: String,
    /// Whether the confirmation arrived.
    pub ok: bool,
    /// The stages, in order.
    pub stages: Vec<ProbeStageTime>,
    /// Whether this command made a pass in the other room, because a router runs here and none there. Absent if that is not
    /// known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_pass: Option<bool>,
    /// Why the test failed, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A stage of a probe.
#[derive(Debug, Serialize)]
pub struct ProbeStageTime {
    /// Its name.
    pub stage: ProbeStage,
    /// When it was observed, in milliseconds since the probe was sent. Absent if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
}

/// The stages of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeStage {
    /// The probe is in the log of this room.
    Recorded,
    /// It is in the other room.
    Brought,
    /// The other room has recorded it, and has confirmed this.
    Confirmed,
}

/// Sends a probe, and waits for its confirmation.
pub fn probe(room: &Room, tag: &str, within: Duration) -> Result<ProbeResult> {
    check_known(room, tag)?;
    let begun = Instant::now();
    let mut run = ProbeRun {
        room,
        tag,
        message: drop_message(room, tag, "probe")?,
        carried: None,
        begun,
        times: [None; 3],
        there: None,
    };
    run.wait(begun + within)?;
    Ok(run.result())
}

struct ProbeRun<'a> {
    room: &'a Room,
    tag: &'a str,
    message: TrackedMessage,
    carried: Option<OutgoingItem>,
    begun: Instant,
    times: [Option<Duration>; 3],
    there: Option<LocalPeerRoom>,
}

/// The other room, if it is on this machine.
struct LocalPeerRoom {
    room: Room,
    /// The directory of the items from this room.
    came: PathBuf,
    passed: bool,
}

impl ProbeRun<'_> {
    fn wait(&mut self, deadline: Instant) -> Result<()> {
        let (mut next_pass, mut answered) = (self.begun, false);
        let look = &mut || {
            // A pass also reads the other room's report of its state.
            if self.is_answered()? && !std::mem::replace(&mut answered, true)
                || Instant::now() >= next_pass
            {
                self.pass()?;
                next_pass = Instant::now() + limits::IDLE;
            }
            self.look()?;
            Ok(self.times[2])
        };
        follow::poll(deadline, look).map(drop)
    }

    /// Where no router runs, this command does the work. A router of this room makes no passes over the other one.
    fn pass(&mut self) -> Result<()> {
        let passed = daemon::pass(self.room)?;
        self.there = self.there.take().or_else(|| self.find());
        self.look()?;
        if let (PassResult::RouterRuns(_), Some(there)) = (passed, &mut self.there)
            && there.room.router_presence()?.is_absent()
        {
            there.passed = true;
            daemon::pass(&there.room)
                .map(drop)
                .unwrap_or_else(|e| tracing::warn!("{e}"));
        }
        Ok(())
    }

    fn find(&self) -> Option<LocalPeerRoom> {
        let settings = self.room.settings().ok()?;
        let link = settings
            .links
            .get(self.tag)
            .filter(|link| link.carrier == Carrier::Dir)?;
        let room = open_other(self.tag, link).ok()?;
        let came = layout::link_in(&links::their_link(self.room, link, &room).ok()??);
        Some(LocalPeerRoom {
            room,
            came,
            passed: false,
        })
    }

    fn look(&mut self) -> Result<()> {
        for record in self.message.read()? {
            if self.message.is_own(&record) {
                self.carried = record
                    .carried
                    .iter()
                    .find(|carried| *carried.link == *self.tag)
                    .cloned();
                self.reach(0);
            }
            if self.carried.as_ref().is_some_and(|carried| {
                record.acked.iter().any(|acked| {
                    acked.link == carried.link
                        && acked.stream == carried.stream
                        && acked.n >= carried.n
                })
            }) {
                self.reach(1);
                self.reach(2);
            }
        }
        if self.times[1].is_none() && self.is_there()? {
            self.reach(1);
        }
        Ok(())
    }

    /// Returns true if the other room has the probe.
    fn is_there(&self) -> Result<bool> {
        let Some(carried) = &self.carried else {
            return Ok(false);
        };
        if let Some(LocalPeerRoom { room, came, .. }) = &self.there
            && room.dir.sub(came).is_ok_and(|came| {
                came.stat(layout::item(carried.n))
                    .is_ok_and(|item| item.is_some())
            })
        {
            return Ok(true);
        }
        self.is_answered()
    }

    /// Returns true if the other room reports that it has the probe.
    fn is_answered(&self) -> Result<bool> {
        let Some(carried) = &self.carried else {
            return Ok(false);
        };
        let Ok(dir) = self.room.dir.sub(layout::link_in(self.tag)) else {
            return Ok(false);
        };
        let came = LinkEndState::read(&dir)?.and_then(|far| far.came);
        Ok(came.is_some_and(|came| *came.stream == *carried.stream && came.n >= carried.n))
    }

    fn reach(&mut self, stage: usize) {
        self.times[stage].get_or_insert_with(|| self.begun.elapsed());
    }

    fn result(self) -> ProbeResult {
        let stages = [
            ProbeStage::Recorded,
            ProbeStage::Brought,
            ProbeStage::Confirmed,
        ];
        let ok = self.times[2].is_some();
        ProbeResult {
            tag: self.tag.to_owned(),
            ok,
            stages: stages
                .into_iter()
                .zip(self.times)
                .map(|(stage, time)| ProbeStageTime {
                    stage,
                    ms: time.map(|time| (time.as_secs_f64() * 1e5).round() / 100.0),
                })
                .collect(),
            problem: if ok { None } else { self.problem_of_link() },
            remote_pass: self.there.map(|there| there.passed),
        }
    }

    fn problem_of_link(&self) -> Option<String> {
        let links = links::links(self.room, Some(self.tag)).ok()?;
        Some(links.first()?.problems.first()?.reason.clone())
    }
}
