//! The timeline: log entries for people. One entry is a message, a rejection or a notice.

use super::follow::LogFollower;
use super::history::{LoggedMessage, Viewer};
use super::identity;
use super::view::MessageView;
use crate::base::error::{Problem, Result};
use crate::disk::layout;
use crate::log;
use crate::message::record::{EventKind, Record};
use crate::message::{MessageActor, Priority, behaviour, id};
use crate::room::Room;
use crate::router::watcher::LogWatch;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The number of records that are read for one part of the timeline.
const PAGE_RECORDS: u64 = 20_000;

/// One entry of the timeline.
#[derive(Debug, Clone)]
pub struct TimelineEntry {
    /// The message; for a rejection, the router's message to the sender.
    pub message: LoggedMessage,
    /// `accepted`, `rejected` or `notice`.
    pub event: EventKind,
    /// The rejected file.
    pub rejected: Option<RejectedFile>,
}

/// One entry as `mailbag watch --json` prints it.
#[derive(Serialize)]
pub struct TimelineLine<'a> {
    /// The message; for a rejection, the router's message to the sender.
    #[serde(flatten)]
    message: &'a LoggedMessage,
    /// `accepted`, `rejected` or `notice`.
    event: EventKind,
    /// Its body.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    /// Addresses as the sender wrote them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addressed_to: Vec<&'a str>,
    /// The rejected file.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: &'a Option<RejectedFile>,
}

/// A rejected file of the timeline.
#[derive(Debug, Clone, Serialize)]
pub struct RejectedFile {
    /// Its sender.
    pub agent: String,
    /// Its name.
    pub name: String,
    /// The reasons.
    pub problems: Vec<Problem>,
}

/// The channels to show; empty means all. Rejections and notices belong to the channel `main`.
#[derive(Debug, Clone, Default)]
pub struct ChannelSelection(pub(crate) Vec<String>);

impl ChannelSelection {
    /// Checks the names. An empty list means all channels.
    pub fn new(names: Vec<String>) -> Result<ChannelSelection> {
        for name in &names {
            id::check_name("channel", name)?;
        }
        Ok(ChannelSelection(names))
    }

    /// Returns true if this channel is shown.
    pub fn has(&self, channel: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|name| name == channel)
    }
}

/// Follows the timeline.
pub struct Timeline {
    follower: LogFollower,
    channels: ChannelSelection,
}

impl Timeline {
    /// Starts to follow, and returns the last `most` entries.
    pub fn open(
        room: &Room,
        channels: ChannelSelection,
        most: usize,
    ) -> Result<(Timeline, Vec<TimelineEntry>)> {
        let (follower, entries) = LogFollower::last(room, most, |record| entry(record, &channels))?;
        Ok((Timeline { follower, channels }, entries))
    }

    /// Starts to follow after the record with this number; with 0, at the start. `None` if the record does not exist.
    pub fn after(room: &Room, channels: ChannelSelection, seq: u64) -> Result<Option<Timeline>> {
        Ok(LogFollower::after(room, seq)?.map(|follower| Timeline { follower, channels }))
    }

    /// Calls `told` whenever the log may have grown, as long as the result lives.
    pub fn notify(room: &Room, told: impl Fn() + Send + 'static) -> Result<LogWatch> {
        LogWatch::new(&room.dir, told)
    }

    /// The entries added since the last call.
    pub fn read(&mut self) -> Result<Vec<TimelineEntry>> {
        let records = self.follower.read()?;
        Ok(self.entries(records))
    }

    /// The entries of at most `most` records added since the last call, and the number of the last record. `None` without
    /// a new record. The limit bounds the memory of a reader.
    pub fn read_some(&mut self, most: usize) -> Result<Option<(u64, Vec<TimelineEntry>)>> {
        let records = self.follower.read_some(most)?;
        let Some(last) = records.last().map(|record| record.seq) else {
            return Ok(None);
        };
        Ok(Some((last, self.entries(records))))
    }

    fn entries(&self, records: Vec<Record>) -> Vec<TimelineEntry> {
        let records = records.into_iter();
        let entries = records.filter_map(|record| entry(record, &self.channels));
        entries.collect()
    }
}

/// The number of the last record; 0 for an empty log.
pub fn newest(room: &Room) -> Result<u64> {
    log::find::last_seq(&room.dir)
}

/// Selects entries. An empty choice selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimelineFilter {
    /// Sent or received by this agent.
    pub agent: Option<String>,
    /// Received by this agent.
    pub to: Option<String>,
    /// Of this type.
    pub kind: Option<String>,
    /// In this channel.
    pub channel: Option<String>,
}

impl TimelineFilter {
    /// Returns true if this entry is selected. `agent` is the view of the agent.
    fn fits(&self, entry: &TimelineEntry, agent: Option<&Viewer>) -> bool {
        let is = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == value)
        };
        let message = &entry.message;
        self.to.as_ref().is_none_or(|agent| message.is_to(agent))
            && is(&self.kind, &message.kind)
            && is(&self.channel, &message.channel)
            && agent.is_none_or(|agent| {
                agent.had_name(&entry.sender().into(), message.seq) || agent.is_own(message)
            })
    }
}

/// A part of the timeline, the newest entry first.
#[derive(Debug, Default)]
pub struct TimelinePage {
    /// The entries.
    pub entries: Vec<TimelineEntry>,
    /// The number of the last record that was read.
    pub newest: u64,
    /// The number to ask for the entries before these, if there may be more.
    pub before: Option<u64>,
}

/// At most `most` entries in front of the record `before`, or at the end of the timeline. Reads a
/// limited number of records: where few entries fit, a page can have less than `most`, and more before it.
pub fn page(
    room: &Room,
    choice: &TimelineFilter,
    before: Option<u64>,
    most: usize,
) -> Result<TimelinePage> {
    let newest = newest(room)?;
    let end = before.map_or(newest + 1, |before| before.min(newest + 1));
    let agent = choice.agent.as_deref();
    let agent = agent
        .map(|agent| identity::own_viewer(room, agent))
        .transpose()?;
    let mut page = TimelinePage {
        newest,
        ..TimelinePage::default()
    };
    let (mut upto, mut step) = (end, most as u64 * 2);
    while upto > 1 && page.entries.len() < most && end - upto < PAGE_RECORDS {
        let from = upto.saturating_sub(step).max(1);
        let Some(mut timeline) = Timeline::after(room, ChannelSelection::default(), from - 1)?
        else {
            break;
        };
        let (_, part) = timeline
            .read_some((upto - from) as usize)?
            .unwrap_or_default();
        page.entries.extend(
            part.into_iter()
                .rev()
                .filter(|entry| choice.fits(entry, agent.as_ref())),
        );
        (upto, step) = (from, step * 2);
    }
    page.before = (upto > 1).then_some(upto);
    if page.entries.len() > most {
        page.entries.truncate(most);
        page.before = page.entries.last().map(|entry| entry.message.seq);
    }
    Ok(page)
}

/// The entries after the record `after`, the newest first, at most `most`: if there are more, the newest of them, and
/// [`TimelinePage::before`] is the number to ask for the others.
pub fn since(
    room: &Room,
    choice: &TimelineFilter,
    after: u64,
    most: usize,
) -> Result<TimelinePage> {
    let mut found = page(room, choice, None, most)?;
    found.entries.retain(|entry| entry.message.seq > after);
    found.before = found.before.filter(|before| *before > after + 1);
    Ok(found)
}

/// The entry for a record. `None` for internal records and for other channels.
fn entry(record: Record, channels: &ChannelSelection) -> Option<TimelineEntry> {
    let event = record.kind();
    let claim = record.claim().map(str::to_owned);
    let problems = record.problems().to_vec();
    let message = LoggedMessage::of(record)?;
    let claim = claim.as_deref().and_then(layout::read_claim);
    let rejected = (event == EventKind::Rejected).then(|| RejectedFile {
        agent: claim.map_or(&*message.from, |claim| claim.agent).to_owned(),
        name: claim.map_or("", |claim| claim.original).to_owned(),
        problems,
    });
    channels.has(&message.channel).then_some(TimelineEntry {
        message,
        event,
        rejected,
    })
}

impl TimelineEntry {
    /// The entry as JSON.
    pub fn line(&self) -> TimelineLine<'_> {
        let view = MessageView::from(&self.message);
        TimelineLine {
            message: &self.message,
            event: self.event,
            body: view.body,
            addressed_to: view.addressed,
            rejected: &self.rejected,
        }
    }

    /// The sender of the message or of the rejected file.
    pub fn sender(&self) -> &str {
        self.rejected
            .as_ref()
            .map_or(&self.message.from, |rejected| &rejected.agent)
    }

    /// Returns true if it needs attention now.
    pub fn is_urgent(&self) -> bool {
        self.message.priority == Priority::Urgent
    }

    /// Returns true if it matters less to a person: a message to the router, or one of low priority.
    pub fn is_aside(&self) -> bool {
        behaviour(&self.message.kind).acted_on_by == Some(MessageActor::Router)
            || self.message.priority == Priority::Low
    }
}

/// The colour of an agent, as a number below `of`. The first `of` names that a process shows have different colours, and
/// a name mostly has the same colour in each process.
pub fn shade(name: &str, of: usize) -> usize {
    static TAKEN: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());
    // FNV-1a, because the standard library's hasher may change between releases.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let own = (hash % of.max(1) as u64) as usize;
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    for shade in (own..of).chain(0..own) {
        match taken.get(&shade) {
            Some(other) if other != name => {}
            Some(_) => return shade,
            None => {
                taken.insert(shade, name.to_owned());
                return shade;
            }
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn twelve_agents_have_twelve_colours_and_keep_them() {
        let shades: Vec<usize> = (0..12).map(|n| shade(&format!("agent_{n}"), 12)).collect();
        let used: BTreeSet<usize> = shades.iter().copied().collect();
        assert_eq!(used.len(), 12);
        for n in [0, 7, 11] {
            assert_eq!(shade(&format!("agent_{n}"), 12), shades[n]);
        }
        assert_eq!(shade("one_more", 12), shade("one_more", 12));
    }
}
