//! Links to other rooms: whether the other room can be reached, and whether mail waits. `storage` examines
//! their directories.

use super::{ExaminedRoom, Finding, Severity};
use crate::base::error::Result;
use crate::base::text::{shell_path, shell_word};
use crate::disk::machine;
use crate::query::links;
use crate::room::key_file::KeyFile;
use crate::room::settings::{Carrier, LinkSettings, NatsSettings};

pub(super) fn look(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let (Some(state), Ok(settings)) = (&examined.committed, examined.room.settings()) else {
        return Ok(());
    };
    for link in links::of_state(examined.room, &settings, state) {
        let severity = if link.waiting > 0 {
            Severity::Problem
        } else {
            Severity::Warning
        };
        let tag = &link.tag;
        for problem in &link.problems {
            let what = format!("the link {tag}: {}", problem.reason);
            findings.push(Finding::new(
                "link_down",
                severity,
                what,
                problem.fix.clone(),
            ));
        }
        match &link.settings {
            Some(LinkSettings {
                carrier: Carrier::Ssh,
                ..
            }) if machine::program("ssh").is_none() => {
                let what =
                    format!("the link {tag} needs the program ssh, which is not on the PATH");
                findings.push(Finding::problem("no_ssh", what, "command -v ssh"));
            }
            Some(LinkSettings {
                carrier: Carrier::Nats,
                nats,
                ..
            }) => look_at_files(tag, nats, findings),
            _ => {}
        }
    }
    Ok(())
}

/// The files of a link over NATS.
fn look_at_files(tag: &str, nats: &NatsSettings, findings: &mut Vec<Finding>) {
    if cfg!(not(feature = "nats")) {
        let what = format!("the link {tag} is over NATS, and this program was built without it");
        findings.push(Finding::problem("no_nats", what, "mailbag --version"));
    }
    for path in [&nats.credentials, &nats.ca].into_iter().flatten() {
        let file = KeyFile::look(path);
        if file.sha256.is_none() {
            let what = format!("the link {tag} needs the file {path}, which cannot be read");
            findings.push(Finding::problem(
                "no_key_file",
                what,
                format!("ls -l {}", shell_word(path)),
            ));
        }
    }
    let open = nats
        .credentials
        .as_deref()
        .map(KeyFile::look)
        .filter(KeyFile::is_open_to_others);
    if let Some(file) = open {
        let what = format!("other users can read the credentials of the link {tag}");
        let fix = format!("chmod go= {}", shell_path(&file.place()));
        findings.push(Finding::warning("open_key_file", what, fix));
    }
}
