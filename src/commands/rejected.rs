//! Rejected files: list them, show why, and drop a corrected text.

use super::follow::follow;
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::disk::layout;
use crate::log::{self, find};
use crate::message::address::quoted;
use crate::message::id;
use crate::message::record::{EventKind, Record};
use crate::query::follow::LogFollower;
use crate::query::identity;
pub use crate::query::rejected::ListedRejection;
use crate::query::rejected::{claim_of, of};
use crate::room::Room;
use crate::room::registry::Registry;
use crate::room::settings::SenderAdmission;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

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

/// The id of the sender, which can have another name now.
fn sender_now(registry: &Registry, rejected: &ListedRejection) -> String {
    let agent = registry.now(&rejected.agent);
    agent.map_or_else(|| rejected.agent.clone(), |agent| agent.id.to_string())
}

/// Writes a corrected text as a new file into the outbox of the sender of a rejected file, under the name of the rejected file,
/// never over another file. Returns the record of the new file, unless the file still waits. The rejected file stays.
pub fn correct(room: &Room, seq: u64, text: &[u8], within: Duration) -> Result<Option<Record>> {
    let RejectedDetails { rejected, .. } = show(room, &format!("#{seq}"))?;
    let registry = room.registry()?;
    let sender = sender_now(&registry, &rejected);
    check_sender(room, &registry, &sender)?;
    let mut follower = LogFollower::of_synced(room, log::end(&room.dir)?);
    let name = corrected_name(room, &rejected)?;
    let outbox = room.dir.make(layout::outbox(&sender))?;
    // Names that `mailbag doctor` removes after a kill.
    let id = id::mint();
    let hidden = layout::unsent(&layout::message_file(&format!("corrected-{id}")));
    let draft = layout::unsent(&layout::message_file(&format!("draft-{id}")));
    outbox.replace_by(Path::new(&hidden), Path::new(&draft), text)?;
    if let Err(e) = outbox.rename(&hidden, &outbox, &name, "drop the corrected file as") {
        outbox.remove(&hidden)?;
        let is_there = e.errno() == Some(libc::EEXIST);
        let path = layout::outbox(&sender).join(&name);
        let waits = format!("{} waits for the router", path.display());
        return Err(if is_there {
            Error::busy(waits, "send the text when that file is gone")
        } else {
            e
        });
    }
    outbox.sync()?;
    let mut record = None;
    follow(room, within, &mut || {
        let is_it = |one: &Record| {
            let claim = one.claim().and_then(layout::read_claim);
            claim.is_some_and(|claim| claim.agent == sender && claim.original == name)
        };
        record = record.take().or(follower.read()?.into_iter().find(is_it));
        // When the router answers, it has also moved a file that it rejected again.
        Ok(None::<()>)
    })?;
    Ok(record)
}

/// Fails if the router would not read the sender's outbox: the file would only be hidden there.
fn check_sender(room: &Room, registry: &Registry, sender: &str) -> Result<()> {
    match identity::registered(registry, sender, None) {
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

/// The name of the rejected file in the outbox, from the log, because other programs can write to explanations. A corrected line
/// is one message.
fn corrected_name(room: &Room, rejected: &ListedRejection) -> Result<String> {
    let claim = claim_of(room, rejected.seq)?;
    let original = claim.as_deref().and_then(layout::read_claim);
    let original = original.map(|claim| claim.original).ok_or_else(|| {
        Error::not_found(
            format!("the log has no file of the rejection #{}", rejected.seq),
            "drop the corrected file into the outbox",
        )
    })?;
    Ok(match rejected.line {
        Some(_) => layout::message_file(layout::message_stem(original)),
        None => original.to_owned(),
    })
}
