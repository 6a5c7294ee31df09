//! One batch of the floor: claim and read, stage, barrier 1, append, barrier 2, deliver, retire.

use super::calls;
use super::copy::{Copies, record};
use super::intake::{Candidate, Intake};
use anyhow::{Context, Result, ensure};
use mailbag::base::clock::Stamp;
use mailbag::base::limits;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, openat};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::rc::Rc;

/// The relay: its room's handles, its agents, and the unsynced directories of the last batch.
pub(crate) struct Relay {
    root: OwnedFd,
    outboxes: Handles,
    inboxes: Handles,
    sents: Handles,
    claims: OwnedFd,
    stage: OwnedFd,
    log: OwnedFd,
    /// The most files and directories that are synced one by one.
    one_by_one: usize,
    names: Vec<String>,
    by_name: HashMap<String, usize>,
    claim_number: u64,
    seq: u64,
    last: Stamp,
    unsynced: Unsynced,
}

/// The directories that the last batch moved files into and that no barrier has covered yet.
#[derive(Default)]
struct Unsynced {
    directories: Vec<Rc<OwnedFd>>,
    too_many: bool,
}

/// A message that has been claimed and read.
struct Letter {
    sender: usize,
    name: String,
    claim: String,
    message: Map<String, Value>,
    recipients: Vec<usize>,
    seq: u64,
    delivered_name: String,
}

/// The directories of one kind that a batch has opened, by agent.
struct Handles {
    parent: OwnedFd,
    opened: Vec<Option<Rc<OwnedFd>>>,
    used: Vec<usize>,
}

impl Relay {
    /// Opens a room with existing directories; every name in `inbox/` is an agent.
    pub(super) fn open(room: &Path, one_by_one: usize) -> Result<Relay> {
        let directory = |path: &str| {
            let path = room.join(path);
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            openat(CWD, &path, flags, Mode::empty()).with_context(|| path.display().to_string())
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(room.join("inbox"))? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        let log = room.join("log/floor.ndjson");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
        Ok(Relay {
            root: directory(".")?,
            outboxes: Handles::new(directory("outbox")?, names.len()),
            inboxes: Handles::new(directory("inbox")?, names.len()),
            sents: Handles::new(directory("sent")?, names.len()),
            claims: directory("spool/claim")?,
            stage: directory("spool/stage")?,
            log: openat(CWD, &log, flags, Mode::from_raw_mode(0o644))?,
            one_by_one,
            by_name: names
                .iter()
                .enumerate()
                .map(|(at, name)| (name.clone(), at))
                .collect(),
            names,
            claim_number: 0,
            seq: 0,
            last: Stamp::default(),
            unsynced: Unsynced::default(),
        })
    }

    /// Every agent, by its inbox.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Routes the waiting files, up to the limits of one batch; false without files.
    pub(super) fn route(&mut self, intake: &mut Intake) -> Result<bool> {
        let mut letters = self.claim_and_read(intake)?;
        if letters.is_empty() {
            self.outboxes.close();
            return Ok(false);
        }
        let copies: usize = letters.iter().map(|letter| letter.recipients.len()).sum();
        let to_sync = copies + 2 + self.outboxes.used.len() + self.unsynced.directories.len();
        let one_by_one = !self.unsynced.too_many && to_sync <= self.one_by_one;
        let (staged, log) = self.stage(&mut letters, one_by_one)?;
        if one_by_one {
            self.sync_one_by_one(&staged)?;
        } else {
            calls::sync_all(self.root.as_fd()).context("syncfs")?;
        }
        drop(staged);
        calls::append(self.log.as_fd(), &log).context("append")?;
        calls::commit(self.log.as_fd()).context("fdatasync")?;
        self.deliver(&letters)?;
        self.unsynced = Unsynced::after(&self.inboxes, &self.sents);
        for handles in [&mut self.outboxes, &mut self.inboxes, &mut self.sents] {
            handles.close();
        }
        Ok(true)
    }

    /// The last barrier, which makes the last batch's moves durable.
    pub(super) fn settle(&mut self) -> Result<()> {
        calls::sync_all(self.root.as_fd()).context("syncfs")?;
        Ok(calls::append(self.log.as_fd(), b"{\"settled\":[]}\n")?)
    }

    fn claim_and_read(&mut self, intake: &mut Intake) -> Result<Vec<Letter>> {
        let (mut letters, mut bytes, mut copies) = (Vec::new(), 0, 0);
        let mut buffer = Vec::new();
        while letters.len() < limits::BATCH_MESSAGES
            && bytes < limits::BATCH_BYTES
            && copies < limits::BATCH_COPIES
        {
            let Some(candidate) = intake.next(self.outboxes.parent.as_fd(), &self.names)? else {
                break;
            };
            let outbox = self.outboxes.get_or_take(
                candidate.agent,
                candidate.outbox.as_ref(),
                &self.names,
            )?;
            if let Some(letter) = self.claim_one(candidate, &outbox, &mut buffer, intake)? {
                bytes += buffer.len() as u64;
                copies += letter.recipients.len();
                letters.push(letter);
            }
        }
        Ok(letters)
    }

    fn claim_one(
        &mut self,
        candidate: Candidate,
        outbox: &OwnedFd,
        buffer: &mut Vec<u8>,
        intake: &mut Intake,
    ) -> Result<Option<Letter>> {
        let Candidate {
            agent: sender,
            name,
            ..
        } = candidate;
        let Some(opened) = calls::open_message(outbox.as_fd(), &name)? else {
            return Ok(None);
        };
        if !calls::is_finished(&opened.fd)? {
            intake.again(sender, name);
            return Ok(None);
        }
        calls::read_whole(&opened, buffer)?;
        let message: Map<String, Value> =
            serde_json::from_slice(buffer).with_context(|| name.clone())?;
        self.claim_number += 1;
        let claim = format!("{:08}~{}~{name}", self.claim_number, self.names[sender]);
        calls::rename(outbox.as_fd(), &name, self.claims.as_fd(), &claim)
            .with_context(|| claim.clone())?;
        ensure!(
            calls::claimed_is(self.claims.as_fd(), &claim, opened.inode)?,
            "{claim}: another file"
        );
        let recipients = self.recipients(sender, message.get("to").unwrap_or(&Value::Null))?;
        Ok(Some(Letter {
            sender,
            name,
            claim,
            message,
            recipients,
            seq: 0,
            delivered_name: String::new(),
        }))
    }

    /// The recipients are the names in the message; `all` is every inbox but the sender's and the human's.
    fn recipients(&self, sender: usize, to: &Value) -> Result<Vec<usize>> {
        match to {
            Value::String(all) if all == "all" => Ok((0..self.names.len())
                .filter(|&agent| agent != sender && self.names[agent] != "human")
                .collect()),
            Value::String(name) => Ok(vec![*self.by_name.get(name).with_context(|| name.clone())?]),
            Value::Array(names) => {
                let known = |name: &Value| {
                    name.as_str()
                        .and_then(|name| self.by_name.get(name))
                        .copied()
                };
                names
                    .iter()
                    .map(|name| known(name).with_context(|| name.to_string()))
                    .collect()
            }
            other => anyhow::bail!("to: {other}"),
        }
    }

    /// Writes every copy, and the batch's records into memory. The files stay open only if each is
    /// synced.
    fn stage(&mut self, letters: &mut [Letter], keep: bool) -> Result<(Vec<OwnedFd>, Vec<u8>)> {
        let (mut staged, mut log, mut name) = (Vec::new(), Vec::new(), String::new());
        for letter in letters {
            self.seq += 1;
            self.last = self.last.next();
            letter.seq = self.seq;
            let from = &self.names[letter.sender];
            let id = letter
                .message
                .get("id")
                .and_then(Value::as_str)
                .unwrap_or("none");
            letter.delivered_name = format!("{}-{from}-{id}.json", self.last.file_name());
            record(&mut log, &letter.message, letter.recipients.len());
            let mut copies = Copies::new(
                std::mem::take(&mut letter.message),
                from,
                self.seq,
                self.last,
            );
            for &recipient in &letter.recipients {
                let recipient = &self.names[recipient];
                staged_name(&mut name, letter.seq, recipient);
                let file =
                    calls::stage(self.stage.as_fd(), &name, copies.for_recipient(recipient))?;
                if keep {
                    staged.push(file);
                }
            }
        }
        Ok((staged, log))
    }

    /// Files first: an ext4 commit that a directory's sync starts would leave their delayed blocks to a second commit.
    fn sync_one_by_one(&mut self, staged: &[OwnedFd]) -> Result<()> {
        for file in staged {
            calls::sync_one(file.as_fd())?;
        }
        calls::sync_one(self.stage.as_fd())?;
        calls::sync_one(self.claims.as_fd())?;
        for directory in self.outboxes.opened().chain(&self.unsynced.directories) {
            calls::sync_one(directory.as_fd())?;
        }
        Ok(())
    }

    fn deliver(&mut self, letters: &[Letter]) -> Result<()> {
        let mut name = String::new();
        for letter in letters {
            for &recipient in &letter.recipients {
                let inbox = self.inboxes.get(recipient, &self.names)?;
                staged_name(&mut name, letter.seq, &self.names[recipient]);
                calls::rename(
                    self.stage.as_fd(),
                    &name,
                    inbox.as_fd(),
                    &letter.delivered_name,
                )
                .with_context(|| format!("{name} to {}", letter.delivered_name))?;
            }
            let sent = self.sents.get(letter.sender, &self.names)?;
            name.clear();
            let _ = write!(name, "{}~{}", letter.seq, letter.name);
            calls::rename(self.claims.as_fd(), &letter.claim, sent.as_fd(), &name)?;
        }
        Ok(())
    }
}

/// `<seq>~<recipient>`, written over the last one.
fn staged_name(name: &mut String, seq: u64, recipient: &str) {
    name.clear();
    let _ = write!(name, "{seq}~{recipient}");
}

impl Handles {
    fn new(parent: OwnedFd, agents: usize) -> Handles {
        Handles {
            parent,
            opened: vec![None; agents],
            used: Vec::new(),
        }
    }

    /// The agent's directory, opened if this batch has not yet.
    fn get(&mut self, agent: usize, names: &[String]) -> Result<Rc<OwnedFd>> {
        self.get_or_take(agent, None, names)
    }

    /// The agent's directory: from this batch, from the scan, or opened now.
    fn get_or_take(
        &mut self,
        agent: usize,
        held: Option<&Rc<OwnedFd>>,
        names: &[String],
    ) -> Result<Rc<OwnedFd>> {
        if let Some(directory) = &self.opened[agent] {
            return Ok(Rc::clone(directory));
        }
        let directory = match held {
            Some(directory) => Rc::clone(directory),
            None => Rc::new(
                calls::open_directory(self.parent.as_fd(), &names[agent])
                    .with_context(|| names[agent].clone())?,
            ),
        };
        self.opened[agent] = Some(Rc::clone(&directory));
        self.used.push(agent);
        Ok(directory)
    }

    /// Ends the batch: closes all handles except those of the scan and the next barrier.
    fn close(&mut self) {
        for agent in self.used.drain(..) {
            self.opened[agent] = None;
        }
    }

    fn opened(&self) -> impl Iterator<Item = &Rc<OwnedFd>> {
        self.used
            .iter()
            .filter_map(|&agent| self.opened[agent].as_ref())
    }
}

impl Unsynced {
    /// Keeps the handles of the changed directories, unless there are too many: then the whole file
    /// system is synced.
    fn after(inboxes: &Handles, sents: &Handles) -> Unsynced {
        if inboxes.used.len() + sents.used.len() > limits::SYNC_ONE_BY_ONE {
            return Unsynced {
                directories: Vec::new(),
                too_many: true,
            };
        }
        Unsynced {
            directories: inboxes.opened().chain(sents.opened()).cloned().collect(),
            too_many: false,
        }
    }
}
