//! The mail of the last day: messages per hour and sender, and pairs of senders and recipients.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::log;
use crate::log::find;
use crate::message::id;
use crate::message::record::EventKind;
use crate::room::Room;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Number of hours.
pub const HOURS: usize = 24;
const HOUR: Duration = Duration::from_secs(3600);

/// The mail of the last [`HOURS`] hours.
#[derive(Debug, Default)]
pub struct MailActivity {
    /// The senders; the sender with the most messages first.
    pub senders: Vec<SenderActivity>,
    /// The number of copies, by sender and recipient.
    pub copies: BTreeMap<(Arc<str>, Arc<str>), u64>,
}

/// The messages of one agent.
#[derive(Debug)]
pub struct SenderActivity {
    /// Its id.
    pub id: Arc<str>,
    /// Messages in each hour, the oldest hour first.
    pub hours: [u64; HOURS],
}

impl SenderActivity {
    /// All its messages.
    pub fn total(&self) -> u64 {
        self.hours.iter().sum()
    }
}

/// Counts the mail of the last day. Messages of the router are left out.
pub fn activity(room: &Room) -> Result<MailActivity> {
    let now = Stamp::now().micros();
    let hour = i64::try_from(HOUR.as_micros()).expect("an hour is short");
    let begin = now - hour * i64::try_from(HOURS).expect("a day is short");
    let mut senders: BTreeMap<Arc<str>, [u64; HOURS]> = BTreeMap::new();
    let mut copies = BTreeMap::new();
    let from = find::since(&room.dir, Stamp::from_micros(begin))?;
    for entry in log::lines(&room.dir, from)?.records() {
        let (_, record) = entry?;
        let Some(at) = Stamp::parse(&record.at) else {
            continue;
        };
        if record.kind() != EventKind::Accepted || record.sender() == id::MAILBAG {
            continue;
        }
        let sender: Arc<str> = record.sender().into();
        // A clock that is ahead of ours counts as now.
        let nth = usize::try_from((at.micros() - begin) / hour).unwrap_or(0);
        senders.entry(sender.clone()).or_default()[nth.min(HOURS - 1)] += 1;
        for (recipient, _) in record.recipients() {
            *copies
                .entry((sender.clone(), recipient.clone()))
                .or_default() += 1;
        }
    }
    let senders = senders
        .into_iter()
        .map(|(id, hours)| SenderActivity { id, hours });
    let mut senders: Vec<SenderActivity> = senders.collect();
    senders.sort_by_key(|sender| std::cmp::Reverse(sender.total()));
    Ok(MailActivity { senders, copies })
}
