//! Ends a name that mailbag gave to a session, after the session has joined another agent: the name becomes an alias of that
//! agent.
//!
//! The change of the registry is the only step. The router records the consequences: the agent gets the unread mail, the
//! claims and everything else that the name has. A session that was killed before that step still has the name in the
//! registry, and makes the step when it joins again.

use super::agent;
use super::follow::{follow, route};
use super::name::{has_mail, is_known, owns};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::count_of;
use crate::disk::layout;
use crate::features::claims::owners;
use crate::log::state;
use crate::room::{Room, inbox};

/// Fails if the name cannot end, because a file in its outbox would have no sender.
pub(super) fn check(room: &Room, was: &str) -> Result<()> {
    if unsent(room, was)? == 0 {
        return Ok(());
    }
    route(room, limits::NAME_WAIT)?;
    match unsent(room, was)? {
        0 => Ok(()),
        left => Err(Error::busy(
            format!(
                "{was}, the name of this session so far, has {} in its outbox",
                count_of(left, "file")
            ),
            "`mailbag status` shows why; join again when it is sent; nothing was changed",
        )),
    }
}

fn unsent(room: &Room, agent: &str) -> Result<usize> {
    let Some(outbox) = room.dir.sub_if_exists(layout::outbox(agent))? else {
        return Ok(0);
    };
    let names = outbox.list()?.collect::<Result<Vec<_>>>()?;
    Ok(names
        .iter()
        .filter(|entry| layout::is_message_file(&entry.name))
        .count())
}

/// Makes the name an alias if other agents can know it, and waits until the agent has the mail of the name.
pub(super) fn rename(room: &Room, was: &str, now: &str) -> Result<()> {
    end(room, was, now).map_err(|e| Error::Done {
        what: format!("this session is {now}"),
        reason: format!("{was} is not its alias yet: {e}"),
        fix: "run the command again to complete it".into(),
    })?;
    let routed = follow(room, limits::NAME_WAIT, &mut || {
        let is_recorded = state::committed(&room.dir).is_ok_and(|state| !state.knows(was));
        Ok(is_recorded.then_some(()))
    });
    routed
        .map(drop)
        .unwrap_or_else(|e| tracing::warn!("{e}; the mail of {was} follows later"));
    keep_mail(room, was, now)
}

fn end(room: &Room, was: &str, now: &str) -> Result<()> {
    let _held = room.lock_registry_within(limits::NAME_WAIT)?;
    let registry = room.registry()?;
    if registry.agent(was).is_none() {
        return Ok(());
    }
    let is_known = is_known(room, was)? || has_mail(room, was)? || owns(&owners(&room.dir)?, was);
    // The archive may have its files.
    let is_known = is_known || state::committed(&room.dir)?.knows(was);
    let changed = if is_known {
        registry.renamed(was, now)
    } else {
        registry.remove(was)
    };
    agent::save(room, &changed.map_err(Error::rejected)?)?;
    if !is_known {
        for directory in [
            layout::outbox(was),
            layout::seen(was),
            layout::announced(was),
            layout::inbox(was),
        ] {
            room.dir.remove_empty(directory)?;
        }
    }
    Ok(())
}

/// Keeps the name as an alias if mail for it has arrived in the meantime.
fn keep_mail(room: &Room, was: &str, now: &str) -> Result<()> {
    if inbox::newest(&room.dir, was, 0)?.1 == 0 || room.registry()?.now(was).is_some() {
        return Ok(());
    }
    let _held = room.lock_registry_within(limits::NAME_WAIT)?;
    agent::save(
        room,
        &room
            .registry()?
            .aliased(was, now)
            .map_err(Error::rejected)?,
    )
}
