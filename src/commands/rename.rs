//! Ends a name that mailbag gave to a session, after the session has joined another agent: its claims go to that agent, and
//! the name becomes an alias of it.
//!
//! Each step can be made again. A session that was killed in between still has the name in the registry, and completes the
//! steps when it joins again.

use super::claim::{self, Ask};
use super::name::{has_mail, is_known, owns};
use super::{agent, send};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::count_of;
use crate::disk::layout;
use crate::query::claims;
use crate::query::identity::{THE_SESSION, Who};
use crate::room::{Room, inbox};
use std::time::Instant;

/// Can the name end? Its unread mail would be left behind.
pub(super) fn check(room: &Room, was: &str) -> Result<()> {
    if !has_mail(room, was)? {
        return Ok(());
    }
    send::route(room)?;
    if !has_mail(room, was)? {
        return Ok(());
    }
    let unread = inbox::unread(&room.dir, was)?.len();
    Err(Error::Busy {
        what: format!("{was}, the name of this session so far, has {}", count_of(unread, "unread message")),
        cure: format!("read it first with `mailbag read --as {was}`, then join again; nothing was changed"),
    })
}

/// Hands the claims over, and makes the name an alias, unless nobody can know it.
pub(super) fn rename(room: &Room, was: &str, now: &str) -> Result<()> {
    let unfinished = |e: Error| Error::Done {
        what: format!("this session is {now}"),
        why: format!("{was} is not its alias yet: {e}"),
        cure: "run the command again to complete it".into(),
    };
    hand_over(room, was, now).and_then(|()| end(room, was, now)).map_err(unfinished)
}

/// An offer of everything, and its acceptance: two records.
fn hand_over(room: &Room, was: &str, now: &str) -> Result<()> {
    let who = |name: &str| Who { name: name.to_owned(), source: THE_SESSION };
    let claims = claims::owners(room)?;
    if let Some(wait) = claims.waiting().iter().find(|one| *one.agent == *was) {
        return Err(Error::Busy {
            what: format!("{was} waits for {}", wait.subjects.first().map(ToString::to_string).unwrap_or_default()),
            cure: format!("withdraw that with `mailbag release --as {was}`, and claim it again as {now}"),
        });
    }
    if claims.of(was).next().is_none() {
        return Ok(());
    }
    // An earlier call may have been killed after the offer.
    let open = claims.offers_to(now).find(|one| *one.from == *was).map(|one| one.seq);
    let seq = match open {
        Some(seq) => seq,
        None => {
            claim::ask(room, &who(was), Ask::Offer { to: now.to_owned(), subjects: Vec::new() }, None)?.decided()?.seq
        }
    };
    let accepted = claim::ask(room, &who(now), Ask::Accept(Some(format!("#{seq}"))), None)?.decided()?;
    notice(room, was, &format!("-{now}-{}.json", accepted.id))
}

/// The session itself has accepted, so the notice to its first name is no news. It comes right behind the record.
fn notice(room: &Room, was: &str, end: &str) -> Result<()> {
    let until = Instant::now() + limits::NAME_WAIT;
    loop {
        let unread = inbox::unread(&room.dir, was)?;
        let found = unread.iter().find(|name| name.to_str().is_some_and(|name| name.ends_with(end)));
        match found {
            Some(name) => return inbox::mark_seen(&room.dir, was, name).map(drop),
            None if Instant::now() >= until => return Ok(()),
            None => std::thread::sleep(limits::WAKE_QUIET),
        }
    }
}

fn end(room: &Room, was: &str, now: &str) -> Result<()> {
    let _held = room.lock_registry_within(limits::NAME_WAIT)?;
    let registry = room.registry()?;
    if registry.agent(was).is_none() {
        return Ok(());
    }
    // It may have arrived in this moment.
    if has_mail(room, was)? || owns(&claims::owners(room)?, was) {
        check(room, was)?;
    }
    let is_known = is_known(room, was)?;
    let changed = if is_known { registry.renamed(was, now) } else { registry.remove(was) };
    agent::save(room, &changed.map_err(Error::Rejected)?)?;
    if !is_known {
        for directory in [layout::outbox(was), layout::seen(was), layout::announced(was), layout::inbox(was)] {
            room.dir.remove_empty(directory)?;
        }
    }
    Ok(())
}
