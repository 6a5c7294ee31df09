//! When the claims of the room are reviewed.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::log::state::State;
use std::time::{Duration, Instant};

/// When the next review of the claims is due.
#[derive(Default)]
pub(crate) struct Leases {
    /// `None` until the first review.
    next: Option<Instant>,
}

impl Leases {
    /// Is a review due?
    pub(crate) fn is_due(&self, state: &State) -> bool {
        !state.claims.is_empty() && self.next.is_none_or(|next| next <= Instant::now())
    }

    /// How long until the next review is due.
    pub(crate) fn until_next(&self, state: &State) -> Option<Duration> {
        let next = self.next.map_or(Duration::ZERO, |next| {
            next.saturating_duration_since(Instant::now())
        });
        (!state.claims.is_empty()).then_some(next)
    }

    /// The claims were reviewed, and change at `next`. The wait is bounded, because the clock can be set, and it is never
    /// zero, because what is due may fail.
    pub(crate) fn reviewed(&mut self, next: Option<Stamp>) {
        let left = next.map_or(i64::MAX, |next| next.micros() - Stamp::now().micros());
        let wait = Duration::from_micros(left.max(0) as u64)
            .clamp(limits::RETRY_FIRST, limits::CLAIM_CHECK);
        self.next = Some(Instant::now() + wait);
    }
}
