//! Rejected files: list them, show why, send them again, or remove them.

use super::follow::{follow, poll};
use super::{attach, files};
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::base::written_path::write_path;
use crate::disk::{Dir, layout};
use crate::log::find;
use crate::log::state;
use crate::log::state::items::OpenItemKind;
use crate::message::address::quoted;
use crate::message::id;
use crate::message::record::{EventKind, Record};
use crate::query::follow::LogFollower;
use crate::query::identity;
pub use crate::query::rejected::ListedRejection;
use crate::query::rejected::{claim_of, last_of_file, line_of, of};
use crate::room::Room;
use crate::room::actor::require_person;
use crate::room::inbox;
use crate::room::registry::Registry;
use crate::room::settings::SenderAdmission;
use rustix::fs::FileType;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Selects rejected files.
#[derive(Debug, Clone)]
pub enum RejectedSelection {
    /// All files.
    All,
    /// All files of one agent.
    Of(String),
    /// By record number, original file name, or file name in `rejected/`.
    Named(Vec<String>),
}

/// A rejected file with its details.
#[derive(Debug, Serialize)]
pub struct RejectedDetails {
    /// The file.
    #[serde(flatten)]
    pub rejected: ListedRejection,
    /// Its text, if it can be shown.
    pub text: Option<String>,
    /// All problems.
    pub problems: Vec<Problem>,
}

/// The result for a file that was sent again, or for one of its lines.
#[derive(Debug, Clone, Serialize)]
pub struct RetryResult {
    /// Number of the record that rejected it before.
    pub seq: u64,
    /// Sender.
    pub agent: String,
    /// The new file, relative to the room.
    #[serde(serialize_with = "write_path")]
    pub file: PathBuf,
    /// The line, if the new file has one message per line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// `accepted`, `rejected` or `duplicate`; `None` if it is still pending.
    pub event: Option<EventKind>,
    /// Number of the new record.
    pub new_seq: Option<u64>,
    /// Recipients.
    pub recipients: Vec<String>,
    /// Why it was rejected again.
    pub problems: Vec<Problem>,
}

impl RetryResult {
    /// Compares file names as shortened by the router's pickup.
    fn is_claimed_as(&self, original: &str) -> bool {
        let claim = self
            .file
            .file_name()
            .map(|name| layout::claim(0, &self.agent, name));
        claim.is_some_and(|claim| {
            layout::read_claim(&claim).is_some_and(|claim| claim.original == original)
        })
    }
}

/// Lists rejected files in the order of their rejection.
pub fn list(room: &Room, which: &RejectedSelection) -> Result<Vec<ListedRejection>> {
    let mut all = Vec::new();
    for agent in room.directories(layout::REJECTED)? {
        all.extend(of(room, &agent)?);
    }
    all.sort_by_key(|rejected| rejected.seq);
    match which {
        RejectedSelection::All => Ok(all),
        RejectedSelection::Of(agent) => {
            let registry = room.registry().ok();
            let id = registry
                .as_ref()
                .and_then(|registry| registry.find(agent).map(|agent| agent.id.to_string()));
            let agent = id.unwrap_or_else(|| agent.clone());
            all.retain(|one| {
                let now = registry.as_ref().map(|registry| sender_now(registry, one));
                one.agent == agent || now.is_some_and(|now| now == agent)
            });
            Ok(all)
        }
        RejectedSelection::Named(names) => {
            let mut chosen: Vec<ListedRejection> = Vec::new();
            for name in names {
                for one in named(room, &all, name)? {
                    if !chosen.iter().any(|other| other.is_same(one)) {
                        chosen.push(one.clone());
                    }
                }
            }
            Ok(chosen)
        }
    }
}

/// Shows one rejected file with its text.
pub fn show(room: &Room, name: &str) -> Result<RejectedDetails> {
    let mut found = list(room, &RejectedSelection::Named(vec![name.to_owned()]))?;
    if found.len() > 1 {
        return Err(several(name, "lines", &found));
    }
    Ok(with_text(room, found.remove(0)))
}

/// A rejected file with its text, if that can be read.
pub fn with_text(room: &Room, rejected: ListedRejection) -> RejectedDetails {
    let bytes = rejected.file.as_ref().and_then(|file| {
        room.dir
            .read(file, limits::MESSAGE_BYTES_MOST)
            .ok()
            .flatten()
    });
    let text = bytes
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .or_else(|| rejected.text.clone());
    RejectedDetails {
        problems: rejected.problems.clone(),
        text,
        rejected,
    }
}

/// Removes the listed rejected files and their explanations, and returns the removed ones. Later ones stay, and so does
/// what another command sent again or removed before. The person's own rejections count as read.
pub fn remove_all(room: &Room, listed: Vec<ListedRejection>) -> Result<Vec<ListedRejection>> {
    check_owners(room, &listed)?;
    let _held = room.lock_rejected()?;
    let left = list(room, &RejectedSelection::All)?;
    let (left, _): (Vec<_>, Vec<_>) = listed
        .into_iter()
        .partition(|one| left.iter().any(|other| other.is_same(one)));
    for rejected in &left {
        let dir = room.dir.sub(layout::rejected(&rejected.agent))?;
        // The explanation last, so that it explains the file as long as that exists.
        for path in rejected
            .file
            .iter()
            .chain(last_of_file(room, rejected)?.as_ref())
            .chain(&rejected.explanation)
        {
            remove(&dir, path)?;
        }
        dir.sync()?;
    }
    mark_own_bounces_seen(room, &left)?;
    Ok(left)
}

/// Marks the bounces of the person's own removed files as read. The copies are found by the log, because other programs can write to
/// explanations. Bounces of agents stay unread: each agent must learn that its message was not delivered.
fn mark_own_bounces_seen(room: &Room, removed: &[ListedRejection]) -> Result<()> {
    let own = removed.iter().filter(|one| one.agent == id::HUMAN);
    let seqs: BTreeSet<u64> = own.map(|one| one.seq).collect();
    if seqs.is_empty() {
        return Ok(());
    }
    let state = state::committed(&room.dir)?;
    let items = state.items.iter().chain(state.items.older());
    for item in
        items.filter(|item| item.kind == OpenItemKind::Rejection && seqs.contains(&item.seq))
    {
        inbox::mark_copy_seen(&room.dir, id::HUMAN, item.since())?;
    }
    Ok(())
}

/// The content of a corrected file.
pub fn corrected(path: &Path) -> Result<Vec<u8>> {
    attach::read(&files::find(path)?, limits::MESSAGE_BYTES_MOST)
}

/// Moves rejected files back to their outboxes and reports the new results. With `content`, sends that instead of one
/// rejected file.
pub fn retry(
    room: &Room,
    which: &RejectedSelection,
    content: Option<Vec<u8>>,
    within: Duration,
) -> Result<Vec<RetryResult>> {
    for rejected in list(room, which)? {
        let_go(room, &rejected)?;
    }
    // Another command may send the same files again, or remove them.
    let held = room.lock_rejected()?;
    let all = list(room, which)?;
    check_owners(room, &all)?;
    if content.is_some() && all.len() != 1 {
        let what = format!(
            "one corrected file cannot replace {} rejected files",
            all.len()
        );
        return Err(Error::usage(what, "select one rejected file"));
    }
    let registry = room.registry()?;
    all.iter()
        .try_for_each(|rejected| may_be_routed(room, &registry, rejected, content.is_some()))?;
    let mut follower = LogFollower::at_end(room)?;
    let mut retried = Vec::new();
    for rejected in &all {
        // A rejected line has no file of its own, so it gets one.
        let line = line_of(room, rejected)?;
        retried.push(put_back(
            room,
            rejected,
            &sender_now(&registry, rejected),
            content.as_deref().or(line.as_deref()),
        )?);
    }
    drop(held);
    follow(room, within, &mut || {
        note(&mut retried, follower.read()?);
        // When the router answers, it has also moved files that it rejected again.
        Ok(None::<()>)
    })?;
    Ok(retried)
}

/// Waits until the router has moved a rejected file to its place: a file that it moves there later would remain listed.
fn let_go(room: &Room, rejected: &ListedRejection) -> Result<()> {
    if rejected.line.is_some() {
        return Ok(());
    }
    let Some(claim) = claim_of(room, rejected.seq)? else {
        return Ok(());
    };
    let claims = room.dir.sub(layout::CLAIM)?;
    let deadline = Instant::now() + limits::WRITER_WAIT;
    poll(deadline, &mut || {
        Ok(claims.stat(&claim)?.is_none().then_some(()))
    })
    .map(drop)
}

/// Resolves a selector: a record number first, then a file name. The name of a file with one message per line selects all
/// its rejected lines, in order.
fn named<'r>(
    room: &Room,
    all: &'r [ListedRejection],
    word: &str,
) -> Result<Vec<&'r ListedRejection>> {
    let seq = word.strip_prefix('#').unwrap_or(word).parse().ok();
    let by_seq: Vec<_> = all.iter().filter(|one| seq == Some(one.seq)).collect();
    let by_name: Vec<_> = all.iter().filter(|one| is_called(one, word)).collect();
    for mut found in [by_seq, by_name] {
        found.sort_by_key(|one| one.line);
        match found.as_slice() {
            [] => {}
            [_] => return Ok(found),
            _ if are_of_one_file(room, &found)? => return Ok(found),
            _ => return Err(several(word, "files", found)),
        }
    }
    let was_rejected = seq.is_some_and(
        |seq| matches!(find::record_by_seq(&room.dir, seq), Ok(Some(one)) if one.kind() == EventKind::Rejected),
    );
    Err(Error::not_found(
        if was_rejected {
            format!(
                "{} is no longer in rejected/: it was sent again, removed or archived",
                quoted(word)
            )
        } else {
            format!("no rejected file {}", quoted(word))
        },
        "`mailbag rejected list` shows the rejected files",
    ))
}

/// Returns true if a word is the original file name, or a path or a file name in the room.
fn is_called(rejected: &ListedRejection, word: &str) -> bool {
    let paths = [&rejected.file, &rejected.kept_in, &rejected.explanation];
    rejected.name == word
        || paths.into_iter().flatten().any(|path| {
            path.as_os_str() == word || path.file_name().is_some_and(|name| name == word)
        })
}

fn are_of_one_file(room: &Room, found: &[&ListedRejection]) -> Result<bool> {
    let mut claims = BTreeSet::new();
    for one in found {
        if one.line.is_none() {
            return Ok(false);
        }
        claims.insert(claim_of(room, one.seq)?);
    }
    Ok(claims.len() == 1 && !claims.contains(&None))
}

fn several<'r>(
    word: &str,
    things: &str,
    found: impl IntoIterator<Item = &'r ListedRejection>,
) -> Error {
    let names: Vec<String> = found
        .into_iter()
        .take(limits::PROBLEMS)
        .map(|one| match one.line {
            Some(line) => format!("#{} (line {line})", one.seq),
            None => format!("#{}", one.seq),
        })
        .collect();
    Error::usage(
        format!(
            "{} is ambiguous: it matches several rejected {things}",
            quoted(word)
        ),
        format!("use one of {}", names.join(", ")),
    )
}

/// Fails if the router would not read the sender's outbox: the file would only be hidden there.
fn may_be_routed(
    room: &Room,
    registry: &Registry,
    rejected: &ListedRejection,
    corrected: bool,
) -> Result<()> {
    if rejected.file.is_none() && rejected.text.is_none() && !corrected {
        return Err(Error::not_found(
            format!(
                "cannot retry {}: the rejected file was removed, only its explanation is left",
                rejected.name
            ),
            format!(
                "send a corrected file with `mailbag rejected retry {} FILE`",
                rejected.seq
            ),
        ));
    }
    match identity::registered(registry, &sender_now(registry, rejected), None) {
        Ok(agent) if agent.is_retired() => Err(Error::usage(
            format!(
                "agent {} is retired, so the router does not read its outbox",
                agent.id
            ),
            format!("run `mailbag agent set {} --status offline`", agent.id),
        )),
        Err(e) if room.settings()?.admission != SenderAdmission::Open => Err(e),
        _ => Ok(()),
    }
}

/// The id of the sender, which can have another name now.
fn sender_now(registry: &Registry, rejected: &ListedRejection) -> String {
    let agent = registry.now(&rejected.agent);
    agent.map_or_else(|| rejected.agent.clone(), |agent| agent.id.to_string())
}

/// Moves a rejected file, or its replacement, to the sender's outbox. Never overwrites a file.
fn put_back(
    room: &Room,
    rejected: &ListedRejection,
    sender: &str,
    content: Option<&[u8]>,
) -> Result<RetryResult> {
    let outbox = room.dir.make(layout::outbox(sender))?;
    let dir = room.dir.sub(layout::rejected(&rejected.agent))?;
    let old = rejected.file.as_ref().and_then(|path| path.file_name());
    let (from, name) = match (content, old) {
        (Some(bytes), _) => {
            let id = id::mint();
            // Names that `mailbag doctor` removes after a kill.
            let hidden = layout::unsent(&layout::message_file(&format!("retry-{id}")));
            let draft = layout::unsent(&layout::message_file(&format!("draft-{id}")));
            outbox.replace_by(Path::new(&hidden), Path::new(&draft), bytes)?;
            (outbox.clone(), hidden.into())
        }
        (None, old) => (dir.clone(), old.unwrap_or_default().to_owned()),
    };
    if content.is_none() {
        // First, so that a kill leaves a file that can be sent again, and no explanation without a file.
        rejected
            .explanation
            .iter()
            .try_for_each(|path| remove(&dir, path))?;
    }
    let kept = match old.and_then(|name| layout::read_original(name.to_str()?)) {
        Some(kept) => original_name(kept).to_owned(),
        None => name_of_line(rejected),
    };
    let name = move_to_free_name(&from, &name, &outbox, rejected.seq, &kept)?;
    // Sync the source directory first, as in every move.
    from.sync()?;
    outbox.sync()?;
    // The router owns the file now. Remove the rest, or it would be listed as still rejected.
    let whole = last_of_file(room, rejected)?;
    let original = if content.is_some() {
        rejected.file.as_ref()
    } else {
        None
    };
    for path in original
        .into_iter()
        .chain(&whole)
        .chain(&rejected.explanation)
    {
        remove(&dir, path)?;
    }
    dir.sync()?;
    Ok(RetryResult {
        seq: rejected.seq,
        agent: sender.to_owned(),
        file: layout::outbox(sender).join(name),
        line: None,
        event: None,
        new_seq: None,
        recipients: Vec::new(),
        problems: Vec::new(),
    })
}

/// The name of the file for a rejected line, which is one message.
fn name_of_line(rejected: &ListedRejection) -> String {
    let stem = rejected.name.rsplit_once('.');
    layout::message_file(stem.map_or(&*rejected.name, |(stem, _)| stem))
}

/// The name before earlier retries.
fn original_name(name: &str) -> &str {
    layout::read_retry(name).map_or(name, |(_, original)| original)
}

/// The name has the number of the rejection: the router accepts one retry of it, however often a command is repeated or
/// killed.
fn move_to_free_name(
    from: &Dir,
    old: &OsStr,
    outbox: &Dir,
    seq: u64,
    kept: &str,
) -> Result<String> {
    let mut name = layout::retry(seq, kept);
    for number in 2.. {
        match from.rename(old, outbox, &name, "put the rejected file back as") {
            Err(e) if e.errno() == Some(libc::EEXIST) && number < 1000 => {
                name = layout::retry(seq, &format!("{number}-{kept}"));
            }
            done => return done.map(|()| name),
        }
    }
    Ok(name)
}

/// Copies the results from the records. A file with one message per line has a result for each line.
fn note(retried: &mut Vec<RetryResult>, records: Vec<Record>) {
    for record in records {
        let Some(claim) = record.claim().and_then(layout::read_claim) else {
            continue;
        };
        let Some(last) = retried
            .iter()
            .rposition(|one| one.agent == claim.agent && one.is_claimed_as(claim.original))
        else {
            continue;
        };
        let recipients = match record.kind() {
            EventKind::Accepted => record
                .recipients()
                .map(|(agent, _)| agent.to_string())
                .collect(),
            _ => Vec::new(),
        };
        let result = RetryResult {
            line: record.origin().and_then(|origin| origin.line),
            event: Some(record.kind()),
            new_seq: Some(record.seq),
            recipients,
            problems: record.problems().to_vec(),
            ..retried[last].clone()
        };
        match retried[last].event {
            None => retried[last] = result,
            Some(_) => retried.insert(last + 1, result),
        }
    }
}

/// Removes a rejected file, or an empty directory.
fn remove(dir: &Dir, path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default();
    if dir
        .stat(name)?
        .is_none_or(|meta| meta.kind != FileType::Directory)
    {
        return dir.remove(name);
    }
    dir.remove_empty(name)?;
    match dir.stat(name)? {
        None => Ok(()),
        Some(_) => Err(Error::usage(
            format!(
                "cannot remove {}: the directory is not empty",
                dir.at(name).display()
            ),
            "remove it by hand",
        )),
    }
}

/// Only a person may change the rejected files of other agents.
fn check_owners(room: &Room, all: &[ListedRejection]) -> Result<()> {
    let who = identity::who(None, || Ok(room.clone())).ok();
    let registry = room.registry()?;
    let own = who.as_ref().and_then(|who| who.in_registry(&registry).ok());
    match all
        .iter()
        .find(|one| own.is_none_or(|own| *own.id != *sender_now(&registry, one)))
    {
        None => Ok(()),
        Some(other) => require_person(&format!("change the rejected files of {}", other.agent)),
    }
}
