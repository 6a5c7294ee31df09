//! Pending work: failures for a temporary reason, with the reason and the time of the next try. Published for
//! `status`.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::{Dir, layout};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// The longest delay before a temporary failure is retried.
const RETRY_MOST: Duration = Duration::from_secs(15);
const _: () = assert!(RETRY_MOST.as_millis() < limits::SWEEP_TRUSTED.as_millis());
/// The shortest interval between two equal warnings of the router.
const WARN_AGAIN: Duration = Duration::from_secs(60);
/// The number of remembered warnings above which the router forgets the ones older than a minute.
const WARNINGS: usize = 1024;

/// Pending items by their place in the room.
#[derive(Default)]
pub(crate) struct PendingWork {
    items: BTreeMap<String, PendingEntry>,
    changed: bool,
    /// False until the list of an earlier router was compared or replaced.
    is_own: bool,
    published: Option<Instant>,
    logged: BTreeMap<String, LoggedFailure>,
}

/// The last entry of an item in the router's own log, and the number of entries left out since.
struct LoggedFailure {
    at: Instant,
    left_out: u32,
}

struct PendingEntry {
    reason: String,
    since: Stamp,
    due: Option<Instant>,
    failures: u32,
}

#[derive(Serialize)]
struct PendingLine<'a> {
    path: &'a str,
    reason: &'a str,
    since: String,
}

impl PendingWork {
    /// Adds a failure. Each repeated failure doubles the delay before the next try. The router's own log has an item
    /// at most once a minute.
    pub(crate) fn failed(&mut self, what: &str, reason: String) {
        let failures = self.items.get(what).map_or(0, |item| item.failures);
        let wait = (limits::RETRY_FIRST * 2u32.saturating_pow(failures.min(16))).min(RETRY_MOST);
        if failures == 0 {
            self.log(what, &reason);
        }
        self.put(what, reason, Some(Instant::now() + wait), failures + 1);
    }

    fn log(&mut self, what: &str, reason: &str) {
        let now = Instant::now();
        let left_out = match self.logged.get_mut(what) {
            Some(logged) if now - logged.at < WARN_AGAIN => {
                logged.left_out = logged.left_out.saturating_add(1);
                return;
            }
            Some(logged) => logged.left_out,
            None => 0,
        };
        match left_out {
            0 => tracing::warn!(what, "pending: {reason}"),
            n => tracing::warn!(
                what,
                "pending: {reason} ({n} more times since the last entry)"
            ),
        }
        if self.logged.len() >= WARNINGS {
            self.logged.retain(|_, logged| now - logged.at < WARN_AGAIN);
        }
        self.logged.insert(
            what.to_owned(),
            LoggedFailure {
                at: now,
                left_out: 0,
            },
        );
    }

    /// Adds an item that is not ready. The router tries again after this delay, or on the next event if there is no
    /// delay.
    pub(crate) fn not_ready(&mut self, what: &str, reason: &str, wait: Option<Duration>) {
        self.put(
            what,
            reason.to_owned(),
            wait.map(|wait| Instant::now() + wait),
            0,
        );
    }

    /// Adds an item that the router delays intentionally. It counts as pending since the first delay for this reason.
    pub(crate) fn delayed(&mut self, what: &str, reason: &str, wait: Duration) {
        // Rounded up, because a try before the due time would only delay the item again.
        let seconds = Stamp::now()
            .micros()
            .saturating_add(wait.as_micros() as i64 + 999_999)
            / 1_000_000;
        let next = Stamp::from_micros(seconds * 1_000_000)
            .date_time()
            .format("%H:%M:%S");
        let since = self
            .items
            .get(what)
            .filter(|item| item.reason.starts_with(reason))
            .map(|item| item.since);
        self.put(
            what,
            format!("{reason}; next at {next} UTC"),
            Some(Instant::now() + wait),
            0,
        );
        if let (Some(since), Some(item)) = (since, self.items.get_mut(what)) {
            item.since = since;
        }
    }

    fn put(&mut self, what: &str, reason: String, due: Option<Instant>, failures: u32) {
        let since = match self.items.get(what) {
            Some(item) if item.reason == reason => item.since,
            _ => {
                self.changed = true;
                Stamp::now()
            }
        };
        self.items.insert(
            what.to_owned(),
            PendingEntry {
                reason,
                since,
                due,
                failures,
            },
        );
    }

    /// Returns true if mail of this sender fails or is delayed.
    pub(crate) fn has_mail_of(&self, agent: &str) -> bool {
        self.items.keys().any(|what| match what.split_once('/') {
            Some((layout::OUTBOXES, file)) => file.split('/').next() == Some(agent),
            Some((layout::SPOOL, claim)) => {
                let claim = claim.strip_prefix("claim/").and_then(layout::read_claim);
                claim.is_some_and(|claim| claim.agent == agent)
            }
            _ => false,
        })
    }

    /// Makes the item due now, because its reason may be gone.
    pub(crate) fn hurry(&mut self, what: &str) {
        if let Some(item) = self.items.get_mut(what) {
            item.due = Some(Instant::now());
        }
    }

    /// Removes the item. Its name becomes text only if there are pending items.
    pub(crate) fn clear(&mut self, what: impl fmt::Display) {
        if !self.items.is_empty() && self.items.remove(&what.to_string()).is_some() {
            self.changed = true;
        }
    }

    /// The time when the next item is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.items.values().filter_map(|item| item.due).min()
    }

    /// Takes the items that are due now. Each is returned only once until it fails again.
    pub(crate) fn take_due(&mut self) -> Vec<String> {
        let now = Instant::now();
        let due = self
            .items
            .iter_mut()
            .filter(|(_, item)| item.due.is_some_and(|due| due <= now));
        due.map(|(what, item)| {
            item.due = None;
            what.clone()
        })
        .collect()
    }

    /// Returns true if the item waits for the time of its next try.
    pub(crate) fn is_delayed(&self, what: &str) -> bool {
        self.items.get(what).is_some_and(|item| item.due.is_some())
    }

    /// The number of pending items.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns true if the list changed since it was last written.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed
    }

    /// Writes the list if it changed and was not written a moment ago. Called by a router that is never idle because
    /// mail keeps coming.
    pub(crate) fn publish(&mut self, room: &Dir) {
        if self.changed && self.published.is_none_or(|at| at.elapsed() >= limits::IDLE) {
            self.published = Some(Instant::now());
            self.write(room);
        }
    }

    /// Writes the list for `status` if it changed. A failed write is ignored: the list is only for people.
    pub(crate) fn write(&mut self, room: &Dir) {
        if !self.changed && self.is_own {
            return;
        }
        let items = self.items.iter();
        let lines: Vec<PendingLine<'_>> = items
            .map(|(path, item)| PendingLine {
                path,
                reason: &item.reason,
                since: item.since.to_string(),
            })
            .collect();
        let mut text = serde_json::to_vec_pretty(&lines).unwrap_or_default();
        text.push(b'\n');
        if !self.is_own {
            let there = room.read(layout::WAITING, limits::REGISTRY_BYTES);
            self.is_own = there.is_ok_and(|there| there.unwrap_or_else(|| b"[]\n".into()) == text);
            if self.is_own {
                self.changed = false;
                return;
            }
        }
        let spool = room.sub(layout::SPOOL);
        let shown = spool.and_then(|spool| spool.show(layout::WAITING_NAME, &text));
        self.is_own = shown.map_err(|e| tracing::debug!("{e}")).is_ok();
        self.changed = !self.is_own;
    }
}

/// The pending item of a claim.
pub(crate) fn claim_item(claim: &str) -> String {
    format!("{}/{claim}", layout::CLAIM)
}

/// The pending item of mail that cannot be moved out of an inbox. `status` shows the path of the inbox. The slashes keep the
/// item apart from a failed delivery and a failed look.
pub(crate) fn inbox_item(agent: &str) -> String {
    format!("{}//", layout::inbox(agent).display())
}
