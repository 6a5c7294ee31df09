//! The timeline: log entries for people. One entry is a message, a rejection or a notice.

use super::follow::LogFollower;
use super::history::LoggedMessage;
use crate::base::error::{Error, Problem, Result};
use crate::disk::layout;
use crate::log;
use crate::message::address::quoted;
use crate::message::record::{EventKind, Record};
use crate::message::{DEFAULT_CHANNEL, Priority, ROUTER_TYPES, id};
use crate::room::Room;
use crate::router::watcher::LogWatch;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of records that are read for one part of the timeline.
const PAGE_RECORDS: u64 = 20_000;

/// One entry of the timeline.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TimelineEntry {
    /// Record number.
    pub seq: u64,
    /// When it was accepted or rejected.
    pub at: String,
    /// `accepted`, `rejected` or `notice`.
    pub event: EventKind,
    /// Message id; missing for a rejected file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Sender.
    pub from: String,
    /// Recipients.
    pub to: Vec<Arc<str>>,
    /// Addresses as the sender wrote them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addressed_to: Vec<String>,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Its channel.
    pub channel: String,
    /// Subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Its change of claims, approvals, statuses or topics, in few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<String>,
    /// Name of a rejected file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// The channels to show; empty means all. Rejections and notices belong to the channel `main`.
#[derive(Debug, Clone, Default)]
pub struct ChannelSelection(pub(crate) Vec<String>);

impl ChannelSelection {
    /// Checks the names. An empty list means all channels.
    pub fn new(names: Vec<String>) -> Result<ChannelSelection> {
        match names.iter().find(|name| !id::is_name(name)) {
            None => Ok(ChannelSelection(names)),
            Some(name) => Err(Error::usage(
                format!("{} is not a valid channel name", quoted(name)),
                "use letters, digits, `.`, `_` and `-`, or no name for all channels",
            )),
        }
    }

    /// The channel, if exactly one is shown.
    pub fn only(&self) -> Option<&str> {
        match self.0.as_slice() {
            [one] => Some(one),
            _ => None,
        }
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
        Ok(records
            .into_iter()
            .filter_map(|record| entry(record, &self.channels))
            .collect())
    }

    /// The entries of at most `most` records added since the last call, and the number of the last record. `None` without
    /// a new record. The limit bounds the memory of a reader.
    pub fn read_some(&mut self, most: usize) -> Result<Option<(u64, Vec<TimelineEntry>)>> {
        let records = self.follower.read_some(most)?;
        let Some(last) = records.last().map(|record| record.seq) else {
            return Ok(None);
        };
        Ok(Some((
            last,
            records
                .into_iter()
                .filter_map(|record| entry(record, &self.channels))
                .collect(),
        )))
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
    /// Returns true if this entry is selected.
    pub fn fits(&self, entry: &TimelineEntry) -> bool {
        let is =
            |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|wanted| wanted == has);
        let concerns = |agent: &String| entry.from == *agent || entry.is_to(agent);
        self.to.as_ref().is_none_or(|agent| entry.is_to(agent))
            && is(&self.kind, &entry.kind)
            && is(&self.channel, &entry.channel)
            && self.agent.as_ref().is_none_or(concerns)
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
        page.entries
            .extend(part.into_iter().rev().filter(|entry| choice.fits(entry)));
        (upto, step) = (from, step * 2);
    }
    page.before = (upto > 1).then_some(upto);
    if page.entries.len() > most {
        page.entries.truncate(most);
        page.before = page.entries.last().map(|entry| entry.seq);
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
    found.entries.retain(|entry| entry.seq > after);
    found.before = found.before.filter(|before| *before > after + 1);
    Ok(found)
}

/// The entry for a record. `None` for internal records and for other channels.
fn entry(record: Record, channels: &ChannelSelection) -> Option<TimelineEntry> {
    if !matches!(
        record.kind(),
        EventKind::Accepted | EventKind::Rejected | EventKind::Notice
    ) {
        return None;
    }
    let (event, claim) = (record.kind(), record.claim().map(str::to_owned));
    let problems = record.problems().to_vec();
    let past = LoggedMessage::of(record)?;
    let text = |field: &str| {
        past.message
            .get(field)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let entry = if event == EventKind::Rejected {
        // The record holds the bounce as its message. People want the sender and the file that was rejected.
        let claim = claim.as_deref().and_then(layout::read_claim);
        TimelineEntry {
            from: claim.map_or_else(|| past.from.to_string(), |claim| claim.agent.to_owned()),
            file: claim.map(|claim| claim.original.to_owned()),
            problems,
            ..TimelineEntry::new(past.seq, past.accepted_at, event)
        }
    } else {
        TimelineEntry {
            body: text("body"),
            addressed_to: past.message.get("to").map(words).unwrap_or_default(),
            id: past.id,
            from: past.from.to_string(),
            to: past.recipients,
            kind: past.kind,
            priority: Some(past.priority),
            channel: past.channel,
            subject: past.subject,
            change: past.change,
            thread_id: past.thread_id,
            in_reply_to: past.in_reply_to,
            ..TimelineEntry::new(past.seq, past.accepted_at, event)
        }
    };
    channels.has(&entry.channel).then_some(entry)
}

fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(word) => vec![word.clone()],
        Value::Array(words) => words
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}

impl TimelineEntry {
    /// An entry of the channel `main` without a message.
    fn new(seq: u64, at: String, event: EventKind) -> TimelineEntry {
        TimelineEntry {
            seq,
            at,
            event,
            id: String::new(),
            from: String::new(),
            to: Vec::new(),
            addressed_to: Vec::new(),
            kind: String::new(),
            priority: None,
            channel: DEFAULT_CHANNEL.into(),
            subject: None,
            body: None,
            change: None,
            thread_id: None,
            in_reply_to: None,
            file: None,
            problems: Vec::new(),
        }
    }

    /// Whether this agent receives it.
    pub fn is_to(&self, agent: &str) -> bool {
        self.to.iter().any(|to| **to == *agent)
    }

    /// Whether it needs attention now.
    pub fn is_urgent(&self) -> bool {
        self.priority == Some(Priority::Urgent)
    }

    /// Whether it matters less to a person: a message to the router, or one of low priority.
    pub fn is_aside(&self) -> bool {
        ROUTER_TYPES.contains(&self.kind.as_str()) || self.priority == Some(Priority::Low)
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
