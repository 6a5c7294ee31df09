//! The messages that may cross a link. Their addresses are checked by the resolution.

use super::item::reason_to_stay;
use crate::base::error::Problem;
use crate::base::hash::is_hash_of;
use crate::base::limits;
use crate::message::Message;
use crate::message::id::tag_of;
use crate::router::seam::Draft;
use serde_json::Value;

/// The largest message that crosses a link, in bytes with its addresses. Every carrier takes an item with it.
const CROSSING_BYTES: usize = 3 << 20;
const _: () = assert!(
    CROSSING_BYTES as u64 + 160 * limits::RECEIPTS_OF_ITEM as u64 + limits::ITEM_MORE
        <= limits::FRAME_BYTES
);

/// Returns the problems of a message that arrives from another room or leaves for one.
pub(super) fn check(draft: &Draft) -> Vec<Problem> {
    match tag_of(&draft.from) {
        Some(_) => check_arrived(&draft.message),
        None => check_leaving(draft).into_iter().collect(),
    }
}

fn has_wrong_digest(attachment: &Value) -> bool {
    let [digest, content] =
        ["sha256", "content"].map(|field| attachment.get(field).and_then(Value::as_str));
    digest
        .zip(content)
        .is_some_and(|(digest, content)| !is_hash_of(digest, content.as_bytes()))
}

fn check_leaving(draft: &Draft) -> Option<Problem> {
    let message = &draft.message;
    let far = draft.recipients().filter(|agent| tag_of(agent).is_some());
    let far: Vec<_> = far.collect();
    let first = far.first()?;
    if let Some(why) = reason_to_stay(message) {
        let what = format!("this message cannot go to {first}: {why}");
        let fix = "send a message of another type, with the text for the other room in its body";
        return Some(Problem::new("stays_in_room", what).at("/to").fix(fix));
    }
    if let Some(n) = attached(message).iter().position(is_file) {
        let what = "an attached file cannot go to another room";
        let fix = "put the text for the other room into the body";
        let problem = Problem::new("stays_in_room", what).at(format!("/attachments/{n}"));
        return Some(problem.fix(fix));
    }
    let text = serde_json::to_string(message.fields()).unwrap_or_default();
    let bytes = text.len() + far.iter().map(|agent| agent.len()).sum::<usize>();
    if bytes <= CROSSING_BYTES {
        return None;
    }
    let what =
        format!("the message has {bytes} bytes for another room; the limit is {CROSSING_BYTES}");
    Some(Problem::new("too_large", what).fix("send a shorter message"))
}

fn attached(message: &Message) -> &[Value] {
    let attached = message.fields().get("attachments");
    attached
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn is_file(attachment: &Value) -> bool {
    attachment.get("path").is_some()
}

fn check_arrived(message: &Message) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(why) = reason_to_stay(message) {
        problems.push(Problem::new(
            "stays_in_room",
            format!("this message cannot come from another room: {why}"),
        ));
    }
    if message.by_mention() || message.addresses().is_empty() {
        // Names in its body belong to the sending room.
        problems.push(Problem::new(
            "no_recipient",
            "a message from another room names its recipients in `to`",
        ));
    }
    if attached(message).iter().any(is_file) {
        let what = "it attaches a file by a path, which is in its own room";
        problems.push(Problem::new("stays_in_room", what).at("/attachments"));
    }
    if attached(message).iter().any(has_wrong_digest) {
        let what = "the text of an attachment does not match its sha256";
        problems.push(Problem::new("bad_attachment", what).at("/attachments"));
    }
    problems
}
