//! The messages that may cross a link, in step 5. Their addresses are checked by the resolution.

use crate::base::error::Problem;
use crate::base::hash::is_hash_of;
use crate::features::links::item::reason_to_stay;
use crate::message::Message;
use crate::message::id::tag_of;
use crate::router::seam::Draft;
use serde_json::Value;

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
    let far = draft.recipients().find(|agent| tag_of(agent).is_some())?;
    let why = reason_to_stay(&draft.message)?;
    let problem = Problem::new(
        "stays_in_room",
        format!("this message cannot go to {far}: {why}"),
    );
    Some(
        problem
            .at("/to")
            .fix("send a message of another type, with the text for the other room in its body"),
    )
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
    let attached = message
        .fields()
        .get("attachments")
        .and_then(Value::as_array);
    if attached
        .into_iter()
        .flatten()
        .any(|attachment| attachment.get("path").is_some())
    {
        let what = "it attaches a file by a path, which is in its own room";
        problems.push(Problem::new("stays_in_room", what).at("/attachments"));
    }
    if attached.into_iter().flatten().any(has_wrong_digest) {
        let what = "the text of an attachment does not match its sha256";
        problems.push(Problem::new("bad_attachment", what).at("/attachments"));
    }
    problems
}
