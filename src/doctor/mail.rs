//! Mail that is not delivered, from `status`.

use super::{Finding, Severity, count, note_failure, quoted, shell};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::layout;
use crate::query::inbox::{self, PLACED_DIRECTLY};
use crate::query::status::{self, BlockedPath, RoomStatus};
use crate::room::{Room, RouterMode};
use std::path::Path;

pub(super) fn look(room: &Room, findings: &mut Vec<Finding>) -> Result<()> {
    let status = status::status(room)?;
    unrouted(room, &status, findings);
    note_failure(list_placed(room, &status, findings), findings);
    // `links` has the findings about links.
    for blocked in status.blocked.iter().filter(|blocked| !blocked.is_link()) {
        let what = format!(
            "{} is blocked: {} (since {})",
            blocked.path, blocked.reason, blocked.since
        );
        findings.push(if blocked.fix == status.retry {
            again("blocked", Severity::Warning, what, &status)
        } else {
            let fix = command_of(room, &blocked.fix, Path::new(&blocked.path));
            Finding::warning("blocked", what, fix)
        });
    }
    if let Some(first) = status.undelivered.first() {
        let copies = count(status.undelivered.len(), "accepted message");
        let what = format!(
            "{copies} not delivered yet, the first is {} for {}",
            first.id, first.to
        );
        findings.push(again("undelivered", Severity::Warning, what, &status));
    }
    if !status.waiting.is_empty() && !runs(&status) {
        let files = status.waiting.iter().map(|waiting| waiting.files).sum();
        let what = format!(
            "{} pending in outboxes, and no router runs",
            count(files, "file")
        );
        findings.push(again("waiting", Severity::Note, what, &status));
    }
    for rejected in &status.rejected {
        let newest = rejected
            .newest
            .first()
            .map(|refusal| format!("; the newest: {}", refusal.what));
        let refused = count(rejected.files, "message");
        let what = format!(
            "{refused} of {} rejected{}",
            rejected.agent,
            newest.unwrap_or_default()
        );
        let fix = format!("mailbag rejected list --agent {}", quoted(&rejected.agent));
        findings.push(Finding::warning("rejected", what, fix));
    }
    Ok(())
}

/// Unread files without a record in the log.
fn list_placed(room: &Room, status: &RoomStatus, findings: &mut Vec<Finding>) -> Result<()> {
    for agent in room.directories(layout::INBOXES)? {
        let (mails, ..) = match inbox::newest(room, &agent, limits::LISTED, None) {
            Ok(newest) => newest,
            Err(e) => {
                // `status` reports it with a better next step, if it can.
                let inbox = layout::inbox(&agent);
                let is_reported = |blocked: &BlockedPath| Path::new(&blocked.path) == inbox;
                if !status.blocked.iter().any(is_reported) {
                    let fix = format!("ls -ld {}", shell(&room.dir.at(&inbox)));
                    findings.push(Finding::problem("unreadable_inbox", e.to_string(), fix));
                }
                continue;
            }
        };
        let mut placed = mails
            .into_iter()
            .filter(|mail| mail.problem.as_deref() == Some(PLACED_DIRECTLY));
        let Some(first) = placed.next() else { continue };
        let files = count(1 + placed.count(), "file");
        let file = first.file.display();
        let what = format!(
            "{files} in {} not delivered by the router, the first is {file}",
            layout::inbox(&agent).display()
        );
        let what = format!("{what}: {PLACED_DIRECTLY}");
        findings.push(Finding::warning(
            "placed_directly",
            what,
            format!("ls -la {}", shell(&room.dir.at(&first.file))),
        ));
    }
    Ok(())
}

fn runs(status: &RoomStatus) -> bool {
    status
        .router
        .as_ref()
        .is_some_and(|holder| holder.mode != RouterMode::Pass)
}

/// A finding that the running router or the next pass retries.
fn again(code: &'static str, severity: Severity, what: String, status: &RoomStatus) -> Finding {
    if runs(status) {
        Finding::new(code, severity, what, "mailbag status")
    } else {
        Finding::new(code, severity, what, "mailbag run --once").fixable()
    }
}

/// The command for a fix in `status`. That fix is for a person in the room's directory, and sometimes not a command: then
/// the command shows the path.
fn command_of(room: &Room, fix: &str, path: &Path) -> String {
    if ["mailbag ", "${EDITOR"]
        .iter()
        .any(|own| fix.starts_with(own))
    {
        fix.to_owned()
    } else if ["mv ", "ls ", "chmod "]
        .iter()
        .any(|command| fix.starts_with(command))
    {
        format!("(cd {} && {fix})", shell(room.dir.path()))
    } else {
        format!("ls -la {}", shell(&room.dir.at(path)))
    }
}

fn unrouted(room: &Room, status: &RoomStatus, findings: &mut Vec<Finding>) {
    for outbox in &status.unregistered {
        let what = format!(
            "outbox/{} has {}, but {}",
            outbox.agent,
            count(outbox.files, "file"),
            outbox.reason
        );
        let fix = command_of(room, &outbox.fix, &layout::outbox(&outbox.agent));
        findings.push(Finding::problem("unrouted_outbox", what, fix));
    }
}
