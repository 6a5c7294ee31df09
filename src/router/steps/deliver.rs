//! Steps 8 and 10: into the inboxes, and the original to where it is kept.

use crate::base::error::Result;
use crate::disk::layout;
use crate::log::state::{Delivery, Place};
use crate::room::inbox;
use crate::room::registry::Agent;
use crate::router::{Committed, Delivered, Projected, Router};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// One of an agent's directories.
type Directory = (Place, Arc<str>);

impl Router {
    /// Step 8: one rename for each copy. What is no longer staged was delivered: inboxes are never read to find out.
    /// A copy that can't be moved stays staged, its record open.
    ///
    /// S4 → S5: delivered = -stage +inbox
    pub(crate) fn deliver(&mut self, Committed(seqs): Committed) -> Result<Delivered> {
        let mut failed = BTreeSet::new();
        // What a directory owes from before is in a batch only when it is tried again.
        let nothing_stuck = self.stuck.is_empty();
        for ((place, agent), deliveries) in self.by_directory(&seqs) {
            let of = |delivery: &Delivery| layout::read_staged(&delivery.staged).map_or(0, |(seq, _)| seq);
            let what = place.of(&agent).display().to_string();
            if place == Place::Inbox && self.registry.agent(&agent).is_some_and(Agent::is_woken_by_a_program) {
                self.woken.insert(agent.clone());
            }
            let stuck =
                inbox::deliver(&self.room.dir, &self.spool.stage, (place, &agent), deliveries, &mut self.barrier)?;
            match stuck.first() {
                Some((_, e)) => self.waiting.failed(&what, e.to_string()),
                None if nothing_stuck => self.waiting.over(&what),
                None => self.waiting.hurry(&what),
            }
            failed.extend(stuck.iter().map(|(delivery, _)| of(delivery)));
        }
        let delivered = seqs.into_iter().filter(|seq| !failed.contains(seq)).collect();
        self.stuck.extend(failed);
        Ok(Delivered(delivered))
    }

    // Each directory is opened once a batch, in the order in which the batch first reaches it.
    fn by_directory(&self, seqs: &[u64]) -> Vec<(Directory, Vec<Delivery>)> {
        let mut groups: Vec<(Directory, Vec<Delivery>)> = Vec::new();
        let mut places: HashMap<Directory, usize> = HashMap::new();
        for delivery in seqs.iter().filter_map(|seq| self.state.open.get(seq)).flat_map(|open| open.deliveries()) {
            let key = (delivery.place, delivery.agent.clone());
            let place = *places.entry(key.clone()).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(delivery);
        }
        groups
    }

    /// Step 10: the claim moves to `sent/` or `rejected/`. `false` if there was nothing to route at all.
    ///
    /// S5 → S6: retired = -claim +sent
    pub(crate) fn retire(&mut self, Projected(seqs): Projected) -> Result<bool> {
        let mut kept = crate::room::spool::Kept::default();
        for &seq in &seqs {
            let Some(open) = self.state.open.get(&seq) else { continue };
            // The claim of a file of lines goes with the last of them.
            if open.claim.as_ref().is_some_and(|claim| self.state.goes_on_behind(claim).is_some()) {
                self.done.insert(seq);
                continue;
            }
            let refused = self.state.is_all_refused(open);
            let done = self.spool.retire(open, refused, &mut kept, &mut self.barrier);
            if done.is_ok() && self.waiting.is_empty() {
                self.done.insert(seq);
                continue;
            }
            // Where originals are kept is their sender's, and so is what is wrong with it.
            let place = open.retires_to(refused).map_or_else(String::new, |(place, _)| place.display().to_string());
            match done {
                Ok(()) => {
                    self.done.insert(seq);
                    self.waiting.over(&place);
                }
                Err(e) => {
                    self.stuck.insert(seq);
                    self.waiting.failed(&place, e.to_string());
                }
            }
        }
        if !seqs.is_empty() && !self.stuck.is_empty() {
            tracing::debug!(stuck = self.stuck.len(), "records with undelivered copies stay open");
        }
        Ok(!seqs.is_empty())
    }
}
