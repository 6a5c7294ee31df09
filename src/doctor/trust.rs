//! Who can change what the room does: programs that nobody agreed to, and files that others can write.

use super::{Finding, Patient, Severity, shell};
use crate::base::error::Result;
use crate::disk::{Meta, layout, machine};
use crate::query::programs;

/// The bits by which a group or anybody may write.
const GROUP: u32 = 0o020;
const ANYBODY: u32 = 0o002;

pub(super) fn look(patient: &Patient<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let room = patient.room;
    let own = room.dir.meta()?;
    let people = [layout::REGISTRY, layout::SETTINGS].map(|name| (name, room.dir.stat(name)));
    for (name, meta) in people {
        if let Some(meta) = meta? {
            findings.extend(written_by(&own, &meta).map(|who| others(patient, name, &who)));
        }
    }
    // Whoever may write the directory may put another file in the place of each.
    findings.extend(written_by(&own, &own).map(|who| others(patient, "", &who)));
    if let Some(registry) = &patient.registry {
        let open = programs::not_agreed(room, registry).or_else(|e| {
            let cure = "mailbag trust --list";
            findings.push(Finding::new("consent_unreadable", Severity::Warning, e.to_string(), cure));
            Ok::<_, crate::base::error::Error>(Vec::new())
        })?;
        for open in open {
            let what = format!("{} is not woken: you did not agree to start {}", open.agent, open.program);
            let cure = format!("mailbag trust {}", shell(room.dir.path()));
            findings.push(Finding::new("program_not_agreed", Severity::Warning, what, cure));
        }
    }
    Ok(())
}

/// Who else than the room's owner and root can write it; `None` if nobody can.
fn written_by(room: &Meta, meta: &Meta) -> Option<String> {
    if meta.uid != room.uid && meta.uid != 0 {
        return Some(machine::user(meta.uid));
    }
    if meta.mode & ANYBODY != 0 {
        return Some("every user".into());
    }
    // Where each user has a group of its own, it has the user's number, and nobody else in it.
    (meta.mode & GROUP != 0 && meta.gid != meta.uid && meta.gid != 0).then(|| format!("group {}", meta.gid))
}

fn others(patient: &Patient<'_>, name: &str, who: &str) -> Finding {
    let path = if name.is_empty() { patient.room.dir.path().to_path_buf() } else { patient.room.dir.at(name) };
    let what = format!("{} can be changed by {who}, who can so decide what the room does", path.display());
    Finding::new("others_can_write", Severity::Warning, what, format!("chmod go-w {0}; ls -ld {0}", shell(&path)))
}
