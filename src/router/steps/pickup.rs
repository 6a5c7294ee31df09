//! Step 2: moves files out of the outboxes.

use super::batch_message::{BatchMessage, ReadResult, SourceLine};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, Meta, layout};
use crate::log::state::{IncomingStream, RoomState};
use crate::message::link::IncomingItem;
use crate::room::outbox::{
    self, FileContent, FileReadiness, MessageLine, OutboxFiles, PickupConditions, ReadyFile,
    SenderTurn,
};
use crate::router::parts::{
    BatchSpace, FileMessage, FileSlice, LinkAcknowledgements, MailIntake, MessageDelay,
    NoticeQueue, ParsedMessage, PendingWork, RoomConfig, RouterStorage, SenderSpace, StopReason,
    claim_item,
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
    /// Some of its lines were taken; the files after it wait.
    Began,
    /// It is gone, or stays for now.
    Next,
    /// It stays, and so do all files after it.
    Rest(StopReason),
}

impl PickedUpFiles {
    pub(super) fn into_files(self) -> Vec<PickedUpFile> {
        self.0
    }
}

impl PickupStep<'_> {
    /// Takes ready files out of the outboxes, a slice for each sender, until the batch is full. Claims that a kill or
    /// a temporary failure left without a record are taken first.
    pub(in crate::router) fn run(mut self) -> PickedUpFiles {
        let mut filling = FillingBatch {
            batch: self.intake.new_batch(),
            taken: Vec::new(),
            streams: HashMap::new(),
        };
        loop {
            self.take_claims(&mut filling);
            self.take_turns(&mut filling);
            let batch = &mut filling.batch;
            let has_waiting = !batch.later.is_empty() || self.intake.has_claims();
            let needs_large_batch = batch.is_empty() && !batch.can_be_large && has_waiting;
            for agent in batch.later.drain(..).rev() {
                self.intake.outboxes().line_up_first(&agent);
            }
            if !needs_large_batch {
                break;
            }
            batch.can_be_large = true;
        }
        self.intake.note_batch(&filling.batch);
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
                || waiting.contains(&agent)
                || self.intake.waits_for_lines(&claim);
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
                Ok(SenderTurn::Files(files)) if self.intake.has_claims_of(&agent) => {
                    self.intake.outboxes().rest(&agent, files.names);
                    filling.batch.later.push(agent);
                }
                Ok(SenderTurn::Files(files)) => match layout::link_of(&agent) {
                    Some(tag) => self.take_items(&agent, tag, &files, filling),
                    None => self.take_files(&agent, files, filling),
                },
                Ok(SenderTurn::Begun(claim)) => self.take_next_lines(&agent, &claim, filling),
                // Mail that was picked up does not wait for the rest of a long scan.
                Ok(SenderTurn::Scanning) if filling.batch.is_empty() => {}
                Ok(SenderTurn::Scanning) => break,
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
            match self.take_file(&file, &terms, slice - copies, filling) {
                Ok(FileOutcome::Took(more)) => {
                    self.pending.clear(&file.place);
                    copies += more;
                }
                Ok(FileOutcome::Began) => {
                    self.pending.clear(&file.place);
                    self.intake
                        .outboxes()
                        .rest(agent, files.names[n + 1..].to_vec());
                    break;
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
        slice: usize,
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
        let space = SenderSpace {
            batch: &filling.batch,
            slice,
        };
        let pieces = FileMessage::split(content, bytes);
        let mut cut = self.intake.cut(self.config, agent, pieces, space);
        match cut.stopped() {
            Some(StopReason::Delay(delay)) if !delay.all => {
                self.hold_back(&file.place, &delay);
                return Ok(FileOutcome::Next);
            }
            Some(stop) => return Ok(FileOutcome::Rest(stop)),
            None => {}
        }
        // S1 → S2: claimed = -outbox +claim
        let claim = self.intake.name_claim(agent, name);
        self.storage.claim(dir, name, &claim)?;
        let copies = cut.copies;
        let claim = SpoolFile {
            agent,
            // A claim's name has only the beginning of a long name; messages to the sender have the whole name.
            original: name.to_string_lossy().into_owned(),
            claim,
            meta,
        };
        if self.take_cut(claim, cut, filling) {
            return Ok(FileOutcome::Began);
        }
        Ok(FileOutcome::Took(copies))
    }

    /// Adds a cut of a claim to the batch. Returns true if some of its lines stay.
    fn take_cut(
        &mut self,
        file: SpoolFile<'_>,
        cut: FileSlice,
        filling: &mut FillingBatch,
    ) -> bool {
        let SpoolFile {
            agent,
            original,
            claim,
            meta,
        } = file;
        let FileSlice {
            pieces,
            copies,
            bytes,
            bill,
            stop,
        } = cut;
        if let Some(bill) = bill {
            self.intake.pay(agent, &claim, bill);
        }
        let (last, more) = (pieces.len().saturating_sub(1), stop.is_some());
        let mut letters = Vec::with_capacity(pieces.len());
        for (n, ParsedMessage { line, content, .. }) in pieces.into_iter().enumerate() {
            letters.push(BatchMessage {
                claim: Some(claim.clone()),
                agent: agent.clone(),
                original: original.clone(),
                source: line.map(|MessageLine { number, text }| SourceLine {
                    line: number,
                    text,
                    more: more && n == last,
                }),
                arrival: None,
                content,
            });
        }
        if letters.iter().any(|letter| letter.source.is_some()) {
            let delay = match stop {
                Some(StopReason::Delay(delay)) => Some(delay),
                _ => None,
            };
            self.intake.note_sliced(agent, &claim, delay);
        }
        filling.batch.add(letters.len(), copies, bytes);
        filling.taken.push(PickedUpFile {
            claim,
            letters,
            meta,
        });
        more
    }

    /// Takes the next lines of a file with some routed lines.
    fn take_next_lines(&mut self, agent: &Arc<str>, claim: &str, filling: &mut FillingBatch) {
        let place = claim_item(claim);
        let Some(after) = self.state.resume_after(claim) else {
            return self.end_file(agent);
        };
        match outbox::go_on(self.storage.claims(), claim, &self.terms_of_claim(), after) {
            Ok(FileReadiness::Ready(ready)) => {
                let pieces = match ready.content {
                    // The earlier lines are routed, so a problem of the file is a problem of its next line.
                    FileContent::One(content) => vec![FileMessage::rest(after, content)],
                    lines => FileMessage::split(lines, ready.bytes),
                };
                let space = SenderSpace {
                    batch: &filling.batch,
                    slice: filling.batch.slice(self.intake.outboxes().in_line()),
                };
                let mut cut = self.intake.cut(self.config, agent, pieces, space);
                match cut.stopped() {
                    Some(StopReason::Delay(delay)) => self.hold_back(&place, &delay),
                    Some(StopReason::Full) => filling.batch.later.push(agent.clone()),
                    None => {
                        self.take_cut(claim_file(agent, claim.to_owned()), cut, filling);
                    }
                }
            }
            Ok(FileReadiness::Later(reason, wait)) => self.pending.not_ready(&place, reason, wait),
            Ok(FileReadiness::Gone) => {
                tracing::warn!(claim, "is gone before its last line was routed");
                self.end_file(agent);
            }
            Err(e) => self.pending.failed(&place, e.to_string()),
        }
    }

    fn end_file(&mut self, agent: &Arc<str>) {
        self.intake.outboxes().begin(agent, None);
        self.intake.outboxes().line_up(agent);
    }

    /// Takes a claim that has no record. Returns true if later claims of its sender wait, because the claim or some
    /// of its lines stay in the queue.
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
        if self.state.resume_after(&claim).is_some() {
            self.intake.outboxes().begin(&agent, Some(claim));
            self.intake.outboxes().line_up(&agent);
            return true;
        }
        let terms = self.terms_of_claim();
        match self
            .intake
            .look(self.storage.claims(), OsStr::new(&claim), &terms)
        {
            Ok(FileReadiness::Ready(ready)) => {
                return self.take_ready_claim(&agent, claim, *ready, filling);
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

    fn take_ready_claim(
        &mut self,
        agent: &Arc<str>,
        claim: String,
        ready: ReadyFile,
        filling: &mut FillingBatch,
    ) -> bool {
        // A file with one message was paid for when it was picked up.
        let is_paid = matches!(ready.content, FileContent::One(_));
        let pieces = FileMessage::split(ready.content, ready.bytes);
        let space = SenderSpace {
            batch: &filling.batch,
            slice: usize::MAX,
        };
        let mut cut = self.intake.cut(self.config, agent, pieces, space);
        if is_paid {
            cut.bill = None;
        }
        match cut.stopped() {
            Some(StopReason::Delay(delay)) => {
                self.hold_back(&claim_item(&claim), &delay);
                false
            }
            Some(StopReason::Full) => {
                self.intake.queue_claims([claim]);
                true
            }
            None => self.take_cut(claim_file(agent, claim), cut, filling),
        }
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
