//! Messages that the log has lost, as the room still has them: in originals of senders, and in delivered copies.

use super::evidence;
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::message::gap::LostMessage;
use crate::message::{Message, dialects, id, schema};
use crate::room::outbox::{Content, Whole, read_lines};
use crate::room::registry::Registry;
use crate::room::resolve::Via;
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;

/// All messages of senders with the number `from` or a later one, in the order of their numbers. `after` is a time before
/// the first of them was accepted.
pub(super) fn messages(
    room: &Dir,
    registry: &Registry,
    (from, after): (u64, Stamp),
) -> Result<Vec<LostMessage>> {
    let mut found = Vec::new();
    for agent in evidence::agents(room, layout::SENT)? {
        in_originals(room, registry, &agent, from, &mut found)?;
    }
    for agent in evidence::agents(room, layout::INBOXES)? {
        for place in evidence::inboxes(&agent) {
            let copies = evidence::copies_after(room, &place, after).into_iter();
            let paths = copies.map(|name| layout::below(&place, name.as_ref()));
            let lost =
                paths.filter_map(|path| lost_message_of_copy(evidence::read_copy(room, &path)?));
            found.extend(lost.filter(|lost| lost.seq >= from && *lost.from != *id::MAILBAG));
        }
    }
    found.sort_unstable();
    let mut known = HashSet::new();
    found.retain(|lost| known.insert((lost.from.clone(), lost.id.clone())));
    Ok(found)
}

/// The messages of one sender's originals. Rejected lines have not used up their ids.
fn in_originals(
    room: &Dir,
    registry: &Registry,
    agent: &str,
    from: u64,
    found: &mut Vec<LostMessage>,
) -> Result<()> {
    let mut originals = Vec::new();
    evidence::each_retired(room, &layout::sent(agent), &mut |seq, path| {
        originals.push((seq, path))
    });
    originals.retain(|(seq, _)| *seq >= from);
    if originals.is_empty() {
        return Ok(());
    }
    let mut rejected = HashSet::new();
    evidence::each_retired(room, &layout::rejected(agent), &mut |_, path| {
        rejected.extend(
            path.file_name()
                .and_then(|name| layout::read_original(name.to_str()?))
                .map(str::to_owned),
        );
    });
    let name = registry
        .agent(agent)
        .and_then(|agent| agent.name.as_deref());
    for (seq, path) in originals {
        let Some(bytes) = room.read(&path, limits::MESSAGE_BYTES_MOST)? else {
            continue;
        };
        for value in values(&bytes, &path, &rejected) {
            // What expired since then was accepted in time.
            let checked =
                schema::check_as(value.clone(), agent, name.as_slice(), Stamp::from_micros(0));
            if let Ok(message) = checked.map_err(|_| ())
                && has_id(&value)
            {
                let digest = message.digest();
                found.push(LostMessage {
                    seq,
                    from: message.from().into(),
                    id: message.id().to_owned(),
                    digest,
                });
            }
        }
    }
    Ok(())
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
    let (Whole::Yes(content) | Whole::NotYet(content)) = read_lines(bytes);
    match content {
        Content::One(value) => value.into_iter().collect(),
        Content::Lines(lines) => {
            let lines = lines
                .iter()
                .filter(|line| !rejected.contains(&layout::explained_line(name, line.number)));
            lines.filter_map(|line| Result::from(line).ok()).collect()
        }
    }
}

/// Did its sender give it an id? The router makes up another one each time.
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
    match delivery.get("via")?.as_str()? {
        via if via == Via::Mention.as_str() => drop(fields.remove("to")),
        _ => drop(fields.insert("to".into(), addressed_to)),
    }
    if fields.get("timestamp") == delivery.get("accepted_at") {
        fields.remove("timestamp");
    }
    let message = Message::from_fields(fields)?;
    let seq = delivery
        .get("seq")?
        .as_u64()
        .filter(|seq| *seq <= limits::SEQ_MOST)?;
    Some(LostMessage {
        seq,
        from: message.from().into(),
        id: message.id().to_owned(),
        digest: message.digest(),
    })
}
