//! The doctor: finds problems of a room, of this machine and of the room lookup, and names a command that fixes each.
//!
//! In: a room, or none. Out: findings, each with a severity and a command that fixes it.
//!
//! One file for each part that is examined. An examination only reads. `fix` alone makes changes, and only changes that
//! cannot lose data.
//!
//! The presentation of findings does not belong here (`cli`).

mod drafts;
mod files;
mod hooks;
mod links;
mod mail;
mod fix;
mod git;
mod storage;
mod durability;
mod trust;

use crate::base::error::{Error, Result};
use crate::base::text::{count_of as count, shell_word};
use crate::base::written_path::write_path;
use crate::log::state::{self, ReplayedLog, RoomState};
use crate::room::{self, Room};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Mail is not delivered or not read.
    Problem,
    /// Mail is delivered, but something needs attention.
    Warning,
    /// Useful information; nothing is wrong.
    Note,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable code for programs.
    pub code: &'static str,
    /// Severity.
    pub severity: Severity,
    /// The finding, in one sentence.
    pub what: String,
    /// A command line that fixes it, or that shows more.
    pub fix: String,
    /// Whether `mailbag doctor --fix` fixes it.
    pub fixable: bool,
}

impl Finding {
    fn new(
        code: &'static str,
        severity: Severity,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Finding {
        Finding {
            code,
            severity,
            what: what.into(),
            fix: fix.into(),
            fixable: false,
        }
    }

    fn problem(code: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding::new(code, Severity::Problem, what, fix)
    }

    fn warning(code: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding::new(code, Severity::Warning, what, fix)
    }

    fn note(code: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding::new(code, Severity::Note, what, fix)
    }

    fn fixable(self) -> Finding {
        Finding {
            fixable: true,
            ..self
        }
    }
}

/// The result of an examination.
#[derive(Debug, Serialize)]
pub struct DoctorReport {
    /// The examined room, if there is one.
    #[serde(serialize_with = "write_path")]
    pub room: Option<PathBuf>,
    /// Whether nothing is wrong. There may still be notes.
    pub healthy: bool,
    /// The findings, most severe first.
    pub findings: Vec<Finding>,
    /// The findings that were fixed.
    pub fixed: Vec<Finding>,
}

/// The request.
pub struct DoctorRequest<'a> {
    /// The room that `--room` or `MAILBAG_ROOM` names.
    pub room: Option<&'a Path>,
    /// The working directory.
    pub from: &'a Path,
}

/// The room under examination, with everything that could be read.
struct ExaminedRoom<'a> {
    room: &'a Room,
    /// The whole log, for damage at its end.
    replayed: Option<ReplayedLog>,
    /// The committed log, for everything else.
    committed: Option<RoomState>,
}

/// Runs all examinations.
pub fn examine(request: &DoctorRequest<'_>) -> Result<DoctorReport> {
    let mut findings = Vec::new();
    let opened = room::find(request.room, request.from).and_then(|room| Room::open(&room));
    let room = match opened {
        Ok(room) => Some(room),
        Err(Error::NotFound { what, .. }) => {
            findings.push(Finding::problem("no_room", what, "mailbag init"));
            None
        }
        Err(Error::Untrusted { what, .. }) => {
            let place = room::find(request.room, request.from)?;
            let fix = format!("ls -ld {}", shell(&place));
            findings.push(Finding::problem("untrusted_room", what, fix));
            None
        }
        Err(e) => return Err(e),
    };
    if let Some(room) = &room {
        look(room, request, &mut findings);
    }
    findings.sort_by_key(|finding| finding.severity);
    let healthy = findings
        .iter()
        .all(|finding| finding.severity == Severity::Note);
    Ok(DoctorReport {
        room: room.map(|room| room.dir.path().to_path_buf()),
        healthy,
        findings,
        fixed: Vec::new(),
    })
}

/// Examines, fixes the findings that can be fixed without a loss of data, and examines again.
pub fn fix(request: &DoctorRequest<'_>) -> Result<DoctorReport> {
    let before = examine(request)?;
    let wanted = before.findings.iter().any(|finding| finding.fixable);
    let (Some(path), true) = (&before.room, wanted) else {
        return Ok(before);
    };
    let failure = fix::fix(&Room::open(path)?);
    let mut after = examine(request)?;
    after.findings.extend(failure);
    let mut fixed = before.findings;
    fixed.retain(|was| {
        let mut left = after.findings.iter();
        was.fixable && !left.any(|is| is.code == was.code && is.what == was.what)
    });
    after.fixed = fixed;
    after.findings.sort_by_key(|finding| finding.severity);
    after.healthy = after
        .findings
        .iter()
        .all(|finding| finding.severity == Severity::Note);
    Ok(after)
}

fn look(room: &Room, request: &DoctorRequest<'_>, findings: &mut Vec<Finding>) {
    files::registry(room, findings);
    files::settings(room, findings);
    files::charter(room, findings);
    let replayed = files::log(room, findings);
    let committed = replayed
        .as_ref()
        .and_then(|_| files::committed(room, findings));
    let examined = ExaminedRoom {
        room,
        replayed,
        committed,
    };
    note_failure(files::log_end(&examined, findings), findings);
    files::conversations(&examined, findings);
    note_failure(files::spool(room, findings), findings);
    git::look(room, findings);
    note_failure(storage::look(&examined, findings), findings);
    note_failure(trust::look(&examined, findings), findings);
    note_failure(links::look(&examined, findings), findings);
    note_failure(durability::copied(room, findings), findings);
    durability::look(&examined, findings);
    note_failure(drafts::look(room, findings), findings);
    note_failure(mail::look(room, findings), findings);
    hooks::look(&examined, request, findings);
}

/// Reports an examination that failed, unless another one found the same error. One unreadable file must not hide the
/// other findings.
fn note_failure(examined: Result<()>, findings: &mut Vec<Finding>) {
    let Err(e) = examined else { return };
    let what = e.to_string();
    if findings.iter().any(|finding| finding.what == what) {
        return;
    }
    let fix = match &e {
        Error::Io { path, .. } | Error::State { path, .. } => format!("ls -lad {}", shell(path)),
        _ => "mailbag doctor -v".to_owned(),
    };
    findings.push(Finding::problem("not_examined", what, fix));
}

/// Reads the log again.
fn replay(room: &Room) -> Result<ReplayedLog> {
    state::replay(&room.dir)
}

/// Quotes a word for a shell.
fn quoted(text: impl AsRef<str>) -> String {
    shell_word(text.as_ref())
}

/// Quotes a path for a shell.
fn shell(path: &Path) -> String {
    quoted(path.to_string_lossy())
}
