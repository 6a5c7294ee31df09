//! Which message a reference means: `<id>`, `<sender>/<id>` or a seq, among what the asker sent or received.

use super::history::{Eyes, Past};
use crate::address::quoted;
use crate::error::{Error, Result};
use crate::log::START;
use crate::room::Room;
use crate::{find, id, limits};

/// What to write into `in_reply_to` or `refs` for each reference.
pub fn resolve(room: &Room, asker: &str, references: &[String]) -> Result<Vec<(String, Past)>> {
    let named = |(reference, past): (&String, Past)| match reference.contains('/') {
        true => (past.name(), past),
        false => (past.id.clone(), past),
    };
    Ok(references.iter().zip(lookup(room, asker, references)?).map(named).collect())
}

/// The one message that a reference means.
pub fn one(room: &Room, asker: &str, reference: &str) -> Result<Past> {
    let found = lookup(room, asker, &[reference.to_owned()])?;
    Ok(found.into_iter().next().expect("one for each reference"))
}

fn lookup(room: &Room, asker: &str, references: &[String]) -> Result<Vec<Past>> {
    let mut found = candidates(room, references)?;
    for (reference, found) in references.iter().zip(&mut found) {
        // The human may mean anybody's message, but means the own ones first.
        let own = found.iter().any(|past| past.concerns(asker) && is_by_id(past, reference));
        found.retain(|past| if asker == id::HUMAN { !own || past.concerns(asker) } else { past.concerns(asker) });
    }
    references.iter().zip(found).map(|(reference, found)| choose(asker, reference, found)).collect()
}

/// All messages that each reference may mean, whoever wrote them. One pass over the log for the ids, in which only
/// lines that may be meant are parsed; a seq is looked up.
pub fn candidates(room: &Room, references: &[String]) -> Result<Vec<Vec<Past>>> {
    let mut found: Vec<Vec<Past>> = references.iter().map(|_| Vec::new()).collect();
    let texts: Vec<String> =
        references.iter().filter(|reference| may_name(reference)).map(|r| format!("\"{}\"", bare(r))).collect();
    let wanted = references.to_vec();
    let is_meant = move |past: &Past| wanted.iter().any(|reference| is_by_id(past, reference));
    if !texts.is_empty() {
        let sieve = find::sieve(&texts)?;
        let scan =
            find::scan(&room.dir, (START, None), sieve, move |line, _| Past::read(line).filter(|past| is_meant(past)))?;
        for block in scan {
            for past in block?.found {
                let of = references.iter().zip(&mut found).filter(|(reference, _)| is_by_id(&past, reference));
                of.for_each(|(_, found)| found.push(past.clone()));
            }
        }
    }
    for (reference, found) in references.iter().zip(&mut found) {
        let Ok(seq) = reference.parse() else { continue };
        let by_seq = find::by_seq(&room.dir, seq)?.and_then(|line| Past::read(&line.bytes));
        found.extend(by_seq.filter(|past| !found.iter().any(|other| other.seq == past.seq)));
    }
    Ok(found)
}

/// The id in a reference.
pub fn bare(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

/// Can this be a reference at all?
fn may_name(reference: &str) -> bool {
    match reference.split_once('/') {
        Some((from, id)) => id::is_name(from) && id::is_message_id(id),
        None => id::is_message_id(reference),
    }
}

/// Is it what the reference names, if that is no seq?
pub fn is_by_id(past: &Past, reference: &str) -> bool {
    match reference.split_once('/') {
        Some((from, id)) => from == &*past.from && id == past.id,
        None => past.id == reference,
    }
}

fn choose(asker: &str, reference: &str, found: Vec<Past>) -> Result<Past> {
    // Whoever writes a number means a seq only if no message has it as its id.
    let by_id = found.iter().any(|past| is_by_id(past, reference));
    let mut found: Vec<Past> = found.into_iter().filter(|past| !by_id || is_by_id(past, reference)).collect();
    match found.len() {
        0 => Err(missing(&Eyes::of(asker), asker, reference)),
        1 => Ok(found.remove(0)),
        _ => Err(several(reference, &found)),
    }
}

/// That nothing is meant that these eyes may see.
pub fn missing(eyes: &Eyes, asker: &str, reference: &str) -> Error {
    let reference = quoted(reference);
    let what = match *eyes == Eyes::ALL {
        true => format!("the log has no message {reference}"),
        false => format!("{asker} neither sent nor received a message {reference}"),
    };
    let cure = "give its id, <sender>/<id> or its seq; `mailbag list` and `mailbag log` show them".into();
    Error::NotFound { what, cure }
}

/// That several messages are meant, and which.
pub fn several(reference: &str, found: &[Past]) -> Error {
    let list: Vec<String> =
        found.iter().take(limits::PROBLEMS).map(|past| format!("{} (seq {})", past.name(), past.seq)).collect();
    Error::Usage {
        what: format!("{} means several messages", quoted(reference)),
        cure: format!("write one of {}", list.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_message_can_be_called_is_not_sought() {
        assert!(may_name("m1") && may_name("a/m1") && may_name("42"));
        assert!(!may_name("") && !may_name("a/b/c") && !may_name("\"") && !may_name("/m1"));
    }
}
