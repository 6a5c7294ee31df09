//! A clock that was set back. Numbers and names of messages need accept times that always increase, so accept times stay
//! ahead of the clock then, and each record also has the clock's time. Every other time of the state is the clock's time.

use super::RoomState;
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::features;
use crate::message::record::{Event, Record};

impl RoomState {
    /// The next record, with its number and its accept time, and the clock's time if that is behind.
    pub fn begin_record(&self, event: Event, seq: u64, at: Stamp) -> Record {
        let now = Stamp::now();
        let is_behind = at > now.after(limits::CLOCKS_APART);
        Record {
            seq,
            at: at.to_string(),
            clock: is_behind.then(|| now.to_string()),
            ..Record::new(event)
        }
    }

    /// Returns true if the clock was set back after the last record, so that the state has times that are too late.
    pub fn is_ahead_of(&self, now: Stamp) -> bool {
        self.time > now.after(limits::CLOCKS_APART)
    }

    /// Takes in the time of a record that was accepted at `stamp`, and returns the time that the clock showed.
    pub(super) fn follow_clock(&mut self, record: &Record, stamp: Stamp) -> Stamp {
        let now = record.time(stamp);
        if now < self.time {
            self.cut_times(now, record.seq);
        }
        self.time = now;
        now
    }

    /// Cuts the times of the state after the clock was set back: nothing has happened after now, and everything is due at
    /// most its own span after now. A time that a sender chose is not cut.
    fn cut_times(&mut self, now: Stamp, seq: u64) {
        for at in self.active.values_mut().chain(self.read.values_mut()) {
            *at = now.min(*at);
        }
        self.talks.cut_times(now);
        self.links.cut_times(now);
        for feature in features::ALL {
            feature.cut_times(&mut self.features, now, seq);
        }
    }
}
