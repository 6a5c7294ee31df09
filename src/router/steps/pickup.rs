//! Step 2: moves files out of the outboxes.

use super::batch_message::{BatchMessage, ReadResult, SourceLine};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, Meta, layout};
use crate::log::state::{IncomingStream, RoomState};
use crate::message::carried::IncomingItem;
use crate::room::outbox::{FileReadiness, MessageLine, OutboxFiles, PickupConditions, ReadyFile};
use crate::router::parts::{
    BatchSpace, FileMessage, FileMessages, LinkAcknowledgements, MailIntake, MessageDelay,
    NoticeQueue, PendingWork, RoomConfig, RouterStorage, claim_item,
};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::sync::Arc;

/// Step 2: files were moved from the outboxes into `spool/claim`.
#[must_use]
pub(in crate::router) struct PickedUpFiles(Vec<PickedUpFile>);

/// A claimed file with its messages for this batch.
pub(super) struct PickedUpFile {
    pub(super) claim: String,
    pub(super) letters: Vec<BatchMessage<ReadResult>>,
    /// The version of the file that was read, or `None` if it was read as a claim.
    pub(super) meta: Option<Meta>,
}

/// The parts of the router that step 2 uses.
pub(in crate::router) struct PickupStep<'a> {
    pub(in crate::router) config: &'a RoomConfig,
    pub(in crate::router) intake: &'a mut MailIntake,
    pub(in crate::router) storage: &'a mut RouterStorage,
    pub(in crate::router) state: &'a RoomState,
    pub(in crate::router) links: &'a mut LinkAcknowledgements,
    pub(in crate::router) notices: &'a mut NoticeQueue,
    pub(in crate::router) pending: &'a mut PendingWork,
}

/// A batch while it is filled.
pub(super) struct FillingBatch {
    pub(super) batch: BatchSpace,
    pub(super) taken: Vec<PickedUpFile>,
    /// The streams of other rooms after the taken items.
    streams: HashMap<Arc<str>, IncomingStream>,
}

impl FillingBatch {
    /// The stream from another room after the taken items.
    pub(super) fn stream<'a>(
        &'a self,
        state: &'a RoomState,
        tag: &str,
    ) -> Option<&'a IncomingStream> {
        self.streams.get(tag).or_else(|| state.links.came(tag))
    }

    pub(super) fn take_item(&mut self, item: &IncomingItem) {
        self.streams.insert(item.link.clone(), item.into());
    }
}

/// A file in an outbox.
struct OutboxFile<'a> {
    agent: &'a Arc<str>,
    dir: &'a Dir,
    name: &'a OsStr,
    place: String,
}

/// A file in `spool/claim`.
struct SpoolFile<'a> {
    agent: &'a Arc<str>,
    /// The name of the dropped file.
    original: String,
    claim: String,
    meta: Option<Meta>,
}

/// The result of one file in its sender's turn.
enum FileOutcome {
    /// It was taken, with this number of copies.
    Took(usize),
    /// It is gone, or stays for now.
    Next,
    /// It stays, and so do all files after it.
    Rest(StopReason),
}

/// The reason why the next file of a sender stays.
pub(super) enum StopReason {
    /// The batch has no room for it.
    Full,
    /// It is delayed.
    Delay(MessageDelay),
}

impl PickedUpFiles {
    pub(super) fn into_files(self) -> Vec<PickedUpFile> {
        self.0
    }
}

impl PickupStep<'_> {
    /// Takes ready files out of the outboxes, some of each sender in turn, until the batch is full. Claims that a kill or
    /// a temporary failure left without a record are taken first.
    pub(in crate::router) fn run(mut self) -> PickedUpFiles {
        let mut filling = FillingBatch {
            batch: BatchSpace::default(),
            taken: Vec::new(),
            streams: HashMap::new(),
        };
        self.take_claims(&mut filling);
        self.take_turns(&mut filling);
        for agent in filling.batch.later.drain(..).rev() {
            self.intake.outboxes().line_up_first(&agent);
        }
        let claims = filling.taken.iter().map(|file| file.claim.clone());
        self.intake.begin_batch(claims.collect());
        PickedUpFiles(filling.taken)
    }

    /// Takes claims in order. If a claim stays in the queue, the later claims of its sender also stay.
    fn take_claims(&mut self, filling: &mut FillingBatch) {
        let mut waiting: HashSet<String> = HashSet::new();
        for claim in self.intake.take_claims() {
            let agent = layout::read_claim(&claim)
                .map_or("", |one| one.agent)
                .to_owned();
            let is_alone = self.intake.is_alone(&claim);
            let waits = filling.batch.is_full()
                || is_alone && !filling.taken.is_empty()
                || waiting.contains(&agent);
            if waits {
                waiting.insert(agent);
                self.intake.queue_claims([claim]);
            } else if self.take_claim(claim, filling) {
                waiting.insert(agent);
            }
            if is_alone && !filling.taken.is_empty() {
                filling.batch.close();
            }
        }
    }

    fn take_turns(&mut self, filling: &mut FillingBatch) {
        while !filling.batch.is_full() {
            let Some((agent, turn)) = self.intake.outboxes().next_turn(self.config.dir()) else {
                break;
            };
            match turn {
                Ok(files) if self.intake.has_claims_of(&agent) => {
                    self.intake.outboxes().rest(&agent, files.names);
                    filling.batch.later.push(agent);
                }
                Ok(files) => match layout::link_of(&agent) {
                    Some(tag) => self.take_items(&agent, tag, &files, filling),
                    None => self.take_files(&agent, files, filling),
                },
                Err(e) => {
                    let place = layout::outbox(&agent).display().to_string();
                    if e.is_missing() {
                        self.pending.clear(place);
                    } else {
                        self.pending.failed(&place, e.to_string());
                    }
                }
            }
        }
    }

    fn take_files(&mut self, agent: &Arc<str>, files: OutboxFiles, filling: &mut FillingBatch) {
        let outbox = layout::outbox(agent);
        if !self.config.registry().has_active(agent) {
            self.pending.clear(outbox.display());
            if !files.names.is_empty() {
                self.notices
                    .report_unread_outbox(self.state, self.config, self.pending, agent);
            }
            return;
        }
        let most = self.config.settings().message_bytes;
        let terms = PickupConditions {
            most,
            claimed: false,
        };
        let (slice, mut copies) = (filling.batch.slice(self.intake.outboxes().in_line()), 0);
        for (n, name) in files.names.iter().enumerate() {
            if filling.batch.is_full() || copies >= slice {
                self.intake
                    .outboxes()
                    .give_back(agent, files.names[n..].to_vec());
                break;
            }
            let file = OutboxFile {
                agent,
                dir: &files.dir,
                name,
                place: layout::below(&outbox, name).display().to_string(),
            };
            match self.take_file(&file, &terms, filling) {
                Ok(FileOutcome::Took(more)) => {
                    self.pending.clear(&file.place);
                    copies += more;
                }
                Ok(FileOutcome::Next) => {}
                Ok(FileOutcome::Rest(stop)) => {
                    self.intake
                        .outboxes()
                        .rest(agent, files.names[n..].to_vec());
                    return match stop {
                        StopReason::Delay(delay) => {
                            self.hold_back(&outbox.display().to_string(), &delay)
                        }
                        StopReason::Full => filling.batch.later.push(agent.clone()),
                    };
                }
                Err(e) => self.pending.failed(&file.place, e.to_string()),
            }
        }
        self.pending.clear(outbox.display());
    }

    fn take_file(
        &mut self,
        file: &OutboxFile<'_>,
        terms: &PickupConditions,
        filling: &mut FillingBatch,
    ) -> Result<FileOutcome> {
        let &OutboxFile {
            agent, dir, name, ..
        } = file;
        if let Some(delay) = self.intake.delay_of(self.config.settings(), agent) {
            return Ok(FileOutcome::Rest(StopReason::Delay(delay)));
        }
        let ReadyFile {
            content,
            bytes,
            meta,
        } = match self.intake.look(dir, name, terms)? {
            FileReadiness::Ready(ready) => *ready,
            FileReadiness::Later(reason, wait) => {
                self.pending.not_ready(&file.place, reason, wait);
                return Ok(FileOutcome::Next);
            }
            FileReadiness::Gone => {
                self.pending.clear(&file.place);
                return Ok(FileOutcome::Next);
            }
        };
        let messages = FileMessages::read(self.config, agent, content, bytes);
        if !filling.batch.has_room_for(&messages) {
            return Ok(FileOutcome::Rest(StopReason::Full));
        }
        let bill = match self.intake.bill(self.config.settings(), agent, &messages) {
            Ok(bill) => bill,
            Err(delay) if delay.all => return Ok(FileOutcome::Rest(StopReason::Delay(delay))),
            Err(delay) => {
                self.hold_back(&file.place, &delay);
                return Ok(FileOutcome::Next);
            }
        };
        // S1 → S2: claimed = -outbox +claim
        let claim = self.intake.name_claim(agent, name);
        self.storage.claim(dir, name, &claim)?;
        self.intake.pay(agent, &claim, bill);
        let copies = messages.copies;
        let file = SpoolFile {
            agent,
            // A claim's name has only the beginning of a long name; messages to the sender have the whole name.
            original: name.to_string_lossy().into_owned(),
            claim,
            meta,
        };
        add_file(file, messages, filling);
        Ok(FileOutcome::Took(copies))
    }

    /// Takes a claim that has no record. Returns true if it stays in the queue, so that later claims of its sender wait.
    fn take_claim(&mut self, claim: String, filling: &mut FillingBatch) -> bool {
        let place = claim_item(&claim);
        let Some(agent) = layout::read_claim(&claim).map(|name| Arc::<str>::from(name.agent))
        else {
            tracing::warn!(claim, "is not the name of a claim; the file is ignored");
            return false;
        };
        if let Some(tag) = layout::link_of(&agent) {
            if let Err(e) = self.take_claimed_item(claim, tag, filling) {
                self.pending.failed(&place, e.to_string());
            }
            return false;
        }
        match self.set_aside(&claim, &agent) {
            Ok(false) => {}
            Ok(true) => return false,
            Err(e) => {
                self.pending.failed(&place, e.to_string());
                return false;
            }
        }
        let terms = self.terms_of_claim();
        match self
            .intake
            .look(self.storage.claims(), OsStr::new(&claim), &terms)
        {
            Ok(FileReadiness::Ready(ready)) => {
                let ReadyFile { content, bytes, .. } = *ready;
                // It was paid for when it was picked up.
                let messages = FileMessages::read(self.config, &agent, content, bytes);
                if !filling.batch.has_room_for(&messages) {
                    self.intake.queue_claims([claim]);
                    return true;
                }
                add_file(claim_file(&agent, claim), messages, filling);
            }
            Ok(FileReadiness::Later(reason, wait)) => {
                self.pending
                    .not_ready(&place, reason, wait.or(Some(limits::UNCHANGED_FOR)));
            }
            Ok(FileReadiness::Gone) => self.pending.clear(&place),
            Err(e) => self.pending.failed(&place, e.to_string()),
        }
        false
    }

    /// Moves a claim that a record already names to `spool/aside`, after the notice about it is in the log. Another program
    /// put it back, for example from a backup. Returns false for any other claim.
    fn set_aside(&mut self, claim: &str, agent: &Arc<str>) -> Result<bool> {
        // The log names no higher number.
        let number = layout::read_claim(claim).map_or(0, |name| name.number);
        if number > self.state.claim {
            return Ok(false);
        }
        let log = self.state.indexed(self.config.dir());
        let Some(seq) = log.record_of_claim(claim)? else {
            return Ok(false);
        };
        let (place, about) = (claim_item(claim), format!("aside {claim}"));
        if self.state.notices.contains(&about) {
            let aside = self.config.dir().make(layout::ASIDE)?;
            self.storage
                .claims()
                .rename(claim, &aside, claim, "set aside")?;
            self.pending.clear(&place);
            return Ok(true);
        }
        let what = format!("record {seq} was made from it before");
        self.pending
            .not_ready(&place, &what, Some(limits::UNCHANGED_FOR));
        self.notices.notify_human(
            self.state,
            about,
            format!("{place} was put back and is not sent again"),
            format!(
                "It is a file of {agent}, and {what}. It is kept as {}/{claim}. If it is a new message, drop it into the outbox again.",
                layout::ASIDE
            ),
        );
        Ok(true)
    }

    /// The terms for reading a claim. The file may have replaced another file just before the pickup, so earlier
    /// observations are ignored.
    fn terms_of_claim(&self) -> PickupConditions {
        PickupConditions {
            most: self.config.settings().message_bytes,
            claimed: true,
        }
    }

    fn hold_back(&mut self, what: &str, delay: &MessageDelay) {
        delay.hold_back(what, self.pending, self.config.dir());
    }
}

/// Adds the messages of a claim to the batch.
fn add_file(file: SpoolFile<'_>, messages: FileMessages, filling: &mut FillingBatch) {
    let SpoolFile {
        agent,
        original,
        claim,
        meta,
    } = file;
    let FileMessages {
        messages,
        copies,
        bytes,
    } = messages;
    filling.batch.add(messages.len(), copies, bytes);
    let letter = |FileMessage { line, content, .. }| BatchMessage {
        claim: Some(claim.clone()),
        agent: agent.clone(),
        original: original.clone(),
        source: line.map(|MessageLine { number, text }| SourceLine { line: number, text }),
        arrival: None,
        content,
    };
    let letters = messages.into_iter().map(letter).collect();
    filling.taken.push(PickedUpFile {
        claim,
        letters,
        meta,
    });
}

fn claim_file(agent: &Arc<str>, claim: String) -> SpoolFile<'_> {
    SpoolFile {
        agent,
        original: original(&claim).to_owned(),
        claim,
        meta: None,
    }
}

/// The part of the dropped file's name that a claim's name has.
fn original(claim: &str) -> &str {
    layout::read_claim(claim).map_or("", |claim| claim.original)
}
