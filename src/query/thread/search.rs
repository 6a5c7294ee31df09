//! Finds the messages of a thread by the index of the log.

use crate::base::error::Result;
use crate::log::lookup::LoggedMessage;
use crate::log::state::{IndexKey, IndexedLog};
use crate::message::reference::bare;
use std::collections::{BTreeMap, BTreeSet};

/// The messages that have one of these names as their id, number or thread id, in the order of the log.
pub(super) fn named(log: &IndexedLog<'_>, names: &BTreeSet<String>) -> Result<Vec<LoggedMessage>> {
    let mut found = BTreeMap::new();
    for name in names {
        let mut lines = log.lines(&[IndexKey::Id(name), IndexKey::Thread(name)])?;
        if let Ok(seq) = name.parse() {
            lines.extend(log.line(seq)?);
        }
        for past in lines
            .iter()
            .filter_map(|line| LoggedMessage::read(&line.bytes))
        {
            if is_named(&past, names) {
                found.insert(past.seq, past);
            }
        }
    }
    Ok(found.into_values().collect())
}

fn is_named(past: &LoggedMessage, names: &BTreeSet<String>) -> bool {
    let thread = past.thread_id.as_ref();
    names.contains(&past.id)
        || names.contains(&past.seq.to_string())
        || thread.is_some_and(|thread| names.contains(thread))
}

/// All messages that have one of these names as their id, number or thread id, and all that answer one of these messages,
/// directly or not. Known answers, with all answers to them, are left out.
pub(super) fn search(
    log: &IndexedLog<'_>,
    names: &BTreeSet<String>,
    is_known: &dyn Fn(u64) -> bool,
) -> Result<Vec<LoggedMessage>> {
    let mut found = BTreeMap::new();
    // Several messages can name one that is not in the log, as a correlation id.
    let mut answered: Vec<String> = names.iter().cloned().collect();
    let mut new = named(log, names)?;
    loop {
        for past in new.drain(..) {
            answered.extend([past.id.clone(), past.seq.to_string()]);
            found.insert(past.seq, past);
        }
        let Some(name) = answered.pop() else {
            return Ok(found.into_values().collect());
        };
        for line in log.lines(&[IndexKey::Answered(&name)])? {
            let past = LoggedMessage::read(&line.bytes).filter(|past| is_answer(past, &name));
            new.extend(past.filter(|past| !found.contains_key(&past.seq) && !is_known(past.seq)));
        }
    }
}

/// Returns true if a message names this id or number, or if the router found that it answers this number.
fn is_answer(past: &LoggedMessage, name: &str) -> bool {
    past.in_reply_to
        .as_deref()
        .is_some_and(|to| bare(to) == name)
        || past.answers.is_some_and(|seq| seq.to_string() == name)
}
