//! Mail waiting for pickup: files in outboxes, claims without a record, and each sender's share and budgets.

use super::batch_space::FileMessages;
use super::budget::{BudgetAccounts, BudgetBill, MessageDelay};
use crate::base::error::Result;
use crate::disk::{Dir, layout};
use crate::log::state::RoomState;
use crate::room::outbox::{self, FileReadiness, Outboxes, PickupConditions, UnreadyFiles};
use crate::room::settings::Settings;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::sync::Arc;

/// After this number of failed batches in a row, the cause is not a single file.
const FAILURES: u32 = 3;

/// The mail that a router has to pick up, in order.
pub(crate) struct MailIntake {
    /// Files in outboxes, and the turns of their senders.
    outboxes: Outboxes,
    /// Files that may still be written to.
    patience: UnreadyFiles,
    /// Claims without a record, in the order of their numbers.
    claims: BTreeSet<(u64, String)>,
    /// The number of the next claim.
    next: u64,
    budgets: BudgetAccounts,
    /// Claims of the present batch.
    batch: Vec<String>,
    /// Claims of batches that failed. Each is a batch of its own until it is committed.
    alone: HashSet<String>,
    /// The number of batches that failed since the last commit.
    failures: u32,
}

impl MailIntake {
    /// `claim` is the highest claim number that the log names.
    pub(crate) fn new(patience: UnreadyFiles, claim: u64) -> MailIntake {
        MailIntake {
            outboxes: Outboxes::default(),
            patience,
            claims: BTreeSet::new(),
            next: claim + 1,
            budgets: BudgetAccounts::default(),
            batch: Vec::new(),
            alone: HashSet::new(),
            failures: 0,
        }
    }

    /// Returns true if no mail waits for pickup.
    pub(crate) fn is_idle(&self) -> bool {
        self.outboxes.is_idle() && !self.has_claims()
    }

    /// Returns true if claims are queued.
    pub(crate) fn has_claims(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Returns true if there is mail of one of these senders to pick up.
    pub(crate) fn has_mail_of(&self, agents: &[Arc<str>]) -> bool {
        agents
            .iter()
            .any(|agent| self.outboxes.is_in_line(agent) || self.has_claims_of(agent))
    }

    /// Returns true if claims of this sender are queued.
    pub(crate) fn has_claims_of(&self, agent: &str) -> bool {
        self.claims
            .iter()
            .any(|(_, claim)| layout::read_claim(claim).is_some_and(|one| one.agent == agent))
    }

    /// The queue of outboxes.
    pub(crate) fn outboxes(&mut self) -> &mut Outboxes {
        &mut self.outboxes
    }

    /// Queues claims that have no record yet.
    pub(crate) fn queue_claims(&mut self, claims: impl IntoIterator<Item = String>) {
        let number = |claim: &String| layout::read_claim(claim).map_or(u64::MAX, |one| one.number);
        self.claims
            .extend(claims.into_iter().map(|claim| (number(&claim), claim)));
    }

    /// Takes all queued claims, in order.
    pub(crate) fn take_claims(&mut self) -> impl Iterator<Item = String> + use<> {
        std::mem::take(&mut self.claims)
            .into_iter()
            .map(|(_, claim)| claim)
    }

    /// Returns the name of a new claim. Each number is used once, even if a file with this name is in the way.
    pub(crate) fn name_claim(&mut self, agent: &str, name: &OsStr) -> String {
        self.next += 1;
        layout::claim(self.next - 1, agent, name)
    }

    /// Notes a number of a claim on disk, which new claims must not use.
    pub(crate) fn number_is_used(&mut self, number: u64) {
        self.next = self.next.max(number + 1);
    }

    /// Reads a file if it is ready.
    pub(crate) fn look(
        &mut self,
        dir: &Dir,
        name: &OsStr,
        terms: &PickupConditions,
    ) -> Result<FileReadiness> {
        outbox::look(dir, name, terms, &mut self.patience)
    }

    /// The delay of this sender's next message.
    pub(crate) fn delay_of(&self, settings: &Settings, agent: &Arc<str>) -> Option<MessageDelay> {
        self.budgets.delay_of(settings, agent)
    }

    /// The bill of a file, or its delay.
    pub(crate) fn bill(
        &self,
        settings: &Settings,
        agent: &Arc<str>,
        file: &FileMessages,
    ) -> Result<BudgetBill, MessageDelay> {
        self.budgets.bill(settings, agent, file)
    }

    /// Applies the bill of a claim.
    pub(crate) fn pay(&mut self, agent: &Arc<str>, claim: &str, bill: BudgetBill) {
        self.budgets.pay(agent, claim, bill);
    }

    /// Notes the claims of the batch.
    pub(crate) fn begin_batch(&mut self, claims: Vec<String>) {
        self.batch = claims;
    }

    /// Returns true if this claim was in a batch that failed.
    pub(crate) fn is_alone(&self, claim: &str) -> bool {
        self.alone.contains(claim)
    }

    /// Notes that these claims have records.
    pub(crate) fn committed(&mut self, claims: &[String]) {
        self.failures = 0;
        for claim in claims {
            self.alone.remove(claim);
        }
    }

    /// Returns true if batches fail one after the other, so that the cause is not a single file.
    pub(crate) fn is_failing(&self) -> bool {
        self.failures >= FAILURES
    }

    /// Notes that the batch failed. Its claims are tried again, each in a batch of its own. Returns the claims that wait
    /// first: the failed one, if it is known, or all if several batches have failed.
    pub(crate) fn batch_failed(&mut self, claim: Option<String>, is_known: bool) -> Vec<String> {
        self.failures += 1;
        let mut claims = std::mem::take(&mut self.batch);
        if !is_known && self.is_failing() {
            claims.extend(self.take_claims());
        }
        self.claims.clear();
        let failed = match claim {
            Some(claim) => vec![claim],
            None if !is_known && (claims.len() == 1 || self.is_failing()) => claims.clone(),
            None => Vec::new(),
        };
        self.alone.extend(failed.iter().cloned().chain(claims));
        failed
    }

    /// Notes the replies of a committed batch.
    pub(crate) fn remember_hops(&mut self, seqs: &[u64], state: &RoomState) {
        self.budgets.remember_hops(seqs, state);
    }

    pub(crate) fn settings_changed(&mut self, before: &Settings, now: &Settings) {
        self.budgets.forget_if_changed(before, now);
    }

    /// Removes unused entries.
    pub(crate) fn tidy(&mut self) {
        self.patience.tidy();
        self.budgets.tidy();
    }
}
