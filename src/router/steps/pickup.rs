//! Step 2: out of the outboxes.

use super::letter::{Letter, Read, Source};
use super::streams::Place;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Meta, layout};
use crate::log::state::State;
use crate::room::outbox::{self, Content, Files, Line, Look, Ready, SenderTurn, Terms};
use crate::router::parts::{
    Batch, Config, Cut, Delay, Intake, Links, Notices, Pending, Piece, Stop, Storage,
};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// Step 2: moved out of the outboxes, into `spool/claim`.
#[must_use]
pub(in crate::router) struct PickedUp(Vec<Taken>);

/// A claimed file, with what was read of it: all of it, or the lines that go into this batch.
pub(super) struct Taken {
    pub(super) claim: String,
    pub(super) letters: Vec<Letter<Read>>,
    /// Which version of the file was read; `None` if it was read as a claim.
    pub(super) meta: Option<Meta>,
}

/// What picks up.
pub(in crate::router) struct Pickup<'a> {
    pub(in crate::router) config: &'a Config,
    pub(in crate::router) intake: &'a mut Intake,
    pub(in crate::router) storage: &'a mut Storage,
    pub(in crate::router) state: &'a State,
    pub(in crate::router) links: &'a mut Links,
    pub(in crate::router) notices: &'a mut Notices,
    pub(in crate::router) pending: &'a mut Pending,
}

/// The batch as it is filled.
pub(super) struct Filling {
    pub(super) batch: Batch,
    pub(super) taken: Vec<Taken>,
    /// Where the streams of other rooms are with what was taken.
    places: HashMap<Arc<str>, Place>,
}

impl Filling {
    /// Where the stream from another room is, with what was taken.
    pub(super) fn place_of(&self, state: &State, tag: &str) -> Place {
        self.places
            .get(tag)
            .cloned()
            .unwrap_or_else(|| Place::of(state, tag))
    }

    /// An item was taken.
    pub(super) fn came(&mut self, tag: &Arc<str>, place: Place) {
        self.places.insert(tag.clone(), place);
    }
}

/// What became of a file in its outbox's turn.
enum Step {
    /// It was taken, with so many copies.
    Took(usize),
    /// Some of its lines were taken; the files after it wait.
    Began,
    /// It is gone, or stays for now.
    Next,
    /// It stays, and so do all files after it.
    Rest(Stop),
}

impl PickedUp {
    pub(super) fn into_files(self) -> Vec<Taken> {
        self.0
    }
}

impl Pickup<'_> {
    /// Takes what is ready out of the outboxes, each sender a slice in its turn, until the batch is full. Claims that a
    /// kill or a temporary failure left without a record come first.
    pub(in crate::router) fn run(mut self) -> PickedUp {
        let mut filling = Filling {
            batch: self.intake.new_batch(),
            taken: Vec::new(),
            places: HashMap::new(),
        };
        loop {
            self.take_claims(&mut filling);
            self.take_turns(&mut filling);
            let batch = &mut filling.batch;
            let is_behind = !batch.later.is_empty() || self.intake.has_claims();
            let nothing_else = batch.is_empty() && !batch.large && is_behind;
            for agent in batch.later.drain(..).rev() {
                self.intake.outboxes().line_up_first(&agent);
            }
            if !nothing_else {
                break;
            }
            batch.large = true;
        }
        self.intake.batch_is_full(&filling.batch);
        PickedUp(filling.taken)
    }

    /// Takes claims, in their order. Behind one that stays in the queue, those of the same sender stay, too.
    fn take_claims(&mut self, filling: &mut Filling) {
        let mut waiting: HashSet<String> = HashSet::new();
        for claim in self.intake.take_claims() {
            let agent = layout::read_claim(&claim)
                .map_or("", |one| one.agent)
                .to_owned();
            let waits = filling.batch.is_full()
                || waiting.contains(&agent)
                || self.intake.waits_for_lines(&claim);
            if waits {
                self.intake.queue_claims([claim]);
            } else if self.take_claim(claim, filling) {
                waiting.insert(agent);
            }
        }
    }

    fn take_turns(&mut self, filling: &mut Filling) {
        while !filling.batch.is_full() {
            let Some((agent, turn)) = self.intake.outboxes().next_turn(self.config.dir()) else {
                break;
            };
            let place = || layout::outbox(&agent).display().to_string();
            match turn {
                Ok(SenderTurn::Files(files)) if self.intake.has_claims_of(&agent) => {
                    self.intake.outboxes().rest(&agent, files.names);
                    filling.batch.later.push(agent);
                }
                Ok(SenderTurn::Files(files)) => match layout::link_of(&agent) {
                    Some(tag) => self.take_items(&agent, tag, &files, filling),
                    None => self.take_files(&agent, files, filling),
                },
                Ok(SenderTurn::Begun(claim)) => self.go_on(&agent, &claim, filling),
                // What was picked up does not wait for the rest of a long scan.
                Ok(SenderTurn::Scanning) if filling.batch.is_empty() => {}
                Ok(SenderTurn::Scanning) => break,
                Err(e) if e.errno() == Some(libc::ENOENT) => self.pending.clear(place()),
                Err(e) => self.pending.failed(&place(), e.to_string()),
            }
        }
    }

    fn take_files(&mut self, agent: &Arc<str>, files: Files, filling: &mut Filling) {
        let outbox = layout::outbox(agent);
        let Some(known) = self
            .config
            .registry()
            .agent(agent)
            .filter(|known| !known.is_retired())
        else {
            self.pending.clear(outbox.display());
            return self.turn_away(agent, &files);
        };
        let most = self.config.settings().message_bytes;
        let terms = Terms {
            most,
            outbox_uid: Some(files.uid),
            claimed: false,
            owner: known.uid,
        };
        let (slice, mut copies) = (filling.batch.slice(self.intake.outboxes().in_line()), 0);
        for (n, name) in files.names.iter().enumerate() {
            if filling.batch.is_full() || copies >= slice {
                self.intake
                    .outboxes()
                    .give_back(agent, files.names[n..].to_vec());
                break;
            }
            let place = layout::below(&outbox, name);
            let step = match self.intake.spent(self.config.settings(), agent) {
                Some(delay) => Ok(Step::Rest(Stop::Delay(delay))),
                None => self.intake.look(&files.dir, name, &terms).and_then(|look| {
                    self.step(
                        (agent, name, &place),
                        &files,
                        look,
                        (filling, slice - copies),
                    )
                }),
            };
            match step {
                Ok(Step::Took(of_it)) => {
                    self.pending.clear(place.display());
                    copies += of_it;
                }
                Ok(Step::Began) => {
                    self.pending.clear(place.display());
                    self.intake
                        .outboxes()
                        .rest(agent, files.names[n + 1..].to_vec());
                    break;
                }
                Ok(Step::Next) => {}
                Ok(Step::Rest(stop)) => {
                    self.intake
                        .outboxes()
                        .rest(agent, files.names[n..].to_vec());
                    return match stop {
                        Stop::Delay(delay) => self.hold_back(&outbox.display().to_string(), &delay),
                        Stop::Full => filling.batch.later.push(agent.clone()),
                    };
                }
                Err(e) => self
                    .pending
                    .failed(&place.display().to_string(), e.to_string()),
            }
        }
        self.pending.clear(outbox.display());
    }

    fn step(
        &mut self,
        (agent, name, place): (&Arc<str>, &OsStr, &Path),
        files: &Files,
        look: Look,
        (filling, slice): (&mut Filling, usize),
    ) -> Result<Step> {
        let Ready {
            content,
            bytes,
            meta,
        } = match look {
            Look::Ready(ready) => *ready,
            Look::Later(reason, wait) => {
                self.pending
                    .not_ready(&place.display().to_string(), reason, wait);
                return Ok(Step::Next);
            }
            Look::Gone => {
                self.pending.clear(place.display());
                return Ok(Step::Next);
            }
        };
        let cut = self.intake.cut(
            self.config,
            agent,
            Piece::of(content, bytes),
            (&filling.batch, slice),
        );
        match cut.stop {
            Some(Stop::Delay(delay)) if cut.lines.is_empty() && !delay.all => {
                self.hold_back(&place.display().to_string(), &delay);
                return Ok(Step::Next);
            }
            Some(stop) if cut.lines.is_empty() => return Ok(Step::Rest(stop)),
            _ => {}
        }
        // S1 → S2: claimed = -outbox +claim
        let claim = self.intake.name_claim(agent, name);
        self.storage.claim(&files.dir, name, &claim)?;
        let copies = cut.copies;
        // A claim keeps only the beginning of a long name; the sender is told all of it.
        let name = name.to_string_lossy().into_owned();
        Ok(match self.take((agent, &name), claim, cut, meta, filling) {
            true => Step::Began,
            false => Step::Took(copies),
        })
    }

    /// Puts what was cut of a claim into the batch; `true` if some of its lines stay behind.
    fn take(
        &mut self,
        (agent, original): (&Arc<str>, &str),
        claim: String,
        cut: Cut,
        meta: Option<Meta>,
        filling: &mut Filling,
    ) -> bool {
        let Cut {
            lines,
            copies,
            bytes,
            bill,
            stop,
        } = cut;
        bill.into_iter()
            .for_each(|bill| self.intake.pay(agent, &claim, bill));
        let (last, more) = (lines.len().saturating_sub(1), stop.is_some());
        let letter = |(n, (line, content)): (usize, (Option<Line>, Read))| {
            let more = more && n == last;
            let source = line.map(|Line { number, text }| Source {
                line: number,
                text,
                more,
            });
            Letter {
                claim: Some(claim.clone()),
                agent: agent.clone(),
                original: original.to_owned(),
                source,
                arrival: None,
                retries: None,
                follows: None,
                content,
            }
        };
        let letters: Vec<Letter<Read>> = lines.into_iter().enumerate().map(letter).collect();
        if letters.iter().any(|letter| letter.source.is_some()) {
            let delay = stop.and_then(|stop| {
                if let Stop::Delay(delay) = stop {
                    Some(delay)
                } else {
                    None
                }
            });
            self.intake.sliced(agent, &claim, delay);
        }
        filling.batch.add(letters.len(), copies, bytes);
        filling.taken.push(Taken {
            claim,
            letters,
            meta,
        });
        more
    }

    /// Takes the next lines of a file whose first lines are routed.
    fn go_on(&mut self, agent: &Arc<str>, claim: &str, filling: &mut Filling) {
        let place = format!("{}/{claim}", layout::CLAIM);
        let Some(behind) = self.state.resume_after(claim) else {
            return self.end_file(agent);
        };
        match outbox::go_on(
            self.storage.claims(),
            claim,
            &self.terms_of_claim(agent),
            behind,
        ) {
            Ok(Look::Ready(ready)) => {
                let pieces = match ready.content {
                    // A problem of the file is a problem of its next line: the lines before are routed.
                    Content::One(content) => vec![Piece::rest(behind, content)],
                    lines => Piece::of(lines, ready.bytes),
                };
                let slice = filling.batch.slice(self.intake.outboxes().in_line());
                let cut = self
                    .intake
                    .cut(self.config, agent, pieces, (&filling.batch, slice));
                match cut.stop {
                    Some(Stop::Delay(delay)) if cut.lines.is_empty() => {
                        self.hold_back(&place, &delay)
                    }
                    Some(Stop::Full) if cut.lines.is_empty() => {
                        filling.batch.later.push(agent.clone())
                    }
                    _ => drop(self.take(
                        (agent, original(claim)),
                        claim.to_owned(),
                        cut,
                        None,
                        filling,
                    )),
                }
            }
            Ok(Look::Later(reason, wait)) => self.pending.not_ready(&place, reason, wait),
            Ok(Look::Gone) => {
                tracing::warn!(claim, "is gone before its last line was routed");
                self.end_file(agent);
            }
            Err(e) => self.pending.failed(&place, e.to_string()),
        }
    }

    fn end_file(&mut self, agent: &Arc<str>) {
        self.intake.outboxes().begin(agent, None);
        self.intake.outboxes().line_up_again(agent);
    }

    // The outbox of an unregistered or retired agent: its files stay, and the human is told.
    fn turn_away(&mut self, agent: &Arc<str>, files: &Files) {
        if files.names.is_empty() {
            return;
        }
        let retired = self.config.registry().agent(agent).is_some();
        let mend = match retired {
            true => format!("mailbag agent set {agent} --status offline"),
            false => format!("mailbag agent add {agent}"),
        };
        let what = if retired {
            "is retired"
        } else {
            "is not registered"
        };
        let place = layout::outbox(agent).display().to_string();
        self.pending
            .not_ready(&place, &format!("{agent} {what}: {mend}"), None);
        self.notices.tell_human(
            self.state,
            format!("outbox:{agent}"),
            format!("outbox/{agent} has mail, but {agent} {what}"),
            format!("Its files stay there until you run:\n\n    {mend}\n\nThen they are routed."),
        );
    }

    /// Takes a claim that has no record; `true` if the claims behind it wait, because it or some of its lines stay in the queue.
    fn take_claim(&mut self, claim: String, filling: &mut Filling) -> bool {
        let place = format!("{}/{claim}", layout::CLAIM);
        let Some(agent) = layout::read_claim(&claim).map(|name| Arc::<str>::from(name.agent))
        else {
            tracing::warn!(claim, "is no claim's name; left alone");
            return false;
        };
        if let Some(tag) = layout::link_of(&agent) {
            let taken = self.take_claimed_item(claim, tag, filling);
            taken.unwrap_or_else(|e| self.pending.failed(&place, e.to_string()));
            return false;
        }
        if self.state.resume_after(&claim).is_some() {
            self.intake.outboxes().begin(&agent, Some(claim));
            self.intake.outboxes().line_up_again(&agent);
            return true;
        }
        let terms = self.terms_of_claim(&agent);
        match self
            .intake
            .look(self.storage.claims(), OsStr::new(&claim), &terms)
        {
            Ok(Look::Ready(ready)) => {
                return self.take_ready_claim((&agent, claim, &place), *ready, filling);
            }
            Ok(Look::Later(reason, wait)) => {
                self.pending
                    .not_ready(&place, reason, wait.or(Some(limits::UNCHANGED_FOR)));
            }
            Ok(Look::Gone) => self.pending.clear(&place),
            Err(e) => self.pending.failed(&place, e.to_string()),
        }
        false
    }

    fn take_ready_claim(
        &mut self,
        (agent, claim, place): (&Arc<str>, String, &str),
        Ready { content, bytes, .. }: Ready,
        filling: &mut Filling,
    ) -> bool {
        // A file of one message was paid for when it was picked up.
        let paid = matches!(content, Content::One(_));
        let mut cut = self.intake.cut(
            self.config,
            agent,
            Piece::of(content, bytes),
            (&filling.batch, usize::MAX),
        );
        cut.bill = cut.bill.filter(|_| !paid);
        match cut.stop {
            Some(Stop::Delay(delay)) if cut.lines.is_empty() => self.hold_back(place, &delay),
            Some(Stop::Full) if cut.lines.is_empty() => {
                self.intake.queue_claims([claim]);
                return true;
            }
            _ => return self.take((agent, original(&claim.clone())), claim, cut, None, filling),
        }
        false
    }

    // The file may have replaced another just before the pickup, so no earlier look at it counts.
    fn terms_of_claim(&self, agent: &str) -> Terms {
        let owner = self
            .config
            .registry()
            .agent(agent)
            .and_then(|agent| agent.uid);
        let outbox_uid = self
            .config
            .dir()
            .stat(layout::outbox(agent))
            .ok()
            .flatten()
            .map(|outbox| outbox.uid);
        Terms {
            most: self.config.settings().message_bytes,
            outbox_uid,
            claimed: true,
            owner,
        }
    }

    fn hold_back(&mut self, what: &str, delay: &Delay) {
        delay.hold_back(what, self.pending, self.config.dir());
    }
}

/// What a claim's name keeps of the name of the dropped file.
fn original(claim: &str) -> &str {
    layout::read_claim(claim).map_or("", |claim| claim.original)
}
