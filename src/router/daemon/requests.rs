//! Answers commands that ask for a pass, by removing their requests.

use crate::base::error::Result;
use crate::disk::layout;
use crate::message::id;
use crate::router::Router;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

/// The requests that are not answered. A request that an event has reported is answered after the mail of the events
/// before it. A request that a scan has found may be newer than mail in an outbox that was listed before it, so it is
/// answered after another scan.
#[derive(Default)]
pub(super) struct PassRequests {
    noted: BTreeSet<(Arc<str>, OsString)>,
    /// Found by a scan that is over. All outboxes are scanned again.
    found: BTreeSet<(Arc<str>, OsString)>,
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

    /// Answers requests, after all mail is routed or pending. Receipts are recorded first, as in the pass of a command.
    /// If a scan has found new requests, requests a scan of these outboxes: the router is not idle then, and has to call
    /// this again.
    pub(super) fn answer<'a>(
        &mut self,
        router: &mut Router,
        outboxes: impl Iterator<Item = &'a Arc<str>>,
    ) -> Result<()> {
        self.noted.append(&mut self.found);
        self.found.extend(router.intake.outboxes().take_requests());
        self.found.retain(|request| !self.noted.contains(request));
        if !self.found.is_empty() {
            for agent in outboxes {
                router.intake.outboxes().scan(agent);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::outbox::{PassRequest, UnreadyFiles};
    use crate::room::{LockAttempt, Room, RouterMode};
    use crate::router::daemon::{WatchedDirectories, route_all};
    use crate::router::recover::{file_system_time, recover};
    use crate::router::watcher::RouterEvents;
    use std::error::Error;
    use std::time::Duration;

    #[test]
    fn a_request_that_a_scan_found_is_answered_after_mail_in_outboxes_listed_before_it()
    -> std::result::Result<(), Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        let (room, _) = Room::init(home.path())?;
        let registry = r#"{"agents": [{"id": "alice"}, {"id": "bob"}]}"#;
        room.dir.replace(layout::REGISTRY, registry.as_bytes())?;
        let LockAttempt::Ours(lock) = room.lock(RouterMode::Pass, Duration::ZERO)? else {
            panic!("no other process has this room");
        };
        let now = file_system_time(&room)?;
        let mut router = recover(room.clone(), lock, UnreadyFiles::new(Some(now)))?;
        let mut known = WatchedDirectories::default();
        known.scan(&mut router, &mut RouterEvents::silent())?;
        let request = PassRequest::place(&room).ok_or("an outbox can be written to")?;
        route_all(&mut router)?;
        // As if it had been dropped after the listing of this outbox, and before the request.
        let mail = br#"{"to": "bob", "body": "hello"}"#;
        let outbox = room.dir.sub(layout::outbox("alice"))?;
        outbox.create("1.json", mail)?;

        let mut requests = PassRequests::default();
        requests.answer(&mut router, known.outboxes.keys())?;
        assert!(!request.is_answered());
        route_all(&mut router)?;
        assert_eq!(outbox.stat("1.json")?, None);
        requests.answer(&mut router, known.outboxes.keys())?;
        assert!(request.is_answered());
        Ok(())
    }
}
