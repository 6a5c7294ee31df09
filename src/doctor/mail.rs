//! Mail that doesn't go its way, as `status` counts it.

use super::{Finding, Severity, count, quoted, shell};
use crate::base::error::Result;
use crate::query::status::{self, Status};
use crate::room::{Mode, Room};

pub(super) fn look(room: &Room, findings: &mut Vec<Finding>) -> Result<()> {
    let status = status::status(room)?;
    unrouted(room, &status, findings);
    for blocked in &status.blocked {
        let what = format!("{} can't go on: {} (since {})", blocked.what, blocked.reason, blocked.since);
        findings.push(match &blocked.cure {
            cure if cure.starts_with("mv ") || cure.starts_with("ls ") => {
                let cure = format!("(cd {} && {cure})", shell(room.dir.path()));
                Finding::new("blocked", Severity::Warning, what, cure)
            }
            _ => again("blocked", Severity::Warning, what, &status),
        });
    }
    if let Some(first) = status.undelivered.first() {
        let copies = count(status.undelivered.len(), "accepted message");
        let what = format!("{copies} could not be delivered yet, the first of them {} for {}", first.id, first.to);
        findings.push(again("undelivered", Severity::Warning, what, &status));
    }
    if !status.waiting.is_empty() && !runs(&status) {
        let files = status.waiting.iter().map(|waiting| waiting.files).sum();
        let what = format!("{} in outboxes, and no router runs", count(files, "file"));
        findings.push(again("waiting", Severity::Note, what, &status));
    }
    for rejected in &status.rejected {
        let newest = rejected.newest.first().map(|rejection| format!(", the newest: {}", rejection.what));
        let refused = count(rejected.files, "message");
        let what = format!("{refused} of {} refused{}", rejected.agent, newest.unwrap_or_default());
        let cure = format!("mailbag rejected list --agent {}", quoted(&rejected.agent));
        findings.push(Finding::new("rejected", Severity::Warning, what, cure));
    }
    Ok(())
}

fn runs(status: &Status) -> bool {
    status.router.as_ref().is_some_and(|holder| holder.mode != Mode::Pass)
}

/// What the next pass, or the router that runs, tries again.
fn again(code: &'static str, severity: Severity, what: String, status: &Status) -> Finding {
    match &status.router {
        Some(_) if runs(status) => Finding::new(code, severity, what, "mailbag status"),
        _ => Finding::new(code, severity, what, "mailbag run --once").fixable(),
    }
}

fn unrouted(room: &Room, status: &Status, findings: &mut Vec<Finding>) {
    for outbox in &status.unregistered {
        let what = format!("outbox/{} has {}, but {}", outbox.agent, count(outbox.files, "file"), outbox.why);
        // What status says is for a person who is in the room, and for some no command.
        let cure = match outbox.cure.starts_with("mailbag ") {
            true => outbox.cure.clone(),
            false if outbox.cure.starts_with("mv ") => format!("(cd {} && {})", shell(room.dir.path()), outbox.cure),
            false => format!("ls -la {}", shell(&room.dir.at(crate::disk::layout::outbox(&outbox.agent)))),
        };
        findings.push(Finding::new("unrouted_outbox", Severity::Problem, what, cure));
    }
}
