//! Records that are staged together or not at all.

use super::batch_message::{BatchMessage, MessageRuling};
use crate::log::state::{EXPIRED, OVERDUE, OVERDUE_AT_LAST};
use crate::message::record::Record;
use std::collections::HashSet;

/// Letters of a batch that could not be staged.
#[derive(Default)]
pub(super) struct UnstagedMessages {
    pub(super) claims: HashSet<String>,
    /// The units of notices.
    pub(super) own: HashSet<String>,
}

/// Letters that are staged together or not at all: the lines of a file with their consequences, or notices with one
/// subject or about the deadlines of one message.
pub(super) struct StagingUnit {
    pub(super) claim: Option<String>,
    pub(super) about: Option<String>,
}

impl StagingUnit {
    pub(super) fn of(letter: &BatchMessage<MessageRuling>) -> StagingUnit {
        StagingUnit {
            claim: claim_of(letter).cloned(),
            about: letter.content.about().map(str::to_owned),
        }
    }

    pub(super) fn has(&self, record: &Record) -> bool {
        self.claim.is_some() && record.claim() == self.claim.as_deref()
            || self.about.is_some()
                && record.about().map(unit_of) == self.about.as_deref().map(unit_of)
    }
}

impl UnstagedMessages {
    pub(super) fn has(&self, letter: &BatchMessage<MessageRuling>) -> bool {
        claim_of(letter).is_some_and(|claim| self.claims.contains(claim))
            || letter
                .content
                .about()
                .is_some_and(|about| self.own.contains(unit_of(about)))
    }
}

/// The unit of a notice with this subject. The notice of an expiry ends the deadline, so its escalation is recorded with it.
pub(super) fn unit_of(about: &str) -> &str {
    match about.split_once(' ') {
        Some((EXPIRED | OVERDUE | OVERDUE_AT_LAST, seq)) => seq,
        _ => about,
    }
}

/// The claim of a letter or of its cause.
fn claim_of(letter: &BatchMessage<MessageRuling>) -> Option<&String> {
    let cause = letter.follows.as_ref();
    letter.claim.as_ref().or(cause.map(|cause| &cause.claim))
}

/// Returns false for a notice if its cause is not in this batch. The notice follows again when the cause is judged
/// again.
pub(super) fn has_cause<'r>(
    letter: &BatchMessage<MessageRuling>,
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
