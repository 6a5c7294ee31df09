//! Step 9: effects of a message besides delivery. Subscriptions change the registry. Withdrawn and superseded
//! messages leave the inboxes, and so do messages seen by a reader without the right to move them. An effect that is
//! made again after a kill gives the same result.

use super::deliver::DeliveredBatch;
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::disk::layout;
use crate::log::state::{DeliveryDirectory, OpenRecord, RenamedAgent, RoomState};
use crate::message::record::RouterAction;
use crate::message::status::{CopyStatus, Receipt};
use crate::room::inbox;
use crate::router::parts::{
    DeliveryProgress, ObservedReceipts, PendingWork, RoomConfig, RouterStorage, apply_subscription,
    inbox_item,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Step 9: the effects of the messages are made.
#[must_use]
pub(in crate::router) struct AppliedBatch(Vec<u64>);

/// The advice about a message that cannot be moved yet.
const WAIT: &str = "it is kept and retried";

impl AppliedBatch {
    pub(super) fn into_seqs(self) -> Vec<u64> {
        self.0
    }
}

/// If an effect fails for a temporary reason, its record stays open and is tried again.
pub(in crate::router) fn effects(
    config: &mut RoomConfig,
    storage: &mut RouterStorage,
    state: &RoomState,
    progress: &mut DeliveryProgress,
    receipts: &mut ObservedReceipts,
    pending: &mut PendingWork,
    delivered: DeliveredBatch,
) -> AppliedBatch {
    let mut done = Vec::new();
    let mut blocked: BTreeSet<&Arc<str>> = BTreeSet::new();
    let mut acts: Vec<(u64, &Arc<str>, &RouterAction)> = Vec::new();
    for seq in delivered.into_seqs() {
        let open = state.open.get(&seq);
        if let Some(renamed) = open.and_then(|open| open.renamed.as_ref()) {
            let what = layout::inbox(&renamed.of).display().to_string();
            if let Err(e) = pass_on(storage, state, seq, renamed) {
                pending.failed(&what, e.to_string());
                progress.failed(seq);
                continue;
            }
            pending.clear(&what);
        }
        match open.and_then(|open| Some((&open.from, open.act.as_ref()?))) {
            Some((_, RouterAction::Ack(acked)))
                if acked.iter().any(|receipt| receipt.status.leaves_inbox()) =>
            {
                let mut is_blocked = false;
                for receipt in acked.iter().filter(|receipt| receipt.status.leaves_inbox()) {
                    let what = inbox_item(&receipt.agent);
                    if let Err(e) = take_out(config, storage, state, receipts, receipt) {
                        pending.failed(&what, e.to_string());
                        blocked.insert(&receipt.agent);
                        is_blocked = true;
                    } else if !blocked.contains(&receipt.agent) {
                        pending.clear(&what);
                    }
                }
                if is_blocked {
                    progress.failed(seq);
                    continue;
                }
            }
            None | Some((_, RouterAction::Ack(_))) => {}
            Some((from, act)) => acts.push((seq, from, act)),
        }
        done.push(seq);
    }
    if !acts.is_empty() {
        match subscribe(config, progress, &acts) {
            Ok(()) => pending.clear(layout::REGISTRY),
            Err(e) => {
                pending.failed(layout::REGISTRY, e.to_string());
                done.retain(|seq| acts.iter().all(|(act, ..)| act != seq));
                for (seq, ..) in acts {
                    progress.failed(seq);
                }
            }
        }
    }
    AppliedBatch(done)
}

/// Moves the unread mail of a renamed agent. A staged copy must be delivered first.
fn pass_on(
    storage: &mut RouterStorage,
    state: &RoomState,
    seq: u64,
    renamed: &RenamedAgent,
) -> Result<()> {
    refuse_staged(storage, state.open.range(..seq), |agent| {
        *agent == renamed.of
    })?;
    let until = state.open.get(&seq).map_or(0, |open| open.at);
    storage.pass_on(renamed, Stamp::from_micros(until))
}

/// Fails if a copy of these records is staged for an agent. It must be delivered before it can be moved.
fn refuse_staged<'a>(
    storage: &RouterStorage,
    records: impl Iterator<Item = (&'a u64, &'a OpenRecord)>,
    is_for: impl Fn(&Arc<str>) -> bool,
) -> Result<()> {
    let copies = records.flat_map(|(_, open)| open.deliveries());
    for copy in copies.filter(|copy| copy.place == DeliveryDirectory::Inbox && is_for(&copy.agent))
    {
        if storage.is_staged(&copy)? {
            return Err(Error::busy(
                format!("{} is not delivered yet", copy.name),
                WAIT,
            ));
        }
    }
    Ok(())
}

/// Moves withdrawn, superseded and seen messages out of an inbox with unread copies.
fn take_out(
    config: &RoomConfig,
    storage: &mut RouterStorage,
    state: &RoomState,
    receipts: &mut ObservedReceipts,
    receipt: &Receipt,
) -> Result<()> {
    let Receipt {
        status,
        agent,
        seqs,
        ..
    } = receipt;
    for (at, seq) in state
        .mailboxes
        .unread(agent)
        .filter(|(_, seq)| seqs.contains(seq))
    {
        let Some(name) = inbox::find(config.dir(), agent, at)? else {
            let is_its = |holder: &Arc<str>| state.holder(holder, seq) == agent;
            refuse_staged(storage, state.open.range(seq..=seq), is_its)?;
            continue;
        };
        match status {
            CopyStatus::Seen => storage.mark_seen(agent, &name)?,
            _ => storage.expire(agent, &name)?,
        }
        receipts.classify(config.dir(), state, agent, seq, &name);
    }
    Ok(())
}

// Applies all subscriptions of a batch with one write.
fn subscribe(
    config: &mut RoomConfig,
    progress: &mut DeliveryProgress,
    acts: &[(u64, &Arc<str>, &RouterAction)],
) -> Result<()> {
    let _held = config.room().try_lock_registry()?;
    let mut registry = config.room().registry()?;
    let before = registry.to_json().to_owned();
    for (seq, agent, act) in acts {
        match apply_subscription(&registry, agent, act) {
            Some(Ok(edited)) => registry = edited,
            // The sender was removed in the meantime, so there is nothing to subscribe.
            Some(Err(problem)) => tracing::warn!(seq, "not done: {problem}"),
            None => {}
        }
    }
    let after = registry.to_json();
    if after != before {
        config.dir().replace(layout::REGISTRY, after.as_bytes())?;
    }
    progress.registry_changed();
    config.set_registry(registry);
    Ok(())
}
