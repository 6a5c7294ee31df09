//! Work of the router besides mail: receipts, deadlines, reloads of the configuration, the work of features, and stray files.

pub(super) mod deadlines;
pub(super) mod receipts;
mod reload;
mod strays;

use super::Router;
use super::parts::{NoticeQueue, ObservedReceipts};
use super::projections::ProjectionView;
use crate::features;
use crate::room::inbox::AnnouncementMarker;
use std::sync::Arc;

/// The parts of a router for the upkeep of features.
pub(crate) struct FeatureUpkeep<'a> {
    pub(crate) view: ProjectionView<'a>,
    pub(crate) notices: &'a mut NoticeQueue,
    receipts: &'a mut ObservedReceipts,
}

impl FeatureUpkeep<'_> {
    /// Returns true if a copy of this agent left its inbox just now.
    pub(crate) fn has_receipts_of(&self, agent: &str) -> bool {
        self.receipts.is_of(agent)
    }

    /// Announces an unread copy again after the log has the receipt.
    pub(crate) fn announce_again(
        &mut self,
        agent: &Arc<str>,
        seq: u64,
        marker: AnnouncementMarker,
    ) {
        self.receipts.announce_again(agent, seq, marker);
    }
}

impl Router {
    /// Does the work of features that follows from the passing of time.
    pub(super) fn keep_features_up(&mut self) {
        if self.is_held() {
            return;
        }
        let mut upkeep = FeatureUpkeep {
            view: ProjectionView::of(&self.config, &self.journal),
            notices: &mut self.notices,
            receipts: &mut self.receipts,
        };
        for feature in features::ALL {
            feature.upkeep(&mut upkeep);
        }
    }
}
