//! What is special about a file that holds a message a line: those of its lines that are in a batch go together, or wait
//! together.

use super::check::{Letter, Ruling};
use super::stage::{Entry, Ruled};
use crate::base::error::{Error, Problem, Result};
use crate::message::record::{Event, Hash};
use crate::router::Router;
use std::collections::HashMap;
use std::sync::Arc;

/// The ids that a batch has met so far, each with the digest of the message that was accepted under it.
#[derive(Default)]
pub(crate) struct Ids(HashMap<(Arc<str>, String), Option<Hash>>);

/// What the batch knows of an id.
pub(crate) enum Met {
    /// Nothing that hinders it.
    New,
    /// It was met, and the file can wait for the next batch.
    Before,
    /// It was met, and this is what it means for a line, which can't wait without the others of its file.
    Ruled(Ruling),
}

impl Ids {
    pub(crate) fn meet(&self, letter: &Letter, id: &str, digest: &Hash) -> Met {
        match (self.0.get(&(letter.agent.clone(), id.to_owned())), &letter.source) {
            (None, _) | (Some(None), Some(_)) => Met::New,
            (Some(_), None) => Met::Before,
            (Some(Some(first)), Some(_)) if first == digest => {
                Met::Ruled(Ruling::Again { id: id.to_owned(), digest: *digest })
            }
            (Some(Some(_)), Some(_)) => {
                let what =
                    format!("the id {id:?} was used before, by a message that came with this one, with other content");
                let problem = Problem::new("id_reused", what).at("/id");
                let problems = vec![problem.fix("give each message its own id, or leave it out")];
                Met::Ruled(Ruling::Reject { problems, id: Some(id.to_owned()), ack: false })
            }
        }
    }

    /// Remembers what became of a message.
    pub(crate) fn ruled(&mut self, letter: &Letter, ruling: &Ruling) {
        let (id, accepted) = match ruling {
            Ruling::Accept { message, digest, .. } => (message.id(), Some(*digest)),
            Ruling::Duplicate { id, .. } | Ruling::Reject { id: Some(id), .. } => (id.as_str(), None),
            _ => return,
        };
        let known = self.0.entry((letter.agent.clone(), id.to_owned())).or_default();
        *known = known.or(accepted);
    }
}

/// Makes of a line that repeats an earlier one of the batch a duplicate of that one's record.
pub(crate) fn find_first(one: &mut Ruled, entries: &[Entry]) -> Result<()> {
    let Ruling::Again { id, digest } = &one.ruling else { return Ok(()) };
    let is_it = |entry: &&Entry| {
        let record = &entry.record;
        record.event == Event::Accepted && record.from.as_ref() == Some(&one.agent) && record.id.as_ref() == Some(id)
    };
    let of = entries.iter().rev().find(is_it).ok_or_else(not_found)?.record.seq;
    one.ruling = Ruling::Duplicate { of, id: id.clone(), digest: *digest };
    Ok(())
}

/// The earlier one could not be staged, so the later one waits for the next batch as well.
pub(crate) fn not_found() -> Error {
    Error::Busy { what: "an earlier message with the same id waits".into(), cure: "it is tried again".into() }
}

impl Router {
    /// One line of a file can't be staged: what was staged for the others goes, and they wait together.
    pub(crate) fn unstage_lines(&mut self, claim: Option<&str>, entries: &mut Vec<Entry>) {
        while let Some(entry) = entries.pop_if(|entry| claim.is_some() && entry.record.claim.as_deref() == claim) {
            self.spool.unstage(entry.staged.iter().map(String::as_str));
        }
    }
}
