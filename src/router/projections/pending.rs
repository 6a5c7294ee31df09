//! `pending.json`: the pending items of each agent.

use super::projected_file::{self, ProjectedFile};
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::layout;
use crate::features;
use crate::log::state::RoomState;
use crate::message::{Priority, id};
use crate::room::sessions::SessionCalls;
use crate::room::signs;
use crate::router::projections::ProjectionView;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The most items of an agent in `pending.json`.
const PENDING_OF_AGENT: usize = 50;
/// The most items in `pending.json`.
const PENDING_ITEMS: usize = 2000;

/// A pending item: an agent has to act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PendingItem {
    /// `approval`, `question`, `offer`, `escalation`, `rejection` or `link`.
    pub kind: &'static str,
    /// The number of its message, or 0 without a message.
    pub seq: u64,
    /// Its message, as `<sender>/<id>`.
    pub message: String,
    /// The sender.
    pub from: String,
    /// The title.
    pub title: String,
    /// The time when it was opened.
    pub since: String,
    /// The time of the decision without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// The priority of its message.
    pub priority: Priority,
    /// The options of the decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The digest of an approval's message, which a decision names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The complete text of an approval, where a program asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether its sender is blocked until then.
    pub blocked: bool,
    /// Whether its sender is inactive.
    pub inactive: bool,
    /// A command that settles it.
    pub command: String,
}

/// The agents that have to act, and the item.
pub(crate) type AddressedItem<'s> = (Cow<'s, [Arc<str>]>, PendingItem);

/// The identity of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingItemKey<'i> {
    /// [`PendingItem::kind`].
    pub kind: &'i str,
    /// [`PendingItem::seq`].
    pub seq: u64,
    /// [`PendingItem::message`].
    pub message: &'i str,
    /// [`PendingItem::from`].
    pub from: &'i str,
}

/// The items of this agent, most urgent first: by deadline, priority, blocked senders and age.
pub fn items(state: &RoomState, calls: &SessionCalls, agent: &str) -> Vec<PendingItem> {
    let mine = everything(state).filter(|(of, _)| of.iter().any(|one| &**one == agent));
    let mut items: Vec<PendingItem> = mine.map(|(_, item)| item).collect();
    let now = Stamp::now();
    for item in &mut items {
        item.inactive = is_inactive(&item.from, state, calls, now);
    }
    items.sort_by(|a, b| a.order().cmp(&b.order()));
    items
}

/// The number of this agent's items that are not listed, because newer ones have the same cause.
pub fn older(state: &RoomState, agent: &str) -> usize {
    unlisted(state).filter(|of| ***of == *agent).count()
}

/// All listed items.
fn everything(state: &RoomState) -> impl Iterator<Item = AddressedItem<'_>> {
    let all = features::ALL.iter();
    all.flat_map(move |feature| feature.pending(state))
}

/// The agents of all items that are not listed.
fn unlisted(state: &RoomState) -> impl Iterator<Item = &Arc<str>> {
    let all = features::ALL.iter();
    all.flat_map(move |feature| feature.unlisted(state))
        .flatten()
}

/// Returns true if a sender shows no activity. The activity of an agent of a linked room is unknown.
fn is_inactive(from: &str, state: &RoomState, calls: &SessionCalls, now: Stamp) -> bool {
    id::is_name(from)
        && from != id::HUMAN
        && from != id::MAILBAG
        && !signs::is_there(from, state, calls, now)
}

impl PendingItem {
    /// The identity of the item. An answer to an item with another key is an answer to another item.
    pub fn key(&self) -> PendingItemKey<'_> {
        let PendingItem {
            kind,
            seq,
            message,
            from,
            ..
        } = self;
        PendingItemKey {
            kind,
            seq: *seq,
            message,
            from,
        }
    }

    /// The order in the list.
    fn order(&self) -> (bool, Option<&str>, Reverse<Priority>, bool, &str, u64) {
        (
            self.deadline.is_none(),
            self.deadline.as_deref(),
            Reverse(self.priority),
            !self.blocked,
            &self.since,
            self.seq,
        )
    }

    /// An item without a command and a title.
    pub(crate) fn new(
        kind: &'static str,
        seq: u64,
        message: String,
        from: &str,
        since: i64,
    ) -> PendingItem {
        PendingItem {
            kind,
            seq,
            message,
            from: from.to_owned(),
            title: String::new(),
            since: Stamp::from_micros(since).to_string(),
            deadline: None,
            priority: Priority::default(),
            options: Vec::new(),
            digest: None,
            text: None,
            blocked: false,
            inactive: false,
            command: String::new(),
        }
    }
}

/// The content of the file.
#[derive(Serialize)]
struct PendingFile {
    /// The last record that it covers.
    seq: u64,
    /// Its accept time.
    at: String,
    /// The most urgent items of each agent that has some.
    pending: BTreeMap<Arc<str>, Vec<Rc<PendingItem>>>,
    /// The numbers of further items.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    more: BTreeMap<Arc<str>, usize>,
}

/// The file of all items.
pub(super) type PendingProjection = ProjectedFile<PendingContent>;

/// The items as the content of the file.
pub(super) struct PendingContent;

/// The coverage of the file.
pub(super) struct PendingCoverage {
    seq: u64,
    /// The items that began without a record.
    by_time: Vec<Arc<str>>,
}

fn by_time(view: &ProjectionView<'_>) -> Vec<Arc<str>> {
    let all = features::ALL.iter();
    all.flat_map(|feature| feature.pending_by_time(view.state))
        .collect()
}

impl projected_file::ProjectionContent for PendingContent {
    const NAME: &'static str = layout::PENDING;
    const ADVICE: &'static str =
        "To act on an item, use the command that `mailbag pending` shows for it.";
    type Coverage = PendingCoverage;

    fn changed_at(view: &ProjectionView<'_>) -> u64 {
        let all = features::ALL.iter();
        let changes = all.map(|feature| feature.pending_changed_at(view.state));
        changes.max().unwrap_or_default()
    }

    fn written(view: &ProjectionView<'_>) -> Option<PendingCoverage> {
        // What began without a record is not read back: the first check with such an item writes the file again.
        written(view)
            .filter(|upto| *upto <= view.state.seq)
            .map(|seq| PendingCoverage {
                seq,
                by_time: Vec::new(),
            })
    }

    fn upto(view: &ProjectionView<'_>) -> PendingCoverage {
        PendingCoverage {
            seq: view.state.seq,
            by_time: by_time(view),
        }
    }

    fn is_current(upto: &PendingCoverage, view: &ProjectionView<'_>) -> bool {
        Self::changed_at(view) <= upto.seq && by_time(view) == upto.by_time
    }

    fn text(view: &ProjectionView<'_>) -> Vec<u8> {
        text(view)
    }

    // The pause grows with the duration, so that a long list does not block the router.
    fn pause(took: Duration) -> Duration {
        limits::PENDING.max(took * limits::PENDING_SHARE)
    }
}

fn written(view: &ProjectionView<'_>) -> Option<u64> {
    #[derive(Deserialize)]
    struct PendingFileHead {
        seq: u64,
    }
    let bytes = view
        .config
        .dir()
        .read(layout::PENDING, limits::CLAIMS_BYTES)
        .ok()??;
    serde_json::from_slice(&bytes)
        .ok()
        .map(|PendingFileHead { seq }| seq)
}

fn text(view: &ProjectionView<'_>) -> Vec<u8> {
    let (state, calls, now) = (
        view.state,
        SessionCalls::of(view.config.dir()),
        Stamp::now(),
    );
    let mut pending: BTreeMap<Arc<str>, Vec<Rc<PendingItem>>> = BTreeMap::new();
    for (of, mut item) in everything(state) {
        item.inactive = is_inactive(&item.from, state, &calls, now);
        let item = Rc::new(item);
        for agent in of.iter() {
            pending.entry(agent.clone()).or_default().push(item.clone());
        }
    }
    let mut more = shorten(&mut pending);
    for agent in unlisted(state) {
        *more.entry(agent.clone()).or_default() += 1;
    }
    let content = PendingFile {
        seq: state.seq,
        at: state.at.to_string(),
        pending,
        more,
    };
    let mut text = serde_json::to_vec_pretty(&content).expect("it has only text keys");
    text.push(b'\n');
    text
}

/// Keeps the most urgent items of each agent, and returns the numbers of the others. The size of the file is limited;
/// the human is served first.
fn shorten(pending: &mut BTreeMap<Arc<str>, Vec<Rc<PendingItem>>>) -> BTreeMap<Arc<str>, usize> {
    let (mut more, mut left) = (BTreeMap::new(), PENDING_ITEMS);
    let mut agents: Vec<Arc<str>> = pending.keys().cloned().collect();
    agents.sort_by_key(|agent| &**agent != id::HUMAN);
    for agent in agents {
        let Some(items) = pending.get_mut(&agent) else {
            continue;
        };
        items.sort_by(|a, b| a.order().cmp(&b.order()));
        let kept = items.len().min(PENDING_OF_AGENT).min(left);
        left -= kept;
        if kept < items.len() {
            more.insert(agent.clone(), items.len() - kept);
            items.truncate(kept);
        }
        if kept == 0 {
            pending.remove(&agent);
        }
    }
    more
}
