//! What is to be picked up: files in outboxes, claims without a record, and each sender's share and budgets.

use super::budget::{Bill, Budgets, Delay};
use super::config::Config;
use super::pending::Pending;
use super::share::{self, Batch, Cut, Late, Piece, Share};
use crate::base::error::Result;
use crate::disk::{Dir, layout};
use crate::log::lookup::SearchLimiter;
use crate::log::state::State;
use crate::room::outbox::{self, Look, Outboxes, Patience, Terms};
use crate::room::settings::Settings;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

/// What a router has to pick up, and in which order.
pub(crate) struct Intake {
    /// Files in outboxes, and whose turn it is.
    outboxes: Outboxes,
    /// Files that may still be written to.
    patience: Patience,
    /// Claims without a record, to be read, with their numbers: in the order in which they were picked up.
    claims: BTreeSet<(u64, String)>,
    /// The number of the next claim.
    next: u64,
    share: Share,
    budgets: Budgets,
    /// How often acks may have the whole log searched.
    searches: SearchLimiter,
    /// Files of lines that are in this batch.
    sliced: Vec<Sliced>,
    /// How many copies this batch has.
    copies: usize,
}

/// A file of lines of which some are in this batch, and why no more are.
struct Sliced {
    agent: Arc<str>,
    claim: String,
    delay: Option<Delay>,
}

impl Intake {
    /// `claim` is the highest claim number that the log names.
    pub(crate) fn new(patience: Patience, claim: u64) -> Intake {
        Intake {
            outboxes: Outboxes::default(),
            patience,
            claims: BTreeSet::new(),
            next: claim + 1,
            share: Share::default(),
            budgets: Budgets::default(),
            searches: SearchLimiter::default(),
            sliced: Vec::new(),
            copies: 0,
        }
    }

    /// Is there nothing to pick up?
    pub(crate) fn is_idle(&self) -> bool {
        self.outboxes.is_idle() && !self.has_claims()
    }

    /// Is there a claim that waits for no other one?
    pub(crate) fn has_claims(&self) -> bool {
        self.claims
            .iter()
            .any(|(_, claim)| !self.waits_for_lines(claim))
    }

    /// Does this claim wait for the last line of a file that its sender dropped before it?
    pub(crate) fn waits_for_lines(&self, claim: &str) -> bool {
        let agent = layout::read_claim(claim).map(|one| one.agent);
        agent
            .and_then(|agent| self.outboxes.begun(agent))
            .is_some_and(|begun| begun != claim)
    }

    /// Is there anything of one of these senders to pick up?
    pub(crate) fn has_mail_of(&self, agents: &[Arc<str>]) -> bool {
        agents
            .iter()
            .any(|agent| self.outboxes.is_in_line(agent) || self.has_claims_of(agent))
    }

    /// Are claims of this sender queued?
    pub(crate) fn has_claims_of(&self, agent: &str) -> bool {
        self.claims
            .iter()
            .any(|(_, claim)| layout::read_claim(claim).is_some_and(|one| one.agent == agent))
    }

    /// The queue of outboxes.
    pub(crate) fn outboxes(&mut self) -> &mut Outboxes {
        &mut self.outboxes
    }

    /// How often acks may have the whole log searched.
    pub(crate) fn searches(&mut self) -> &mut SearchLimiter {
        &mut self.searches
    }

    /// Queues claims that have no record yet.
    pub(crate) fn queue_claims(&mut self, claims: impl IntoIterator<Item = String>) {
        let number = |claim: &String| layout::read_claim(claim).map_or(u64::MAX, |one| one.number);
        self.claims
            .extend(claims.into_iter().map(|claim| (number(&claim), claim)));
    }

    /// All queued claims, in their order.
    pub(crate) fn take_claims(&mut self) -> impl Iterator<Item = String> + use<> {
        std::mem::take(&mut self.claims)
            .into_iter()
            .map(|(_, claim)| claim)
    }

    /// The name of a new claim. Each number is used once, also when a file of this name is in the way.
    pub(crate) fn name_claim(&mut self, agent: &str, name: &OsStr) -> String {
        self.next += 1;
        layout::claim(self.next - 1, agent, name)
    }

    /// A claim of this number is on disk already.
    pub(crate) fn number_is_used(&mut self, number: u64) {
        self.next = self.next.max(number + 1);
    }

    /// Looks whether a file is ready.
    pub(crate) fn look(&mut self, dir: &Dir, name: &OsStr, terms: &Terms) -> Result<Look> {
        outbox::look(dir, name, terms, &mut self.patience)
    }

    /// An empty batch, as large as the disk was fast lately.
    pub(crate) fn new_batch(&self) -> Batch {
        Batch::new(&self.share)
    }

    /// Is this sender over a budget for every message?
    pub(crate) fn spent(&self, settings: &Settings, agent: &Arc<str>) -> Option<Delay> {
        self.budgets.spent(settings, agent)
    }

    /// The part of a file that goes into this batch.
    pub(crate) fn cut(
        &self,
        config: &Config,
        agent: &Arc<str>,
        pieces: Vec<Piece>,
        of: (&Batch, usize),
    ) -> Cut {
        share::cut(config, &self.budgets, agent, pieces, of)
    }

    /// Records what a claim has spent.
    pub(crate) fn pay(&mut self, agent: &Arc<str>, claim: &str, bill: Bill) {
        self.budgets.pay(agent, claim, bill);
    }

    /// Some lines of this claim are in the batch.
    pub(crate) fn sliced(&mut self, agent: &Arc<str>, claim: &str, delay: Option<Delay>) {
        self.sliced.push(Sliced {
            agent: agent.clone(),
            claim: claim.to_owned(),
            delay,
        });
    }

    /// The batch is picked up.
    pub(crate) fn batch_is_full(&mut self, batch: &Batch) {
        self.copies = batch.copies_added();
    }

    /// Lines of a file were left to a later batch: their sender has not spent anything for them.
    pub(crate) fn leave(&mut self, late: Vec<Late>, settings: &Settings, state: &State) {
        for Late {
            agent,
            claim,
            lines,
            copies,
            begun,
        } in late
        {
            self.budgets.refund(settings, &agent, (lines, copies));
            self.copies = self.copies.saturating_sub(copies);
            // The next line is due now, whatever delays later ones.
            let of_file = self
                .sliced
                .iter_mut()
                .filter(|sliced| sliced.claim == claim);
            of_file.for_each(|sliced| sliced.delay = None);
            if !begun && state.resume_after(&claim).is_none() {
                self.sliced.retain(|sliced| sliced.claim != claim);
                self.queue_claims([claim]);
            }
        }
    }

    /// The batch is committed, or has failed: the senders of files of lines are queued again, with the rest of the file or
    /// with what follows the file.
    pub(crate) fn committed(
        &mut self,
        seqs: &[u64],
        state: &State,
        room: &Dir,
        pending: &mut Pending,
    ) {
        self.budgets.remember_hops(seqs, state);
        for Sliced {
            agent,
            claim,
            delay,
        } in std::mem::take(&mut self.sliced)
        {
            let place = format!("{}/{claim}", layout::CLAIM);
            let goes_on = state.resume_after(&claim).is_some();
            if let Some(delay) = delay.filter(|_| goes_on) {
                delay.hold_back(&place, pending, room);
            }
            let waits = goes_on && pending.contains(&place);
            self.outboxes.begin(&agent, goes_on.then_some(claim));
            if !waits {
                self.outboxes.line_up_again(&agent);
            }
        }
    }

    /// The batch took this long.
    pub(crate) fn batch_took(&mut self, time: Duration) {
        self.share.measured(self.copies, time);
    }

    /// The settings changed.
    pub(crate) fn settings_changed(&mut self, before: &Settings, now: &Settings) {
        self.budgets.forget_if_changed(before, now);
    }

    /// Forgets what no longer matters.
    pub(crate) fn tidy(&mut self) {
        self.patience.tidy();
        self.budgets.tidy();
    }
}
