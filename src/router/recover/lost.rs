//! Messages that the log has lost, from originals of senders and delivered copies.

use super::evidence;
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::message::gap::LostMessage;
use crate::message::record::MessageName;
use crate::message::{Message, dialects, id, schema};
use crate::room::archive::{ArchiveKind, PackedFile, each_packed};
use crate::room::outbox::{FileCompleteness, FileContent, read_lines};
use crate::room::registry::Registry;
use crate::room::resolve::RecipientRule;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// All messages of senders with the number `from` or a later number, in order. `after` is a time before the first of
/// them was accepted.
pub(super) fn messages(
    room: &Dir,
    registry: &Registry,
    from: u64,
    after: Stamp,
) -> Result<Vec<LostMessage>> {
    let mut found = Vec::new();
    let mut originals = SenderOriginals::default();
    each_packed(room, after, &mut |_, file| match file.kind {
        ArchiveKind::Sent => originals.add(file, from),
        ArchiveKind::Rejected => originals.reject(&file.agent, &file.path),
        ArchiveKind::Seen | ArchiveKind::Expired => {
            let copy = evidence::read_packed_copy(room, file, after);
            found.extend(copy.and_then(lost_message_of_copy));
        }
    })?;
    found.retain(|lost: &LostMessage| lost.seq >= from && *lost.name.from != *id::MAILBAG);
    for agent in evidence::agents(room, layout::SENT)? {
        originals.read(room, &agent, from)?;
    }
    originals.find(registry, &mut found);
    for agent in evidence::agents(room, layout::INBOXES)? {
        for place in evidence::inboxes(&agent) {
            let copies = evidence::copies_after(room, &place, after).into_iter();
            let paths = copies.map(|name| layout::below(&place, name.as_ref()));
            let lost =
                paths.filter_map(|path| lost_message_of_copy(evidence::read_copy(room, &path)?));
            found.extend(lost.filter(|lost| lost.seq >= from && *lost.name.from != *id::MAILBAG));
        }
    }
    found.sort_unstable();
    let mut known = HashSet::new();
    found.retain(|lost| known.insert((lost.name.from.clone(), lost.name.id.clone())));
    Ok(found)
}

/// The originals of senders.
#[derive(Default)]
struct SenderOriginals {
    /// The number, the path and the content of each original, by sender.
    by_sender: BTreeMap<String, Vec<(u64, PathBuf, Vec<u8>)>>,
    /// The names of rejected files and lines, by sender. Their ids were not used up.
    rejected: BTreeMap<String, HashSet<String>>,
}

impl SenderOriginals {
    /// Takes an original from a pack, if its number is `from` or a later number.
    fn add(&mut self, file: &PackedFile, from: u64) {
        let name = file.path.file_name().and_then(|name| name.to_str());
        if let Some(seq) = name.and_then(layout::read_retired)
            && (from..=limits::SEQ_MOST).contains(&seq)
        {
            let of_sender = self.by_sender.entry(file.agent.clone()).or_default();
            of_sender.push((seq, file.path.clone(), file.bytes.clone()));
        }
    }

    fn reject(&mut self, agent: &str, path: &Path) {
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(original) = name.and_then(layout::read_original) {
            let of_sender = self.rejected.entry(agent.to_owned()).or_default();
            of_sender.insert(original.to_owned());
        }
    }

    /// Takes the originals in a sender's directory, if their number is `from` or a later number.
    fn read(&mut self, room: &Dir, agent: &str, from: u64) -> Result<()> {
        let mut places = Vec::new();
        evidence::each_retired(room, &layout::sent(agent), &mut |seq, path| {
            places.push((seq, path))
        });
        places.retain(|(seq, _)| *seq >= from);
        for (seq, path) in places {
            if let Some(bytes) = room.read(&path, limits::MESSAGE_BYTES_MOST)? {
                let of_sender = self.by_sender.entry(agent.to_owned()).or_default();
                of_sender.push((seq, path, bytes));
            }
        }
        if self.by_sender.contains_key(agent) {
            evidence::each_retired(room, &layout::rejected(agent), &mut |_, path| {
                self.reject(agent, &path)
            });
        }
        Ok(())
    }

    /// Adds the messages of all originals.
    fn find(&self, registry: &Registry, found: &mut Vec<LostMessage>) {
        let none = HashSet::new();
        for (agent, originals) in &self.by_sender {
            let rejected = self.rejected.get(agent).unwrap_or(&none);
            let name = registry
                .agent(agent)
                .and_then(|agent| agent.name.as_deref());
            for (seq, path, bytes) in originals {
                for value in values(bytes, path, rejected) {
                    // Messages that expired later were accepted in time.
                    let then = Stamp::from_micros(0);
                    let checked = schema::check_as(value.clone(), agent, name.as_slice(), then);
                    if let Ok(message) = checked.map_err(|_| ())
                        && has_id(&value)
                    {
                        found.push(lost_message(*seq, &message));
                    }
                }
            }
        }
    }
}

/// The JSON of each message in an original that was not rejected.
fn values(bytes: &[u8], path: &Path, rejected: &HashSet<String>) -> Vec<Value> {
    let name = path
        .file_name()
        .and_then(|name| layout::read_original(name.to_str()?))
        .unwrap_or_default();
    if !layout::is_lines_file(name.as_ref()) {
        return serde_json::from_slice(bytes).into_iter().collect();
    }
    let (FileCompleteness::Yes(content) | FileCompleteness::NotYet(content)) = read_lines(bytes);
    match content {
        FileContent::One(value) => value.into_iter().collect(),
        FileContent::Lines(lines) => {
            let lines = lines
                .iter()
                .filter(|line| !rejected.contains(&layout::explained_line(name, line.number)));
            lines.filter_map(|line| Result::from(line).ok()).collect()
        }
    }
}

/// Returns true if its sender gave it an id. The router mints a different id each time.
fn has_id(value: &Value) -> bool {
    let fields = value.as_object().cloned().unwrap_or_default();
    dialects::spell(fields)
        .fields
        .get("id")
        .is_some_and(|id| !id.is_null())
}

/// The message of a copy, without the fields that the router added.
pub fn lost_message_of_copy(copy: Value) -> Option<LostMessage> {
    let Value::Object(mut fields) = copy else {
        return None;
    };
    let (delivery, addressed_to) = (fields.remove("delivery")?, fields.remove("addressed_to")?);
    if delivery.get("via")?.as_str()? == RecipientRule::Mention.as_str() {
        fields.remove("to");
    } else {
        fields.insert("to".into(), addressed_to);
    }
    if fields.get("timestamp") == delivery.get("accepted_at") {
        fields.remove("timestamp");
    }
    let message = Message::from_fields(fields)?;
    let seq = delivery
        .get("seq")?
        .as_u64()
        .filter(|seq| *seq <= limits::SEQ_MOST)?;
    Some(lost_message(seq, &message))
}

fn lost_message(seq: u64, message: &Message) -> LostMessage {
    let name = MessageName {
        from: message.from().into(),
        id: message.id().to_owned(),
        digest: message.digest(),
    };
    LostMessage { seq, name }
}
