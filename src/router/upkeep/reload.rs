//! The router's housekeeping: the registry and settings edited while it runs, the checkpoint.

use crate::base::error::{Class, Error, Result};
use crate::base::limits;
use crate::disk::{Barrier, layout};
use crate::message::record::{hash_line, hex};
use crate::router::{Router, temporary};
use std::sync::Arc;
use std::time::Instant;

/// How the registry and the settings stood when they were last read.
#[derive(Default, PartialEq, Eq, Clone, Debug)]
pub(crate) struct Seen([Option<(u64, u64, i128)>; 2]);

impl Router {
    /// Reads the registry and the settings if they changed. A valid change takes effect; an invalid one leaves the
    /// last good one in force and tells the human. `true` if something took effect.
    pub fn reload(&mut self) -> Result<bool> {
        let stand = |name| {
            let meta = self.room.dir.stat(name).ok().flatten();
            meta.map(|meta| (meta.inode, meta.size, meta.changed))
        };
        let seen = Seen([stand(layout::REGISTRY), stand(layout::SETTINGS)]);
        if seen == self.seen {
            return Ok(false);
        }
        self.seen = seen;
        let (registry, settings) = (self.room.registry(), self.room.settings());
        let mut changed = false;
        match registry {
            Ok(registry) => {
                changed |= registry.to_json() != self.registry.to_json();
                if let Err(e) = self.room.give_to_owners(&registry) {
                    tracing::warn!("{e}; agents with a user of their own can't reach their directories");
                }
                self.registry = Arc::new(registry);
                self.waiting.over(layout::REGISTRY);
                self.bad.remove(layout::REGISTRY);
            }
            Err(e) => self.keep_the_last_good(layout::REGISTRY, &e),
        }
        match settings {
            Ok(settings) => {
                changed |= settings != self.settings;
                if settings.durability != self.settings.durability {
                    self.barrier = Barrier::new(settings.durability, self.room.dir.clone());
                    self.barrier.everything();
                }
                self.forget_spent_if_changed(&settings);
                self.settings = settings;
                self.waiting.over(layout::SETTINGS);
                self.bad.remove(layout::SETTINGS);
            }
            Err(e) => self.keep_the_last_good(layout::SETTINGS, &e),
        }
        Ok(changed)
    }

    // A file that is being saved may look bad for a moment, so the human hears of one that stays bad.
    fn keep_the_last_good(&mut self, name: &'static str, e: &Error) {
        if e.class() == Class::Temporary {
            self.seen = Seen::default();
            return self.waiting.failed(name, e.to_string());
        }
        self.waiting.not_ready(name, &format!("{e}; the last good one stays in force"), Some(limits::STAND_STILL));
        let (seen, since) = self.bad.entry(name).or_insert_with(|| (Seen::default(), Instant::now()));
        if *seen != self.seen {
            (*seen, *since) = (self.seen.clone(), Instant::now());
        }
        if since.elapsed() < limits::STAND_STILL {
            self.seen = Seen::default();
            return;
        }
        tracing::error!("{e}; the last good one stays in force");
        // The same mistake made again on another day is another file, and is told again.
        let what = format!("{e} {:?}", self.seen);
        let about = format!("{name}:{}", &hex(&hash_line(what.as_bytes()))[..16]);
        let body = format!("{e}\n\nUntil then the last good one stays in force.");
        self.notify(about, format!("{name} can't be read"), body);
    }

    /// Writes the checkpoint if the log has grown enough since the last one.
    pub fn save_checkpoint(&mut self) -> Result<()> {
        let end = self.state.end;
        let grown = match self.checkpointed {
            Some(at) if at.segment == end.segment => end.offset - at.offset,
            _ => end.offset,
        };
        let long_ago = self.checkpointed.is_some_and(|at| at.segment != end.segment);
        if grown >= limits::CHECKPOINT_BYTES || long_ago {
            let forgotten = self.state.forget_archived_ids(&self.room.dir);
            match forgotten.and_then(|()| self.state.save(&self.room.dir)) {
                Ok(()) => self.checkpointed = Some(end),
                // Without it the next start reads more of the log, and no more than that.
                Err(e) => tracing::warn!("{}", temporary(e)?),
            }
        }
        Ok(())
    }

    /// Forgets what is no longer waited for, and looks after what follows from the log.
    pub fn tidy(&mut self) {
        self.patience.tidy();
        self.budgets.tidy();
        self.look_at_channels();
        self.look_at_roster();
    }
}
