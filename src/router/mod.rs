//! The way of a message from outbox to inbox: ten steps, each taking what the one before returns, so that an order that
//! loses mail does not compile.
//!
//! In: files in outboxes. Out: records in the log, copies in inboxes, and projections. [`watcher`] says when to look,
//! [`steps`] route a batch of what is there, `upkeep` does what is due beside the mail, [`projections`] show it,
//! [`recover`] enters the steps in the middle after a crash, and [`daemon`] is a router's life.
//!
//! A step that fails for a passing reason leaves the message where it is, outbox or claim, and goes on with the others;
//! one that fails for good ends the router, and recovery starts from what is on disk.
//!
//! What does not belong here: the form of the room's files (`room`, `log`), and anything that a caller is shown.

pub mod daemon;
pub mod projections;
pub mod recover;
pub mod steps;
mod upkeep;
pub mod watcher;

pub use steps::ack::{Claimed as AckClaims, judge as judge_ack};
pub use upkeep::backoff::Waiting;

use crate::base::error::{Error, Result};
use crate::disk::{Barrier, Durability, layout};
use crate::log::Log;
use crate::log::state::State;
use crate::room::outbox::{Outboxes, Patience};
use crate::room::registry::Registry;
use crate::room::settings::Settings;
use crate::room::spool::Spool;
use crate::room::{Lock, Room, Turn};
use crate::router::projections::channels::Channels;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// The router of one room: everything that the steps need. Only who holds the room's lock can have one.
pub struct Router {
    /// The room.
    pub room: Room,
    /// Who may send and be written to: the last valid registry.
    pub registry: Arc<Registry>,
    /// How the room behaves: the last valid settings.
    pub settings: Settings,
    /// Which files wait in outboxes, and whose turn it is.
    pub outboxes: Outboxes,
    /// What waits, and why.
    pub waiting: Waiting,
    /// The state that the log amounts to.
    pub state: State,
    pub(crate) lock: Lock,
    pub(crate) turn: Turn,
    pub(crate) log: Log,
    pub(crate) spool: Spool,
    pub(crate) barrier: Barrier,
    pub(crate) patience: Patience,
    /// Claims without a record, to be read.
    pub(crate) claims: VecDeque<String>,
    /// The next claim's number.
    pub(crate) next_claim: u64,
    /// Committed records whose copies or claim could not be moved yet.
    pub(crate) stuck: BTreeSet<u64>,
    /// Records delivered and retired since the last barrier: after it they are settled.
    pub(crate) done: BTreeSet<u64>,
    /// What was seen to leave inboxes, and is not in the log yet.
    pub(crate) observed: receipts::Observed,
    /// The conversations.
    pub(crate) channels: Channels,
    /// Who is there.
    pub(crate) watched: presence::Watched,
    notices: Vec<Notice>,
    /// Notices that could not be written yet.
    held: Vec<Notice>,
    /// Was a message applied to the registry since the last `settled`?
    pub(crate) acted: bool,
    /// How much a batch takes.
    share: share::Share,
    /// How many copies this batch has.
    copies: usize,
    /// Files of lines that are in this batch.
    sliced: Vec<pickup::Sliced>,
    /// Where the last checkpoint was made.
    checkpointed: Option<crate::log::Position>,
    seen: reload::Seen,
    /// How `spool/room` stood when it was last read, and fitted the log.
    room_id: Option<crate::disk::Meta>,
    /// Files of people that could not be read, as they stood, and since when.
    bad: std::collections::BTreeMap<&'static str, (reload::Seen, Instant)>,
    /// When to look again at what is due, after something stood in its way.
    time_again: Option<Instant>,
    /// Who got mail since this was last taken, and is woken by a program.
    pub woken: BTreeSet<Arc<str>>,
    tally: Tally,
    budgets: budget::Budgets,
    /// How often acks may have the whole log looked through.
    pace: crate::log::lookup::Pace,
}

/// What a router did since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Tally {
    /// Messages accepted.
    pub accepted: u64,
    /// Copies of them.
    pub copies: u64,
    /// Files refused.
    pub refused: u64,
    /// Messages that came again.
    pub duplicates: u64,
    /// Things that wait for a passing reason.
    pub waiting: usize,
}

/// Something that the router has to say to somebody, once.
#[derive(Clone)]
pub(crate) struct Notice {
    about: String,
    to: Arc<str>,
    kind: &'static str,
    subject: String,
    body: String,
    more: serde_json::Map<String, serde_json::Value>,
}

impl Notice {
    fn is_same(&self, other: &Notice) -> bool {
        self.about == other.about && self.to == other.to
    }
}

/// Step 2: taken out of the outbox, in `spool/claim`.
#[must_use]
pub(crate) struct Claimed(Vec<pickup::Taken>);
/// Step 3: read, once; what is delivered is what was read.
#[must_use]
pub(crate) struct Letters(Vec<check::Letter>);
/// Step 4: a message, or every problem that it has.
#[must_use]
pub(crate) struct Checked(check::Letter, check::Verdict);
/// Step 5: what becomes of it, and who gets it.
#[must_use]
pub(crate) struct Addressed(Vec<stage::Ruled>);
/// Step 6: copies and explanations stand in `spool/stage`, numbered in the order of the log.
#[must_use]
pub(crate) struct Staged(Vec<stage::Entry>);
/// Step 7: in the log, durably. From here on it will be delivered whatever happens.
#[must_use]
pub(crate) struct Committed(Vec<u64>);
/// Step 8: the copies stand in their inboxes.
#[must_use]
pub(crate) struct Delivered(Vec<u64>);
/// Step 9: the projections show it.
#[must_use]
pub(crate) struct Projected(Vec<u64>);

impl Committed {
    /// Records that are in the log already: after a kill, or when a delivery is tried again.
    pub(crate) fn again(seqs: Vec<u64>) -> Committed {
        Committed(seqs)
    }
}

use steps::{budget, check, pickup, share, stage};
use upkeep::{presence, receipts, reload};

impl Router {
    pub(crate) fn new(
        room: Room,
        (lock, turn): (Lock, Turn),
        log: Log,
        spool: Spool,
        state: State,
        patience: Patience,
    ) -> Result<Router> {
        let settings = room.settings()?;
        let channels = Channels::new(room.dir.clone());
        Ok(Router {
            registry: Arc::new(room.registry()?),
            barrier: Barrier::new(settings.durability, room.dir.clone()),
            settings,
            outboxes: Outboxes::default(),
            waiting: Waiting::default(),
            next_claim: state.claim + 1,
            room,
            lock,
            turn,
            log,
            spool,
            state,
            patience,
            claims: VecDeque::new(),
            stuck: BTreeSet::new(),
            done: BTreeSet::new(),
            observed: Default::default(),
            channels,
            watched: Default::default(),
            notices: Vec::new(),
            held: Vec::new(),
            acted: false,
            share: share::Share::default(),
            copies: 0,
            sliced: Vec::new(),
            checkpointed: None,
            seen: reload::Seen::default(),
            room_id: None,
            bad: Default::default(),
            time_again: None,
            woken: BTreeSet::new(),
            tally: Tally::default(),
            budgets: budget::Budgets::default(),
            pace: Default::default(),
        })
    }

    /// Routes one batch of what is there. `false` when there was nothing to do.
    pub fn route(&mut self) -> Result<bool> {
        let begun = Instant::now();
        let claimed = self.claim()?;
        let letters = self.read(claimed);
        let checked = self.check(letters);
        let addressed = self.resolve(checked)?;
        let staged = self.stage(addressed);
        let committed = self.commit(staged)?;
        self.remember_hops(&committed);
        self.line_up_sliced();
        let delivered = self.deliver(committed)?;
        let projected = self.project(delivered)?;
        let routed = self.retire(projected)?;
        self.share.measured(self.copies, begun.elapsed());
        Ok(routed)
    }

    /// Is there nothing left to do right now?
    pub fn is_idle(&self) -> bool {
        self.outboxes.is_idle() && self.claims.is_empty() && self.notices.is_empty()
    }

    /// Makes durable what was delivered, and records what left inboxes and what changed the registry. For when nothing has
    /// happened for a while. Which other records are settled, the next message's record tells.
    pub fn settle(&mut self) -> Result<()> {
        if self.observed.is_empty() && !self.changes_are_open() {
            return self.barrier.pass();
        }
        // What is observed of a message's time and who is told of it stand in one batch.
        if !self.notices.is_empty() {
            return self.route().map(drop);
        }
        let staged = self.stage_alone();
        let committed = self.commit(staged)?;
        let delivered = self.deliver(committed)?;
        let projected = self.project(delivered)?;
        self.retire(projected).map(drop)
    }

    /// Says something to the human, unless it was said before.
    pub fn notify(&mut self, about: String, subject: String, body: String) {
        self.notify_agent(crate::message::id::HUMAN.into(), about, subject, body);
    }

    /// Says something to an agent, unless it was said before.
    pub(crate) fn notify_agent(&mut self, to: Arc<str>, about: String, subject: String, body: String) {
        self.notify_of(Notice { about, to, kind: "alert", subject, body, more: Default::default() });
    }

    fn notify_of(&mut self, notice: Notice) {
        let is_new = !self.state.heard.contains(&notice.about);
        if is_new && !self.notices.iter().chain(&self.held).any(|other| other.is_same(&notice)) {
            self.notices.push(notice);
        }
    }

    /// Tries again what is due; `true` if the registry or the settings are to be read again.
    pub fn retry(&mut self) -> Result<bool> {
        let due: HashSet<String> = self.waiting.take_due().into_iter().collect();
        let (mut copies, mut reload, mut channels) = (false, false, false);
        for what in &due {
            match what.split_once('/') {
                Some((layout::OUTBOXES, file)) => match file.split_once('/') {
                    // A name that is no text is only shown; the directory has it as it is.
                    Some((agent, name)) if name.is_empty() || name.contains(char::REPLACEMENT_CHARACTER) => {
                        self.outboxes.scan(&agent.into());
                    }
                    Some((agent, name)) => self.outboxes.hint(&agent.into(), name.into()),
                    None => self.outboxes.scan(&file.into()),
                },
                Some((layout::SPOOL, claim)) => self.claims.extend(claim.strip_prefix("claim/").map(str::to_owned)),
                Some((layout::CHANNELS, _)) => channels = true,
                _ if what == layout::REGISTRY || what == layout::SETTINGS => (reload, copies) = (true, true),
                _ => copies = true,
            }
        }
        if copies {
            let stuck = Committed::again(std::mem::take(&mut self.stuck).into_iter().collect());
            let delivered = self.deliver(stuck)?;
            let projected = self.project(delivered)?;
            self.retire(projected)?;
        }
        if channels {
            self.look_at_channels();
        }
        self.notices.append(&mut self.held);
        Ok(reload)
    }

    /// Is everything durable that was delivered so far, and every change of the registry settled?
    pub fn is_settled(&self) -> bool {
        self.barrier.is_empty() && !self.changes_are_open()
    }

    // Did a message change the registry whose record is not settled yet?
    fn changes_are_open(&self) -> bool {
        self.acted && !self.done.is_empty()
    }

    /// What this router did.
    pub fn tally(&self) -> Tally {
        Tally { waiting: self.waiting.len(), ..self.tally }
    }

    fn is_durable(&self) -> bool {
        self.settings.durability == Durability::Power
    }
}

/// A failure ends the router unless it can pass by itself.
pub(crate) fn temporary(e: Error) -> Result<Error> {
    match e.class() {
        crate::base::error::Class::Temporary => Ok(e),
        _ => Err(e),
    }
}
