//! Step 2 of links: the items of other rooms, each in its turn.
//!
//! Only the item that follows is taken: its number, its stream and the digest of the item before it must fit what the log
//! has. Another item is removed, or waits for those before it; its sender keeps it until it is committed here.

use super::letter::{Arrival, Letter};
use super::pickup::{Filling, Pickup, Taken};
use super::streams::{Place, open};
use crate::base::error::{Problem, Result};
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::log;
use crate::message::id::far;
use crate::message::link::{Acked, Item, Unfit};
use crate::room::links::{EndState, Heard, cure, judge};
use crate::room::outbox::{Content, Files, Look, Ready, Terms};
use crate::router::parts::{Piece, Stop};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::Arc;

/// What became of the item that is due.
enum Step {
    Took,
    /// It is not there, or does not fit.
    End,
    Rest(Stop),
}

impl Pickup<'_> {
    /// A turn of a link: what the other room says of itself, then the items that follow.
    pub(super) fn take_items(
        &mut self,
        agent: &Arc<str>,
        tag: &str,
        files: &Files,
        filling: &mut Filling,
    ) {
        let place = layout::link_in(tag).display().to_string();
        if !self.config.settings().links.contains_key(tag) {
            return self.pending.clear(&place);
        }
        let tag: Arc<str> = tag.into();
        let done = self
            .hear(&tag, &files.dir)
            .and_then(|()| self.take_what_follows(agent, &tag, files, filling));
        match done {
            Ok(()) => self.pending.clear(&place),
            Err(e) => self.pending.failed(&place, e.to_string()),
        }
    }

    /// Reads how far the other room is.
    fn hear(&mut self, tag: &Arc<str>, dir: &Dir) -> Result<()> {
        let Some(meta) = dir.stat(layout::LINK_STATE)? else {
            return Ok(());
        };
        let stream = self.state.links.out(tag).map(|out| out.stream.clone());
        if self.links.is_known(tag, (&meta, &stream)) {
            return Ok(());
        }
        let place = layout::link_state(tag).display().to_string();
        let Some(far) = EndState::read(dir)? else {
            return Ok(());
        };
        let (room, links) = (self.config.dir(), &self.state.links);
        let digest = |n| match links.get(tag).and_then(|link| link.waiting_at(n)) {
            Some(waiting) => Ok(log::read_record(room, waiting.place)?.and_then(|record| {
                record
                    .carried
                    .iter()
                    .find(|carried| carried.link == *tag && carried.n == n)
                    .map(|c| c.digest)
            })),
            None => Ok(None),
        };
        match judge(links, tag, &far, digest)? {
            Heard::Nothing => self.pending.clear(&place),
            Heard::Acked(n) => {
                stream.clone().into_iter().for_each(|stream| {
                    self.links.note(Acked {
                        link: tag.clone(),
                        stream,
                        n,
                    })
                });
                self.pending.clear(&place);
            }
            Heard::Stopped(why) => {
                let stopped = format!("{why}; {}", cure(tag));
                self.pending.not_ready(&place, &stopped, None);
                let about = format!("link:{tag}:{}:{why}", far.room);
                let body = format!("{stopped}. Nothing is lost: mail for it waits in this room.");
                self.notices.tell_human(
                    self.state,
                    about,
                    format!("the link {tag} has stopped"),
                    body,
                );
            }
        }
        self.links.has_read(tag, (meta, stream));
        Ok(())
    }

    fn take_what_follows(
        &mut self,
        agent: &Arc<str>,
        tag: &Arc<str>,
        files: &Files,
        filling: &mut Filling,
    ) -> Result<()> {
        let next = Place::of(self.state, tag).next();
        for name in &files.names {
            if layout::read_item(name).is_some_and(|n| n < next) {
                files.dir.remove(name)?;
            }
        }
        if self.is_claimed(agent, filling)? {
            return Ok(());
        }
        let slice = filling.batch.slice(self.intake.outboxes().in_line());
        let mut copies = 0;
        loop {
            if filling.batch.is_full() || copies >= slice {
                self.intake.outboxes().line_up_again(agent);
                return Ok(());
            }
            match self.take_item((agent, tag), files, &mut copies, filling)? {
                Step::Took => {}
                Step::End => return Ok(()),
                Step::Rest(Stop::Full) => {
                    filling.batch.later.push(agent.clone());
                    return Ok(());
                }
                Step::Rest(Stop::Delay(delay)) => {
                    delay.hold_back(
                        &format!("{}/", layout::link_in(tag).display()),
                        self.pending,
                        self.config.dir(),
                    );
                    return Ok(());
                }
            }
        }
    }

    // An item that was picked up and has no record yet is tried again by itself; those behind it wait.
    fn is_claimed(&self, agent: &str, filling: &Filling) -> Result<bool> {
        // Those of this batch are followed by the next ones.
        let taken = filling.taken.iter().map(|taken| taken.claim.as_str());
        let open: HashSet<&str> = taken
            .chain(
                self.state
                    .open
                    .values()
                    .filter_map(|open| open.claim.as_deref()),
            )
            .collect();
        let claimed = self.storage.claimed()?;
        let mut theirs = claimed
            .iter()
            .filter(|claim| layout::read_claim(claim).is_some_and(|one| one.agent == agent));
        Ok(theirs.any(|claim| !open.contains(claim.as_str())))
    }

    fn take_item(
        &mut self,
        (agent, tag): (&Arc<str>, &Arc<str>),
        files: &Files,
        copies: &mut usize,
        filling: &mut Filling,
    ) -> Result<Step> {
        if let Some(delay) = self.intake.spent(self.config.settings(), agent) {
            return Ok(Step::Rest(Stop::Delay(delay)));
        }
        let at = filling.place_of(self.state, tag);
        let name = layout::item(at.next());
        let (value, bytes, meta) =
            match self
                .intake
                .look(&files.dir, OsStr::new(&name), &self.terms_of_items())?
            {
                Look::Ready(ready) => match *ready {
                    Ready {
                        content: Content::One(Ok(value)),
                        bytes,
                        meta,
                    } => (value, bytes, meta),
                    _ => return self.remove(&files.dir, &name, tag, "it is not JSON"),
                },
                // It got its name when it was whole, so it is damaged.
                Look::Later(..) => return self.remove(&files.dir, &name, tag, "it is not whole"),
                Look::Gone => return Ok(Step::End),
            };
        let (arrival, content) = match Item::read(value) {
            Ok(item) => self.open(item, tag)?,
            Err(Unfit::Damaged) => return self.remove(&files.dir, &name, tag, "it is damaged"),
            Err(Unfit::Invalid(why)) => return self.remove(&files.dir, &name, tag, why),
        };
        if !at.fits(&arrival) {
            return self.remove(
                &files.dir,
                &name,
                tag,
                "it does not follow what this room has",
            );
        }
        let pieces = vec![Piece::One(self.of_size(content, bytes), bytes)];
        let mut cut = self
            .intake
            .cut(self.config, agent, pieces, (&filling.batch, usize::MAX));
        if let Some(stop) = cut.stop {
            return Ok(Step::Rest(stop));
        }
        // S1 → S2: claimed = -outbox +claim
        let claim = self.intake.name_claim(agent, OsStr::new(&name));
        self.storage.claim(&files.dir, OsStr::new(&name), &claim)?;
        cut.bill
            .take()
            .into_iter()
            .for_each(|bill| self.intake.pay(agent, &claim, bill));
        *copies += cut.copies;
        filling.batch.add(1, cut.copies, cut.bytes);
        filling.came(tag, Place::behind(&arrival));
        let letters = cut
            .lines
            .into_iter()
            .map(|(_, content)| letter(&claim, &name, arrival.clone(), content))
            .collect();
        filling.taken.push(Taken {
            claim,
            letters,
            meta,
        });
        Ok(Step::Took)
    }

    /// Takes an item that was picked up and has no record. One that does not follow is removed: its sender has it.
    pub(super) fn take_claimed_item(
        &mut self,
        claim: String,
        tag: &str,
        filling: &mut Filling,
    ) -> Result<()> {
        let tag: Arc<str> = tag.into();
        let look = self.intake.look(
            self.storage.claims(),
            OsStr::new(&claim),
            &self.terms_of_items(),
        )?;
        let (value, bytes) = match look {
            Look::Ready(ready) => match *ready {
                Ready {
                    content: Content::One(Ok(value)),
                    bytes,
                    ..
                } => (value, bytes),
                _ => (Value::Null, 0),
            },
            _ => (Value::Null, 0),
        };
        let item = Item::read(value).ok();
        let opened = item.map(|item| self.open(item, &tag)).transpose()?;
        let opened = opened.filter(|(arrival, _)| filling.place_of(self.state, &tag).fits(arrival));
        let Some((arrival, content)) = opened else {
            self.storage.claims().remove(&claim)?;
            self.pending
                .clear(format_args!("{}/{claim}", layout::CLAIM));
            // What follows can come now.
            self.intake.outboxes().scan(&layout::link_id(&tag).into());
            return Ok(());
        };
        filling.batch.add(1, 1, 0);
        filling.came(&tag, Place::behind(&arrival));
        let name =
            layout::read_claim(&claim).map_or_else(String::new, |claim| claim.original.to_owned());
        let letters = vec![letter(&claim, &name, arrival, self.of_size(content, bytes))];
        filling.taken.push(Taken {
            claim,
            letters,
            meta: None,
        });
        Ok(())
    }

    fn open(&self, item: Item, tag: &Arc<str>) -> Result<(Arrival, Value)> {
        let failure = RefCell::new(None);
        let opened = open(item, tag, &|sender, id| {
            // A local agent of that name must not get the reference.
            if self.config.registry().find_position(sender).is_some() {
                return true;
            }
            match self.state.ids.places(&far(tag, sender), id) {
                Ok(places) => !places.is_empty(),
                Err(e) => {
                    failure.replace(Some(e));
                    false
                }
            }
        });
        failure.into_inner().map_or(Ok(opened), Err)
    }

    /// A message that is too large for this room is rejected as any other: the items behind it follow it.
    #[allow(
        clippy::result_large_err,
        reason = "a problem is built for rejected input only"
    )]
    fn of_size(&self, content: Value, bytes: u64) -> super::letter::Read {
        let most = self.config.settings().message_bytes;
        let bound = most.saturating_add(limits::ITEM_MORE);
        // The receipts of an item do not count.
        let bytes = if bytes <= bound {
            bytes
        } else {
            content.to_string().len() as u64
        };
        if bytes <= bound {
            return Ok(content);
        }
        let id = content
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let what = format!(
            "the message {id} has {bytes} bytes; the limit for a message in this room is {most}"
        );
        Err(Problem::new("too_large", what).fix("send a shorter message"))
    }

    // The size of a message is this room's to judge, and that of an item is bounded by what any room can send.
    fn terms_of_items(&self) -> Terms {
        Terms {
            most: limits::PACK_FILE_BYTES,
            outbox_uid: None,
            claimed: true,
            owner: None,
        }
    }

    fn remove(&mut self, dir: &Dir, name: &str, tag: &str, why: &str) -> Result<Step> {
        tracing::warn!(
            link = tag,
            item = name,
            "an item was removed, and is expected again: {why}"
        );
        dir.remove(name)?;
        Ok(Step::End)
    }
}

fn letter(
    claim: &str,
    name: &str,
    arrival: Arrival,
    content: super::letter::Read,
) -> Letter<super::letter::Read> {
    let (agent, claim, original) = (
        arrival.from.clone(),
        Some(claim.to_owned()),
        name.to_owned(),
    );
    Letter {
        claim,
        agent,
        original,
        source: None,
        arrival: Some(Box::new(arrival)),
        retries: None,
        follows: None,
        content,
    }
}
