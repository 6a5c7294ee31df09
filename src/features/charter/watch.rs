//! The charter. Its lanes are addresses. Every agent can edit the file, so each change is recorded and reported to
//! the human.

use super::file::{CHARTER, Charter, CharterFile, MISSING};
use crate::base::limits;
use crate::base::sanitize::brief;
use crate::base::text::count_of;
use crate::disk::{Dir, Meta, ReadLeaseResult};
use crate::log::state::RoomState;
use crate::room::registry::Lane;
use crate::router::{LaneWatch, NoticeQueue, PendingWork};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first word of the subject of a notice about a change of the charter.
const SUBJECT: &str = "charter";

/// The longest line of a charter in a notice, in characters.
const LINE: usize = 200;

/// The last observation of the file.
pub(super) struct CharterWatch {
    /// Whether the router is continuous. A single pass cannot wait.
    waits: bool,
    /// The file as last seen, and the time when it became like this.
    seen: Option<(Option<Meta>, Instant)>,
    /// Whether this version is in the log or in the queue of notices.
    is_reported: bool,
}

impl CharterWatch {
    /// `waits` is false for a single pass.
    pub(super) fn new(waits: bool) -> CharterWatch {
        CharterWatch {
            waits,
            seen: None,
            is_reported: false,
        }
    }

    fn record(
        &mut self,
        file: &CharterFile,
        state: &RoomState,
        pending: &mut PendingWork,
        notices: &mut NoticeQueue,
    ) {
        let changes = state.subjects_of_notices(SUBJECT);
        let changes = changes.filter_map(|change| change.split_once(' '));
        let changes = changes.filter_map(|(version, n)| Some((n.parse::<u64>().ok()?, version)));
        let (changes, last) = changes.max().unwrap_or((0, MISSING));
        let version = file.version();
        if version == last {
            self.is_reported = true;
            return;
        }
        if let Some(wait) = self.wait() {
            self.not_ready(pending, wait);
            return;
        }
        self.is_reported = true;
        let about = format!("{SUBJECT} {version} {}", changes + 1);
        let (subject, body) = describe_change(file, last, &version);
        notices.notify_human(state, about, subject, body);
    }

    fn not_ready(&self, pending: &mut PendingWork, wait: Duration) {
        if self.waits {
            let reason = "it was changed, and may still be written";
            pending.not_ready(CHARTER, reason, Some(wait));
        }
    }

    /// The time until a continuous router has seen the same file for a moment.
    fn wait(&self) -> Option<Duration> {
        if !self.waits {
            return None;
        }
        let (_, since) = self.seen.as_ref()?;
        limits::UNCHANGED_FOR
            .checked_sub(since.elapsed())
            .filter(|wait| !wait.is_zero())
    }
}

impl LaneWatch for CharterWatch {
    /// A new version that has not changed for a moment is queued as a notice. While the file is unreadable, the last lanes
    /// stay in force.
    fn check(
        &mut self,
        room: &Dir,
        state: &RoomState,
        pending: &mut PendingWork,
        notices: &mut NoticeQueue,
    ) -> Option<Arc<[Lane]>> {
        let looked = room.stat(CHARTER).and_then(|meta| {
            let is_new = self.seen.as_ref().is_none_or(|(seen, _)| *seen != meta);
            if is_new {
                (self.seen, self.is_reported) = (Some((meta, Instant::now())), false);
            }
            if self.is_reported {
                return Ok((is_new, None));
            }
            Ok((is_new, Some(CharterFile::read(room)?)))
        });
        let (is_new, file) = match looked {
            Ok((is_new, Some(file))) => (is_new, file),
            Ok((_, None)) => return None,
            Err(e) => {
                self.seen = None;
                pending.failed(CHARTER, e.to_string());
                return None;
            }
        };
        match &file {
            CharterFile::Unreadable(problem) => {
                let reason = format!("{problem}; the last lanes stay in force");
                pending.not_ready(CHARTER, &reason, None);
            }
            CharterFile::Text(_) | CharterFile::Missing => pending.clear(CHARTER),
        }
        if matches!(file, CharterFile::Text(_)) && is_being_written(room) {
            self.seen = None;
            self.not_ready(pending, limits::UNCHANGED_FOR);
            return None;
        }
        self.record(&file, state, pending, notices);
        match &file {
            CharterFile::Unreadable(_) => None,
            // Some editors remove a file before they write it again.
            CharterFile::Missing => self.is_reported.then(|| Vec::new().into()),
            CharterFile::Text(_) => is_new.then(|| file.lanes().into()),
        }
    }
}

fn push_list(body: &mut String, title: &str, lines: impl ExactSizeIterator<Item = String>) {
    let more = lines.len().saturating_sub(limits::PROBLEMS);
    for (n, line) in lines.take(limits::PROBLEMS).enumerate() {
        if n == 0 {
            body.push_str(&format!("\n\n{title}:"));
        }
        body.push_str(&format!("\n- {}", brief(&line, LINE)));
    }
    if more > 0 {
        body.push_str(&format!("\n- {more} more"));
    }
}

fn is_being_written(room: &Dir) -> bool {
    room.look(CHARTER)
        .is_ok_and(|file| file.lease() == ReadLeaseResult::Writer)
}

/// The subject and the body of the notice. Text from the file is on separate lines, because any agent may have written it.
fn describe_change(file: &CharterFile, last: &str, version: &str) -> (String, String) {
    let name = CHARTER;
    let charter = match file {
        CharterFile::Missing => {
            let body = format!("{name} was removed. Its lanes are no longer addresses.");
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
    let lanes = charter
        .lanes
        .iter()
        .map(|lane| format!("{} reaches {}", lane.address, lane.owners.join(", ")));
    push_list(&mut body, "Lanes", lanes);
    let problems = charter.problems.iter().map(ToString::to_string);
    push_list(&mut body, "Problems", problems);
    body.push_str("\n\nEvery agent can edit the file.");
    (format!("{name} was {verb}"), body)
}
