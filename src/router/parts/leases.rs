//! Reviews of the room's claims.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::log::state::RoomState;
use std::time::{Duration, Instant};

/// The time of the next review.
#[derive(Default)]
pub(crate) struct NextClaimReview {
    /// `None` until the first review.
    next: Option<Instant>,
}

impl NextClaimReview {
    pub(crate) fn is_due(&self, state: &RoomState) -> bool {
        !state.claims.is_empty() && self.next.is_none_or(|next| next <= Instant::now())
    }

    /// The time until the next review.
    pub(crate) fn until_next(&self, state: &RoomState) -> Option<Duration> {
        if state.claims.is_empty() {
            return None;
        }
        let now = Instant::now();
        Some(self.next.unwrap_or(now).saturating_duration_since(now))
    }

    /// Notes that the claims were reviewed and change at `next`. The wait is bounded, because the clock can be set,
    /// and it is never zero, because the work at that time may fail.
    pub(crate) fn reviewed(&mut self, next: Option<Stamp>) {
        let left = next.map_or(Duration::MAX, |next| {
            next.saturating_duration_since(Stamp::now())
        });
        let wait = left.clamp(limits::RETRY_FIRST, limits::CLAIM_CHECK);
        self.next = Some(Instant::now() + wait);
    }
}
