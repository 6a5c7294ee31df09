//! The claims of an agent for the start of its session: offers to it, and its own claims.

use crate::base::limits;
use crate::base::sanitize::{brief, path};
use crate::features::claims::ClaimOffer;
use crate::message::subject::ClaimSubject;
use crate::query::claims;
use crate::room::Room;

/// The longest list of subjects in a line, in characters.
const SUBJECTS: usize = 120;
/// The most listed offers.
const LINES: usize = 2;

/// The lines, open offers first. `None` without claims, or if they cannot be read, so that the mail is still announced.
pub(super) fn text(room: &Room, agent: &str) -> Option<String> {
    let claims = claims::owners(room)
        .inspect_err(|e| tracing::debug!("{e}"))
        .ok()?;
    let mut lines: Vec<String> = claims.offers_to(agent).take(LINES).map(offer).collect();
    let more = claims.offers_to(agent).count().saturating_sub(LINES);
    if more > 0 {
        lines.push(format!(
            "mailbag: {more} more offers; `mailbag claims --mine` lists them"
        ));
    }
    let owned: Vec<&ClaimSubject> = claims.of(agent).map(|held| &held.subject).collect();
    if !owned.is_empty() {
        let owned = list(&owned);
        lines.push(format!(
            "mailbag: you own {owned}; `mailbag release` ends that"
        ));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn offer(one: &ClaimOffer) -> String {
    let subjects: Vec<&ClaimSubject> = one.subjects.iter().collect();
    let (from, seq) = (brief(&one.from, limits::NAME), one.seq);
    format!(
        "mailbag: {from} offers you {}: `mailbag handoff --accept {seq}` or `mailbag handoff --decline {seq}`",
        list(&subjects)
    )
}

fn list(subjects: &[&ClaimSubject]) -> String {
    let mut left = SUBJECTS;
    let mut named: Vec<String> = Vec::new();
    for subject in subjects.iter().take(limits::IN_SENTENCE) {
        // Another agent may have written the subject of an offer.
        let subject = path(subject.as_str(), SUBJECTS);
        left = left.saturating_sub(subject.chars().count());
        if left == 0 && !named.is_empty() {
            break;
        }
        named.push(subject);
    }
    let named_count = named.len();
    let named = named.join(", ");
    match subjects.len() - named_count {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
