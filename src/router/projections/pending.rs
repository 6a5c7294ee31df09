//! `pending.json`: what needs somebody, for each agent. Written behind the mail when that has changed.

use super::roster;
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Meta, layout};
use crate::log::state::State;
use crate::log::state::claims::{Claims, Offered, Waiting};
use crate::log::state::items::{self, Kind};
use crate::message::subject::Subject;
use crate::message::{claim, id};
use crate::room::sessions::Calls;
use crate::router::projections::{Accepted, Cause, Projection, Report, View};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

/// Something that needs an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// `approval`, `question`, `offer`, `escalation`, `claim`, `rejection` or `wake`.
    pub kind: &'static str,
    /// The number of its message; 0 if it has none.
    pub seq: u64,
    /// Its message, as `<sender>/<id>`.
    pub message: String,
    /// Whom it comes from.
    pub from: String,
    /// What it is about, in one line.
    pub title: String,
    /// Since when it is open.
    pub since: String,
    /// When it is decided without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// What can be decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Is its sender blocked until then?
    pub blocked: bool,
    /// Does its sender show no activity any more?
    pub inactive: bool,
    /// A command that settles it.
    pub command: String,
}

/// What needs this agent, most urgent first: by deadline, then whether somebody is blocked, then by age.
pub fn items(state: &State, calls: &Calls, agent: &str) -> Vec<Item> {
    let now = Stamp::now();
    let is_inactive =
        |from: &str| from != id::HUMAN && from != id::MAILBAG && !roster::is_there(from, (state, calls), now);
    let mut items: Vec<Item> = approvals(state, agent).chain(messages(state, agent)).collect();
    items.extend(state.claims.offered().iter().filter(|one| *one.to == *agent).map(offer));
    items.extend(state.claims.waiting().iter().filter_map(|one| waiting(&state.claims, one, agent)));
    items.iter_mut().for_each(|item| item.inactive = is_inactive(&item.from));
    items.sort_by(|a, b| a.order().cmp(&b.order()));
    items
}

impl Item {
    /// What comes first in the list.
    fn order(&self) -> (bool, Option<&str>, bool, &str, u64) {
        (self.deadline.is_none(), self.deadline.as_deref(), !self.blocked, &self.since, self.seq)
    }

    fn new(kind: &'static str, seq: u64, message: String, from: &str, since: i64) -> Item {
        Item {
            kind,
            seq,
            message,
            from: from.to_owned(),
            title: String::new(),
            since: Stamp::from_micros(since).to_string(),
            deadline: None,
            options: Vec::new(),
            blocked: false,
            inactive: false,
            command: String::new(),
        }
    }
}

fn approvals<'a>(state: &'a State, agent: &'a str) -> impl Iterator<Item = Item> + 'a {
    let has = |all: &[Arc<str>]| all.iter().any(|one| **one == *agent);
    let mine = state.approvals.open().iter().filter(move |open| has(&open.to) && !has(&open.dismissed));
    mine.map(|open| Item {
        title: open.terms.title.clone(),
        deadline: open.terms.deadline.map(|at| Stamp::from_micros(at).to_string()),
        options: open.terms.options.clone(),
        blocked: true,
        command: format!("mailbag decide {} OPTION", open.seq),
        ..Item::new("approval", open.seq, open.approval.clone(), &open.from, open.since)
    })
}

fn messages<'a>(state: &'a State, agent: &'a str) -> impl Iterator<Item = Item> + 'a {
    let mine = state.items.iter().filter(move |item| item.of.iter().any(|of| **of == *agent));
    mine.map(|item| {
        let items::Item { seq, kind, from, id, since, title, .. } = item;
        let (word, command) = match kind {
            Kind::Question => ("question", format!("mailbag reply {seq}")),
            Kind::Escalation => ("escalation", format!("mailbag read {seq}")),
            Kind::Rejection => ("rejection", format!("mailbag rejected show {seq}")),
        };
        let blocked = *kind == Kind::Question;
        Item { title: title.clone(), blocked, command, ..Item::new(word, *seq, claim::name(from, id), from, *since) }
    })
}

fn offer(one: &Offered) -> Item {
    let Offered { offer, from, subjects, seq, since, .. } = one;
    let command = format!("mailbag accept {seq}");
    Item { title: list(subjects), command, ..Item::new("offer", *seq, offer.clone(), from, *since) }
}

// An agent waits for what this one owns. The human can release everything.
fn waiting(claims: &Claims, one: &Waiting, agent: &str) -> Option<Item> {
    let Waiting { claim, agent: from, subjects, seq, since, .. } = one;
    let blocker = |subject: &Subject| {
        claims
            .conflicting(subject)
            .find(|held| held.owner != *from)
            .map(|held| (held.owner.clone(), held.subject.clone()))
    };
    let (owner, held) =
        subjects.iter().filter_map(blocker).find(|(owner, _)| agent == id::HUMAN || **owner == *agent)?;
    let of = if *owner == *agent { String::new() } else { format!(" --of {owner}") };
    let command = format!("mailbag release {held}{of}");
    let title = format!("waits for {}, owned by {owner}", list(subjects));
    Some(Item { title, command, blocked: true, ..Item::new("claim", *seq, claim.clone(), from, *since) })
}

fn list(subjects: &[Subject]) -> String {
    let more = subjects.len().saturating_sub(limits::TITLES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    subjects.iter().take(limits::TITLES).map(Subject::as_str).collect::<Vec<_>>().join(", ") + &more
}

/// The content of the file.
#[derive(Serialize)]
struct Content {
    /// The record up to which it is true.
    seq: u64,
    /// Its accept time.
    at: String,
    /// The items of each agent that has some.
    pending: BTreeMap<Arc<str>, Vec<Item>>,
}

/// The file as it was written.
#[derive(Default)]
pub(in crate::router) struct Written {
    /// The last record in it. `None` if the file is not known to be true.
    upto: Option<u64>,
    /// Was the file of an earlier router looked at?
    known: bool,
    /// The file as it was left.
    left: Option<Meta>,
    /// When a change has to be written.
    due: Option<Instant>,
    written: Option<Instant>,
}

impl Projection for Written {
    fn apply(&mut self, _: &[Accepted], view: &View<'_>, report: &mut Report<'_>) {
        if self.is_current(view) {
            return;
        }
        // Of many changes in a row, the last one is written.
        let now = Instant::now();
        let next = self.written.map_or(now, |written| written + limits::PENDING);
        if next > now {
            self.due = Some(next);
            return;
        }
        self.show(view, report);
    }

    fn reconcile(&mut self, cause: Cause, view: &View<'_>, report: &mut Report<'_>) -> Result<()> {
        match cause {
            Cause::Recovery => return Ok(()),
            Cause::FailedSync => (self.upto, self.known) = (None, true),
            Cause::Sweep => {
                let now = view.config.dir().stat(layout::PENDING).ok().flatten();
                if self.left.is_some() && now != self.left {
                    (self.upto, self.known) = (None, true);
                }
            }
            Cause::End => {}
        }
        if !self.is_current(view) {
            self.show(view, report);
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Instant> {
        self.due
    }
}

impl Written {
    fn is_current(&mut self, view: &View<'_>) -> bool {
        let state = view.state;
        let changed = changed_at(state);
        if changed == 0 {
            return true;
        }
        if !std::mem::replace(&mut self.known, true) {
            self.upto = written(view).filter(|upto| *upto <= state.seq);
        }
        self.upto.is_some_and(|upto| changed <= upto)
    }

    fn show(&mut self, view: &View<'_>, report: &mut Report<'_>) {
        let room = view.config.dir();
        (self.due, self.written) = (None, Some(Instant::now()));
        match room.show(layout::PENDING, &text(view)) {
            Ok(()) => {
                report.written(layout::PENDING);
                self.upto = Some(view.state.seq);
                self.left = room.stat(layout::PENDING).ok().flatten();
            }
            Err(e) => report.failed(layout::PENDING.to_owned(), &e),
        }
    }
}

fn changed_at(state: &State) -> u64 {
    state.items.changed_at().max(state.approvals.changed_at()).max(state.claims.changed_at())
}

fn written(view: &View<'_>) -> Option<u64> {
    #[derive(Deserialize)]
    struct Upto {
        seq: u64,
    }
    let bytes = view.config.dir().read(layout::PENDING, limits::CLAIMS_BYTES).ok()??;
    serde_json::from_slice(&bytes).ok().map(|Upto { seq }| seq)
}

fn text(view: &View<'_>) -> Vec<u8> {
    let (state, calls) = (view.state, Calls::of(view.config.dir()));
    let mut pending: BTreeMap<Arc<str>, Vec<Item>> = BTreeMap::new();
    for agent in agents(state) {
        let items = items(state, &calls, &agent);
        if !items.is_empty() {
            pending.insert(agent, items);
        }
    }
    let content = Content { seq: state.seq, at: state.at.to_string(), pending };
    let mut text = serde_json::to_vec_pretty(&content).expect("it has only text keys");
    text.push(b'\n');
    text
}

/// Every agent that something may need.
fn agents(state: &State) -> BTreeSet<Arc<str>> {
    let approvals = state.approvals.open().iter().flat_map(|open| &open.to);
    let messages = state.items.iter().flat_map(|item| &item.of);
    let offers = state.claims.offered().iter().map(|one| &one.to);
    let owners = state.claims.held().iter().map(|held| &held.owner);
    let has_waiting = !state.claims.waiting().is_empty();
    let human = has_waiting.then(|| Arc::from(id::HUMAN));
    let all = approvals.chain(messages).chain(offers).chain(owners.filter(|_| has_waiting)).cloned();
    all.chain(human).collect()
}
