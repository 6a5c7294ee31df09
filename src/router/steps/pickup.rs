//! Steps 2 and 3: out of the outbox, and into memory.

use super::budget::Delay;
use super::check::{Letter, Source};
use super::share::{Batch, Cut, Piece, Said, Stop};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Meta, layout};
use crate::room::outbox::{self, Content, Files, Line, Look, Ready, Terms, Turn};
use crate::router::{Claimed, Letters, Router};
use std::ffi::OsStr;
use std::sync::Arc;

/// A file that was claimed, with what was read before: all of it, or the lines that go now.
pub(crate) struct Taken {
    claim: String,
    pub(crate) letters: Vec<Letter>,
    pub(crate) copies: usize,
    /// Which file was read, and how it stood; `None` if it was read as a claim.
    meta: Option<Meta>,
}

/// A file of lines of which some were taken, and why no more were.
pub(crate) struct Sliced {
    agent: Arc<str>,
    claim: String,
    delay: Option<Delay>,
}

/// What became of a file in its outbox's turn.
enum Step {
    /// It was taken, with so many copies.
    Took(usize),
    /// Some of its lines were taken; what is behind it waits.
    Began,
    /// It is gone, or stays for now.
    Next,
    /// It stays, and so does everything behind it.
    Rest(Stop),
}

impl Router {
    /// Step 2: takes what is ready out of the outboxes, each sender a slice in its turn, until the batch is full. Claims
    /// that were left without a record by a kill or a passing failure come first.
    pub(crate) fn claim(&mut self) -> Result<Claimed> {
        let mut batch = Batch::new(&self.share);
        for _ in 0..self.claims.len() {
            if batch.is_full() {
                break;
            }
            let Some(claim) = self.claims.pop_front() else { break };
            self.take_claim(claim, &mut batch)?;
        }
        loop {
            self.take_turns(&mut batch)?;
            let nothing_else = batch.taken.is_empty() && !batch.large && !batch.later.is_empty();
            for agent in batch.later.drain(..).rev() {
                self.outboxes.line_up_first(&agent);
            }
            if !nothing_else {
                break;
            }
            batch.large = true;
        }
        self.copies = batch.copies();
        Ok(Claimed(batch.taken))
    }

    fn take_turns(&mut self, batch: &mut Batch) -> Result<()> {
        while !batch.is_full() {
            let Some((agent, turn)) = self.outboxes.next_turn(&self.room.dir) else { break };
            let place = layout::outbox(&agent).display().to_string();
            match turn {
                Ok(Turn::Files(files)) => self.take_files(&agent, files, batch)?,
                Ok(Turn::Begun(claim)) => self.go_on(&agent, &claim, batch)?,
                Err(e) if e.errno() == Some(libc::ENOENT) => self.waiting.over(&place),
                Err(e) => self.waiting.failed(&place, e.to_string()),
            }
        }
        Ok(())
    }

    fn take_files(&mut self, agent: &Arc<str>, files: Files, batch: &mut Batch) -> Result<()> {
        let outbox = layout::outbox(agent).display().to_string();
        let Some(known) = self.registry.agent(agent).filter(|known| !known.is_retired()) else {
            self.waiting.over(&outbox);
            self.turn_away(agent, &files);
            return Ok(());
        };
        let terms =
            Terms { most: self.settings.message_bytes, outbox_uid: Some(files.uid), claimed: false, owner: known.uid };
        let (slice, mut copies) = (batch.slice(self.outboxes.in_line()), 0);
        for (n, name) in files.names.iter().enumerate() {
            if batch.is_full() || copies >= slice {
                self.outboxes.give_back(agent, files.names[n..].to_vec());
                break;
            }
            let place = layout::outbox(agent).join(name).display().to_string();
            let step = match self.spent(agent) {
                Some(delay) => Ok(Step::Rest(Stop::Delay(delay))),
                None => outbox::look(&files.dir, name, &terms, &mut self.patience)
                    .and_then(|look| self.step(agent, &files, name, look, (batch, slice - copies))),
            };
            match step {
                Ok(Step::Took(of_it)) => {
                    self.waiting.over(&place);
                    copies += of_it;
                }
                Ok(Step::Began) => {
                    self.waiting.over(&place);
                    self.outboxes.rest(agent, files.names[n + 1..].to_vec());
                    break;
                }
                Ok(Step::Next) => {}
                Ok(Step::Rest(stop)) => {
                    self.outboxes.rest(agent, files.names[n..].to_vec());
                    match stop {
                        Stop::Delay(delay) => self.hold_back(&outbox, &delay),
                        Stop::Full => batch.later.push(agent.clone()),
                    }
                    return Ok(());
                }
                Err(e) => self.waiting.failed(&place, e.to_string()),
            }
        }
        self.waiting.over(&outbox);
        Ok(())
    }

    fn step(
        &mut self,
        agent: &Arc<str>,
        files: &Files,
        name: &OsStr,
        look: Look,
        (batch, slice): (&mut Batch, usize),
    ) -> Result<Step> {
        let place = || layout::outbox(agent).join(name).display().to_string();
        let ready = match look {
            Look::Ready(ready) => *ready,
            Look::Later(reason, wait) => {
                self.waiting.not_ready(&place(), reason, wait);
                return Ok(Step::Next);
            }
            Look::Gone => {
                self.waiting.over(&place());
                return Ok(Step::Next);
            }
        };
        let Ready { content, bytes, meta } = ready;
        let cut = self.cut(agent, Piece::of(content, bytes), batch, slice);
        match cut.stop {
            Some(Stop::Delay(delay)) if cut.lines.is_empty() && !delay.all => {
                self.hold_back(&place(), &delay);
                return Ok(Step::Next);
            }
            Some(stop) if cut.lines.is_empty() => return Ok(Step::Rest(stop)),
            _ => {}
        }
        let claim = self.take_one(agent, files, name)?;
        let copies = cut.copies;
        // A claim keeps of a long name what fits; its sender is told all of it.
        let name = name.to_string_lossy().into_owned();
        Ok(match self.take((agent, &name), claim, cut, meta, batch) {
            true => Step::Began,
            false => Step::Took(copies),
        })
    }

    // S1 → S2: claimed = -outbox +claim
    fn take_one(&mut self, agent: &Arc<str>, files: &Files, name: &OsStr) -> Result<String> {
        let claim = layout::claim(self.next_claim, agent, name);
        // Counted first: a number that somebody's file stands in the way of is not tried again.
        self.next_claim += 1;
        self.spool.claim(&files.dir, name, &claim, &mut self.barrier)?;
        Ok(claim)
    }

    /// Puts what was cut of a claim into the batch; `true` if some of its lines stay behind.
    fn take(
        &mut self,
        (agent, original): (&Arc<str>, &str),
        claim: String,
        cut: Cut,
        meta: Option<Meta>,
        batch: &mut Batch,
    ) -> bool {
        let Cut { lines, copies, bytes, bill, stop } = cut;
        bill.into_iter().for_each(|bill| self.pay(agent, &claim, bill));
        let (last, more) = (lines.len().saturating_sub(1), stop.is_some());
        let letter = |(n, (line, content)): (usize, Said)| {
            let more = more && n == last;
            let source = line.map(|Line { number, text }| Source { line: number, text, more });
            Letter { claim: claim.clone(), agent: agent.clone(), original: original.to_owned(), source, content }
        };
        let letters: Vec<Letter> = lines.into_iter().enumerate().map(letter).collect();
        if letters.iter().any(|letter| letter.source.is_some()) {
            let delay = stop.and_then(|stop| if let Stop::Delay(delay) = stop { Some(delay) } else { None });
            self.sliced.push(Sliced { agent: agent.clone(), claim: claim.clone(), delay });
        }
        batch.take(Taken { claim, letters, copies, meta }, copies, bytes);
        more
    }

    /// The next lines of a file whose first ones are routed.
    fn go_on(&mut self, agent: &Arc<str>, claim: &str, batch: &mut Batch) -> Result<()> {
        let place = format!("{}/{claim}", layout::CLAIM);
        let Some(behind) = self.state.goes_on_behind(claim) else {
            self.outboxes.begin(agent, None);
            self.outboxes.line_up_again(agent);
            return Ok(());
        };
        let look = match outbox::go_on(&self.spool.claims, claim, &self.terms_of_claim(agent), behind) {
            Ok(look) => look,
            Err(e) => {
                self.waiting.failed(&place, e.to_string());
                return Ok(());
            }
        };
        match look {
            Look::Ready(ready) => {
                let pieces = match ready.content {
                    // What is wrong with the file is wrong with its next line: those before are routed.
                    Content::One(content) => vec![Piece::rest(behind, content)],
                    lines => Piece::of(lines, ready.bytes),
                };
                let slice = batch.slice(self.outboxes.in_line());
                let cut = self.cut(agent, pieces, batch, slice);
                match cut.stop {
                    Some(Stop::Delay(delay)) if cut.lines.is_empty() => self.hold_back(&place, &delay),
                    Some(Stop::Full) if cut.lines.is_empty() => batch.later.push(agent.clone()),
                    _ => drop(self.take((agent, original(claim)), claim.to_owned(), cut, None, batch)),
                }
            }
            Look::Later(reason, wait) => self.waiting.not_ready(&place, reason, wait),
            Look::Gone => {
                tracing::warn!(claim, "is gone, and was not routed to its end");
                self.outboxes.begin(agent, None);
                self.outboxes.line_up_again(agent);
            }
        }
        Ok(())
    }

    // An outbox that belongs to nobody: its files stay, and the human hears of it.
    fn turn_away(&mut self, agent: &Arc<str>, files: &Files) {
        if files.names.is_empty() {
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

    /// A claim without a record.
    fn take_claim(&mut self, claim: String, batch: &mut Batch) -> Result<()> {
        let place = format!("{}/{claim}", layout::CLAIM);
        let Some(agent) = layout::read_claim(&claim).map(|name| Arc::<str>::from(name.agent)) else {
            tracing::warn!(claim, "is no claim's name; left alone");
            return Ok(());
        };
        if self.state.goes_on_behind(&claim).is_some() {
            self.outboxes.begin(&agent, Some(claim));
            self.outboxes.line_up_again(&agent);
            return Ok(());
        }
        let terms = self.terms_of_claim(&agent);
        match outbox::look(&self.spool.claims, OsStr::new(&claim), &terms, &mut self.patience) {
            Ok(Look::Ready(ready)) => {
                let Ready { content, bytes, .. } = *ready;
                // One message was paid for when it was taken.
                let paid = matches!(content, Content::One(_));
                let mut cut = self.cut(&agent, Piece::of(content, bytes), batch, usize::MAX);
                cut.bill = cut.bill.filter(|_| !paid);
                match cut.stop {
                    Some(Stop::Delay(delay)) if cut.lines.is_empty() => self.hold_back(&place, &delay),
                    Some(Stop::Full) if cut.lines.is_empty() => self.claims.push_back(claim),
                    _ => drop(self.take((&agent, original(&claim.clone())), claim, cut, None, batch)),
                }
            }
            Ok(Look::Later(reason, wait)) => {
                self.waiting.not_ready(&place, reason, wait.or(Some(limits::STAND_STILL)));
            }
            Ok(Look::Gone) => self.waiting.over(&place),
            Err(e) => self.waiting.failed(&place, e.to_string()),
        }
        Ok(())
    }

    // The file may have taken another's place just before the claim: nothing that was looked at then counts.
    fn terms_of_claim(&self, agent: &str) -> Terms {
        let owner = self.registry.agent(agent).and_then(|agent| agent.uid);
        let outbox_uid = self.room.dir.stat(layout::outbox(agent)).ok().flatten().map(|outbox| outbox.uid);
        Terms { most: self.settings.message_bytes, outbox_uid, claimed: true, owner }
    }

    /// Step 3: what was read before the claim counts if the claim is that same file, unchanged. If another file had
    /// taken its name in between, or it changed, the claim is read anew in the next batch.
    pub(crate) fn read(&mut self, Claimed(taken): Claimed) -> Letters {
        let mut letters = Vec::with_capacity(taken.len());
        for one in taken {
            let same = one.meta.is_none_or(|meta| self.is_same(&one.claim, &meta));
            if same || is_unopenable(&one.letters) {
                letters.extend(one.letters);
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
fn is_unopenable(letters: &[Letter]) -> bool {
    let [Letter { source: None, content: Err(problem), .. }] = letters else { return false };
    matches!(problem.code.as_str(), "symlink" | "not_a_file" | "unreadable")
}

impl Router {
    /// The batch is over: senders of files of lines are lined up again, with the rest of the file or what is behind it.
    pub(crate) fn line_up_sliced(&mut self) {
        for Sliced { agent, claim, delay } in std::mem::take(&mut self.sliced) {
            let place = format!("{}/{claim}", layout::CLAIM);
            let goes_on = self.state.goes_on_behind(&claim).is_some();
            if let Some(delay) = delay.filter(|_| goes_on) {
                self.hold_back(&place, &delay);
            }
            let waits = goes_on && self.waiting.is_there(&place);
            self.outboxes.begin(&agent, goes_on.then_some(claim));
            if !waits {
                self.outboxes.line_up_again(&agent);
            }
        }
    }
}

/// What a claim's own name keeps of the name under which it was dropped.
fn original(claim: &str) -> &str {
    layout::read_claim(claim).map_or("", |claim| claim.original)
}
