//! Which message a reference means: `<id>`, `<sender>/<id>` or a seq, among what the asker sent or received.

use crate::address::quoted;
use crate::error::{Error, Result};
use crate::limits;
use crate::log;
use crate::record::{Event, Record};
use crate::room::Room;
use regex::bytes::Regex;

/// A message that a reference may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    seq: u64,
    from: String,
    id: String,
}

/// What to write into `in_reply_to` or `refs` for each reference. One pass over the log, in which only lines that may
/// be meant are parsed.
pub fn resolve(room: &Room, asker: &str, references: &[String]) -> Result<Vec<String>> {
    if references.is_empty() {
        return Ok(Vec::new());
    }
    let may_be_meant = searcher(references)?;
    let mut found: Vec<Vec<Candidate>> = references.iter().map(|_| Vec::new()).collect();
    for line in log::read(&room.dir, log::START)? {
        let bytes = line?.bytes;
        if !may_be_meant.is_match(&bytes) {
            continue;
        }
        let Ok(record) = serde_json::from_slice::<Record>(&bytes) else { continue };
        let Some(candidate) = candidate(&record, asker) else { continue };
        for (reference, found) in references.iter().zip(&mut found) {
            if candidate.is_meant_by(reference) && !found.contains(&candidate) {
                found.push(candidate.clone());
            }
        }
    }
    references.iter().zip(found).map(|(reference, found)| choose(asker, reference, &found)).collect()
}

/// Finds the lines that carry one of the ids, or begin with one of the numbers: a record's `seq` stands first in it.
fn searcher(references: &[String]) -> Result<Regex> {
    let each = references.iter().map(|reference| {
        let id = regex::escape(reference.rsplit('/').next().unwrap_or(reference));
        format!(r#""id":"{id}"|^\{{"seq":{id},"#)
    });
    // Only a reference of absurd length makes a pattern that can't be compiled.
    Regex::new(&each.collect::<Vec<_>>().join("|")).map_err(|e| Error::Usage {
        what: format!("these references can't be looked up: {e}"),
        cure: "give fewer or shorter ones".into(),
    })
}

fn candidate(record: &Record, asker: &str) -> Option<Candidate> {
    let is_message = matches!(record.event, Event::Accepted | Event::Refused | Event::Notice);
    let from = record.from.as_deref().unwrap_or(crate::id::MAILBAG);
    let concerns = from == asker || record.recipients().any(|(agent, _)| &**agent == asker);
    let id = record.id.as_ref().filter(|_| is_message && concerns)?;
    Some(Candidate { seq: record.seq, from: from.to_owned(), id: id.clone() })
}

impl Candidate {
    fn is_meant_by(&self, reference: &str) -> bool {
        match reference.split_once('/') {
            Some((from, id)) => from == self.from && id == self.id,
            None => self.id == reference || reference.parse() == Ok(self.seq),
        }
    }
}

fn choose(asker: &str, reference: &str, found: &[Candidate]) -> Result<String> {
    // Whoever writes a number means a seq only if no message has it as its id.
    let by_id: Vec<&Candidate> = found.iter().filter(|c| reference == c.id).collect();
    let found = if by_id.is_empty() { found.iter().collect() } else { by_id };
    match found.as_slice() {
        [] => Err(Error::NotFound {
            what: format!("{asker} neither sent nor received a message {}", quoted(reference)),
            cure: "give its id, <sender>/<id> or its seq; `mailbag inbox` and `mailbag log` show them".into(),
        }),
        [one] if reference.contains('/') => Ok(format!("{}/{}", one.from, one.id)),
        [one] => Ok(one.id.clone()),
        many => {
            let list: Vec<String> =
                many.iter().take(limits::PROBLEMS).map(|c| format!("{}/{} (seq {})", c.from, c.id, c.seq)).collect();
            Err(Error::Usage {
                what: format!("{} means several messages", quoted(reference)),
                cure: format!("write one of {}", list.join(", ")),
            })
        }
    }
}
