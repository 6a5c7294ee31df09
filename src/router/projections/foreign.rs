//! Foreign text in files that the router makes from the log. It is never overwritten: the file is kept under another
//! name, and the human is notified.
//!
//! A file that is replaced as a whole has a check: a digest of its own text. The check shows a later router that the
//! file is as a router left it, without a note that a kill could separate from the file.

use crate::base::error::Result;
use crate::base::hash::{hash, hex};
use crate::disk::{Dir, layout};
use crate::log::state::RoomState;
use crate::router::projections::ProjectionReport;
use serde::de::IgnoredAny;
use std::ffi::OsStr;

/// The number of tried names for a file that is kept.
const NAMES: u32 = 100;

/// A file that the router makes.
pub(crate) struct GeneratedFile<'a> {
    /// Its directory.
    pub(crate) dir: &'a Dir,
    /// Its name there.
    pub(crate) name: &'a OsStr,
    /// Its path for people, which no other such file has.
    pub(crate) shown: &'a str,
    /// The advice to a person who writes to it.
    pub(crate) advice: &'a str,
}

impl GeneratedFile<'_> {
    /// Moves the file with this content aside. Returns false if the human has not been notified yet. The file stays
    /// in its place until the notice is recorded, so that no kill can separate the two.
    pub(crate) fn keep_aside(
        &self,
        digest: &str,
        state: &RoomState,
        report: &mut ProjectionReport<'_>,
    ) -> Result<bool> {
        let about = format!("foreign:{}:{digest}", self.shown);
        let kept = layout::kept_aside(self.name, digest);
        if state.notices.contains(&about) {
            self.move_aside(&kept)?;
            return Ok(true);
        }
        let shown = self.shown;
        let subject = format!("another program or person wrote to {shown}");
        let body = format!(
            "Only the router writes {shown}, and shows there what the log of the room says. The file is kept beside it as {}, \
             and the router makes {shown} again.\n\n{}",
            kept.to_string_lossy(),
            self.advice
        );
        report.notices.notify_human(state, about, subject, body);
        Ok(false)
    }

    fn move_aside(&self, kept: &OsStr) -> Result<()> {
        for n in 1..=NAMES {
            let name = if n == 1 {
                kept.to_owned()
            } else {
                layout::further(kept, n)
            };
            match self.dir.rename(self.name, self.dir, &name, "keep") {
                Err(e) if e.errno() == Some(libc::EEXIST) => {}
                done => return done,
            }
        }
        Ok(())
    }
}

/// Identifies a content.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&hash(bytes))[..12].to_owned()
}

/// The text of a JSON object with its check as the last field.
pub(crate) fn check_json(mut text: Vec<u8>) -> Vec<u8> {
    let check = format!(",\n  \"check\": \"{}\"\n}}\n", digest(&text));
    text.truncate(text.trim_ascii_end().len().saturating_sub(1));
    text.truncate(text.trim_ascii_end().len());
    text.extend(check.into_bytes());
    text
}

/// Returns true if the file is blank or has a hole, as a power cut can leave it. No text has four zero bytes in a
/// row, not even in UTF-32.
pub(crate) fn is_torn(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|byte| *byte == 0 || byte.is_ascii_whitespace())
        || memchr::memmem::find(bytes, &[0; 4]).is_some()
}

/// Returns true if the text ends within a JSON object, as a power cut can leave it.
fn ends_early(text: &[u8]) -> bool {
    let begin = b"{\n  \"";
    begin.starts_with(text)
        || text.starts_with(begin)
            && serde_json::from_slice::<IgnoredAny>(text).is_err_and(|e| e.is_eof())
}

/// Returns true if this is what [`check_json`] returned, or if a power cut has torn it.
pub(crate) fn is_checked_json(text: &[u8]) -> bool {
    if is_torn(text) || ends_early(text) {
        return true;
    }
    let mark = b",\n  \"check\": \"";
    memchr::memmem::rfind(text, mark).is_some_and(|at| {
        check_json([&text[..at], b"\n}\n"].concat()).trim_ascii_end() == text.trim_ascii_end()
    })
}
