//! Steps 2 and 3: out of the outbox, and into memory.

use super::budget::Delay;
use super::check::{Letter, Source};
use super::{Claimed, Letters, Router, temporary};
use crate::disk::Meta;
use crate::error::Result;
use crate::outbox::{self, Content, Line, Look, Ready, Terms, Turn};
use crate::{layout, limits};
use std::ffi::OsStr;
use std::sync::Arc;

/// A file that was claimed, with what was read before.
pub(super) struct Taken {
    claim: String,
    agent: Arc<str>,
    original: String,
    content: Content,
    /// Which file was read, and how it stood; `None` if it was read as a claim.
    meta: Option<Meta>,
}

/// What became of a file in its outbox's turn.
enum Step {
    /// It was taken, with so many bytes.
    Took(u64, Box<Taken>),
    /// It is gone, or stays for now.
    Next,
    /// It stays, and so does everything behind it.
    Rest(Delay),
}

/// How much one batch may still take.
struct Room {
    messages: usize,
    bytes: u64,
}

impl Room {
    fn is_full(&self) -> bool {
        self.messages == 0 || self.bytes == 0
    }

    fn take(&mut self, bytes: u64, content: &Content) {
        let messages = if let Content::Lines(lines) = content { lines.len() } else { 1 };
        self.messages = self.messages.saturating_sub(messages);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Taken {
    /// Every message that it holds, next to each other.
    fn letters(self) -> Vec<Letter> {
        let Taken { claim, agent, original, content, .. } = self;
        let lines = match content {
            Content::One(content) => return vec![Letter { claim, agent, original, source: None, content }],
            Content::Lines(lines) => lines,
        };
        let letter = |Line { number, text, content }| {
            let (claim, agent, original) = (claim.clone(), agent.clone(), original.clone());
            Letter { claim, agent, original, source: Some(Source { line: number, text }), content }
        };
        lines.into_iter().map(letter).collect()
    }
}

impl Router {
    /// Step 2: takes what is ready out of the outboxes, each in its turn, until the batch is full. Claims that were
    /// left without a record by a kill or a passing failure come first.
    pub(super) fn claim(&mut self) -> Result<Claimed> {
        let mut taken = Vec::new();
        let mut room = Room { messages: limits::BATCH_MESSAGES, bytes: limits::BATCH_BYTES };
        if !self.backlog.is_empty() {
            return Ok(Claimed(taken));
        }
        while !room.is_full() {
            let Some(claim) = self.claims.pop_front() else { break };
            if let Some(again) = self.look_at_claim(&claim)? {
                room.take(again.0, &again.1.content);
                taken.push(again.1);
            }
        }
        while !room.is_full() {
            let Some((agent, turn)) = self.outboxes.next_turn(&self.room.dir) else { break };
            let place = layout::outbox(&agent).display().to_string();
            match turn {
                Ok(turn) => self.take_turn(&agent, turn, &mut room, &mut taken)?,
                Err(e) if e.errno() == Some(libc::ENOENT) => self.waiting.over(&place),
                Err(e) => self.waiting.failed(&place, temporary(e)?.to_string()),
            }
        }
        Ok(Claimed(taken))
    }

    fn take_turn(&mut self, agent: &Arc<str>, turn: Turn, room: &mut Room, taken: &mut Vec<Taken>) -> Result<()> {
        let outbox = layout::outbox(agent).display().to_string();
        let Some(known) = self.registry.agent(agent).filter(|known| !known.is_retired()) else {
            self.waiting.over(&outbox);
            self.turn_away(agent, &turn);
            return Ok(());
        };
        let terms =
            Terms { most: self.settings.message_bytes, outbox_uid: Some(turn.uid), claimed: false, owner: known.uid };
        for (n, name) in turn.names.iter().enumerate() {
            if room.is_full() {
                self.outboxes.give_back(agent, turn.names[n..].to_vec());
                break;
            }
            let place = layout::outbox(agent).join(name).display().to_string();
            let step = match self.spent(agent) {
                Some(delay) => Ok(Step::Rest(delay)),
                None => outbox::look(&turn.dir, name, &terms, &mut self.patience)
                    .and_then(|look| self.step(agent, &turn, name, &place, look)),
            };
            match step {
                Ok(Step::Took(bytes, one)) => {
                    self.waiting.over(&place);
                    room.take(bytes, &one.content);
                    taken.push(*one);
                }
                Ok(Step::Next) => {}
                Ok(Step::Rest(delay)) => {
                    self.outboxes.rest(agent, turn.names[n..].to_vec());
                    self.hold_back(&outbox, &delay);
                    return Ok(());
                }
                Err(e) => self.waiting.failed(&place, temporary(e)?.to_string()),
            }
        }
        self.waiting.over(&outbox);
        Ok(())
    }

    fn step(&mut self, agent: &Arc<str>, turn: &Turn, name: &OsStr, place: &str, look: Look) -> Result<Step> {
        match look {
            Look::Ready(ready) => match self.price(agent, &ready.content) {
                Ok(price) => {
                    let (bytes, one) = self.take_one(agent, turn, name, *ready)?;
                    self.pay(agent, &one.claim, price);
                    return Ok(Step::Took(bytes, Box::new(one)));
                }
                Err(delay) if delay.all => return Ok(Step::Rest(delay)),
                Err(delay) => self.hold_back(place, &delay),
            },
            Look::Later(reason, wait) => self.waiting.not_ready(place, reason, wait),
            Look::Gone => self.waiting.over(place),
        }
        Ok(Step::Next)
    }

    // S1 → S2: claimed = -outbox +claim
    fn take_one(&mut self, agent: &Arc<str>, turn: &Turn, name: &OsStr, ready: Ready) -> Result<(u64, Taken)> {
        let claim = layout::claim(self.next_claim, agent, name);
        // Counted first: a number that somebody's file stands in the way of is not tried again.
        self.next_claim += 1;
        self.spool.claim(&turn.dir, name, &claim, &mut self.barrier)?;
        let Ready { content, bytes, meta } = ready;
        let original = name.to_string_lossy().into_owned();
        Ok((bytes, Taken { claim, agent: agent.clone(), original, content, meta }))
    }

    // An outbox that belongs to nobody: its files stay, and the human hears of it.
    fn turn_away(&mut self, agent: &Arc<str>, turn: &Turn) {
        if turn.names.is_empty() {
            return;
        }
        let retired = self.registry.agent(agent).is_some();
        let mend = match retired {
            true => format!("mailbag agent set {agent} --status offline"),
            false => format!("mailbag agent add {agent}"),
        };
        let what = if retired { "is retired" } else { "is not registered" };
        let place = layout::outbox(agent).display().to_string();
        self.waiting.not_ready(&place, &format!("{agent} {what}: {mend}"), None);
        self.notify(
            format!("outbox:{agent}"),
            format!("outbox/{agent} has mail, but {agent} {what}"),
            format!("Its files stay there until you run:\n\n    {mend}\n\nThen they are routed."),
        );
    }

    fn look_at_claim(&mut self, claim: &str) -> Result<Option<(u64, Taken)>> {
        let place = format!("{}/{claim}", layout::CLAIM);
        let Some(name) = layout::read_claim(claim) else {
            tracing::warn!(claim, "is no claim's name; left alone");
            return Ok(None);
        };
        let owner = self.registry.agent(name.agent).and_then(|agent| agent.uid);
        // The file may have taken another's place just before the claim: nothing that was looked at then counts.
        let outbox_uid = self.room.dir.stat(layout::outbox(name.agent)).ok().flatten().map(|outbox| outbox.uid);
        let terms = Terms { most: self.settings.message_bytes, outbox_uid, claimed: true, owner };
        match outbox::look(&self.spool.claims, OsStr::new(claim), &terms, &mut self.patience) {
            Ok(Look::Ready(ready)) => {
                let ready = *ready;
                let (agent, original) = (name.agent.into(), name.original.to_owned());
                let taken = Taken { claim: claim.to_owned(), agent, original, content: ready.content, meta: None };
                Ok(Some((ready.bytes, taken)))
            }
            Ok(Look::Later(reason, wait)) => {
                self.waiting.not_ready(&place, reason, wait.or(Some(limits::STAND_STILL)));
                Ok(None)
            }
            Ok(Look::Gone) => {
                self.waiting.over(&place);
                Ok(None)
            }
            Err(e) => {
                self.waiting.failed(&place, temporary(e)?.to_string());
                Ok(None)
            }
        }
    }

    /// Step 3: what was read before the claim counts if the claim is that same file, unchanged. If another file had
    /// taken its name in between, or it changed, the claim is read anew in the next batch.
    pub(super) fn read(&mut self, Claimed(taken): Claimed) -> Letters {
        let mut letters = Vec::with_capacity(taken.len());
        for one in taken {
            let same = one.meta.is_none_or(|meta| self.is_same(&one.claim, &meta));
            if same || is_unopenable(&one.content) {
                letters.extend(one.letters());
            } else {
                self.claims.push_back(one.claim);
            }
        }
        Letters(letters)
    }

    fn is_same(&self, claim: &str, meta: &Meta) -> bool {
        let there = self.spool.claims.stat(claim).ok().flatten();
        there.is_some_and(|there| {
            (there.inode, there.device, there.size, there.modified)
                == (meta.inode, meta.device, meta.size, meta.modified)
        })
    }
}

// What is no file at all can't be read again either.
fn is_unopenable(content: &Content) -> bool {
    let Content::One(Err(problem)) = content else { return false };
    matches!(problem.code.as_str(), "symlink" | "not_a_file" | "unreadable")
}
