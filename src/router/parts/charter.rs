//! The charter: its lanes are addresses, and each change of it is recorded and told to the human. Every agent can edit the
//! file, so no change may go unnoticed.

use super::notices::Notices;
use super::pending::Pending;
use crate::base::limits;
use crate::base::sanitize::brief;
use crate::base::text::count_of;
use crate::disk::{Dir, Meta, ReadLease, layout, lease};
use crate::log::state::State;
use crate::message::envelope::CHARTER;
use crate::room::charter::{Charter, CharterFile, Lane, MISSING};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest line of a charter in a notice, in characters.
const LINE: usize = 200;

/// What the router knows of the file.
pub(crate) struct CharterWatch {
    /// For a single pass, which cannot wait: the time of the file system's clock.
    now: Option<i128>,
    /// The file as last seen, and since when it has been like this.
    seen: Option<(Option<Meta>, Instant)>,
    /// Does the log have this version, or the queue of notices?
    is_told: bool,
}

impl CharterWatch {
    /// For a continuous router, `None`. For a single pass, the time of the file system's clock.
    pub(crate) fn new(now: Option<i128>) -> CharterWatch {
        CharterWatch {
            now,
            seen: None,
            is_told: false,
        }
    }

    /// Looks at the file. A version that has not changed for a moment, and that the log does not have, is queued as a
    /// notice. Returns the lanes if they may have changed; without a text, the last lanes stay in force.
    pub(crate) fn look(
        &mut self,
        room: &Dir,
        state: &State,
        pending: &mut Pending,
        notices: &mut Notices,
    ) -> Option<Arc<[Lane]>> {
        let looked = room.stat(layout::CHARTER).and_then(|meta| {
            let is_new = self.seen.as_ref().is_none_or(|(seen, _)| *seen != meta);
            if is_new {
                (self.seen, self.is_told) = (Some((meta, Instant::now())), false);
            }
            Ok((
                is_new,
                if self.is_told {
                    None
                } else {
                    Some(CharterFile::read(room)?)
                },
            ))
        });
        let (is_new, file) = match looked {
            Ok((is_new, Some(file))) => (is_new, file),
            Ok((_, None)) => return None,
            Err(e) => {
                self.seen = None;
                pending.failed(layout::CHARTER, e.to_string());
                return None;
            }
        };
        match &file {
            CharterFile::Unreadable(problem) => {
                let reason = format!("{problem}; the last lanes stay in force");
                pending.not_ready(layout::CHARTER, &reason, None);
            }
            CharterFile::Text(_) | CharterFile::Missing => pending.clear(layout::CHARTER),
        }
        self.record(&file, state, pending, notices);
        match &file {
            CharterFile::Unreadable(_) => None,
            // Some editors remove a file before they write it again.
            CharterFile::Missing => self.is_told.then(|| Vec::new().into()),
            CharterFile::Text(_) if self.now.is_none() && is_being_written(room) => {
                (self.seen, self.is_told) = (None, false);
                None
            }
            CharterFile::Text(_) => is_new.then(|| file.lanes().into()),
        }
    }

    fn record(
        &mut self,
        file: &CharterFile,
        state: &State,
        pending: &mut Pending,
        notices: &mut Notices,
    ) {
        let (changes, last) = state.charter().unwrap_or((0, MISSING));
        let version = file.version();
        if version == last {
            self.is_told = true;
            return;
        }
        if let Some(wait) = self.wait() {
            if self.now.is_none() {
                pending.not_ready(
                    layout::CHARTER,
                    "it was changed, and may still be written",
                    Some(wait),
                );
            }
            return;
        }
        self.is_told = true;
        let about = format!("{} {version} {}", CHARTER, changes + 1);
        let (subject, body) = told(file, last, &version);
        notices.tell_human(state, about, subject, body);
    }

    /// How long until the file has not changed for a moment. When a file was removed is not known to a single pass.
    fn wait(&self) -> Option<Duration> {
        let Some((meta, since)) = &self.seen else {
            return Some(limits::UNCHANGED_FOR);
        };
        let unchanged = match (self.now, meta) {
            (Some(now), Some(meta)) => {
                u64::try_from(now - meta.changed).map_or(Duration::ZERO, Duration::from_nanos)
            }
            (Some(_), None) => limits::UNCHANGED_FOR,
            (None, _) => since.elapsed(),
        };
        limits::UNCHANGED_FOR
            .checked_sub(unchanged)
            .filter(|wait| !wait.is_zero())
    }
}

fn is_being_written(room: &Dir) -> bool {
    room.look(layout::CHARTER)
        .is_ok_and(|file| lease(&file) == ReadLease::Writer)
}

/// The subject and the body of the notice. The words of the file are on lines of their own, because anybody may have
/// written it.
fn told(file: &CharterFile, last: &str, version: &str) -> (String, String) {
    let name = layout::CHARTER;
    let charter = match file {
        CharterFile::Missing => {
            let body = format!("{name} was removed. No lane is an address any more.");
            return (format!("{name} was removed"), body);
        }
        CharterFile::Unreadable(problem) => {
            let body =
                format!("{problem}. The last lanes stay in force until the router starts again.");
            return (format!("{name} can't be read"), body);
        }
        CharterFile::Text(text) => Charter::parse(text),
    };
    let verb = if last == MISSING {
        "written"
    } else {
        "changed"
    };
    let mut body = format!(
        "{name} was {verb}. It has {} and {}. Its SHA-256 is {version}.",
        count_of(charter.goals.len(), "goal"),
        count_of(charter.lanes.len(), "lane")
    );
    let mut list = |title: &str, lines: Vec<String>| {
        if lines.is_empty() {
            return;
        }
        body.push_str(&format!("\n\n{title}:"));
        lines
            .iter()
            .take(limits::PROBLEMS)
            .for_each(|line| body.push_str(&format!("\n- {}", brief(line, LINE))));
        let more = lines.len().saturating_sub(limits::PROBLEMS);
        if more > 0 {
            body.push_str(&format!("\n- {more} more"));
        }
    };
    let lanes = charter
        .lanes
        .iter()
        .map(|lane| format!("{} reaches {}", lane.address, lane.owners.join(", ")));
    list("Lanes", lanes.collect());
    list(
        "Problems",
        charter.problems.iter().map(ToString::to_string).collect(),
    );
    body.push_str("\n\nEvery agent can edit the file. `mailbag charter` shows it.");
    (format!("{name} was {verb}"), body)
}
