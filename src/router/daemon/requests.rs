//! Answers commands that ask for a pass, by removing their requests.

use crate::base::error::Result;
use crate::disk::layout;
use crate::message::id;
use crate::router::Router;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

/// The requests that are not answered.
#[derive(Default)]
pub(super) struct PassRequests {
    noted: BTreeSet<(Arc<str>, OsString)>,
    /// The last change of the first outbox for requests, for a router without file events.
    changed: Option<i128>,
}

impl PassRequests {
    /// Notes a request: this file in the outbox of this name.
    pub(super) fn note(&mut self, agent: Arc<str>, name: OsString) {
        self.noted.insert((agent, name));
    }

    /// Returns true if there may be a request. Without events, only a scan of all outboxes finds files that were
    /// dropped before the request.
    pub(super) fn may_have_come(&mut self, router: &Router) -> bool {
        let outbox = router
            .config
            .dir()
            .stat(layout::outbox(id::HUMAN))
            .ok()
            .flatten();
        let changed = outbox.map(|outbox| outbox.changed);
        std::mem::replace(&mut self.changed, changed) != changed || !self.noted.is_empty()
    }

    /// Answers all requests, after all mail is routed or pending. Receipts are recorded first, as in the pass of a
    /// command.
    pub(super) fn answer(&mut self, router: &mut Router) -> Result<()> {
        self.noted.extend(router.intake.outboxes().take_requests());
        if self.noted.is_empty() {
            return Ok(());
        }
        if router.progress.must_settle() || !router.receipts.is_empty() || !router.links.is_empty()
        {
            router.settle()?;
        }
        router.write_pending();
        for (agent, name) in std::mem::take(&mut self.noted) {
            let outbox = router.config.dir().sub(layout::outbox(&agent));
            // If the request cannot be removed, the command stops waiting after a moment.
            if let Err(e) = outbox.and_then(|outbox| outbox.remove(&name)) {
                tracing::debug!("{e}");
            }
        }
        self.changed = None;
        Ok(())
    }
}
