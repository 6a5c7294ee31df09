//! Standing in for a router: whoever lives for a while routes, as long as nobody else does or wants to.

use crate::daemon::{Alongside, alongside};
use crate::error::Result;
use crate::limits;
use crate::room::Room;
use std::time::Instant;

/// Routes where nobody else does, until it is dropped.
pub struct StandIn {
    room: Room,
    router: Option<Alongside>,
    /// When to look next whether somebody routes.
    next_offer: Instant,
}

impl StandIn {
    /// Does nothing yet.
    pub fn new(room: &Room) -> StandIn {
        StandIn { room: room.clone(), router: None, next_offer: Instant::now() }
    }

    /// To be called again and again, at least each [`limits::TAKE_OVER`]: begins to route if nobody does, and makes way
    /// for a router that is to run. An error tells why nobody routes; it is tried again later.
    pub fn see_that_somebody_routes(&mut self) -> Result<()> {
        self.look().inspect_err(|_| self.next_offer = Instant::now() + limits::SWEEP_TRUSTED)
    }

    fn look(&mut self) -> Result<()> {
        if let Some(router) = &mut self.router {
            let failure = router.failure();
            if failure.is_none() && self.room.is_wanted() {
                self.router = None;
                self.next_offer = Instant::now() + limits::TAKE_OVER;
                return Ok(());
            }
            self.router = self.router.take().filter(|_| failure.is_none());
            return failure.map_or(Ok(()), Err);
        }
        if Instant::now() >= self.next_offer {
            self.next_offer = Instant::now() + limits::TAKE_OVER;
            self.router = alongside(&self.room)?;
        }
        Ok(())
    }
}
