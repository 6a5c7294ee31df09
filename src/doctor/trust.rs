//! Trust: settings without consent, and files that other users can change.

use super::{ExaminedRoom, Finding, shell};
use crate::base::error::Result;
use crate::disk::{Meta, layout, machine};

/// Permission bits for writing: group and other users.
const GROUP: u32 = 0o020;
const ANYBODY: u32 = 0o002;

pub(super) fn look(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let room = examined.room;
    let own = room.dir.meta()?;
    let people = [layout::REGISTRY, layout::SETTINGS, layout::CHARTER]
        .map(|name| (name, room.dir.stat(name)));
    for (name, meta) in people {
        if let Some(meta) = meta? {
            findings.extend(written_by(&own, &meta).map(|who| others(examined, name, &who)));
        }
    }
    // Write access to the directory allows replacing every file in it.
    findings.extend(written_by(&own, &own).map(|who| others(examined, "", &who)));
    for setting in room
        .settings()
        .map(|settings| settings.withheld)
        .unwrap_or_default()
    {
        let what = format!(
            "{} has no effect: you have not agreed to {}",
            setting.key, setting.value
        );
        let fix = format!("mailbag trust {}", shell(room.dir.path()));
        findings.push(Finding::warning("setting_not_trusted", what, fix));
    }
    Ok(())
}

/// Other users who can write a file, besides the room's owner and root; `None` without them.
fn written_by(room: &Meta, meta: &Meta) -> Option<String> {
    if meta.uid != room.uid && meta.uid != 0 {
        return Some(machine::user(meta.uid));
    }
    if meta.mode & ANYBODY != 0 {
        return Some("every user".into());
    }
    // A user's private group has the user's number and no other members.
    (meta.mode & GROUP != 0 && meta.gid != meta.uid && meta.gid != 0)
        .then(|| format!("group {}", meta.gid))
}

fn others(examined: &ExaminedRoom<'_>, name: &str, who: &str) -> Finding {
    let path = if name.is_empty() {
        examined.room.dir.path().to_path_buf()
    } else {
        examined.room.dir.at(name)
    };
    let what = format!(
        "{who} can change {} and so control the room",
        path.display()
    );
    Finding::warning(
        "others_can_write",
        what,
        format!("chmod go-w {0}; ls -ld {0}", shell(&path)),
    )
}
