//! The records that are staged together or not at all.

use super::letter::{Letter, Ruling};
use crate::message::record::Record;
use std::collections::HashSet;

/// The letters of a batch that could not be staged.
#[derive(Default)]
pub(super) struct Left {
    pub(super) claims: HashSet<String>,
    /// The subjects of messages of the router's own.
    pub(super) own: HashSet<String>,
}

/// Letters that are staged together or not at all: the lines of a file with their consequences, and messages of the router
/// with one subject.
pub(super) struct Whole {
    pub(super) claim: Option<String>,
    pub(super) about: Option<String>,
}

impl Whole {
    pub(super) fn of(letter: &Letter<Ruling>) -> Whole {
        let claim = letter
            .claim
            .as_ref()
            .or(letter.follows.as_ref().map(|cause| &cause.claim))
            .cloned();
        Whole {
            claim,
            about: letter.content.about().map(str::to_owned),
        }
    }

    pub(super) fn has(&self, record: &Record) -> bool {
        self.claim.is_some() && record.claim() == self.claim.as_deref()
            || self.about.is_some() && record.about() == self.about.as_deref()
    }
}

impl Left {
    pub(super) fn has(&self, letter: &Letter<Ruling>) -> bool {
        let claim = letter
            .claim
            .as_ref()
            .or(letter.follows.as_ref().map(|cause| &cause.claim));
        claim.is_some_and(|claim| self.claims.contains(claim))
            || letter
                .content
                .about()
                .is_some_and(|about| self.own.contains(about))
    }
}

/// Returns false for a message of the router's own if its cause is not in this batch. It follows
/// again when that message is judged again.
pub(super) fn has_cause<'r>(
    letter: &Letter<Ruling>,
    mut batch: impl Iterator<Item = &'r Record>,
) -> bool {
    letter.follows.as_ref().is_none_or(|cause| {
        batch.any(|record| {
            record
                .origin()
                .is_some_and(|origin| origin.claim == cause.claim && origin.line == cause.line)
        })
    })
}
