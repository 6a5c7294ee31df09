//! The guard at an edit: whether an agent may change the files that its client is about to change.

use super::{Event, Reply, agent, bind};
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::commands::switch;
use crate::query::claims;
use crate::query::guard::{self, Owned};
use crate::query::identity::Who;
use crate::room::Room;
use crate::room::repository::{Ground, Place};
use crate::room::sessions::{self, Caller};
use crate::room::settings::Guard;

/// Judges an edit. A registered agent is stopped; an unidentified session is warned. What cannot be judged passes, and the
/// session is told so once.
pub(super) fn judge(room: &Room, caller: &Caller, event: &Event, named: Option<&Who>) -> Reply {
    match owned(room, caller, event, named) {
        Ok((None, _)) => Reply::default(),
        Ok((Some(owned), stops)) => reply(room, caller, &owned, stops),
        Err(e) => {
            let text = format!("mailbag: cannot check who owns the files of this edit, so it passes: {e}");
            let text = Some(sanitize::line(&text).into_owned());
            let is_first = sessions::first_time(room, &caller.key(), "cannot check an edit") == Some(true);
            Reply { text: text.filter(|_| is_first), trouble: Some(e.to_string()), ..Reply::default() }
        }
    }
}

/// The files of other agents, if there are any, and whether the edit stops.
fn owned(room: &Room, caller: &Caller, event: &Event, named: Option<&Who>) -> Result<(Option<Vec<Owned>>, bool)> {
    if event.files.is_empty() || switch::is_off() {
        return Ok((None, false));
    }
    let guard = room.settings()?.guard;
    let claims = if guard == Guard::Off { None } else { Some(claims::owners(room)?) };
    let Some(claims) = claims.filter(|claims| !claims.held().is_empty()) else { return Ok((None, false)) };
    let agent = match bind(room, caller, event, named) {
        Ok(lease) => lease.map(|lease| lease.agent),
        // Another session is that agent.
        Err(Error::Busy { .. }) => None,
        // A lease that cannot be renewed still names the agent.
        Err(_) => agent(room, caller, event, named)?,
    };
    let ground = Ground::of(room);
    let files: Vec<Vec<Place>> = event.files.iter().map(|file| ground.places(file)).collect();
    let owned = guard::owned(&claims, agent.as_deref(), files.iter().map(Vec::as_slice));
    let stops = agent.is_some() && guard == Guard::Deny;
    Ok((Some(owned).filter(|owned| !owned.is_empty()), stops))
}

fn reply(room: &Room, caller: &Caller, owned: &[Owned], stops: bool) -> Reply {
    let (lines, ask) = (guard::lines(owned).join("; "), guard::ask_for(owned));
    if stops {
        let text = format!("mailbag: {lines}. Do not change it; {ask}.");
        return Reply { text: Some(text), stops, ..Reply::default() };
    }
    // A warning at each edit would fill the context.
    let claims: Vec<&str> = owned.iter().map(|one| one.claim.as_str()).collect();
    let is_first = sessions::first_time(room, &caller.key(), &claims.join(" ")) != Some(false);
    let text = format!("mailbag: {lines}. You are not stopped; before further changes, {ask}.");
    Reply { text: Some(text).filter(|_| is_first), ..Reply::default() }
}
