//! The syntax of names and message ids, and the generation of ids.

use crate::base::clock::{self, Stamp};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::quoted;
use std::sync::{LazyLock, Mutex};
use uuid::{ContextV7, Timestamp, Uuid};

/// The name of the person. It is always registered.
pub const HUMAN: &str = "human";
/// The sender of the router's own messages.
pub const MAILBAG: &str = "mailbag";

/// Returns true for a valid name of an agent, role, topic, channel, capability, alias or tag:
/// `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
pub fn is_name(text: &str) -> bool {
    is_word(text, limits::NAME)
}

/// Fails unless this is a valid name. `kind` is the kind of name, such as `channel`.
pub fn check_name(kind: &str, name: &str) -> Result<()> {
    if is_name(name) {
        return Ok(());
    }
    let fix = format!(
        "use letters, digits, `.`, `_` and `-`, at most {} characters",
        limits::NAME
    );
    Err(Error::usage(
        format!("{} is not a valid {kind} name", quoted(name)),
        fix,
    ))
}

/// Returns true for a valid message id: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`.
pub fn is_message_id(text: &str) -> bool {
    is_word(text, limits::MESSAGE_ID)
}

/// The tag in the id of an agent of another room: `po` for `po:alice`.
pub fn tag_of(agent: &str) -> Option<&str> {
    agent.split_once(':').map(|(tag, _)| tag)
}

/// The full name of a message: `<sender>/<id>`.
pub fn full_name(sender: &str, id: &str) -> String {
    format!("{sender}/{id}")
}

/// The id of another room's agent in this room.
pub fn far(tag: &str, agent: &str) -> String {
    format!("{tag}:{agent}")
}

/// Returns true if an answer from `by` counts as an answer from `of`. Any agent of another room can
/// answer for an address of that room, because only that room can resolve the address.
pub fn answers_for(by: &str, of: &str) -> bool {
    by == of || tag_of(of).is_some() && tag_of(of) == tag_of(by)
}

/// Returns true for an agent's id, of this or another room.
pub fn is_sender(text: &str) -> bool {
    match text.split_once(':') {
        Some((tag, agent)) => is_name(tag) && is_name(agent),
        None => is_name(text),
    }
}

/// A new message id: a UUID v7. Later ids of one process always sort later; ids of several
/// processes if they are a microsecond apart.
pub fn mint() -> String {
    static CONTEXT: LazyLock<Mutex<ContextV7>> =
        LazyLock::new(|| Mutex::new(ContextV7::new().with_additional_precision()));
    // `Uuid::now_v7` panics if the clock is before 1970.
    let micros = Stamp::now().micros() as u64;
    if clock::is_set() {
        // A test repeats its acts with the same ids.
        let rest = (micros as u128 % 1_000).to_be_bytes();
        let rest = rest.last_chunk().unwrap_or(&[0; 10]);
        let id = uuid::Builder::from_unix_timestamp_millis(micros / 1_000, rest);
        return id.into_uuid().to_string();
    }
    let time = Timestamp::from_unix(
        &*CONTEXT,
        micros / 1_000_000,
        (micros % 1_000_000 * 1_000) as u32,
    );
    Uuid::new_v7(time).to_string()
}

fn is_word(text: &str, most: usize) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= most
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_ids_sort_later_even_within_a_millisecond() {
        let ids: Vec<String> = (0..10_000).map(|_| mint()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        // Another process has another counter, so only the time orders their ids.
        let time = |id: &str| id[..18].to_owned();
        let first = mint();
        std::thread::sleep(std::time::Duration::from_micros(3));
        assert!(
            time(&first) < time(&mint()),
            "the time in an id has microseconds"
        );
    }
}
