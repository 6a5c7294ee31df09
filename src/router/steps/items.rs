//! Step 2 for links: takes the items of other rooms in order.
//!
//! Only the next item is taken: its number, its stream and the digest of the item before it must match the log.
//! Another item is removed or waits for the items before it. Its sender keeps it until it is committed here.

use super::batch_message::{BatchMessage, ItemArrival, ReadResult};
use super::pickup::{FillingBatch, PickedUpFile, PickupStep, StopReason};
use super::streams::{is_next, next_item, open};
use crate::base::error::{Problem, Result};
use crate::base::hash::Hash;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::features::links::item::{LinkItem, LinkItemError};
use crate::log;
use crate::message::carried::StreamAcknowledgement;
use crate::message::id::far;
use crate::room::links::{LinkEndState, RemoteStreamState, judge, link_fix};
use crate::room::outbox::{FileContent, FileReadiness, OutboxFiles, PickupConditions, ReadyFile};
use crate::router::parts::{FileMessages, claim_item};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::Arc;

/// The result of taking an item.
enum ItemOutcome {
    /// It was taken, with this number of copies.
    Took(usize),
    /// It is not there, or is not the next item.
    End,
    Rest(StopReason),
}

impl PickupStep<'_> {
    /// A turn of a link: reads the state of the other room, then takes the next items.
    pub(super) fn take_items(
        &mut self,
        agent: &Arc<str>,
        tag: &str,
        files: &OutboxFiles,
        filling: &mut FillingBatch,
    ) {
        let place = layout::link_in(tag).display().to_string();
        if !self.config.settings().links.contains_key(tag) {
            return self.pending.clear(&place);
        }
        let tag: Arc<str> = tag.into();
        let done = self
            .read_state(&tag, &files.dir)
            .and_then(|()| self.take_next_items(agent, &tag, files, filling));
        match done {
            Ok(()) => self.pending.clear(&place),
            Err(e) => self.pending.failed(&place, e.to_string()),
        }
    }

    /// Reads the state of the other room.
    fn read_state(&mut self, tag: &Arc<str>, dir: &Dir) -> Result<()> {
        let Some(meta) = dir.stat(layout::LINK_STATE)? else {
            return Ok(());
        };
        let stream = self.state.links.out(tag).map(|out| &out.stream);
        if self.links.is_known(tag, &meta, stream) {
            return Ok(());
        }
        let place = layout::link_state(tag).display().to_string();
        let Some(far) = LinkEndState::read(dir)? else {
            return Ok(());
        };
        match judge(&self.state.links, tag, &far, |n| self.digest_of(tag, n))? {
            RemoteStreamState::Nothing => self.pending.clear(&place),
            RemoteStreamState::Acked(n) => {
                if let Some(stream) = stream {
                    self.links.note(StreamAcknowledgement {
                        link: tag.clone(),
                        stream: stream.clone(),
                        n,
                    });
                }
                self.pending.clear(&place);
            }
            RemoteStreamState::Stopped(why) => {
                let stopped = format!("{why}; {}", link_fix(tag));
                self.pending.not_ready(&place, &stopped, None);
                let about = format!("link:{tag}:{}:{why}", far.room);
                let body = format!("{stopped}. Nothing is lost: mail for it waits in this room.");
                self.notices.notify_human(
                    self.state,
                    about,
                    format!("the link {tag} has stopped"),
                    body,
                );
            }
        }
        self.links.set_read(tag, (meta, stream.cloned()));
        Ok(())
    }

    /// The digest of an item to this room that waits for its acknowledgement.
    fn digest_of(&self, tag: &str, n: u64) -> Result<Option<Hash>> {
        let link = self.state.links.get(tag);
        let Some(waiting) = link.and_then(|link| link.waiting_at(n)) else {
            return Ok(None);
        };
        let record = log::read_record(self.config.dir(), waiting.place)?;
        Ok(record.and_then(|record| {
            let mut carried = record.carried.iter();
            let carried = carried.find(|carried| *carried.link == *tag && carried.n == n)?;
            Some(carried.digest)
        }))
    }

    fn take_next_items(
        &mut self,
        agent: &Arc<str>,
        tag: &Arc<str>,
        files: &OutboxFiles,
        filling: &mut FillingBatch,
    ) -> Result<()> {
        let next = next_item(self.state.links.came(tag));
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
                self.intake.outboxes().line_up(agent);
                return Ok(());
            }
            match self.take_item(agent, tag, &files.dir, filling)? {
                ItemOutcome::Took(more) => copies += more,
                ItemOutcome::End => return Ok(()),
                ItemOutcome::Rest(StopReason::Full) => {
                    filling.batch.later.push(agent.clone());
                    return Ok(());
                }
                ItemOutcome::Rest(StopReason::Delay(delay)) => {
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

    /// Returns true if an earlier item was picked up and has no record yet. It is tried again as a claim, and the
    /// items after it wait.
    fn is_claimed(&self, agent: &str, filling: &FillingBatch) -> Result<bool> {
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
        agent: &Arc<str>,
        tag: &Arc<str>,
        dir: &Dir,
        filling: &mut FillingBatch,
    ) -> Result<ItemOutcome> {
        if let Some(delay) = self.intake.delay_of(self.config.settings(), agent) {
            return Ok(ItemOutcome::Rest(StopReason::Delay(delay)));
        }
        let stream = filling.stream(self.state, tag);
        let name = layout::item(next_item(stream));
        let (value, bytes, meta) =
            match self
                .intake
                .look(dir, OsStr::new(&name), &self.terms_of_items())?
            {
                FileReadiness::Ready(ready) => match *ready {
                    ReadyFile {
                        content: FileContent::One(Ok(value)),
                        bytes,
                        meta,
                    } => (value, bytes, meta),
                    _ => return remove_item(dir, &name, tag, "it is not JSON"),
                },
                // An item gets its name when it is complete, so this one is damaged.
                FileReadiness::Later(..) => return remove_item(dir, &name, tag, "it is not whole"),
                FileReadiness::Gone => return Ok(ItemOutcome::End),
            };
        let (arrival, content) = match LinkItem::read(value) {
            Ok(item) => self.open(item, tag)?,
            Err(LinkItemError::Damaged) => return remove_item(dir, &name, tag, "it is damaged"),
            Err(LinkItemError::Invalid(why)) => return remove_item(dir, &name, tag, why),
        };
        if !is_next(stream, &arrival) {
            return remove_item(dir, &name, tag, "it does not follow the items of this room");
        }
        let content = FileContent::One(self.check_size(content, bytes));
        let messages = FileMessages::read(self.config, agent, content, bytes);
        if !filling.batch.has_room_for(&messages) {
            return Ok(ItemOutcome::Rest(StopReason::Full));
        }
        let bill = match self.intake.bill(self.config.settings(), agent, &messages) {
            Ok(bill) => bill,
            Err(delay) => return Ok(ItemOutcome::Rest(StopReason::Delay(delay))),
        };
        // S1 → S2: claimed = -outbox +claim
        let claim = self.intake.name_claim(agent, OsStr::new(&name));
        self.storage.claim(dir, OsStr::new(&name), &claim)?;
        self.intake.pay(agent, &claim, bill);
        filling.batch.add(1, messages.copies, bytes);
        filling.take_item(&arrival.arrived);
        let copies = messages.copies;
        let letters = messages
            .messages
            .into_iter()
            .map(|message| item_letter(&claim, &name, arrival.clone(), message.content))
            .collect();
        filling.taken.push(PickedUpFile {
            claim,
            letters,
            meta,
        });
        Ok(ItemOutcome::Took(copies))
    }

    /// Takes an item that was picked up and has no record. If it is not the next item, it is removed: its sender has it.
    pub(super) fn take_claimed_item(
        &mut self,
        claim: String,
        tag: &str,
        filling: &mut FillingBatch,
    ) -> Result<()> {
        let tag: Arc<str> = tag.into();
        let look = self.intake.look(
            self.storage.claims(),
            OsStr::new(&claim),
            &self.terms_of_items(),
        )?;
        let (value, bytes) = match look {
            FileReadiness::Ready(ready) => match *ready {
                ReadyFile {
                    content: FileContent::One(Ok(value)),
                    bytes,
                    ..
                } => (value, bytes),
                _ => (Value::Null, 0),
            },
            _ => (Value::Null, 0),
        };
        let item = LinkItem::read(value).ok();
        let opened = item.map(|item| self.open(item, &tag)).transpose()?;
        let stream = filling.stream(self.state, &tag);
        let opened = opened.filter(|(arrival, _)| is_next(stream, arrival));
        let Some((arrival, content)) = opened else {
            self.storage.claims().remove(&claim)?;
            self.pending.clear(claim_item(&claim));
            // The next items can be taken now.
            self.intake.outboxes().scan(&layout::link_id(&tag).into());
            return Ok(());
        };
        filling.batch.add(1, 1, 0);
        filling.take_item(&arrival.arrived);
        let name =
            layout::read_claim(&claim).map_or_else(String::new, |claim| claim.original.to_owned());
        let content = self.check_size(content, bytes);
        let letters = vec![item_letter(&claim, &name, arrival, content)];
        filling.taken.push(PickedUpFile {
            claim,
            letters,
            meta: None,
        });
        Ok(())
    }

    fn open(&self, item: LinkItem, tag: &Arc<str>) -> Result<(ItemArrival, Value)> {
        let failure = RefCell::new(None);
        let opened = open(item, tag, &|sender, id| {
            // A local agent of that name must not get the reference.
            if self.config.registry().find_position(sender).is_some() {
                return true;
            }
            let log = self.state.indexed(self.config.dir());
            match log.records_of(&far(tag, sender), id) {
                Ok(records) => !records.is_empty(),
                Err(e) => {
                    failure.replace(Some(e));
                    false
                }
            }
        });
        failure.into_inner().map_or(Ok(opened), Err)
    }

    /// Rejects a message that is too large for this room. The stream continues with the items after it.
    #[allow(
        clippy::result_large_err,
        reason = "a problem is built for rejected input only"
    )]
    fn check_size(&self, content: Value, bytes: u64) -> ReadResult {
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

    /// The terms for reading items. This room limits the size of a message; an item has the limit of all rooms.
    fn terms_of_items(&self) -> PickupConditions {
        PickupConditions {
            most: limits::PACK_FILE_BYTES,
            claimed: true,
        }
    }
}

fn remove_item(dir: &Dir, name: &str, tag: &str, why: &str) -> Result<ItemOutcome> {
    tracing::warn!(
        link = tag,
        item = name,
        "an item was removed, and is expected again: {why}"
    );
    dir.remove(name)?;
    Ok(ItemOutcome::End)
}

fn item_letter(
    claim: &str,
    name: &str,
    arrival: ItemArrival,
    content: ReadResult,
) -> BatchMessage<ReadResult> {
    BatchMessage {
        claim: Some(claim.to_owned()),
        agent: arrival.from.clone(),
        original: name.to_owned(),
        source: None,
        arrival: Some(Box::new(arrival)),
        content,
    }
}
