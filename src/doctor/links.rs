//! Links to other rooms: whether the other room can be reached, and whether mail waits. `storage` examines
//! their directories.

use super::{Examined, Finding, Severity};
use crate::base::error::Result;
use crate::disk::machine;
use crate::query::links;
use crate::room::settings::Carrier;

pub(super) fn look(examined: &Examined<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let (Some(state), Ok(settings)) = (&examined.committed, examined.room.settings()) else { return Ok(()) };
    for link in links::of_state(examined.room, &settings, state) {
        let severity = if link.waiting > 0 { Severity::Problem } else { Severity::Warning };
        let tag = &link.tag;
        for problem in &link.problems {
            let what = format!("the link {tag}: {}", problem.reason);
            findings.push(Finding::new("link_down", severity, what, problem.cure.clone()));
        }
        if link.settings.as_ref().is_some_and(|one| one.carrier == Carrier::Ssh) && machine::program("ssh").is_none() {
            let what = format!("the link {tag} needs the program ssh, which is not on the PATH");
            findings.push(Finding::new("no_ssh", Severity::Problem, what, "command -v ssh"));
        }
    }
    Ok(())
}
