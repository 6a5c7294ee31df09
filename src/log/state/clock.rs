//! Changes of the machine's clock. Numbers and names of messages need accept times that always increase, so after the clock
//! was set back, accept times stay ahead of it, and each record also has the clock's time. Every other time of the state is
//! the clock's time. When the clock changes, the state moves its times with it: a lease of a minute ends after a minute,
//! whichever time the clock showed.

use super::RoomState;
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::message::record::{Event, Record};

/// A change of the clock: times later than `after` move by `by` microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockShift {
    after: i64,
    by: i64,
}

impl ClockShift {
    /// Moves the time of an event. Returns true if the time moved: times that were derived from it move as well.
    pub(crate) fn apply(self, at: &mut i64) -> bool {
        let moves = *at > self.after;
        if moves {
            *at = at.saturating_add(self.by);
        }
        moves
    }

    /// Moves the time of an event and a deadline that was derived from it.
    pub(crate) fn apply_to(self, at: &mut i64, deadline: Option<&mut i64>) {
        if let (true, Some(deadline)) = (self.apply(at), deadline) {
            *deadline = deadline.saturating_add(self.by);
        }
    }

    /// As [`ClockShift::apply`].
    pub(super) fn apply_to_stamp(self, at: &mut Stamp) {
        let mut micros = at.micros();
        self.apply(&mut micros);
        *at = Stamp::from_micros(micros);
    }
}

impl RoomState {
    /// The next record, with its number and its accept time, and the clock's time if that is or was behind.
    pub fn begin_record(&self, event: Event, seq: u64, at: Stamp) -> Record {
        let now = Stamp::now();
        let is_off = self.at != self.time || at > now.after(limits::CLOCKS_APART);
        let clock = is_off.then(|| now.min(at).to_string());
        Record {
            seq,
            at: at.to_string(),
            clock,
            ..Record::new(event)
        }
    }

    /// Returns true if the clock has changed since the last record, so that the state's times are wrong until another
    /// record.
    pub fn needs_clock(&self, now: Stamp) -> bool {
        self.time > now.after(limits::CLOCKS_APART) || (self.at != self.time && now >= self.at)
    }

    /// Takes in the time of a record that was accepted at `stamp`, and returns the time that the clock showed.
    pub(super) fn follow_clock(&mut self, record: &Record, stamp: Stamp) -> Stamp {
        let time = record.time(stamp);
        let (before, ahead) = (self.time.micros(), self.at.micros() - self.time.micros());
        let shift = if time < self.time {
            Some(ClockShift {
                after: time.micros(),
                by: time.micros() - before,
            })
        } else if ahead > 0 && time == stamp {
            // The clock was corrected, after it had been set back.
            Some(ClockShift {
                after: i64::MIN,
                by: ahead,
            })
        } else {
            None
        };
        if let Some(shift) = shift {
            self.shift(shift, record.seq);
        }
        self.time = time;
        time
    }

    fn shift(&mut self, shift: ClockShift, seq: u64) {
        for at in self.active.values_mut().chain(self.read.values_mut()) {
            shift.apply_to_stamp(at);
        }
        self.timers.shift(shift);
        self.features.shift(shift, seq);
        self.approvals.shift(shift, seq);
        self.disputes.shift(shift);
        self.items.shift(shift, seq);
        self.links.shift(shift);
        self.loops.forget_times();
    }
}
