//! Step 10: moves originals to `sent/` or `rejected/`.

use super::effects::AppliedBatch;
use crate::log::state::RoomState;
use crate::router::parts::{DeliveryProgress, PendingWork, RouterStorage};

/// Moves the claims to `sent/` or `rejected/`. Returns false if there was nothing to route.
///
/// S5 → S6: retired = -claim +sent
pub(in crate::router) fn retire(
    storage: &mut RouterStorage,
    state: &RoomState,
    progress: &mut DeliveryProgress,
    pending: &mut PendingWork,
    effected: AppliedBatch,
) -> bool {
    let seqs = effected.into_seqs();
    for open in seqs.iter().filter_map(|seq| state.open.get(seq)) {
        let rejected = state.is_all_refused(open);
        let retired = storage.retire(open, rejected);
        if retired.is_ok() && pending.is_empty() {
            progress.done(open.seq);
            continue;
        }
        // A failure in the directory of originals affects only their sender, who owns it.
        let place = open
            .retires_to(rejected)
            .map_or_else(String::new, |(place, _)| place.display().to_string());
        match retired {
            Ok(()) => {
                progress.done(open.seq);
                pending.clear(&place);
            }
            Err(e) => {
                progress.failed(open.seq);
                pending.failed(&place, e.to_string());
            }
        }
    }
    if !seqs.is_empty() && progress.has_stuck() {
        tracing::debug!("records with undelivered copies stay open");
    }
    !seqs.is_empty()
}
