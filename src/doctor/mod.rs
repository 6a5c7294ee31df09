//! The doctor: what is wrong with a room, with this machine, or with where the commands look, and what mends each.
//!
//! In: a room, or none. Out: findings, each with its severity and a command that mends it.
//!
//! One file for each part that is examined. An examination reads only; `mend` alone changes something, and only what
//! can be changed without losing anything.
//!
//! What does not belong here: how findings are shown (`cli`).

mod access;
mod drafts;
mod files;
mod hooks;
mod mail;
mod mend;
mod place;
mod power;
mod rooms;
mod sessions;
mod trust;

use crate::base::error::{Error, Result};
use crate::log::state::{self, Replayed};
use crate::room::registry::Registry;
use crate::room::{self, Room};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Mail doesn't go its way.
    Problem,
    /// Mail goes its way, or will, but something wants to be looked at.
    Warning,
    /// Nothing is wrong; it is good to know.
    Note,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A short, stable word for programs.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is so, in a sentence.
    pub what: String,
    /// A command line that mends it, or that shows more.
    pub cure: String,
    /// Does `mailbag doctor --fix` mend it?
    pub fixable: bool,
}

impl Finding {
    fn new(code: &'static str, severity: Severity, what: impl Into<String>, cure: impl Into<String>) -> Finding {
        Finding { code, severity, what: what.into(), cure: cure.into(), fixable: false }
    }

    fn fixable(self) -> Finding {
        Finding { fixable: true, ..self }
    }
}

/// What was found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The room that was looked at, if there is one.
    pub room: Option<PathBuf>,
    /// Is nothing wrong? Notes may stand there all the same.
    pub healthy: bool,
    /// What is so, the worst first.
    pub findings: Vec<Finding>,
    /// What was mended.
    pub fixed: Vec<Finding>,
}

/// Who asks, and from where.
pub struct Asked<'a> {
    /// The room that `--room` or `MAILBAG_ROOM` names.
    pub room: Option<&'a Path>,
    /// The working directory.
    pub from: &'a Path,
    /// Whose mail is meant, if anything says so.
    pub agent: Option<&'a str>,
}

/// A room as it is looked at: what can be read of it.
struct Patient<'a> {
    room: &'a Room,
    registry: Option<Registry>,
    replayed: Option<Replayed>,
}

/// Looks at everything.
pub fn examine(asked: &Asked<'_>) -> Result<Report> {
    let opened = room::find(asked.room, asked.from).and_then(|path| Room::open(&path));
    let mut findings = Vec::new();
    let room = match opened {
        Ok(room) => Some(room),
        Err(Error::NotFound { what, .. }) => {
            findings.push(Finding::new("no_room", Severity::Problem, what, "mailbag init"));
            None
        }
        Err(Error::Untrusted { what, .. }) => {
            let place = room::find(asked.room, asked.from)?;
            let cure = format!("mailbag trust {}", shell(&place));
            findings.push(Finding::new("untrusted_room", Severity::Problem, what, cure));
            None
        }
        Err(e) => return Err(e),
    };
    rooms::look(asked, room.as_ref(), &mut findings);
    if let Some(room) = &room {
        look(room, asked, &mut findings)?;
    }
    findings.sort_by_key(|finding| finding.severity);
    let healthy = findings.iter().all(|finding| finding.severity == Severity::Note);
    Ok(Report { room: room.map(|room| room.dir.path().to_path_buf()), healthy, findings, fixed: Vec::new() })
}

/// Looks, mends what can be mended without losing anything, and looks again.
pub fn mend(asked: &Asked<'_>) -> Result<Report> {
    let before = examine(asked)?;
    let wanted = before.findings.iter().any(|finding| finding.fixable);
    let (Some(path), true) = (&before.room, wanted) else { return Ok(before) };
    let trouble = mend::mend(&Room::open(path)?);
    let mut after = examine(asked)?;
    after.findings.extend(trouble);
    let stands = |was: &Finding| after.findings.iter().any(|is| is.code == was.code && is.what == was.what);
    after.fixed = before.findings.into_iter().filter(|was| was.fixable && !stands(was)).collect();
    after.findings.sort_by_key(|finding| finding.severity);
    after.healthy = after.findings.iter().all(|finding| finding.severity == Severity::Note);
    Ok(after)
}

fn look(room: &Room, asked: &Asked<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let registry = files::registry(room, findings);
    files::settings(room, findings);
    let replayed = files::log(room, findings)?;
    let patient = Patient { room, registry, replayed };
    files::log_end(&patient, findings)?;
    files::conversations(&patient, findings)?;
    files::spool(room, findings)?;
    access::look(&patient, findings)?;
    place::look(&patient, findings)?;
    trust::look(&patient, findings)?;
    power::copied(room, findings)?;
    power::look(&patient, findings);
    drafts::look(room, findings)?;
    mail::look(room, findings)?;
    hooks::look(&patient, asked, findings);
    sessions::look(&patient, asked, findings)
}

/// Reads the log again, for a look that has to be newer than another.
fn replay(room: &Room) -> Result<Replayed> {
    state::replay(&room.dir)
}

/// A word as a shell reads it.
fn quoted(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A path as a shell reads it.
fn shell(path: &Path) -> String {
    quoted(path.to_string_lossy())
}

/// A number of things: `1 file`, `2 files`.
fn count(count: usize, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}
